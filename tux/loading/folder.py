"""A folder of parts, as `tux.graph.store` reads it, from what loaders keep on disk: the parts are
there already, and what they share is joined, piece by piece, in bounded memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tux.arrays.arrow import ROWS, parquet_writer
from tux.arrays.npy import npy_pieces, write_npy, write_pieces
from tux.arrays.pieced import Pieced
from tux.base.disk import writing
from tux.graph.store import TypeEntry, write_manifest
from tux.loading.digest import STRINGS, joined, kept_ids
from tux.loading.kinds import packed
from tux.loading.loader import Loaded
from tux.loading.plan import Plan


class Spool:
    """Takes what one loader keeps: files of parts into the `folder` of the graph, all else into its
    own folder `spool`.
    """

    def __init__(self, folder: Path, spool: Path) -> None:
        self._folder, self._spool = folder, spool

    def __call__(self, name: str, row: np.ndarray | Pieced) -> None:
        """Write one array. Raises DiskError."""
        if isinstance(row, np.ndarray) and row.dtype.kind == "T":
            for kind, column in zip(STRINGS, packed(row), strict=True):
                self(f"{name}.{kind}", column)
            return
        path = self._path(name)
        part = path.with_name(f"{path.name}.part")
        with writing(path):
            path.parent.mkdir(exist_ok=True)
        if isinstance(row, Pieced):
            write_pieces(part, row)
        else:
            write_npy(part, row)
        with writing(path):  # others look for it while this is written
            os.replace(part, path)

    def again(self, name: str) -> Pieced:
        """A row of numbers that was kept under a name, read from its file. Raises DataError."""
        return npy_pieces(self._path(name))

    def _path(self, name: str) -> Path:
        return (self._folder if name.startswith("part-") else self._spool) / f"{name}.npy"


def join(
    folder: Path,
    spools: Sequence[Path],
    plan: Plan,
    loaded: Sequence[Loaded],
    names: Sequence[str],
    digest: str,
) -> None:
    """Write what the parts of `folder` share, from the loaders' `spools`, in their order, and the
    manifest; `names` of the edges' fields, and their `digest`. Raises DiskError.
    """
    for name in plan.types:
        with parquet_writer(folder / f"{name}.ids.parquet") as write:
            for ids in _grouped(kept_ids(spools, name)):
                write({"id": ids})
        for array in ("order", "home", "number"):
            write_pieces(folder / f"{name}.{array}.npy", joined(spools, f"{array}.{name}"))
    for side in (0, 1):
        write_pieces(folder / f"degrees.{side}.npy", joined(spools, f"degrees.{side}"))
    sizes = {name: loaded[0].types[name].ids for name in plan.types}
    types = []
    for name, count in sizes.items():
        own = [each.types[name] for each in loaded]
        rows = [rows for each in own for rows in each.rows]
        types.append(TypeEntry(name, count, count, any(each.cut for each in own), rows))
    edges = sum(sum(own.edges) for own in loaded)
    write_manifest(
        folder,
        parts=plan.parts,
        ends=plan.ends,
        fields=[*names],
        types=types,
        edges=edges,
        digest=digest,
        partitioner=plan.partitioner,
        seed=plan.seed,
    )


def _grouped(pieces: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """The same in row groups, as Parquet files have them that are written at once."""
    group = next(pieces)
    for piece in pieces:
        while len(group) >= ROWS:
            yield group[:ROWS]
            group = group[ROWS:]
        group = np.concatenate([group, piece])
    for lo in range(0, max(len(group), 1), ROWS):
        yield group[lo : lo + ROWS]
