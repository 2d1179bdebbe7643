"""What can be found out about another process of this machine."""

from __future__ import annotations

import os
from pathlib import Path


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
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        return text.rpartition(")")[2].split()[0]  # behind its name, which may have blanks
    except (OSError, IndexError):
        return ""
