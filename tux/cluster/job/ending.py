"""The agreement of the workers of a job on the epoch with which it ends, when the user has asked to
end. State machines without sockets.

    End      launcher to workers: tell in which epoch you are
    At       worker to launcher: in this one; the worker passes no further mark without an answer
    Until    launcher to workers, when all have told: the job ends with the last of these epochs

A worker answers when the message comes in, not at a mark: at a mark it might be waited for by
others, which could then not answer.
"""

from __future__ import annotations


class WorkerEnding:
    """A worker's part. Another thread may set its attributes."""

    def __init__(self) -> None:
        self.asked = False
        self.until: int | None = None  # the epoch at whose end the run ends

    @property
    def holds(self) -> bool:
        """True if the next mark may not be passed yet."""
        return self.asked and self.until is None


class LauncherEnding:
    """The launcher's part, for so many workers."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self.asked = False
        self._epochs: dict[int, int] = {}  # by worker

    def at(self, rank: int, epoch: int) -> int | None:
        """Note that a worker is in `epoch`. Return the epoch with which the job ends, when all have
        told. ValueError if nobody has asked it, or it has told before.
        """
        if not self.asked or rank in self._epochs:
            raise ValueError("nobody has asked where it is")
        self._epochs[rank] = epoch
        return self.until

    @property
    def until(self) -> int | None:
        """The epoch with which the job ends; None: not known yet."""
        return max(self._epochs.values()) if len(self._epochs) == self._workers else None
