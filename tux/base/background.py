"""One piece of work at a time on a thread of its own, such as writing a file while training goes
on.
"""

from __future__ import annotations

import _thread
import atexit
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from tux.base.errors import DiskError, TuxError

Result = TypeVar("Result")

HEED = 0.1
"""Seconds after which a wait heeds a signal that came just before it began."""


class Outcome(NamedTuple, Generic[Result]):
    """The end of a piece of work: its result, or the error of a disk."""

    result: Result | None
    error: DiskError | None


THREAD, STARTER = "thread", "starter"


class _Work(Generic[Result]):
    """A function that a thread calls once, and its result.

    Ctrl-C may interrupt the main thread between any two of its steps, also while it starts the
    thread. So the work belongs to the first that asks for it: to the thread, which then does it, or
    to the starter, which cannot know whether there is a thread. `threading.Thread` is not used: an
    interrupt in its `start` may leave a lock taken, and one in its `join` may take a running thread
    for ended.
    """

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._whose: dict[str, str] = {}
        self.given = False  # true if the thread is known to have been started
        self.ended = False
        self.changed: SimpleQueue[None] = SimpleQueue()  # one entry after `ended`
        self.result: Result | None = None
        self.error: BaseException | None = None

    def belongs_to(self, who: str) -> bool:
        """Return whether the work belongs to `who`; the first that asks gets it."""
        return self._whose.setdefault("", who) == who

    def is_under_way(self) -> bool:
        """Return whether the work is still to be done, or being done."""
        return not self.ended and (self.given or not self.belongs_to(STARTER))

    def run(self) -> None:
        """Run the work, unless it belongs to the starter, and note its result or error. The thread
        calls this.
        """
        if self.belongs_to(THREAD):
            try:
                self.result = self._work()
            except BaseException as error:
                self.error = error
            self.ended = True
            self.changed.put(None)
        _begun.discard(self)


_begun: set[_Work[Any]] = set()  # and not known to have ended


@atexit.register
def _wait_for_all() -> None:
    for work in list(_begun):
        while work.is_under_way():
            with suppress(Empty):
                work.changed.get(timeout=HEED)


class Background(Generic[Result]):
    """Work on a thread. Only one thread may use this object.

    The interpreter waits for the thread before it ends: nothing is cut off in the middle.
    """

    def __init__(self) -> None:
        self._last: _Work[Result] | None = None

    def start(self, work: Callable[[], Result]) -> bool:
        """Begin `work`, and return True. If the last work is still under way, do nothing, and
        return False. An outcome that nobody has asked for is dropped; an error that `poll` would
        raise is raised here.

        Raises TuxError if the system gives no thread.
        """
        if self.is_busy():
            return False
        self.poll()
        self._last = made = _Work(work)
        _begun.add(made)
        try:
            _thread.start_new_thread(made.run, ())
        except RuntimeError as error:
            raise TuxError(
                f"a thread that writes checkpoints cannot be started: {error}",
                do="choose fewer threads with --threads, or raise the limit of processes "
                "(ulimit -u)",
            ) from error
        made.given = True
        return True

    def is_busy(self) -> bool:
        """Return whether work is under way."""
        return self._last is not None and self._last.is_under_way()

    def poll(self) -> Outcome[Result] | None:
        """Return the outcome of the last work, once; None as long as it is under way, and after
        that.

        An error of the work other than a DiskError is raised here.
        """
        if self.is_busy() or self._last is None:
            return None
        work, self._last = self._last, None
        if not work.ended:  # it never began
            return None
        if work.error is not None and not isinstance(work.error, DiskError):
            raise work.error
        return Outcome(work.result, work.error)

    def wait(self, deadline: float) -> bool:
        """Wait until no work is under way, or the moment `deadline` of `time.monotonic`; returns
        whether none is. Ctrl-C ends the wait, not the work.
        """
        while (work := self._last) is not None and work.is_under_way():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            with suppress(Empty):
                work.changed.get(timeout=min(left, HEED))
        return True
