"""A folder of parts, as `tux.graph.store` reads it, from what loaders keep on disk: the parts are
there already, and what they share is joined, piece by piece, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from tux.arrays.arrow import ROWS, STRING, parquet_writer
from tux.arrays.edges import digest_column, digest_ids
from tux.arrays.ids import Ids
from tux.arrays.npy import map_npy, npy_pieces, write_npy, write_pieces
from tux.arrays.pieced import Pieced
from tux.base.disk import writing
from tux.graph.store import TypeEntry, write_manifest
from tux.loading.kinds import packed, unpacked
from tux.loading.loader import Loaded
from tux.loading.plan import Plan

STRINGS = ("lengths", "bytes")
"""The files that ids are in that are strings."""


class Spool:
    """Takes what one loader keeps: files of parts into the `folder` of the graph, all else into its
    own folder `spool`.
    """

    def __init__(self, folder: Path, spool: Path) -> None:
        self._folder, self._spool = folder, spool

    def __call__(self, name: str, row: np.ndarray | Pieced) -> None:
        """Write one array. Raises DiskError."""
        path = self._path(name)
        if isinstance(row, np.ndarray) and row.dtype.kind == "T":
            for kind, column in zip(STRINGS, packed(row), strict=True):
                write_npy(self._spool / f"{name}.{kind}.npy", column)
            return
        with writing(path.parent):
            path.parent.mkdir(exist_ok=True)
        if isinstance(row, Pieced):
            write_pieces(path, row)
        else:
            write_npy(path, row)

    def again(self, name: str) -> Pieced:
        """A row of numbers that was kept under a name, read from its file. Raises DataError."""
        return npy_pieces(self._path(name))

    def _path(self, name: str) -> Path:
        return (self._folder if name.startswith("part-") else self._spool) / f"{name}.npy"


def join(
    folder: Path, spools: Sequence[Path], plan: Plan, loaded: Sequence[Loaded], names: Sequence[str]
) -> str:
    """Write what the parts of `folder` share, from the loaders' `spools`, in their order, and the
    manifest; `names` of the edges' fields. Returns the digest of the edges. Raises DiskError.
    """
    for name in plan.types:
        with parquet_writer(folder / f"{name}.ids.parquet") as write:
            for ids in _grouped(_ids(spools, name)):
                write({"id": ids})
        for array in ("order", "home", "number"):
            write_pieces(folder / f"{name}.{array}.npy", _joined(spools, f"{array}.{name}"))
    for side in (0, 1):
        write_pieces(folder / f"degrees.{side}.npy", _joined(spools, f"degrees.{side}"))
    sizes = {name: loaded[0].types[name].ids for name in plan.types}
    digest = _digest(spools, plan, sizes, sum(sum(own.edges) for own in loaded), names)
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
    return digest


def _joined(spools: Sequence[Path], name: str) -> Pieced:
    """The ranges of a row of numbers that the loaders have kept, one after the other."""
    return Pieced.joined([npy_pieces(spool / f"{name}.npy") for spool in spools])


def _ids(spools: Sequence[Path], name: str) -> Iterator[np.ndarray]:
    """The ids of one type, ascending, a loader's range at a time."""
    for spool in spools:
        if (spool / f"ids.{name}.npy").exists():
            yield np.asarray(map_npy(spool / f"ids.{name}.npy"))
        else:
            columns = (map_npy(spool / f"ids.{name}.{kind}.npy") for kind in STRINGS)
            yield unpacked(columns, STRING)


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


def _digest(
    spools: Sequence[Path], plan: Plan, sizes: dict[str, int], edges: int, names: Sequence[str]
) -> str:
    """What `EdgeData.digest` says of all edges together."""
    state = blake2b(digest_size=16)
    for name, count in sizes.items():
        digest_ids(state, name, count, map(Ids, _ids(spools, name)))
    files = {"src": "src", "dst": "dst", **{f".{name}": f"fields.{name}" for name in sorted(names)}}
    for name, file in files.items():
        digest_column(state, name, edges, _joined(spools, file).pieces)
    return state.hexdigest()
