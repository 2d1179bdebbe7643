"""Long columns of integers of a narrow range as ranks among the distinct ones: compiled loops, on
all threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tux.arrays.disk_columns import empty_column
from tux.arrays.pieced import pop_pieces
from tux.base.compiled import cached_njit
from tux.base.parallel import slices, spread


@cached_njit
def _mark(column, low, present):  # type: ignore[no-untyped-def]
    """Set present[i - low] for each i of `column`; threads that set the same one do no harm."""
    for value in column:
        present[value - low] = True


@cached_njit
def _look_up(column, low, rank, out):  # type: ignore[no-untyped-def]
    for i in range(len(column)):
        out[i] = rank[column[i] - low]


def rank_integers(pieces: list[np.ndarray], low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of a column (m,) of integers from `low` to `high`, ascending, and
    the place of each row among them, (m,) int32. The column comes as a list of pieces. The list is
    emptied, so that the memory of a piece can be freed when its places are known. A table of the
    range takes 5 bytes a value.
    """
    present = np.zeros(high - low + 1, np.bool_)
    codes = empty_column(sum(map(len, pieces)), np.int32)
    for each in pieces:
        _run_on_slices(_mark, _plain(each), low, present)
    rank = np.cumsum(present, dtype=np.int32)
    rank -= 1
    done = 0
    for each in pop_pieces(pieces):
        _run_on_slices(_look_up, _plain(each), low, rank, codes[done : done + len(each)])
        done += len(each)
    return np.flatnonzero(present) + low, codes


def _run_on_slices(
    work: Callable[..., None],
    column: np.ndarray,
    low: int,
    table: np.ndarray,
    out: np.ndarray | None = None,
) -> None:
    """Run ``work`` on slices of a column on all threads; each writes its rows of `out`, if that is
    given.
    """

    def some(rows: slice) -> None:
        work(column[rows], low, table, *(() if out is None else (out[rows],)))

    spread(some, slices(len(column)))


def _plain(column: np.ndarray) -> np.ndarray:
    """Cast integers to int32 or int64, contiguous and read-only, so that numba compiles for two
    types only.
    """
    plain = column.astype(np.int64 if column.itemsize == 8 else np.int32, order="C", copy=False)
    plain = plain.view()
    plain.flags.writeable = False
    return plain
