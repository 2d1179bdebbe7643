"""Keeps the states of a worker where the launcher wants them: on a thread of its own, while the
worker goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from tux.base import memory
from tux.base.background import Background
from tux.base.errors import TuxError
from tux.checkpoint import shard
from tux.checkpoint.schedule import Allowance, CheckpointInterval, Word
from tux.checkpoint.snapshot import State
from tux.cluster.job.ending import WorkerEnding
from tux.cluster.transport.control import (
    At,
    Control,
    End,
    Keep,
    MarkPassed,
    MarkReached,
    Pass,
    StateKept,
    StateNotKept,
    Until,
)

DISK_SECONDS = 600.0
"""Seconds that the end of a run waits for a disk that takes its last state."""

SHARE = 4
"""The part of the free memory that the copies of all workers of a machine may take together is
one of so many.
"""

Write = Callable[[str, State], shard.Digest]
"""Writes a state to a file; "": to one from which it is sent."""


class WorkerMarks:
    """A worker's marks: see `tux.engine.stretch.CheckpointPolicy`. `say` sends a control message
    to the launcher, from any thread; `copied(state)` is a copy of a state, or the state itself if
    there is no memory for one; `send(mark)` sends the state that was written last to the launcher.
    """

    def __init__(
        self,
        rank: int,
        every: CheckpointInterval | None,
        last: int,
        say: Callable[[Control], None],
        write: Write,
        copied: Callable[[State], State] = State.copy,
        epoch: Callable[[], int] = lambda: 0,
        send: Callable[[int], None] = lambda mark: None,
    ) -> None:
        """Begin with mark 0. `last`: the run's last epoch; `epoch()`: the one that has ended
        last.
        """
        self._rank, self._say, self._write, self._copied = rank, say, write, copied
        self._send = send
        self._allowance = Allowance(every, last) if every else None
        self._epoch, self._ending = epoch, WorkerEnding()
        self._last = last
        self._mark = 0  # the one asked about last
        self._answers: dict[int, Keep] = {}  # the launcher's, by mark
        self._background: Background[None] = Background()

    def take_control(self, control: Pass | Keep | End | Until) -> bool:
        """Take a control message of the launcher; return whether it makes sense. Another thread may
        call this.
        """
        match control:
            case Pass(upto, keep) if self._allowance:
                self._allowance.take_word(Word(upto, keep))
            case Keep(mark) if self._allowance:
                self._answers[mark] = control
            case End():
                self._ending.asked = True  # first: from here on no mark is passed
                self._say(At(self._epoch() + 1))
            case Until(epoch) if self._ending.holds:
                self._ending.until = epoch
            case _:
                return False
        return True

    def ending_seconds(self) -> float | None:
        """Return 0 if the run ends at the end of the epoch that has just ended, else None."""
        until = self._ending.until
        return 0.0 if until is not None and self._epoch() >= until else None

    def keeps_state(self, mark: int, epoch: int | None) -> bool | None:
        """Return whether the state at a mark is kept; None: another word of the launcher must
        come.
        """
        if self._ending.holds:
            return None
        if self._allowance is None:
            return False
        self._mark, wanted = mark, self._allowance.keeps_state(mark, epoch)
        if self._rank == 0 and self._allowance.reports():
            self._say(MarkPassed(mark))
        return wanted

    def keep(self, state: State) -> Iterator[None]:
        """Copy the state when the launcher has said where it goes, or write it at once."""
        mark = self._mark
        self._background.poll()  # raises faults of tux in the last writing
        # none follows the last one, which is not left out
        head = state.head
        is_last = head.epoch == self._last or head.over or self.ending_seconds() is not None
        self._say(MarkReached(mark, is_last))
        while mark not in self._answers:
            yield
        keep = self._answers.pop(mark)
        if keep.path or keep.sends:
            copy = self._copied(state)
            if copy is state or not self._background.start(lambda: self._keep(keep, copy)):
                self._keep(keep, state)

    @property
    def keeps(self) -> bool:
        """True if any state is kept."""
        return self._allowance is not None

    def finish(self) -> None:
        """Wait until the last state is on the disk."""
        self._background.wait(time.monotonic() + DISK_SECONDS)
        self._background.poll()

    def _keep(self, keep: Keep, state: State) -> None:
        try:
            digest = self._write(keep.path, state)
        except TuxError as error:
            self._say(StateNotKept(keep.mark, error.what))
            return
        self._say(StateKept(keep.mark, digest, None if self._rank else state.head))
        if keep.sends:
            self._send(keep.mark)


def copy_if_small(state: State, workers: int) -> State:
    """Copy the state, unless the copies of so many workers of this machine would take more than a
    `SHARE` of the free memory; then return the state itself.
    """
    free = memory.free()
    size = sum(array.nbytes for array in state.arrays.values())
    return state if free is not None and size * workers * SHARE > free else state.copy()
