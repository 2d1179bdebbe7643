"""A run whose stages are asked for one after the other, on workers in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from tux.base.errors import UsageError
from tux.clock.steps import Step
from tux.cluster.simulated import SimulatedCluster
from tux.engine.checks import changes_after, check_finite, refuse_wrong_cut
from tux.engine.eval_rows import fetch_eval_rows
from tux.engine.worker import Worker
from tux.program.program import Program, returned_stages, stages_of
from tux.program.stage import Stage, TotalAddition, VertexChange
from tux.runs.kept_steps import KeptSteps
from tux.stages.program_stages import complete_pass

Part = tuple[bool, list[list[Step]]]
"""Stages in a row, as the steps of each, and whether they visit held-out edges."""


class RunOnDemand:
    """A run of a program on some workers. Making it runs the stages of ``setup()``, with the
    statistics that the program declares.

    Each run of stages is an epoch of its own: random numbers are new, and metrics are forgotten
    before. A delta or a total that it leaves waits for an Apply or a GlobalSync of a later one.
    """

    def __init__(self, workers: Sequence[Worker], seed: int) -> None:
        self.workers, self.program, self.seconds = workers, workers[0].program, 0.0
        self.is_out_of_step = False  # whether workers have stopped at different places
        one = workers[0]
        self._about = one.cluster
        self._messages, self._kept = SimulatedCluster(workers, seed), KeptSteps(workers)
        self._returned: dict[str, list[Stage]] = {}  # by the method of the program
        self._left: dict[str, TotalAddition] = {}  # totals that wait for a GlobalSync
        self._changes = frozenset[VertexChange]()  # that wait for an Apply
        for worker in workers:
            refuse_wrong_cut(worker)
        self._pass(self._parts(stages_of(self.program, "setup", self._about)), 0)
        for worker in workers:
            worker.clock = 0

    @property
    def epoch(self) -> int:
        """The number of runs of stages so far."""
        return self.workers[0].epoch

    def run(
        self, stages: Sequence[Stage], *, most: int = 0, ends: Callable[[], bool] = lambda: False
    ) -> dict[str, float]:
        """Run stages once, in order; return the metrics that have a value. KeyboardInterrupt if
        `ends` says so before they begin. `most`: the epochs of the whole run, if they are known.

        DataError where a field stops being finite. After another error one worker goes on with the
        fields as they are, without what was gathered; of several, see `is_out_of_step`.
        """
        completed, left = complete_pass(self.program, stages, self._left)
        changes = changes_after(self.program, completed, self._changes)
        parts, number = self._parts(completed), self.epoch + 1
        if ends():
            raise KeyboardInterrupt
        for worker in self.workers:
            worker.most_epochs = most or max(self.program.epochs, number)
            worker.forget_metrics()
        self._pass(parts, None)
        self._left, self._changes = left, changes
        for worker in self.workers:
            worker.epoch = number
        for worker in self.workers:
            check_finite(worker)
        return self.workers[0].metrics()

    def evaluate(self) -> dict[str, float]:
        """Run what measures the model after an epoch: the measures of held-out data, and the
        stages of ``evaluate()``. Return the metrics that have a value.
        """
        if "evaluate" not in self._returned:
            self._returned["evaluate"] = stages_of(self.program, "evaluate", self._about)
        self._pass(self._parts(self._returned["evaluate"]), 0)
        return self.workers[0].metrics()

    def epoch_stages(self) -> list[Stage]:
        """Return the stages of the program's own epoch. UsageError if it has none."""
        if type(self.program).stages is Program.stages:
            raise UsageError(
                f"{type(self.program).__name__} has no stages(), which an epoch runs",
                do="run stages by s.run(*stages)",
            )
        if "stages" not in self._returned:
            self._returned["stages"] = returned_stages(self.program, "stages", self._about)
        return self._returned["stages"]

    def _parts(self, stages: Sequence[Stage]) -> list[Part]:
        """Prepare stages, and cut them where one visits held-out edges behind others that do
        not.
        """
        visits = [_visits_held_out(stage) for stage in stages]
        steps = zip(visits, self._kept.of(stages), strict=True)
        return [(key, [each for _, each in part]) for key, part in groupby(steps, lambda s: s[0])]

    def _pass(self, parts: Sequence[Part], slack: int | None) -> None:
        """Run all parts on all workers."""
        start = time.perf_counter()
        try:
            self._messages.finish(
                {worker.rank: _execute(worker, parts, slack) for worker in self.workers}
            )
            self._messages.deliver_rest()
        except BaseException:
            self.is_out_of_step = len(self.workers) > 1
            for worker in self.workers:
                worker.running, self._left = None, {}
                for table in worker.tables.values():
                    table.clear_deltas()
            raise
        finally:
            self.seconds += time.perf_counter() - start


def _execute(worker: Worker, parts: Sequence[Part], slack: int | None) -> Iterator[None]:
    """Run the parts on one worker, each when all clocks before it have ended; yield while it waits
    for a message.
    """
    for held_out, steps in parts:
        if held_out:
            yield from fetch_eval_rows(worker)
        own = [each[worker.rank] for each in steps]
        yield from worker.execute(own, 0 if held_out else slack)


def _visits_held_out(stage: Stage) -> bool:
    """Return whether a stage, or one inside it, visits held-out edges."""
    return stage.held_out or any(_visits_held_out(each) for each in stage.inside)
