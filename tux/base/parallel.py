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
from pathlib import Path
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")

ENTRIES_PER_THREAD = 1 << 18
"""Entries of an array that are worth a thread: about a millisecond of work."""

MANY = 1 << 30  # cores, where there is no limit

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
    return max(1, min(here, _own_core_limit()))


@cache
def _own_core_limit() -> int:
    """Return the number of cores that the control group of this process has time for; `MANY` if it
    has no limit.
    """
    try:
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    except OSError:
        return MANY
    return core_limit(groups, Path("/sys/fs/cgroup"))


def core_limit(groups: str, root: Path) -> int:
    """Return the number of cores that control groups have time for, rounded up; `MANY` if there is
    no limit.

    `groups`: a process's groups, as /proc/self/cgroup shows them; their files are below `root`.
    """
    least = float(MANY)
    for line in groups.splitlines():
        kinds, path = line.split(":", 2)[1:]
        if kinds and "cpu" not in kinds.split(","):
            continue
        own = Path(path.lstrip("/"))
        for group in (own, *own.parents):  # a group has no more than those that it is in
            least = min(least, _quota((root / "cpu" if kinds else root) / group))
    return math.ceil(least)


def _quota(group: Path) -> float:
    """Return the number of cores that the files of one control group, of either version, give
    it.
    """
    try:
        if (both := group / "cpu.max").exists():
            quota, period = both.read_text(encoding="utf-8").split()
        else:
            quota, period = (
                (group / f"cpu.cfs_{name}_us").read_text(encoding="utf-8").strip()
                for name in ("quota", "period")
            )
        return int(quota) / int(period) if int(quota) > 0 else float(MANY)
    except (OSError, ValueError, ZeroDivisionError):  # no such files, or "max"
        return float(MANY)


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
    with ThreadPoolExecutor(min(threads(), len(waiting)), "tux-spread") as pool:
        futures = [pool.submit(function, piece) for piece in waiting]
        try:
            return [future.result() for future in futures]
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
