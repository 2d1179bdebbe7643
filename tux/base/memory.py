"""How much memory is free."""

from __future__ import annotations

import re
from pathlib import Path

MEMINFO = Path("/proc/meminfo")


def free() -> int | None:
    """Bytes that may be taken without swapping, where the system tells it (Linux)."""
    try:
        found = re.search(
            r"^MemAvailable: +(\d+) kB$", MEMINFO.read_text(encoding="ascii"), re.MULTILINE
        )
    except OSError:
        return None
    return 1024 * int(found[1]) if found else None
