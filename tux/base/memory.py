"""The free memory of this machine, and the memory that this process holds."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from tux.base.control_groups import memory_left, own_groups

MEMINFO, STATM = Path("/proc/meminfo"), Path("/proc/self/statm")
PAGE = mmap.PAGESIZE


def free() -> int | None:
    """Return the number of bytes that this process may take without swapping, by what the machine
    and its control group have left, if the system shows it (Linux), else None.
    """
    try:
        found = re.search(
            r"^MemAvailable: +(\d+) kB$", MEMINFO.read_text(encoding="ascii"), re.MULTILINE
        )
    except OSError:
        return None
    return int(min(1024 * int(found[1]), memory_left(own_groups()))) if found else None


def resident() -> int:
    """Return the number of bytes of memory that this process holds, if the system shows it (Linux);
    else 0.
    """
    try:
        return int(STATM.read_bytes().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        return 0


def anonymous() -> int:
    """Return the number of bytes of memory that this process holds beside those that show files, if
    the system shows it (Linux); else 0.
    """
    try:
        _, held, files = STATM.read_bytes().split()[:3]
    except (OSError, ValueError):
        return 0
    return (int(held) - int(files)) * PAGE
