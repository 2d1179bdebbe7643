"""Reading ahead of a kernel: edges that lie on disk are read in the order in which the items of a
kernel visit them, and their memory is given back behind it.

A thread does both while the kernel runs. It looks at the number of the next run that a thread of
the kernel takes (`tux.rows.turns`). So it decides times alone, never results.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from tux.arrays.disk_columns import file_of, share_in_memory, span_of
from tux.graph.layout import Layout
from tux.rows.turns import HI, LO, NEXT, STRIDE
from tux.stages.kernel.tickets import Items

AHEAD = 1 << 26
"""Bytes that are read ahead."""

PIECE = 1 << 24
"""Bytes of a column that are read at a time."""

LOOK = 0.001
"""Seconds between two looks at the kernel."""


class EdgeReader:
    """The reader of the `columns` (m, ...) of a layout that lie on disk. The first edges stay in
    memory, as many as fit when a kernel begins; the memory of the others is given back behind it.
    Those that should have stayed are read ahead, too, as the system may have taken their memory.
    """

    def __init__(self, columns: Sequence[np.ndarray], layout: Layout, threads: int) -> None:
        self._columns, self._layout, self._threads = columns, layout, threads
        self._bytes = sum(each.strides[0] for each in columns)
        self._files = [*filter(None, map(file_of, columns))]

    @contextmanager
    def follow(self, items: Items, turns: np.ndarray) -> Iterator[None]:
        """Read ahead of a kernel that runs `items`, by its `turns`, until the block ends."""
        lo, hi, runs = self._spans(items)
        kept = self._count_kept()
        if not (hi > np.maximum(lo, kept)).any():
            yield
            return
        over = threading.Event()
        work = (lo, np.maximum(hi, lo), kept, runs, turns, over)
        thread = threading.Thread(target=self._follow, args=work, name="tux reader", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _count_kept(self) -> int:
        """Return the number of first edges that stay in memory."""
        rows, share = len(self._columns[0]), share_in_memory(self._files)
        return rows if share == 1 else max(int(share * rows) - 2 * AHEAD // self._bytes, 0)

    def _spans(self, items: Items) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the first edge and the last + 1 of each range that items need, and the boundaries
        of their runs among these. An item with edges beside it needs two ranges.
        """
        lo, hi = items.array[:, LO], items.array[:, HI]
        if items.beside is not None:
            there, visited = items.beside[:, 0], items.beside[:, 3]
            both = np.stack([lo, there], axis=1), np.stack([hi, there + visited], axis=1)
            return both[0].ravel(), both[1].ravel(), 2 * items.runs
        if items.of_edges:
            return lo, hi, items.runs
        bounds, across = self._layout.bounds, self._layout.across
        return bounds[lo * across], bounds[hi * across], items.runs

    def _follow(
        self,
        lo: np.ndarray,
        hi: np.ndarray,
        kept: int,
        runs: np.ndarray,
        turns: np.ndarray,
        over: threading.Event,
    ) -> None:
        before = np.concatenate([[0], np.cumsum(hi - lo)]) * self._bytes
        ahead = behind = 0
        while not over.is_set():
            taken = min(int(turns[NEXT * STRIDE]), len(runs) - 1)
            now, done = int(runs[max(taken - 1, 0)]), int(runs[max(taken - 1 - self._threads, 0)])
            ahead = max(ahead, now)
            if ahead < len(lo) and before[ahead] - before[now] < AHEAD:
                self._read(int(lo[ahead]), int(hi[ahead]), over)
                ahead += 1
            elif behind < done:
                self._give_back(max(int(lo[behind]), kept), int(hi[behind]))
                behind += 1
            else:
                over.wait(LOOK)
        for item in range(behind, ahead):
            self._give_back(max(int(lo[item]), kept), int(hi[item]))

    def _read(self, lo: int, hi: int, over: threading.Event) -> None:
        """Read the edges lo..hi of all columns."""
        step = max(PIECE // self._bytes, 1)
        for first in range(lo, hi, step):
            for column in self._columns:
                if over.is_set():
                    return
                file = file_of(column)
                assert file is not None
                file.read_ahead(*span_of(column, first, min(first + step, hi)))

    def _give_back(self, lo: int, hi: int) -> None:
        """Give back the memory of the edges lo..hi, if there are any."""
        for column in self._columns if lo < hi else ():
            file = file_of(column)
            assert file is not None
            file.give_back(*span_of(column, lo, hi))
