"""What can be found out about another process of this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A process, so that no later one of the same number is taken for it: in a container, the
    number is often the same at each start. What is not known is "".

    `space`: in which numbers of processes mean the same (Linux: of a container). `start`: when it
    was started, in the system's ticks.
    """

    number: int
    host: str
    space: str = ""
    start: str = ""

    @property
    def is_near(self) -> bool:
        """Whether it is a process of this machine and this container."""
        known = {self.space, _space()} - {""}
        return self.host == socket.gethostname() and len(known) < 2

    @property
    def lives(self) -> bool:
        """Whether a process that is near has not ended."""
        if self.number <= 0 or not lives(self.number):
            return False
        return not self.start or _start(self.number) in ("", self.start)


def this() -> Process:
    """The process that asks."""
    return Process(os.getpid(), socket.gethostname(), _space(), _start(os.getpid()))


def is_stopped(process: int) -> bool:
    """Whether a process is stopped by a signal, where this can be found out (Linux)."""
    return _state(process) in ("T", "t")


def lives(process: int) -> bool:
    """Whether there is a process of this number that has not ended. One that has ended keeps its
    number until its parent asks for its exit code, which some containers' first process never does.
    """
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is another user's
        pass
    return _state(process) not in ("Z", "X")


def _state(process: int) -> str:
    """A process's state, as the letter that Linux has for it; "" where it is not known."""
    return _stat(process, 0)


def _start(process: int) -> str:
    return _stat(process, 19)


def _stat(process: int, field: int) -> str:
    """What Linux tells of a process, counted from behind its name; "" where it is not known."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        return text.rpartition(")")[2].split()[field]  # the name may have blanks
    except (OSError, IndexError):
        return ""


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
