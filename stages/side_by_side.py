"""Threads that go through the blocks of a mini-batch side by side: of each CHUNK blocks one thread
after the other has its own.

A block that has rows of the other end which an earlier block has too begins when that one has
ended, so results are those of one block after the other. This pays only where blocks seldom share
rows: see `seldom_shared`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tux.engine.threads import Threads
from tux.partition.compiled import compiled
from tux.rows.turns import FAILED, STRIDE, side_by_side
from tux.stages.compile import Kernel
from tux.stages.sample import Looked
from tux.stages.scope import indented
from tux.stages.shared_kernel import SHORT

CHUNK = 8
"""Neighbouring blocks that one thread has: vertices of a cache line."""

IN_FLIGHT = 16 * CHUNK
"""Blocks that 16 threads have at once. It does not depend on the threads that there are, as the
order of blocks depends on it.
"""

MOST_SHARED = 0.02
"""Share of the other end's rows to which blocks in flight lead, at most, where threads pay."""


def seldom_shared(edges: int, blocks: int, rows: int) -> bool:
    """Whether blocks at work at the same time seldom share one of the `rows` of the other end."""
    return edges * IN_FLIGHT <= MOST_SHARED * rows * blocks


def last_shared(cuts: np.ndarray, runs: np.ndarray, others: np.ndarray, rows: int) -> np.ndarray:
    """(blocks,) int32: how many blocks of its run must have ended before each begins: up to the
    last one before it that has a row of the other end too; 0: none has.

    Block b has the edges cuts[b]..cuts[b + 1], which lead to the rows `others` (m,), each below
    `rows`. Run i is the blocks runs[i]..runs[i + 1].
    """
    out = np.zeros(len(cuts) - 1, np.int32)
    _last_shared(cuts, runs, others, np.full(rows, -1, np.int32), out)
    return out


@compiled
def _last_shared(cuts, runs, others, last, out):  # type: ignore[no-untyped-def]
    """Write `last_shared` to `out`; `last` (rows,): -1."""
    for i in range(len(runs) - 1):
        for b in range(runs[i], runs[i + 1]):
            found = runs[i] - 1
            for e in range(cuts[b], cuts[b + 1]):
                found = max(found, last[others[e]])
            for e in range(cuts[b], cuts[b + 1]):
                last[others[e]] = b
            out[b] = found + 1 - runs[i]


def state(thread: int, threads: int, turns: np.ndarray) -> tuple[Any, ...]:
    """The arguments STATE of one of so many threads."""
    room = np.zeros(threads + STRIDE, np.int64)  # on a cache line of its own
    return thread, threads, turns, room[:threads]


STATE = ("thread", "threads", "turns", "seen")
"""The first arguments of a kernel with the lines of `of_each_thread`."""


def of_each_thread(block: Sequence[str], resting: Sequence[str]) -> list[str]:
    """The loop over the runs of an order, and in each over this thread's blocks b. `resting`: lines
    that leave a block out; `block`: lines that work on it. `waits` are those of `last_shared`.
    """
    each = [
        *resting,
        "if threads > 1 and not passed(turns, seen, thread, threads, base + waits[b]):",
        "    return",
        *block,
        "if threads > 1:",
        "    tell(turns, thread, base + b + 1 - begin)",
    ]
    run = [
        "begin, end = runs[order[i]], runs[order[i] + 1]",
        "if threads > 1 and not passed(turns, seen, thread, threads, base):",
        "    return",
        f"tell(turns, thread, base + min({CHUNK} * thread, end - begin))",
        f"for c in range(begin + {CHUNK} * thread, end, {CHUNK} * threads):",
        f"    for b in range(c, min(c + {CHUNK}, end)):",
        *indented(indented(each)),
        "    if threads > 1:",
        f"        tell(turns, thread, base + min(c + {CHUNK} * threads, end) - begin)",
        "base += end - begin",
        "tell(turns, thread, base)",
    ]
    return ["base = 0", "for i in range(len(order)):", *indented(run)]


class SideBySide:
    """``kernel(*STATE, *arguments)``, run by all threads; `arguments(t)` are those of thread t."""

    def __init__(self, kernel: Kernel | Looked, threads: Threads, *, jit: bool) -> None:
        self._kernel, self._threads, self._jit = kernel, threads, jit
        self._rate = 1.0  # seconds of a thread for a block: those of the last call

    def __call__(self, blocks: int, arguments: Callable[[int], tuple[Any, ...]]) -> None:
        """Run so many blocks. The number of threads decides times, not results."""
        kernel, pool, count = self._kernel, self._threads, 1
        if self._jit and pool.here() and blocks * self._rate >= SHORT:
            count = pool.count
        if isinstance(kernel, Looked):
            suspicious = kernel.is_wrong((*state(0, 1, side_by_side(1)), *arguments(0)))
            kernel, count = (kernel.checked(), 1) if suspicious else (kernel.run, count)
        turns = side_by_side(count)
        each = [(*state(thread, count, turns), *arguments(thread)) for thread in range(count)]
        start = time.perf_counter()
        if count > 1:

            def stop() -> None:
                turns[FAILED * STRIDE] = 1

            pool.run(partial(_call, kernel, each), stop)
        else:
            kernel(*each[0])
        self._rate = (time.perf_counter() - start) * count / max(blocks, 1)


def _call(kernel: Callable[..., None], arguments: Sequence[tuple[Any, ...]], thread: int) -> None:
    kernel(*arguments[thread])
