"""One piece of work at a time on a thread of its own, such as writing a file while training goes
on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from tux.base.errors import DiskError, TuxError

Result = TypeVar("Result")

HEED = 0.1
"""Seconds after which a wait heeds a signal that came just before it began."""


class Outcome(NamedTuple, Generic[Result]):
    """How work has ended: with a result, or with the error of a disk."""

    result: Result | None
    error: DiskError | None


class _Work(Generic[Result]):
    """What the thread does, once, and what has come of it.

    Ctrl-C may interrupt the main thread while it starts the thread. So the work belongs to who
    claims it first: the thread, which then does it, or whoever finds that there is no thread.
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._claimed = threading.Lock()
        self.begun = False
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="tux background")

    def claim(self) -> bool:
        """Whether the work is the caller's: once only."""
        return self._claimed.acquire(blocking=False)

    def _run(self) -> None:
        if self.claim():
            self.begun = True
            try:
                self.result = self._work()
            except BaseException as error:
                self.error = error


class Background(Generic[Result]):
    """Work on a thread. Only one thread may use this object.

    The interpreter waits for the thread before it ends: nothing is cut off in the middle.
    """

    def __init__(self) -> None:
        self._last: _Work[Result] | None = None

    def start(self, work: Callable[[], Result]) -> bool:
        """Begin `work`, unless the last one is still under way: then nothing is done, and the
        answer is False. An outcome that nobody has asked for is dropped.

        TuxError if the system gives no thread.
        """
        if self.busy():
            return False
        self._last = _Work(work)
        try:
            self._last.thread.start()
        except RuntimeError as error:
            raise TuxError(
                f"a thread that writes checkpoints cannot be started: {error}",
                do="choose fewer threads with --threads, or raise the limit of processes "
                "(ulimit -u)",
            ) from error
        return True

    def busy(self) -> bool:
        """Whether work is under way."""
        work = self._last
        if work is None or work.thread.is_alive():
            return work is not None
        # Its start was interrupted: now it never begins, unless it has since the first look.
        return not work.claim() and work.thread.is_alive()

    def poll(self) -> Outcome[Result] | None:
        """How the last work has ended: told once, and None as long as it is under way.

        What it raised other than a DiskError is raised here.
        """
        if self.busy() or self._last is None:
            return None
        work, self._last = self._last, None
        if not work.begun:
            return None
        if work.error is not None and not isinstance(work.error, DiskError):
            raise work.error
        return Outcome(work.result, work.error)

    def wait(self, deadline: float) -> bool:
        """Wait until no work is under way, or the moment `deadline` of `time.monotonic`; returns
        whether none is. Ctrl-C ends the wait, not the work.
        """
        while self.busy():
            left = deadline - time.monotonic()
            if left <= 0 or self._last is None:
                break
            self._last.thread.join(min(left, HEED))
        return not self.busy()
