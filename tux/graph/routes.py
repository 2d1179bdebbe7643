"""Static routes of one cut type through the blocks of a mini-batch: the rows that travel between a
worker and a home for each block.

Both ends compute the same lists from the partition, in the same order, so messages name blocks and
never rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tux.graph.parts import TypePart
from tux.rows.table import freeze

ALL = -1
"""Stands for every row, where there are no blocks."""


class Routes:
    """The routes of one type. `cuts` (blocks + 1,): the positions that bound the blocks, or None
    for rows that are always taken whole.
    """

    def __init__(self, part: TypePart, cuts: np.ndarray | None) -> None:
        self.part = part
        self._up = [(freeze(rows), _bounds(part.rows[rows], cuts)) for rows in part.up]
        self._down = [(freeze(rows), _bounds(part.masters[rows], cuts)) for rows in part.down]
        self._masters = _bounds(part.masters, cuts)

    def up(self, home: int, blocks: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the local rows that `home` masters, in these blocks, in their order."""
        return _rows_in_blocks(*self._up[home], blocks)

    def down(self, worker: int, blocks: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the numbers of the masters that `worker` holds, in these blocks, in their order:
        the rows that its `up` returns for this home.
        """
        return _rows_in_blocks(*self._down[worker], blocks)

    def masters(self, block: int) -> tuple[int, int]:
        """Return first and last + 1 of the masters in a block."""
        return (
            (0, len(self.part.masters))
            if block == ALL
            else (int(self._masters[block]), int(self._masters[block + 1]))
        )


def _bounds(positions: np.ndarray, cuts: np.ndarray | None) -> np.ndarray:
    return np.searchsorted(positions, cuts) if cuts is not None else np.array([0, len(positions)])


def _rows_in_blocks(
    rows: np.ndarray, bounds: np.ndarray, blocks: Sequence[int] | np.ndarray
) -> np.ndarray:
    if len(blocks) == 1:
        block = blocks[0]
        return rows if block == ALL else rows[bounds[block] : bounds[block + 1]]
    return np.concatenate([rows[bounds[b] : bounds[b + 1]] for b in blocks])
