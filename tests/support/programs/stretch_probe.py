"""The probe in training: epochs that run as one pass, some of which are judged, some kept, and a
program that converges. Each read is checked as in the simulation of clocks, and so are the metrics
of each record, the masters of each state, and where each worker stops.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
from support.programs.probe import Simulation
from support.programs.probe_programs import OF_VERTICES, OneTypeProbe, TwoTypesProbe
from support.programs.probe_scenario import ProbeScenario
from support.programs.programs import Calling

from tux.clock.clock import ENDLESS, assumed_slack
from tux.engine.training import Training
from tux.program.stage import Stage

FINITE = (0, 1, 2, 3, 4)
SLACKS = (*FINITE, ENDLESS)
SELDOM = 100  # epochs, more than a run has: nothing is judged


class LookAtEnd(Stage):
    """A stage of an evaluation: all is answered, so all that was done shows."""

    def __init__(self, simulation):
        self.simulation = simulation

    def prepare(self, worker, batch=None):
        return Calling(worker, self.look)

    def look(self, worker, block):
        """Note what all rows show, and after how many clocks."""
        log = self.simulation.log
        log.note_end(worker)
        self.simulation.judged[worker.rank].append(log.calls[worker.rank, "start"])


class ScriptedMarks:
    """A policy that keeps the states at some marks, the same on all workers."""

    keeps = True

    def __init__(self, simulation, rank):
        self.simulation, self.rank = simulation, rank

    def keeps_state(self, mark, epoch):
        """Return whether the state is kept."""
        return mark in self.simulation.marks

    def keep(self, state):
        """Note the state, and that all clocks so far are over on this worker."""
        simulation = self.simulation
        simulation.log.note_end(simulation.workers[self.rank])
        done = simulation.log.calls[self.rank, "start"]
        simulation.states[self.rank].append((done, state.copy()))
        yield from ()

    def finish(self):
        """There is nothing to wait for."""


class StretchSimulation(Simulation):
    """A scenario that is trained for some epochs. `every`: which are judged; `enough`: the metric
    from which on the program says that it has converged, up to `too_much`; `marks`: those at which
    states are kept.
    """

    # often all, so that a worker may know more than the slack promises
    arrivals = 0, 1, 10, 100, 100

    def __init__(self, seed, slack=None):
        draw = random.Random(-1 - seed)
        slack = SLACKS[seed // 4 % len(SLACKS)] if slack is None else slack
        drawn = ProbeScenario.draw_scenario(seed, slack=assumed_slack(slack))
        self.slack = slack
        self.most = draw.randint(2, 9)
        self.every = draw.choice((1, 2, 3, SELDOM, SELDOM))
        self.enough = draw.choice((math.inf, draw.randint(1, 60)))
        self.too_much = self.enough + draw.choice((math.inf, draw.randint(10, 80)))
        self.marks = {draw.randrange(40) for _ in range(draw.choice((0, 0, 2, 6)))}
        if draw.random() < 0.6:  # one clock an epoch
            drawn = replace(drawn, size={}, plain=False, order="shuffled")
        if draw.random() < 0.4:  # nothing but `converged` ends a stretch
            self.most, self.every, self.marks = 12, SELDOM, set()
            self.enough = draw.randint(1, 60)
            self.too_much = self.enough + draw.choice((math.inf, 60))
        self.records = [[] for _ in range(drawn.workers)]
        self.states, self.judged = ([[] for _ in range(drawn.workers)] for _ in range(2))
        drawn = replace(drawn, epochs=1, repeat="", sync=True)
        super().__init__(drawn, slack)

    def make_program(self):
        """Return the program, whose stages note what they see."""
        simulation, s = self, self.scenario

        class JudgedProbe(OneTypeProbe if s.one_type else TwoTypesProbe):
            def stages(self):
                simulation.epochs.append(s.stages(self, simulation.log, simulation.busy))
                return simulation.epochs[-1]

            def evaluate(self):
                return [LookAtEnd(simulation)] if simulation.every < SELDOM else []

            def converged(self, metrics):
                return simulation.converges(metrics["shown"])

        return JudgedProbe(slots=s.workers)

    def prepare(self):
        """Make the training of each worker."""
        self.trainings = [Training(worker) for worker in self.workers]
        for rank, training in enumerate(self.trainings):
            training.marks = ScriptedMarks(self, rank)

    def passes(self, worker):
        """Train on a worker; yield whenever it waits."""
        for record in self.trainings[worker.rank].steps(self.most, every=self.every):
            if record is None:
                yield
            else:
                self.records[worker.rank].append(record)
        self.log.note_end(worker)

    def check(self):
        """Check all reads and masters, and what belongs to epochs. Return how stale the stalest
        read at a clock's start was.
        """
        stalest = super().check()
        applies = np.cumsum([0, *self.expected_applies()])
        clocks, rest = divmod(len(self.log.blocks[0]), len(self.records[0]))
        assert clocks and not rest, "8: a record is of no epoch"
        shown = [
            int(applies[clocks * epoch])
            for epoch in range(1, self.most + 1)
            if clocks * epoch < len(applies)
        ]
        last = self.expected_last(clocks, shown)
        for rank, records in enumerate(self.records):
            assert [(r["epoch"], r["clock"]) for r in records] == [
                (epoch, clocks * epoch) for epoch in range(1, last + 1)
            ], "8: a worker stops at another epoch, or a record is of another one"
            assert [r["shown"] for r in records] == shown, "9: metrics of another version"
            thirds = [clocks * epoch // 3 * 3 for epoch in range(last + 1)]
            assert [r.get("third") for r in records] == [
                now if now > before else None for before, now in pairwise(thirds)
            ], "9: metrics of another epoch"
            sent = sum(r["bytes_sent"] for r in records)
            assert sent == sum(self.workers[rank].total_sent().values()), "10: costs"
            passes = [t // clocks for t in range(clocks * last)]
            assert self.log.passes[rank] == passes, "11: a clock sees another epoch"
            judged = [
                clocks * epoch
                for epoch in range(1, last + 1)
                if self.every < SELDOM and (epoch % self.every == 0 or epoch == last)
            ]
            assert self.judged[rank] == judged, "13: another epoch is judged"
        self._check_states(clocks, last, shown)
        return stalest

    def _check_states(self, clocks, last, shown):
        """Assert that each state has all of the clocks up to its mark and nothing else."""
        wanted = {mark + 1 for mark in self.marks if mark < clocks * last}
        if self._stops(last, clocks, shown):
            wanted.add(clocks * last)
        for states in self.states:
            assert [at for at, _ in states] == sorted(wanted), "12: other states are kept"
        for rank, states in enumerate(self.states):
            for at, state in states:
                head = state.head
                assert head.epoch * clocks + head.turns == at == head.clock, "12: another clock"
                for name in self.workers[rank].server.tables:
                    mine = self.home(name) == rank
                    sent = self.books(name)[1]
                    for kind in OF_VERTICES[: 1 + self.scenario.segments]:
                        kept = [state.arrays[f"masters/{name}/{f}"] for f in kind[:2]]
                        assert all(
                            (array == book[at, mine]).all()
                            for array, book in zip(kept, sent, strict=True)
                        ), "12: a state lacks a clock, or has one more"

    def expected_last(self, clocks, shown):
        """Return the epoch after which all workers must stop. `shown`: metrics by epoch."""
        first = 1
        while True:
            last = self._end_of_stretch(first, clocks, shown)
            if self._are_sure(first, last, clocks, shown) or last == self.most:
                return last
            first = last + 1

    def _stops(self, last, clocks, shown):
        """Return whether the run stops at its last epoch as the program has converged."""
        first = 1
        while (end := self._end_of_stretch(first, clocks, shown)) < last:
            first = end + 1
        return self._are_sure(first, last, clocks, shown)

    def _are_sure(self, first, last, clocks, shown):
        return any(self._is_sure(first, e, clocks, shown) for e in range(first, last + 1))

    def _end_of_stretch(self, first, clocks, shown):
        apart = self.slack != 0 and self.scenario.workers > 1
        for last in range(first, self.most):
            if not apart or self.every < SELDOM and last % self.every == 0:
                return last
            if clocks * last - 1 in self.marks:
                return last
            begun = clocks * (last + 1 - first)
            known = (
                last - 1 if self.slack == ENDLESS else first - 1 + (begun - self.slack) // clocks
            )
            if self._are_sure(first, known, clocks, shown):
                return last
        return self.most

    def _is_sure(self, first, epoch, clocks, shown):
        """Return whether the program says that it has converged after an epoch and so many before
        it in a stretch that they have seen each other.
        """
        row = 0
        while row < epoch - first + 1 and self._converges(epoch - row, shown):
            row += 1
        if self.slack == ENDLESS:
            return row == epoch - first + 1 or row > 1
        return row > 0 and (row == epoch - first + 1 or row * clocks > self.slack)

    def _converges(self, epoch, shown):
        return epoch <= len(shown) and self.converges(shown[epoch - 1])

    def converges(self, shown):
        """Return whether the program says that it has converged, with a metric."""
        return self.enough <= shown < self.too_much
