"""The most memory that a piece of work takes."""

from __future__ import annotations

import ctypes
import tracemalloc
from pathlib import Path

RESIDENT = "growth of resident memory"
TRACED = "arrays that numpy allocates outside compiled code"


class Peak:
    """A context that measures memory; after it `bytes` is the peak, and `how` names the measure.

    On Linux it is the growth of the process's resident memory, whose high-water mark the kernel
    sets back on request: arrays made in compiled code count, and memory that is reserved but never
    touched does not. Elsewhere it is what `tracemalloc` sees. The compiler's own memory counts too,
    so run the work once on something small before.
    """

    def __enter__(self) -> Peak:
        self.bytes = 0
        self.how = RESIDENT if _reset() else TRACED
        if self.how == RESIDENT:
            self._before = _status("VmRSS")
        else:
            tracemalloc.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.how == RESIDENT:
            self.bytes = max(_status("VmHWM") - self._before, 0)
        else:
            self.bytes = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()


def _reset() -> bool:
    """Give freed memory back to the system, and set the system's mark of the most resident memory
    back. False where that cannot be done.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError):
        pass  # another C library, which keeps less
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return _status("VmHWM") > 0
    except OSError:
        return False


def _status(name: str) -> int:
    """Read a figure of this process in bytes; 0 where the system does not tell it."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), 0)
