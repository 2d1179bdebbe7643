"""Forks of this process: copies of it, each of which does one piece of work beside it and ends. The
result is in files; of their memory nothing comes back.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from select import POLLHUP, poll
from time import monotonic
from typing import Any

from tux.base.memory import anonymous, free

LIMIT = 300
"""Seconds of processor time that a fork may take: none stays for ever."""

LONGEST = 3 * LIMIT
"""Seconds by the clock: a fork that waits for a lock, which a thread of its parent had when it was
made, takes no processor time.
"""

DEATH_SIGNAL = 1  # of prctl: what this process gets when its parent is gone


class Fork:
    """A fork that does a piece of work; `take` makes the result from its files, or does the work
    here if it has failed or takes too long. `end` is a pipe that the system closes when it ends.
    """

    def __init__(self, process: int, end: int, take: Callable[[], Any]) -> None:
        self._process, self.end, self._take = process, end, take
        self._result: Any = None
        self._deadline = monotonic() + LONGEST

    @property
    def is_at_work(self) -> bool:
        """True until somebody has waited for its end."""
        return self._process > 0

    @property
    def milliseconds_left(self) -> float:
        """The time that it may still take."""
        return max(1000 * (self._deadline - monotonic()), 0.0)

    def await_end(self) -> None:
        """Wait until the fork has ended, and end it if it takes too long."""
        if self._process:
            ends = poll()
            ends.register(self.end, POLLHUP)
            if not ends.poll(self.milliseconds_left):
                self._send_kill()
            with suppress(ChildProcessError):  # somebody else has waited for it
                os.waitpid(self._process, 0)
            os.close(self.end)
            self._process = 0

    def result(self) -> Any:
        """Wait until the fork has ended, and return the result. Raise what `take` raises."""
        if self._result is None:
            self.await_end()
            self._result = self._take()
        return self._result

    def kill(self) -> None:
        """End the fork."""
        if self._process:
            self._send_kill()
            self.await_end()

    def _send_kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)


class Forks:
    """The forks that work for this process, `most` at a time, each with a name. They are killed at
    the end of the context.
    """

    def __init__(self, most: int) -> None:
        self._most = most if sys.platform == "linux" else 1
        self._forks: dict[str, Fork] = {}

    def get(self, name: str) -> Fork | None:
        """Return the fork of this name, if it was started."""
        return self._forks.get(name)

    def start(self, name: str, work: Callable[[], object], take: Callable[[], Any]) -> Fork | None:
        """Start a fork that does `work`, when fewer than the most are at work; see `Fork` for
        `take`. None if there is one at most, or none can be started; or if memory may not suffice
        for what this process changes meanwhile, which the system then holds twice.
        """
        if self._most < 2 or self._most * anonymous() > (free() or 0):
            return None
        self._await_room()
        parent = os.getpid()
        end, theirs = os.pipe()
        try:
            with warnings.catch_warnings():  # other threads hold nothing that the work needs
                warnings.simplefilter("ignore", DeprecationWarning)
                process = os.fork()
            if not process:
                _work_as_fork(work, parent)
        except OSError:
            os.close(end)
            return None
        finally:
            os.close(theirs)
        self._forks[name] = Fork(process, end, take)
        return self._forks[name]

    def _await_room(self) -> None:
        """Wait until fewer forks are at work than may be."""
        busy = {each.end: each for each in self._forks.values() if each.is_at_work}
        ends = poll()
        for end in busy:
            ends.register(end, POLLHUP)
        left = min((each.milliseconds_left for each in busy.values()), default=0)
        ended = {end for end, _ in ends.poll(left if len(busy) >= self._most else 0)}
        for end, each in busy.items():
            if end in ended or not each.milliseconds_left:
                each.await_end()

    def await_all(self) -> None:
        """Wait until all have ended, and take their results. Raise what one of these raises."""
        for each in self._forks.values():
            each.result()

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._forks.values():
            each.kill()


def _work_as_fork(work: Callable[[], object], parent: int) -> None:
    """Do the work of a fork, and end this process."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() == parent:
            _leave_to_parent()
            gc.freeze()  # what it has of its parent is not searched for garbage
            work()
            code = 0
    finally:
        os._exit(code)


def _leave_to_parent() -> None:
    """Handle no signals, and write nothing: the parent does, and says what is wrong."""
    import resource

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    with suppress(OSError, ValueError):  # there is a lower limit
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    sys.stdout = sys.stderr = open(
        nowhere, "w", encoding="utf-8"
    )  # which may be others, as in tests
