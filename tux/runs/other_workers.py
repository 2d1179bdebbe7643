"""A run that goes on on another number of workers: its checkpoint is written anew for them, and the
run goes on from that one as from any other.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tux.arrays.npy import map_npy, write_npy
from tux.base.disk import writing
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
from tux.engine.shares import Shares, are_alike, share_of_all, shares_in_folder, shares_of
from tux.engine.start_model import NOTHING, StartModel
from tux.graph.partitioned import partition_inputs
from tux.inputs.load import Inputs
from tux.options.options import RESUMABLE, RunPlan
from tux.options.watcher import Watcher
from tux.parallel_load.algorithm.repeated import ANYWHERE
from tux.partition.method_of_type import MethodOfType
from tux.program.program import Program
from tux.runs.context import RunContext
from tux.runs.resume import StoppedRun, states_of


def move_to_workers(before: StoppedRun, run: RunContext) -> StoppedRun:
    """Return the run that has stopped, with a checkpoint of as many workers as `run` has, which
    goes on: its newest one if that fits, else a new one with the same state.

    A checkpoint within an epoch fits other workers only if the clocks of the epoch are the same
    there; else the newest one at the end of an epoch is taken. Refused if there is none, or if it
    is not known what other workers would have of a field. DiskError.
    """
    if before.start_checkpoint.manifest.workers == run.plan.all_workers:
        return before
    with Cuts(run.plan, run.program, run.inputs, run.watch, run.start.model) as cuts:
        return _move(before, cuts)


def whole_reason(checkpoint: Checkpoint | None, plan: RunPlan, program: Program) -> str:
    """Return why a checkpoint becomes one of the workers of a plan by all edges; "" if the parts of
    the new workers, or none, are enough.
    """
    if checkpoint is None or checkpoint.manifest.workers == plan.all_workers:
        return ""
    if plan.options.place:
        return "on several machines a checkpoint becomes one of other workers by all edges"
    edges = [f for edge in program.edge_types.values() for f in edge.fields.values()]
    changed = any(f.kind != "data" for f in edges)
    if checkpoint.manifest.workers > 1:
        method = MethodOfType.parse(plan.partitioner).method
        if changed and method in ANYWHERE:
            return f"fields of edges that {method} places are dealt out by all edges"
        return ""
    lists = [f for vertex in program.vertices.values() for f in vertex.fields.values()]
    if changed or any(f.is_ragged for f in lists):
        return "fields of edges of one worker are dealt out by all edges"
    return "the clocks of one worker are known by all edges" if checkpoint.manifest.turns else ""


class Cuts:
    """The cuts of a run's data for other numbers of workers. Where loaders have made the parts of
    the run, they make those of other workers too; leaving it removes these.
    """

    def __init__(
        self,
        plan: RunPlan,
        program: Program,
        inputs: Inputs,
        watch: Watcher,
        start: StartModel = NOTHING,
    ) -> None:
        self.start = start
        self.plan, self.program, self.inputs, self.watch = plan, program, inputs, watch
        self._loaded = {plan.all_workers: inputs.loaded}
        self._arrays = count()

    def __enter__(self) -> Cuts:
        return self

    def __exit__(self, *error: object) -> None:
        if self._room:
            shutil.rmtree(self._room, ignore_errors=True)

    @property
    def _room(self) -> Path | None:
        """The folder of other parts, and of what is kept of parts."""
        return self.inputs.loaded.folder / "cuts" if self.inputs.loaded else None

    def shares(self, workers: int, epoch: int | None = None) -> Shares:
        """Return the shares of the graph that so many workers hold; `epoch`: the one that has ended
        before that of the outlines.
        """
        options = self.plan.options
        given: dict[str, Any] = {"epoch": epoch, "slack": options.slack, "check": options.check}
        given["start"] = self.start
        if self._room is None:
            method, seed = self.plan.partitioner, options.seed
            return shares_of(self.program, self.inputs, method, workers, seed, **given)
        if workers == 1:
            return share_of_all(self._parts(self.plan.all_workers))
        folder = self._parts(workers)
        return shares_in_folder(self.program, folder, self._keep, seed=options.seed, **given)

    def _parts(self, workers: int) -> Path:
        """Return the folder of the parts of so many workers, with held-out edges."""
        assert self._room is not None and self.inputs.loaded is not None
        plan, loaded = self.plan, self._loaded.get(workers)
        if loaded is None:
            folder = self._room / f"{workers}"
            with writing(folder):
                folder.mkdir(parents=True)
            loaded = self.inputs.loaded.cut_again(workers, folder, plan.restarts, self.watch)
            self._loaded[workers] = loaded
        inputs, seed = replace(self.inputs, loaded=loaded), plan.options.seed
        made = partition_inputs(self.program, inputs, plan.partitioner, workers, seed)
        made.write(loaded.folder, range(workers))
        return loaded.folder

    def _keep(self, array: np.ndarray) -> np.ndarray:
        """Write an array to a file, and map it."""
        assert self._room is not None
        with writing(self._room):
            self._room.mkdir(exist_ok=True)
        path = self._room / f"{next(self._arrays)}.npy"
        write_npy(path, array)
        return map_npy(path)


def _move(before: StoppedRun, cuts: Cuts) -> StoppedRun:
    """Move a checkpoint to the new workers, or an older one if that cannot be."""
    plan, watch = cuts.plan, cuts.watch
    if before.start_checkpoint.manifest.workers == plan.all_workers:
        return before
    watch.phase("redistribute")
    kept = before.start_checkpoint.manifest
    try:
        new, redistribution = _redistribute(before.start_checkpoint, cuts)
    except Refused as refused:
        found = find_newest_checkpoint(before.path, at_end=True)
        if not kept.turns or found.checkpoint is None:
            raise
        if cuts.inputs.loaded and whole_reason(found.checkpoint, plan, cuts.program):
            raise  # all edges are not here
        watch.say(f"checkpoint {kept.number} is left out: {refused.what}")
        return _move(replace(before, checkpoint=found.checkpoint, found=found), cuts)
    watch.phase("redistribute")
    written = _write_checkpoint(before, plan, new, redistribution)
    watch.say(
        f"checkpoint {kept.number} of {plural(kept.workers, 'worker')} is now checkpoint "
        f"{written.manifest.number} of {plan.all_workers}: results may differ from those of a run "
        "that never stopped, in rounding and in the order of updates"
    )
    return replace(
        before, checkpoint=written, found=CheckpointSearch(written, before.found.left_out)
    )


def _redistribute(checkpoint: Checkpoint, cuts: Cuts) -> tuple[Shares, Redistribution]:
    """Cut the graph for the new workers, and redistribute the states of a checkpoint to them.
    Refused where that cannot be.
    """
    kept, plan = checkpoint.manifest, cuts.plan
    epoch = kept.epoch if kept.turns else None
    old = cuts.shares(kept.workers, epoch)
    states = [
        open_state(file, part)
        for file, part in zip(states_of(checkpoint), old.digests, strict=True)
    ]
    new = cuts.shares(plan.all_workers, epoch)
    if kept.turns and not are_alike(kept.turns, old, new):
        raise Refused(
            f"the checkpoint is within epoch {kept.epoch + 1}, whose clocks are others on "
            f"{plural(plan.all_workers, 'worker')}",
            where=str(checkpoint.path),
            do=f"resume on as many workers as before: {kept.workers} in all",
        )
    seed = plan.options.seed
    return new, Redistribution(cuts.program, seed, old.shares, states, new.shares)


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
        kept = before.start_checkpoint.manifest
        options = {**plan.record(), **_resumable(kept.options)}
        workers = plan.all_workers
        manifest = msgspec.structs.replace(kept, workers=workers, options=options)
        return draft.finish(manifest, sums)


def _resumable(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a run may go on with others of. In the new checkpoint they stay those
    of `run.json` until that is written anew: the run may be killed in between.
    """
    return {name: options[name] for name in RESUMABLE if name in options}


@contextmanager
def _draft(checkpoints: Checkpoints) -> Iterator[Draft]:
    """Yield a checkpoint to be written; nothing of it is left if it is not finished."""
    draft = checkpoints.begin()
    try:
        yield draft
    finally:
        draft.abandon()
