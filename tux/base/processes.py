"""The state of other processes of this machine."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """A process. The other fields tell it from a later process of the same `number`: in a
    container, the number is often the same at each start. A field that is not known is "".

    `space`: the namespace of the numbers of processes (Linux: that of a container). `start`: the
    time of its start, in ticks of the system.
    """

    number: int
    host: str
    space: str = ""
    start: str = ""

    @property
    def is_near(self) -> bool:
        """True if it is a process of this machine and this container."""
        known = {self.space, _space()} - {""}
        return self.host == socket.gethostname() and len(known) < 2

    @property
    def is_alive(self) -> bool:
        """True if a process that `is_near` has not ended."""
        if self.number <= 0 or not is_alive(self.number):
            return False
        return not self.start or _start(self.number) in ("", self.start)


def this_process() -> Process:
    """Return the process that calls this."""
    return Process(os.getpid(), socket.gethostname(), _space(), _start(os.getpid()))


def is_stopped(process: int) -> bool:
    """Return whether a process is stopped by a signal, where this can be found out (Linux)."""
    return _state(process) in ("T", "t")


def watch_parent(folder: Path, parent: int) -> None:
    """End this process, and remove a folder, when its parent has died without saying so; at once
    if that was long ago.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(4)

    if os.getppid() != parent:
        watch()
    threading.Thread(target=watch, name="tux parent", daemon=True).start()


def is_alive(process: int) -> bool:
    """Return whether there is a process of this number that has not ended. One that has ended keeps
    its number until its parent asks for its exit code, which the first process of some containers
    never does.
    """
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is another user's
        pass
    return _state(process) not in ("Z", "X")


def _state(process: int) -> str:
    """Return the state of a process, as the letter that Linux has for it; "" if it is not known."""
    return _stat(process, 0)


def _start(process: int) -> str:
    return _stat(process, 19)


def _stat(process: int, field: int) -> str:
    """Return a field of /proc/PID/stat, counted from 0 after the name of the process; "" if it is
    not known.
    """
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
