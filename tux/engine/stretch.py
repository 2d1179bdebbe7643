"""A stretch of epochs: those that run as one pass, as nothing is judged or kept at the end of each
but the last.

Within it clocks go on over the end of an epoch, as the slack allows, so clocks of two epochs and
more may be under way. Then

    metrics     of an epoch are those of the context's version that its last GlobalSync has made
    a record    is made when all clocks of the epoch are finished on this worker; its seconds and
                costs are those since the record before
    the run     stops if the program says that it has converged after epochs in a row that have more
                clocks than the slack: fewer may have seen nothing of each other, so that nothing
                seems to change. And it stops on versions that all workers know by the slack: at
                clock t, those of epochs whose clocks are all up to t - slack - 1. So all stop at
                the end of one epoch, whatever the order of messages
    a mark      at the end of an epoch is passed as one between two clocks; where the state is
                wanted, the stretch ends there, and all clocks are finished

At slack 0, on one worker, and where the stages begin with a Barrier, each epoch is a stretch, as
nothing could run beside its clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from tux.checkpoint.snapshot import State
from tux.engine.clock_loop import ClockLoop, EndedEpoch
from tux.program.program import Program, has_converged


class CheckpointPolicy(Protocol):
    """An object that keeps states of a run at marks: the ends of epochs, and the gaps between two
    clocks of an epoch. Marks are numbered from 0 on, alike on all workers.
    """

    @property
    def keeps(self) -> bool:
        """True if any state is kept; if not, the marks only decide how far the run goes on."""

    def keeps_state(self, mark: int, epoch: int | None) -> bool | None:
        """Return whether the state at a mark is kept; `epoch`: the one that ends there, if one
        does. None: it is known when another message has been taken.
        """

    def keep(self, state: State) -> Iterator[None]:
        """Keep a state, whose arrays change when this ends; yield while messages must be taken."""

    def finish(self) -> None:
        """Wait until the last state is on the disk."""


class MarkedTraining(Protocol):
    """The training that a stretch belongs to, `tux.engine.training.Training`, as it knows it."""

    marks: CheckpointPolicy | None
    asked: Callable[[], float | None]

    def passes_mark(self, epoch: int | None) -> bool | None:
        """Pass a mark; see `CheckpointPolicy.keeps_state`."""

    def is_far(self) -> bool:
        """Return whether the run is asked to end, and the epoch under way will not end soon."""

    def state(self, *, turns: int, loop: ClockLoop) -> State:
        """Return the state of the run, between two clocks."""

    def keep_at_end(self, marks: CheckpointPolicy, state: State) -> Iterator[None]:
        """Keep the state with which the run ends, and wait until it is on the disk."""


class EndedEarly(Exception):  # noqa: N818  a signal, not a fault
    """A signal that the epoch under way is given up."""


class Judging(NamedTuple):
    """The epochs that are judged: each `every`-th and the `last` of the run, if the program
    `evaluates`; with `all`, each one. `slack`: of the workers, None if they do not wait.
    """

    every: int
    last: int
    evaluates: bool
    all: bool
    slack: int | None

    def evaluates_after(self, number: int) -> bool:
        """Return whether the model is measured after an epoch."""
        return number % self.every == 0 or number == self.last

    def ends_after(self, number: int) -> bool:
        """Return whether all clocks must be finished at the end of an epoch."""
        measured = self.evaluates and self.evaluates_after(number)
        return self.all or measured or number == self.last


class Stretch:
    """The epochs of one pass of a training, from the `first` on: see
    `tux.engine.clock_loop.PassEpochs`. `wanted`: whether the state at the end of the last one is
    kept; None: this is not known yet.
    """

    def __init__(
        self,
        training: MarkedTraining,
        program: Program,
        judging: Judging,
        first: int,
        skip: int,
        repeats: bool,
    ) -> None:
        """Take `skip`, the clocks of the first epoch that have ended before. If steps are repeated
        in an epoch, clocks may depend on the results of its first ones: then no state is kept
        within it.
        """
        self._training, self._program = training, program
        self._judging, self._repeats = judging, repeats
        self.number, self.skip = first, skip
        self.wanted: bool | None = None
        self.clocks = 0  # of the pass, up to the end of the last epoch that has ended
        self._before = 0  # and of the one before it
        self._stops_after = 0  # the epoch that lets the run stop
        # clocks before the first of the last epochs in a row after which the program has converged
        self._since: int | None = None

    @property
    def converged(self) -> bool:
        """True if an epoch before the last lets the run stop."""
        return self._stops_after > 0

    def note(self, ended: EndedEpoch) -> None:
        """Note that an epoch has ended, after which another one follows."""
        self.clocks = ended.clocks
        if self.lets_stop(ended.metrics) and not self.converged:
            self._stops_after = ended.number
        self._before = ended.clocks

    def lets_stop(self, metrics: dict[str, float]) -> bool:
        """Return whether the last epoch that has ended, with these metrics, lets the run stop: the
        program says that it has converged after this one and enough before it. The first one of a
        stretch has seen all before it.
        """
        if not has_converged(self._program, metrics):
            self._since = None
            return False
        self._since = since = self._before if self._since is None else self._since
        slack = self._judging.slack
        return since == 0 or (
            since < self._before if slack is None else self.clocks - since > slack
        )

    def goes_on(self, known: int) -> bool | None:
        """Return whether the next epoch follows in this pass; see `PassEpochs`."""
        training = self._training
        if self._judging.ends_after(self.number):
            return False
        self.wanted = training.passes_mark(self.number)
        if self.wanted is None:
            return None
        stops = 0 < self._stops_after <= known or training.asked() is not None
        if self.wanted or stops:
            return False
        self.wanted = None
        self.number += 1
        return True

    def keeps_state(self) -> bool | None:
        """Return whether the state at this mark is kept. EndedEarly if the run ends here."""
        training = self._training
        if self._repeats:
            return False
        far = training.is_far()
        if training.marks is None or not training.marks.keeps:
            if far:
                raise EndedEarly
        wanted = training.passes_mark(None)
        return True if far else wanted

    def keep(self, loop: ClockLoop) -> Iterator[None]:
        """Keep the state, which may be that with which the run ends."""
        training = self._training
        assert training.marks is not None
        state = training.state(turns=loop.turns, loop=loop)
        if training.is_far():
            yield from training.keep_at_end(training.marks, state)
            raise EndedEarly
        yield from training.marks.keep(state)
