"""Settings of the C library for giving freed memory back to the system."""

from __future__ import annotations

import ctypes
import os
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # of mallopt(3)
LARGE = 1 << 20
"""Bytes of a block that is worth a mapping of its own."""
FREE = 1 << 24
"""Bytes of smaller blocks that a pool keeps when they are freed: memory that comes from the system
anew costs more than what is done with a block that fits the cache.
"""
ARENAS = 2
"""Pools of the C library, which else has eight for each processor core."""

_system = ctypes.CDLL(None)


def share_memory_with_arrow() -> None:
    """Have Apache Arrow, if it is not loaded yet, take its memory from the C library. A pool of its
    own would keep what is free, and has columns that end at different times side by side.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def return_free_memory() -> None:
    """Give the memory back to the system that the C library and Apache Arrow keep though it is
    free. It takes some milliseconds.
    """
    if arrow := sys.modules.get("pyarrow"):
        arrow.default_memory_pool().release_unused()
    trim = getattr(_system, "malloc_trim", None)
    if trim is not None:
        trim(0)


def free_memory_early() -> None:
    """Make the memory of each large array go back to the system as soon as the array is freed, from
    now on. It is for processes that hold so many pieces of columns that the memory would lack
    elsewhere.

    The C library of Linux would keep freed blocks of up to 32 MiB for itself, between those that
    are in use, and reserve 64 MiB of addresses for each thread, which count where these are
    limited. Apache Arrow, if it is not loaded yet, has a pool of its own that keeps blocks too.
    Other C libraries have no such function, and this changes nothing.
    """
    share_memory_with_arrow()
    mallopt = getattr(_system, "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE)
        mallopt(M_TRIM_THRESHOLD, FREE)
        mallopt(M_ARENA_MAX, ARENAS)
