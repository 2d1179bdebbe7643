"""A run that goes on on another number of workers: its checkpoint is written anew for them, and the
run goes on from that one as from any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import msgspec

from tux.base.errors import Refused
from tux.base.text import plural
from tux.checkpoint.redistribute import Redistribution
from tux.checkpoint.saved import open_state, save
from tux.checkpoint.store import (
    Checkpoint,
    Checkpoints,
    CheckpointSearch,
    Draft,
    find_newest_checkpoint,
)
from tux.engine.shares import Shares, are_alike, shares_of
from tux.inputs.load import Inputs
from tux.options.options import RunPlan
from tux.options.watcher import Watcher
from tux.program.program import Program
from tux.runs.resume import StoppedRun, states_of


def move_to_workers(
    before: StoppedRun, plan: RunPlan, program: Program, inputs: Inputs, watch: Watcher
) -> StoppedRun:
    """Return the run that has stopped, with a checkpoint of as many workers as `plan` has: its
    newest one if that fits, else a new one with the same state.

    A checkpoint within an epoch fits other workers only if the clocks of the epoch are the same
    there; else the newest one at the end of an epoch is taken. Refused if there is none, or if it
    is not known what other workers would have of a field. DiskError.
    """
    if before.start_checkpoint.manifest.workers == plan.all_workers:
        return before
    watch.phase("redistribute")
    cut = partial(_shares, plan, program, inputs)
    try:
        new, redistribution = _redistribute(before.start_checkpoint, plan, program, cut)
    except Refused as refused:
        kept = before.start_checkpoint.manifest
        found = find_newest_checkpoint(before.path, at_end=True)
        if not kept.turns or found.checkpoint is None:
            raise
        watch.say(f"checkpoint {kept.number} is left out: {refused.what}")
        return move_to_workers(
            replace(before, checkpoint=found.checkpoint, found=found), plan, program, inputs, watch
        )
    written = _write_checkpoint(before, plan, new, redistribution)
    kept = before.start_checkpoint.manifest
    watch.say(
        f"checkpoint {kept.number} of {plural(kept.workers, 'worker')} is now checkpoint "
        f"{written.manifest.number} of {plan.all_workers}: results may differ from those of a run "
        "that never stopped, in rounding and in the order of updates"
    )
    return replace(
        before, checkpoint=written, found=CheckpointSearch(written, before.found.left_out)
    )


def _redistribute(
    checkpoint: Checkpoint, plan: RunPlan, program: Program, cut: Callable[..., Shares]
) -> tuple[Shares, Redistribution]:
    """Cut the graph for the new workers, and redistribute the states of a checkpoint to them.
    Refused where that cannot be.
    """
    kept = checkpoint.manifest
    epoch = kept.epoch if kept.turns else None
    old = cut(kept.workers, epoch)
    states = [
        open_state(file, part)
        for file, part in zip(states_of(checkpoint), old.digests, strict=True)
    ]
    new = cut(plan.all_workers, epoch)
    if kept.turns and not are_alike(kept.turns, old, new):
        raise Refused(
            f"the checkpoint is within epoch {kept.epoch + 1}, whose clocks are others on "
            f"{plural(plan.all_workers, 'worker')}",
            where=str(checkpoint.path),
            do=f"resume on as many workers as before: {kept.workers} in all",
        )
    seed = plan.options.seed
    return new, Redistribution(program, seed, old.shares, states, new.shares)


def _write_checkpoint(
    before: StoppedRun, plan: RunPlan, new: Shares, redistribution: Redistribution
) -> Checkpoint:
    """Write the checkpoint of the new workers. Checkpoints that were left out stay until it is
    there, and do not count among the newest ones that are kept.
    """
    keep = (plan.options.keep or 2) + len(before.found.left_out)
    checkpoints = Checkpoints(before.path, CheckpointSearch(None, []), keep)
    with _draft(checkpoints) as draft:
        sums = [
            save(draft.shard_path(rank), redistribution.state(rank), part)
            for rank, part in enumerate(new.digests)
        ]
        manifest = msgspec.structs.replace(
            before.start_checkpoint.manifest, workers=plan.all_workers, options=plan.record()
        )
        return draft.finish(manifest, sums)


def _shares(
    plan: RunPlan, program: Program, inputs: Inputs, workers: int, epoch: int | None = None
) -> Shares:
    """Return the shares of the graph that so many workers hold; `epoch`: the one that has ended
    before that of the outlines.
    """
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
    """Yield a checkpoint to be written; nothing of it is left if it is not finished."""
    draft = checkpoints.begin()
    try:
        yield draft
    finally:
        draft.abandon()
