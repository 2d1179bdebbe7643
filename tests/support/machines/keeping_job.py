"""A run whose states are kept in its folder: ``python keeping_job.py OUT FROM EVERY DIE JSON``.

FROM: the folder of a run to go on from, or "". EVERY: so many epochs, or seconds as "0.2s". DIE:
the process kills itself when so many checkpoints are there; 0: never. JSON: the program, its
parameters, its files and its options.
"""

import json
import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from tux.checkpoint.saved import SavedState
from tux.checkpoint.schedule import CheckpointInterval
from tux.checkpoint.store import (
    CheckpointManifest,
    Checkpoints,
    CheckpointSearch,
    find_newest_checkpoint,
)
from tux.cluster.checkpoint.keeper import StatePlan
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher, Phases
from tux.program.sources import find
from tux.run_folder.model_columns import copy_in_memory
from tux.runs.begin import fit_plan_to_folder, load_for, start_workers
from tux.runs.context import RunContext

UNKNOWN = dict(
    seed=0,
    program="",
    data="",
    test=None,
    parameters={},
    options={},
    versions={},
    metrics_bytes=0,
)


class CheckpointKeeper:
    """A keeper that writes checkpoints into a folder."""

    def __init__(self, out, die):
        self.checkpoints, self.draft, self.left = (
            Checkpoints(out, CheckpointSearch(None, [])),
            None,
            die,
        )

    @property
    def lists(self):
        return self.checkpoints.lists

    def begin(self):
        self.draft = self.checkpoints.begin()

    def shard_path(self, rank):
        return self.draft.shard_path(rank)

    def finish(self, head, digests):
        manifest = CheckpointManifest(
            epoch=head.epoch, turns=head.turns, workers=len(digests), **UNKNOWN
        )
        self.draft.finish(manifest, digests)
        print(f"{head.epoch} {head.turns}", flush=True)
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def abandon(self):
        self.draft.abandon()


def states(out, source, every, die):
    """Return the states to keep, and those from which the job goes on."""
    every = (
        CheckpointInterval(seconds=float(every[:-1]))
        if every[-1] == "s"
        else CheckpointInterval(epochs=int(every))
    )
    files = []
    if source:
        found = find_newest_checkpoint(source).checkpoint
        files = [
            SavedState(str(found.path / each.name), each.digest) for each in found.manifest.shards
        ]
        print(f"from {found.manifest.epoch} {found.manifest.turns}", flush=True)
    return StatePlan(every, CheckpointKeeper(out, die), files)


def main(out, source, every, die, text):
    """Run the job; its records and its model are written to OUT."""
    of = json.loads(text)
    kept = states(out, source, every, int(die))
    program = find(of["app"]).program(**of["parameters"])
    options = RunOptions(workers=2, **of["options"])
    context = RunContext(program, options, Phases(NullWatcher()), ExitStack())
    context.inputs, context.program = load_for(
        program, of["data"], of["test"], options, NullWatcher()
    )
    plan = options.plan_for(context.program)
    context.plan = fit_plan_to_folder(plan, context.inputs.folder)
    models = []
    with start_workers(context, kept) as launcher:
        launcher.give_model_to(lambda model: models.append(copy_in_memory(model)))
        records = list(launcher.epochs(plan.epochs))
    model = {
        f"{name}.{f}": array
        for name in models[-1].sizes
        for f, array in models[-1].rows(name).items()
    }
    np.savez(Path(out, "model.npz"), **model)
    Path(out, "records.json").write_text(json.dumps(records))


if __name__ == "__main__":
    main(*sys.argv[1:])
