"""One run, as its phases hand it on: `session` opens it, `begin` loads its data and makes its
workers ready, `train` runs its epochs, and `finish` writes and judges its model.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tux.clock.clock import assumed_slack
from tux.engine.memory_limit import MemoryLimit
from tux.engine.model import RunModel
from tux.inputs.load import Inputs
from tux.options.options import RunOptions, RunPlan
from tux.options.watcher import Phases, Watcher
from tux.program.program import Program
from tux.program.report import GroundTruth
from tux.program.stage import Cluster
from tux.run_folder.folder import RunFolder, RunRecord
from tux.runs.resume import StoppedRun
from tux.runs.start import NO_START, StartOfRun
from tux.runs.trainer import Trainer


@dataclass(repr=False)
class RunContext:
    """A run under way. Leaving `stack` ends what it has begun. `folder`: its folder, if it has one;
    `before`: the run that has stopped, from which it goes on; `trial_room`: of a trial, the folder
    of the run for which it is.
    """

    program: Program
    options: RunOptions
    phases: Phases
    stack: ExitStack
    folder: RunFolder | None = None
    before: StoppedRun | None = None
    trial_room: Path | None = None
    limit: MemoryLimit | None = None  # of this process
    start: StartOfRun = NO_START  # with the model of another run
    # set when the data are loaded
    inputs: Inputs = field(init=False)
    plan: RunPlan = field(init=False)
    record: RunRecord = field(init=False)
    records: list[dict[str, Any]] = field(default_factory=list)  # one an epoch
    # set when the workers are ready
    training: Trainer = field(init=False)
    truth: GroundTruth = field(init=False)
    keep_best: bool = False
    model: RunModel = field(init=False)  # once training has ended

    @property
    def watch(self) -> Watcher:
        """The watcher that shows what goes on."""
        return self.phases.watch

    def cluster(self, *, has_test: bool) -> Cluster:
        """Return the workers, as the program's methods get them."""
        workers = self.plan.all_workers
        slack = assumed_slack(self.options.slack) if workers > 1 else 0
        return Cluster(workers, slack, has_test, bool(self.start.model.known))

    @property
    def path(self) -> Path | None:
        """The path of the folder, if there is one."""
        return self.folder.path if self.folder else None

    @property
    def room(self) -> Path | None:
        """The folder in which large files lie while it goes on; None: that of temporary files."""
        return self.path or self.trial_room
