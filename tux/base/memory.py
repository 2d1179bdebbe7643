"""The free memory of this machine, and the memory that this process holds."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

MEMINFO, STATM = Path("/proc/meminfo"), Path("/proc/self/statm")
PAGE = mmap.PAGESIZE


def free() -> int | None:
    """Bytes that may be taken without swapping, where the system tells it (Linux)."""
    try:
        found = re.search(
            r"^MemAvailable: +(\d+) kB$", MEMINFO.read_text(encoding="ascii"), re.MULTILINE
        )
    except OSError:
        return None
    return 1024 * int(found[1]) if found else None


def resident() -> int:
    """Bytes of memory that this process holds, where the system tells it (Linux); else 0."""
    try:
        return int(STATM.read_bytes().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        return 0
