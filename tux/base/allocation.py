"""Settings of the C library for giving freed memory back to the system."""

from __future__ import annotations

import ctypes
import os

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # of mallopt(3)
LARGE = 1 << 20
"""Bytes of a block that is worth a mapping of its own."""
FREE = 1 << 24
"""Bytes of smaller blocks that a pool keeps when they are freed: memory that comes from the system
anew costs more than what is done with a block that fits the cache.
"""
ARENAS = 2
"""Pools of the C library, which else has eight for each processor core."""


def free_memory_early() -> None:
    """Make the memory of each large array go back to the system as soon as the array is freed, from
    now on. It is for processes that hold so many pieces of columns that the memory would lack
    elsewhere.

    The C library of Linux would keep freed blocks of up to 32 MiB for itself, between those that
    are in use, and reserve 64 MiB of addresses for each thread, which count where these are
    limited. Apache Arrow, if it is not loaded yet, has a pool of its own that keeps blocks too.
    Other C libraries have no such function, and this changes nothing.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE)
        mallopt(M_TRIM_THRESHOLD, FREE)
        mallopt(M_ARENA_MAX, ARENAS)
