"""The arrays that loaders keep: files of parts, and each loader's own range of the arrays that all
parts share.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from tux.arrays.arrow import ROWS, STRING
from tux.arrays.npy import map_npy, npy_pieces, write_npy, write_pieces
from tux.arrays.pieced import ArrayPieces
from tux.base.disk import writing
from tux.parallel_load.algorithm.columns import MessageColumns
from tux.parallel_load.algorithm.kinds import pack_ids, unpack_ids

STRINGS = ("lengths", "bytes")
"""The arrays that ids are in that are strings."""

RANGES = re.compile(
    r"(ids|order|home|number|data|degrees|topology|held)\..*|edges\.\w+\.degrees\.\d"
)
"""The names of arrays that all parts share."""

Kept = Mapping[str, np.ndarray]
"""The arrays that one loader has kept, but for the parts, by name."""


class ArraySpool:
    """A function that writes the arrays that one loader keeps: files of parts into the `folder` of
    the graph, all else into its own folder `spool`.
    """

    def __init__(self, folder: Path, spool: Path) -> None:
        self._folder, self._spool = folder, spool

    def __call__(self, name: str, row: np.ndarray | ArrayPieces) -> None:
        """Write one array. Raise DiskError if it cannot be written."""
        if isinstance(row, np.ndarray) and row.dtype.kind == "T":
            for kind, column in zip(STRINGS, pack_ids(row), strict=True):
                self(f"{name}.{kind}", column)
            return
        path = self._path(name)
        part = path.with_name(f"{path.name}.part")
        with writing(path):
            path.parent.mkdir(exist_ok=True)
        if isinstance(row, ArrayPieces):
            write_pieces(part, row)
        else:
            write_npy(part, row)
        with writing(path):  # others look for it while this is written
            os.replace(part, path)

    def again(self, name: str) -> ArrayPieces:
        """Read a row of numbers that was kept under a name from its file. Raise DataError if it is
        damaged.
        """
        return npy_pieces(self._path(name))

    def _path(self, name: str) -> Path:
        return (self._folder if name.startswith("part-") else self._spool) / f"{name}.npy"


class SpooledArrays(Kept):
    """The arrays that lie in the folder `spool` of a loader; an array is mapped when it is asked
    for.
    """

    def __init__(self, spool: Path) -> None:
        self._spool = spool

    def path(self, name: str) -> Path:
        """Return the file of an array, be it there or not."""
        return self._spool / f"{name}.npy"

    def row(self, name: str) -> ArrayPieces:
        """Return a row of numbers, of which only a piece is in memory at a time."""
        return npy_pieces(self.path(name))

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self:
            raise KeyError(name)
        return map_npy(self.path(name))

    def __contains__(self, name: object) -> bool:
        return self.path(str(name)).exists()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(path.name.removesuffix(".npy") for path in self._spool.glob("*.npy")))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def ranges_of(kept: Kept) -> dict[str, np.ndarray]:
    """Return from all that a loader has kept its ranges of the arrays that all parts share."""
    return {name: kept[name] for name in kept if RANGES.fullmatch(name)}


def join_ranges(kept: Sequence[Kept], name: str) -> ArrayPieces:
    """Join the ranges of a row of numbers that the loaders have kept, one after the other."""
    return ArrayPieces.concatenate([_row(each, name) for each in kept])


def _row(kept: Kept, name: str) -> ArrayPieces:
    if isinstance(kept, SpooledArrays):
        return kept.row(name)
    return ArrayPieces(kept[name].dtype, len(kept[name]), [kept[name]], kept[name].shape[1:])


def kept_ids(kept: Sequence[Kept], name: str, groups: int) -> Iterator[np.ndarray]:
    """Yield the ids of one type, by index, a loader's range of one of its `groups` at a time; of
    numbers, no more than a row group, which is mapped anew, as what was read stays in memory.
    """
    for group in range(groups):
        for loader, each in enumerate(kept):
            own = f"ids.{name}.{group}"
            if own in each:
                for lo in range(0, max(len(each[own]), 1), ROWS):
                    yield np.asarray(each[own][lo : lo + ROWS])
            else:
                columns = (each[f"{own}.{kind}"] for kind in STRINGS)
                yield unpack_ids(MessageColumns(columns, loader), STRING)


def count_ids(kept: Iterable[Kept], name: str, groups: int) -> int:
    """Count the ids of one type."""
    names = [f"ids.{name}.{group}" for group in range(groups)]
    return sum(
        len(each[own if own in each else f"{own}.{STRINGS[0]}"]) for each in kept for own in names
    )
