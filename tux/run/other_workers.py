"""A run goes on on another number of workers: its checkpoint is written anew for them, and the run
goes on from that one as from any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import msgspec

from tux.base.errors import Refused
from tux.base.text import plural
from tux.engine.redistribute import Redistribution
from tux.engine.saved import load, save
from tux.engine.shares import Shares, alike, shares_of
from tux.program.program import Program
from tux.run.checkpoints import Checkpoints, Draft, Found, Manifest, newest
from tux.run.inputs import Inputs
from tux.run.options import Plan
from tux.run.resume import Stopped, saved
from tux.run.watcher import Watcher


def on_workers(
    before: Stopped, plan: Plan, program: Program, inputs: Inputs, watch: Watcher
) -> Stopped:
    """The run that has stopped, with a checkpoint of as many workers as `plan` has: its newest one
    if that fits, else a new one with the same state.

    A checkpoint within an epoch fits other workers only if the clocks of the epoch are the same
    there; else the newest one at the end of an epoch is taken. Refused if there is none, or if it
    is not known what other workers would have of a field. DiskError.
    """
    if before.checkpoint.manifest.workers == plan.workers:
        return before
    watch.phase("redistribute")
    cut = partial(_shares, plan, program, inputs)
    checkpoint, left_out = before.checkpoint, before.found.left_out
    if checkpoint.manifest.turns and not _fits(checkpoint.manifest, plan.workers, cut):
        found = newest(before.path, at_end=True)
        if found.checkpoint is None:
            kept = checkpoint.manifest
            raise Refused(
                f"the checkpoint is within epoch {kept.epoch + 1}, whose clocks are others on "
                f"{plural(plan.workers, 'worker')}",
                where=str(checkpoint.path),
                do=f"resume on as many workers as before: --workers {kept.workers}",
            )
        checkpoint, left_out = found.checkpoint, found.left_out
        watch.say(
            f"checkpoint {before.checkpoint.manifest.number} is within an epoch, whose clocks are "
            f"others on {plural(plan.workers, 'worker')}: left out"
        )
        if checkpoint.manifest.workers == plan.workers:
            return replace(before, checkpoint=checkpoint, found=found)
    old = cut(checkpoint.manifest.workers)
    states = [load(file, part) for file, part in zip(saved(checkpoint), old.digests, strict=True)]
    new = cut(plan.workers)
    redistribution = Redistribution(program, plan.options.seed, old.shares, states, new.shares)
    checkpoints = Checkpoints(before.path, Found(checkpoint, left_out), plan.options.keep or 2)
    with _draft(checkpoints) as draft:
        sums = [
            save(draft.shard_path(rank), redistribution.state(rank), part)
            for rank, part in enumerate(new.digests)
        ]
        manifest = msgspec.structs.replace(checkpoint.manifest, workers=plan.workers)
        written = draft.finish(manifest, sums)
    watch.say(
        f"checkpoint {checkpoint.manifest.number} of "
        f"{plural(checkpoint.manifest.workers, 'worker')} is now checkpoint "
        f"{written.manifest.number} of {plan.workers}: results may differ from those of a run that "
        "never stopped, in rounding and in the order of updates"
    )
    return replace(before, checkpoint=written, found=Found(written, []))


def _fits(kept: Manifest, workers: int, cut: Callable[..., Shares]) -> bool:
    """Whether the epoch of a checkpoint has the same clocks on other workers."""
    return alike(kept.turns, cut(kept.workers, kept.epoch), cut(workers, kept.epoch))


def _shares(
    plan: Plan, program: Program, inputs: Inputs, workers: int, epoch: int | None = None
) -> Shares:
    """What so many workers hold; `epoch`: the one that has ended before that of the outlines."""
    options = plan.options
    return shares_of(
        program,
        inputs,
        plan.partitioner,
        workers,
        options.seed,
        epoch=epoch,
        slack=options.slack,
        check=options.check,
    )


@contextmanager
def _draft(checkpoints: Checkpoints) -> Iterator[Draft]:
    """A checkpoint to be written; nothing of it is left if it is not finished."""
    draft = checkpoints.begin()
    try:
        yield draft
    finally:
        draft.abandon()
