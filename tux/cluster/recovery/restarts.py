"""The rules for starting the workers of a job again: after which errors, how often, and from where.
No sockets, no processes.

A worker that is lost takes with it a part of the state that no other has. So all workers are
started again, together, from the same checkpoint or from the beginning of the run: an incarnation
of the job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tux.base.errors import DeadlinePassed, PeerLost, TuxError
from tux.base.text import plural
from tux.checkpoint.saved import SavedState
from tux.checkpoint.snapshot import describe_place
from tux.cluster.rendezvous.attendance import MachineLeft, NotJoined


class Start(NamedTuple):
    """The point from which the workers of an incarnation go on: a checkpoint, or number 0, the
    beginning.
    """

    checkpoint: int = 0
    epochs: int = 0  # that have ended
    clocks: int = 0  # of the next epoch that have ended
    states: Sequence[SavedState] = ()  # the workers' files, by rank

    def __str__(self) -> str:
        """Describe it in words, after "goes on from"."""
        if not self.checkpoint:
            return "the beginning"
        return f"checkpoint {self.checkpoint}, {describe_place(self.epochs, self.clocks)}"


class Recovery(Protocol):
    """An object that knows the checkpoints of a run and its records."""

    def latest(self) -> int:
        """Return the number of the newest checkpoint, be it whole or damaged; 0 if there is
        none.
        """

    def newest(self) -> Start:
        """Find the newest checkpoint that is whole, or the beginning. All its bytes are read."""

    def go_on(self, start: Start, why: str, count: str) -> None:
        """Prepare for all workers to go on from `start`: remove later records, and tell the user
        `why`, and which restart this is.
        """


class Restarts:
    """A count of restarts: the workers may be started again `allowed` times, and as often again
    after each new checkpoint.
    """

    def __init__(self, allowed: int, begun: int = 0) -> None:
        """Begin to count. `begun`: the number of the checkpoint that the job goes on from."""
        self.allowed, self.used = allowed, 0
        self._begun = begun

    def allow_restart(self, error: TuxError, latest: int) -> bool:
        """Decide whether workers are started again after an error, and count it if so; `latest` is
        the number of the newest checkpoint.
        """
        if latest > self._begun:
            self._begun, self.used = latest, 0
        if self.used == self.allowed or not is_loss(error):
            return False
        self.used += 1
        return True

    def note_start(self, checkpoint: int) -> None:
        """Note the checkpoint from which the workers that were lost go on. It may be one before a
        damaged one, or one that has become whole since they were lost.
        """
        if checkpoint > self._begun:
            self.used = 1
        self._begun = checkpoint

    @property
    def none_left(self) -> str:
        """The text that is added to an error after the last restart."""
        are = "are" if self.allowed > 1 else "is"
        used_up = f"; the {plural(self.allowed, 'restart')} of --restarts {are} used up"
        return used_up if self.allowed else ""

    def __str__(self) -> str:
        return f"restart {self.used} of {self.allowed}"


def is_loss(error: BaseException) -> bool:
    """Return whether an error says that a worker died, hangs or is cut off: then the same job may
    succeed when it is started again. Errors of data, program, usage, version and disk would come
    again.
    """
    return isinstance(error, PeerLost | DeadlinePassed) and not isinstance(
        error, NotJoined | MachineLeft
    )
