"""The turns of threads (`tux.rows.turns`), watched while one thread runs the items of each list: of
two items that change one number, the later one waits for the other, and none waits in vain.

Lists are cut into many small items, so that small graphs have some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from tux.rows.turns import FIRST, FIRST_NEED, SECOND, SECOND_NEED, PlainTurns
from tux.stages.blocks import exchange_step
from tux.stages.kernel import tickets
from tux.stages.kernel.shared_kernel import SharedKernel

FEW = 2
"""Edges and rows in an item of vertices, and those of which there are several items."""
PAIRS = ((FIRST, FIRST_NEED), (SECOND, SECOND_NEED))


class WatchedList:
    """The list of items that runs now. `changers`: the last item that has changed each number, by
    the name of its array and its place there. `wrong`: what was seen; kernels may not raise.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.run_of = np.empty(0, int)
        self.before: dict[str, np.ndarray] = {}
        self.changers: dict[tuple[str, int], int] = {}
        self.finished: Counter[int] = Counter()
        self.wrong: list[str] = []
        self.ordered = 0  # pairs of items that change one number, in all lists

    def begin_list(self, partition, runs: np.ndarray) -> None:
        """Begin a list that a worker's kernel is to run; nothing of it is looked at without its
        `partition`.
        """
        tables = {}
        if partition is not None:
            tables = {f"{n} masters": t for n, t in partition.server.tables.items()}
            tables |= {n: t for n, t in partition.tables.items() if n != "tau"}  # as it has copies
        self.arrays = {
            f"{name}.{f}": array
            for name, table in tables.items()
            for f, array in table.arrays.items()
        }
        self.run_of = np.repeat(np.arange(len(runs) - 1), np.diff(runs))
        self.changers.clear()
        self.finished.clear()

    def begin(self, turns: np.ndarray, items: np.ndarray, item: int) -> bool:
        """Note it where the turns of an item do not come when the items before it have ended."""
        for place, need in PAIRS:
            turn = int(items[item, place])
            waited = self.finished[turn]
            if turn and waited != items[item, need]:
                self.wrong.append(f"item {item} waits in vain")
        self.before = {name: array.copy() for name, array in self.arrays.items()}
        return True

    def finish(self, turns: np.ndarray, items: np.ndarray, item: int) -> None:
        """Note it where an item has not waited for those that have changed the same numbers."""
        for place, _ in PAIRS:
            self.finished[int(items[item, place])] += 1
        for name, array in self.arrays.items():
            changed = np.flatnonzero((array != self.before[name]).reshape(-1))
            for at in changed.tolist():
                other = self.changers.get((name, at), item)
                self.changers[name, at] = item
                if self.run_of[other] != self.run_of[item]:
                    self.ordered += 1
                    if not _turns_of(items[other]) & _turns_of(items[item]):
                        self.wrong.append(f"items {other} and {item} change {name} at once")


def _turns_of(item: np.ndarray) -> set[int]:
    return {int(item[place]) for place, _ in PAIRS} - {0}


@contextmanager
def watched_turns() -> Iterator[WatchedList]:
    """Watch the lists of all workers that are made and run meanwhile, in plain Python. Raise
    AssertionError in the end if something was wrong.
    """
    watched, run_on = WatchedList(), SharedKernel._run_on

    def watch(kernel, threads, call, turns):
        _, runs, *_ = call.args[1]
        # what one thread runs by its plan takes no turns
        watched.begin_list(kernel._partition if kernel._plan.threads else None, runs)
        run_on(kernel, 1, call, turns)

    with (
        patch.object(tickets, "WEIGHT", FEW),
        patch.object(tickets, "EDGES_PER_ITEM", FEW),
        patch.object(exchange_step, "EDGES_PER_ITEM", FEW),
        patch.object(SharedKernel, "_run_on", watch),
        patch.object(PlainTurns, "begin", staticmethod(watched.begin)),
        patch.object(PlainTurns, "finish", staticmethod(watched.finish)),
    ):
        yield watched
    assert not watched.wrong, watched.wrong[0]
