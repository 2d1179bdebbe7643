"""Work on arrays by several threads: how many there are, and how pieces of work are shared among
them.

Threads help where a piece runs without the GIL: in compiled loops, numpy and Arrow. What is
computed must not depend on the number of pieces.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from tux.base.control_groups import core_quota, own_groups

Piece = TypeVar("Piece")
Result = TypeVar("Result")

ENTRIES_PER_THREAD = 1 << 18
"""Entries of an array that are worth a thread: about a millisecond of work."""

MOST_THREADS = 1024
"""The most threads of a process."""

_chosen: list[int] = []  # by `use_threads`


def threads() -> int:
    """Return the number of threads that this process uses: the last that `use_threads` has set,
    else `cores`.
    """
    return _chosen[-1] if _chosen else cores()


def use_threads(count: int) -> None:
    """Set the number of threads that this process uses from now on to `count`, as it shares its
    machine with other processes.
    """
    _chosen[:] = [max(1, count)]


def cores() -> int:
    """Return the number of processor cores that this process may use: those that it may run on, and
    no more than its control group has time for.
    """
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min(here, _own_core_limit())))


@cache
def _own_core_limit() -> float:
    """Return the number of cores that the control group of this process has time for, rounded up;
    infinite if it has no limit.
    """
    quota = core_quota(own_groups())
    return quota if math.isinf(quota) else math.ceil(quota)


def slices(n: int, least: int = ENTRIES_PER_THREAD) -> list[slice]:
    """Cut 0..n into consecutive ranges of nearly equal length: one for each thread, but none
    shorter than `least` unless it is the only one.
    """
    count = max(1, min(threads(), n // max(least, 1)))
    return [slice(n * at // count, n * (at + 1) // count) for at in range(count)]


def spread(function: Callable[[Piece], Result], pieces: Iterable[Piece]) -> list[Result]:
    """Spread the calls ``function(piece)`` over `threads` threads, and return their results in the
    order of the pieces.

    If some raise, the error is that of the first of these pieces. After an error, or Ctrl-C, no
    further piece is begun, and those under way are waited for.
    """
    waiting = list(pieces)
    if len(waiting) < 2 or threads() < 2:
        return [function(piece) for piece in waiting]
    last = [len(waiting)]  # the piece after which none is begun

    def begin(number: int) -> Result | None:
        if number > last[0]:
            return None  # nobody reads it: an error comes before
        try:
            return function(waiting[number])
        except BaseException:
            last[0] = min(last[0], number)
            raise

    with ThreadPoolExecutor(min(threads(), len(waiting)), "tux-spread") as pool:
        try:
            futures = [pool.submit(begin, number) for number in range(len(waiting))]
            return [future.result() for future in futures]  # type: ignore[misc]
        finally:
            last[0] = -1
            pool.shutdown(wait=True, cancel_futures=True)
