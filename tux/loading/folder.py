"""A folder of parts, as `tux.graph.store` reads it, from what loaders keep on disk: the parts are
there already, and what they share is joined, piece by piece, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from tux.arrays.arrow import ROWS, STRING, parquet_writer
from tux.arrays.edges import digest_column, digest_ids
from tux.arrays.ids import Ids
from tux.arrays.npy import map_npy, write_joined, write_npy
from tux.base.disk import writing
from tux.graph.store import TypeEntry, write_manifest
from tux.loading.kinds import packed, unpacked
from tux.loading.loader import Loaded
from tux.loading.plan import Plan

STRINGS = ("lengths", "bytes")
"""The arrays that ids are in that are strings."""

RANGES = ("ids.", "order.", "home.", "number.", "degrees.")
"""How the names begin of what all parts share."""

Kept = Mapping[str, np.ndarray]
"""What one loader has kept, but for the parts, by name."""


class Spool:
    """Takes what one loader keeps: files of parts into the `folder` of the graph, all else into its
    own folder `spool`.
    """

    def __init__(self, folder: Path, spool: Path) -> None:
        self._folder, self._spool = folder, spool

    def __call__(self, name: str, array: np.ndarray) -> None:
        """Write one array. Raises DiskError."""
        if name.startswith("part-"):
            path = self._folder / f"{name}.npy"
            with writing(path.parent):
                path.parent.mkdir(exist_ok=True)
            write_npy(path, array)
        elif array.dtype.kind == "T":
            for kind, column in zip(STRINGS, packed(array), strict=True):
                write_npy(self._spool / f"{name}.{kind}.npy", column)
        else:
            write_npy(self._spool / f"{name}.npy", array)


class Spooled(Kept):
    """What lies in the folder `spool` of a loader; an array is mapped when it is asked for."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool

    def _path(self, name: object) -> Path:
        return self._spool / f"{name}.npy"

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self:
            raise KeyError(name)
        return map_npy(self._path(name))

    def __contains__(self, name: object) -> bool:
        return self._path(name).exists()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(path.name.removesuffix(".npy") for path in self._spool.glob("*.npy")))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def ranges_of(kept: Kept) -> dict[str, np.ndarray]:
    """Of what a loader has kept, its ranges of what all parts share."""
    return {name: kept[name] for name in kept if name.startswith(RANGES)}


def join(
    folder: Path, spools: Sequence[Path], plan: Plan, loaded: Sequence[Loaded], names: Sequence[str]
) -> str:
    """Write what the parts of `folder` share, from the loaders' `spools`, in their order, and the
    manifest; `names` of the edges' fields. Returns the digest of the edges. Raises DiskError.
    """
    kept = [Spooled(spool) for spool in spools]
    sizes = {name: loaded[0].types[name].ids for name in plan.types}
    digest = Digest(sizes, sum(sum(own.edges) for own in loaded), kept)
    for column in columns_of(names):
        for at, each in enumerate(kept):
            digest.add(column, each[column], first=at == 0)
    join_ranges(folder, kept, plan, loaded, names, digest.text)
    return digest.text


def join_ranges(
    folder: Path,
    kept: Sequence[Kept],
    plan: Plan,
    loaded: Sequence[Loaded],
    names: Sequence[str],
    digest: str,
) -> None:
    """Write what the parts of `folder` share, from what the loaders have `kept` of it, in their
    order, and the manifest, with the `digest` of the edges. Raises DiskError.
    """
    for name in plan.types:
        with parquet_writer(folder / f"{name}.ids.parquet") as write:
            for ids in _grouped(_ids(kept, name)):
                write({"id": ids})
        for array in ("order", "home", "number"):
            pieces = [each[f"{array}.{name}"] for each in kept]
            write_joined(folder / f"{name}.{array}.npy", pieces)
    for side in (0, 1):
        write_joined(folder / f"degrees.{side}.npy", [each[f"degrees.{side}"] for each in kept])
    types = []
    for name in plan.types:
        own = [each.types[name] for each in loaded]
        rows = [rows for each in own for rows in each.rows]
        types.append(TypeEntry(name, own[0].ids, own[0].ids, any(each.cut for each in own), rows))
    write_manifest(
        folder,
        parts=plan.parts,
        ends=plan.ends,
        fields=[*names],
        types=types,
        edges=sum(sum(own.edges) for own in loaded),
        digest=digest,
        partitioner=plan.partitioner,
        seed=plan.seed,
    )


def _ids(kept: Iterable[Kept], name: str) -> Iterator[np.ndarray]:
    """The ids of one type, ascending, a loader's range at a time."""
    for each in kept:
        if f"ids.{name}" in each:
            yield np.asarray(each[f"ids.{name}"])
        else:
            columns = (each[f"ids.{name}.{kind}"] for kind in STRINGS)
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


def columns_of(names: Sequence[str]) -> list[str]:
    """The columns of edges as loaders keep them, in the order in which they are digested; `names`
    of the fields.
    """
    return ["src", "dst", *(f"fields.{name}" for name in sorted(names))]


class Digest:
    """What `EdgeData.digest` says of all edges together, of which columns are added in the order of
    `columns_of`. It begins with the ids that loaders have `kept`; `sizes`: how many there are, by
    type.
    """

    def __init__(self, sizes: Mapping[str, int], edges: int, kept: Sequence[Kept]) -> None:
        self._state, self._edges = blake2b(digest_size=16), edges
        for name, count in sizes.items():
            digest_ids(self._state, name, count, map(Ids, _ids(kept, name)))

    def add(self, column: str, piece: np.ndarray, *, first: bool) -> None:
        """The next piece of a column, which may be its `first`."""
        if first:
            digest_column(self._state, column.removeprefix("fields"), self._edges, [piece])
        else:
            self._state.update(np.ascontiguousarray(piece).data)

    @property
    def text(self) -> str:
        """The digest of what was added, in hexadecimal digits."""
        return self._state.hexdigest()
