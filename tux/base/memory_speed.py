"""The speed of this machine's memory, as copying measures it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tux.base import memory

COPIED_BYTES = 1 << 27
"""Bytes of the array that is copied: more than a usual last-level cache."""

COPIES = 4
"""Copies of which the fastest counts; the first also has the pages made."""


def copy_speed(threads: int) -> float:
    """Return the bytes a second that memory gives and takes while so many threads copy one array:
    those that are read and those that are written. This takes some tenths of a second.
    """
    free = memory.free()
    size = COPIED_BYTES if free is None else min(COPIED_BYTES, free // 8)
    source, target = np.ones(size // 8), np.empty(size // 8)
    cuts = [len(source) * at // threads for at in range(threads + 1)]
    pieces = [slice(*span) for span in zip(cuts[:-1], cuts[1:], strict=True)]
    best = float("inf")
    with ThreadPoolExecutor(threads, "tux-copy") as pool:
        for _ in range(COPIES):
            start = time.perf_counter()
            list(pool.map(lambda piece: np.copyto(target[piece], source[piece]), pieces))
            best = min(best, time.perf_counter() - start)
    return 2 * source.nbytes / best
