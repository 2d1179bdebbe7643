"""The arrays of a partitioned graph's folder, mapped, and checked: a compiled loop does not check
whether an index is inside.
"""

from __future__ import annotations

from mmap import MADV_DONTNEED, mmap
from pathlib import Path

import numpy as np

from tux.arrays.npy import map_npy
from tux.base.errors import DataError

CHECKED = 1 << 22
"""Indices that are looked at at a time."""
TAKEN = 1 << 18
"""Indices that are taken at a time: of W workers, about W times as many bytes are mapped."""


def folder_damage(path: Path, why: str) -> DataError:
    """Make the error about a damaged file of the folder."""
    return DataError(
        f"a partitioned graph is damaged: {why}",
        where=str(path),
        do="copy the folder again, or run tux partition again",
    )


def map_array(path: Path, length: int | None = None) -> np.ndarray:
    """Map an array of numbers: one number, or one row, for each of `length` things if given."""
    try:
        values = map_npy(path)
    except DataError as error:
        raise folder_damage(path, error.what) from None
    if not values.ndim:
        raise folder_damage(path, "one number instead of an array")
    if length is not None:
        check_length(values, length, path)
    return values


def check_length(values: np.ndarray, length: int, path: Path) -> None:
    """Raise DataError for an array of another length."""
    if len(values) != length:
        raise folder_damage(path, f"{len(values):,} entries instead of {length:,}")


class StoredIndices:
    """A row of whole numbers from 0 to `below` - 1 of a folder, one for each vertex of the whole
    graph. A worker needs few of them: what is read of it, by slices or by places, is checked then,
    and copied; the memory that shows the file is given back. As an array it is mapped, and all of
    it is checked.
    """

    def __init__(self, path: Path, below: int, length: int) -> None:
        self._path, self._below = path, below
        self._values = _map_row(path, length)

    @property
    def dtype(self) -> np.dtype:
        """The type of the numbers."""
        return self._values.dtype

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, which: slice | np.ndarray) -> np.ndarray:
        if isinstance(which, slice):
            found = np.array(self._values[which])
        else:
            found = np.empty(len(which), self.dtype)
            for at in range(0, len(which), TAKEN):
                found[at : at + TAKEN] = self._values[which[at : at + TAKEN]]
                _give_back(self._values)
        _check_indices(found, self._below, self._path)
        _give_back(self._values)
        return found

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        _check_indices(self._values, self._below, self._path)
        return np.array(self._values, dtype, copy=copy)

    def sum(self, dtype: type = np.int64) -> int:
        """Add up the numbers."""
        return sum(int(self[at : at + CHECKED].sum()) for at in range(0, len(self), CHECKED))


Indices = np.ndarray | StoredIndices


def map_indices(path: Path, below: int, length: int | None = None) -> np.ndarray:
    """Map a row of whole numbers from 0 to `below` - 1, of `length` if given."""
    values = _map_row(path, length)
    _check_indices(values, below, path)
    return values


def _map_row(path: Path, length: int | None) -> np.ndarray:
    """Map a row of whole numbers, of `length` if given."""
    values = map_array(path, length)
    if values.ndim > 1 or values.dtype.kind != "i":
        raise folder_damage(
            path, f"{values.dtype} of shape {values.shape} instead of a row of indices"
        )
    return values


def _check_indices(values: np.ndarray, below: int, path: Path) -> None:
    """Raise DataError where some of `values`, which are those of a file, are not in 0..below-1."""
    if len(values):
        low, high = _extremes(values)
        if low < 0 or high >= below:
            raise folder_damage(path, f"indices from {low} to {high} of {below:,}")


def _extremes(values: np.ndarray) -> tuple[int, int]:
    """Return the smallest and the largest entry of a mapped array. The memory that shows its file
    is given back piece by piece, as a worker needs few entries of arrays of all vertices.
    """
    lows, highs = [], []
    for at in range(0, len(values), CHECKED):
        piece = values[at : at + CHECKED]
        lows.append(int(piece.min()))
        highs.append(int(piece.max()))
        _give_back(values)
    return min(lows), max(highs)


def _give_back(values: np.ndarray) -> None:
    """Give back the memory that shows the file of a mapped array."""
    if isinstance(values.base, mmap):
        values.base.madvise(MADV_DONTNEED)


def read_index_lists(stem: Path, below: int, count: int) -> list[np.ndarray]:
    """Read `count` lists of indices, stored as one array and its bounds."""
    path = stem.with_name(f"{stem.name}.npy")
    joined = map_indices(path, below)
    bounds = map_indices(stem.with_name(f"{stem.name}.bounds.npy"), len(joined) + 1, count + 1)
    if bounds[0] != 0 or bounds[-1] != len(joined) or (np.diff(bounds) < 0).any():
        raise folder_damage(path, "its lists have no such bounds")
    return [np.asarray(joined[lo:hi]) for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)]
