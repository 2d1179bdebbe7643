"""A partitioned graph on disk: a folder with `manifest.json`, one `.npy` per array and part, and
the ids of each type as Parquet.

Arrays are opened by memory map, so that the workers of one machine share what they read. Nothing in
it is executable or pickled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tux.arrays.arrow import read_parquet, write_parquet
from tux.arrays.ids import Ids
from tux.arrays.npy import npy_bytes, write_npy
from tux.base.disk import writing
from tux.base.errors import DataError
from tux.graph.parts import Part, TypePart
from tux.graph.stored_arrays import (
    check_length,
    folder_damage,
    map_array,
    map_indices,
    read_index_lists,
)
from tux.partition.common.capacity import MOST_PARTS

FORMAT, MANIFEST = 2, "manifest.json"
PIECE = 1 << 22  # bytes that are read at a time
MOST_EDGES = 2**31 - 1
"""Edges of one vertex: degrees are int32."""


class TypeEntry(msgspec.Struct):
    """The entry of one vertex type in the manifest."""

    name: str
    ids: int  # with those of held-out edges
    vertices: int
    cut: bool
    n_train: list[int]  # by part
    data: list[str] = []  # fields of vertices
    categories: dict[str, list[str]] = {}  # by field: the words that its numbers stand for


class Header(msgspec.Struct):
    """The fields that the manifest of every format has."""

    format: int


class Manifest(Header):
    """The content of `manifest.json`."""

    parts: int
    ends: tuple[str, str]
    fields: list[str]
    test_fields: list[str]
    types: list[TypeEntry]
    edges: int  # over all parts
    digest: str  # of the edges that were cut
    partitioner: str
    seed: int
    topology: list[str] = []  # arrays of all neighbours
    classes: list[str] = []  # the words for labels of -1 and +1, or from 0 on
    has_test: bool = False


class StoredIds(Ids):
    """The ids of a folder, which are read when they are first asked for; their number is known
    before.
    """

    def __init__(self, path: Path, count: int) -> None:
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_count", count)

    @cached_property
    def values(self) -> np.ndarray:  # type: ignore[override]
        """The ids (n,), by dense index."""
        path: Path = self._path  # type: ignore[attr-defined]
        ids = read_parquet(path, ["id"])["id"]
        if not isinstance(ids, np.ndarray) or ids.ndim != 1 or ids.dtype.kind not in "iuT":
            raise folder_damage(path, "no column of integers or strings")
        check_length(ids, len(self), path)
        return ids

    def __len__(self) -> int:
        return self._count  # type: ignore[attr-defined, no-any-return]


def save(
    folder: Path,
    parts: Sequence[Part],
    ends: tuple[str, str],
    which: Iterable[int] | None = None,
    *,
    digest: str = "",
    partitioner: str = "",
    seed: int = 0,
    classes: Sequence[str] = (),
    categories: Mapping[str, Mapping[str, np.ndarray]] | None = None,
) -> None:
    """Write the parts of one graph, or `which` of them, into `folder`, which exists. The manifest
    comes last: with one, all is there.

    The manifest gets the `digest` of the edges, the `partitioner` and the `seed` of the cut;
    `classes`: the words that labels of vertices stand for; `categories`: those that numbers of
    other fields stand for. Raises DiskError.
    """
    types = [_save_type(folder, parts, name, categories or {}) for name in parts[0].types]
    for name, values in _shared_arrays(parts[0]).items():
        write_npy(folder / f"{name}.npy", values)
    for number in range(len(parts)) if which is None else which:
        part = parts[number]
        into = folder / f"part-{number}"
        into.mkdir()
        for name, values in part_arrays(part).items():
            write_npy(into / f"{name}.npy", values)
    write_manifest(
        folder,
        parts=len(parts),
        ends=ends,
        fields=[*parts[0].fields],
        test_fields=[*parts[0].test_fields],
        types=types,
        edges=sum(len(part.src) for part in parts),
        digest=digest,
        partitioner=partitioner,
        seed=seed,
        topology=[*parts[0].topology],
        classes=[*classes],
        has_test=parts[0].has_test,
    )


def write_manifest(folder: Path, *, test_fields: Sequence[str] = (), **about: Any) -> None:
    """Write the manifest of a folder in which all else is; `about`: the fields of `Manifest`."""
    manifest = Manifest(format=FORMAT, test_fields=[*test_fields], **about)
    # not synced: the folder of a job does not outlive it, and `tux partition` syncs its own
    with writing(folder / MANIFEST):
        (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))


def _save_type(
    folder: Path,
    parts: Sequence[Part],
    name: str,
    categories: Mapping[str, Mapping[str, np.ndarray]],
) -> TypeEntry:
    """Write the ids of one vertex type; return its entry."""
    first = parts[0].types[name]
    write_parquet(folder / f"{name}.ids.parquet", {"id": first.ids.values})
    return TypeEntry(
        name,
        len(first.ids),
        first.vertices,
        first.cut,
        [part.types[name].n_train for part in parts],
        list(first.data),
        {
            field: [str(word) for word in words.tolist()]
            for field, words in categories.get(name, {}).items()
        },
    )


def _shared_arrays(part: Part) -> dict[str, np.ndarray]:
    """Collect the arrays that all parts share, by file name."""
    out = {f"degrees.{side}": degrees for side, degrees in enumerate(part.degrees)}
    for name, each in part.types.items():
        out |= {f"{name}.order": each.order, f"{name}.home": each.home}
        out |= {f"{name}.number": each.number}
        out |= {f"{name}.data.{field}": values for field, values in each.data.items()}
    return out | {f"topology.{name}": values for name, values in part.topology.items()}


def part_arrays(part: Part) -> dict[str, np.ndarray]:
    """Collect the arrays of a part alone, by file name; lists of arrays as one array and its
    bounds.
    """
    out = {
        "src": part.src,
        "dst": part.dst,
        "test_src": part.test_src,
        "test_dst": part.test_dst,
    }
    out |= {f"fields.{name}": array for name, array in part.fields.items()}
    out |= {f"test_fields.{name}": array for name, array in part.test_fields.items()}
    for name, each in part.types.items():
        out |= {f"types.{name}.rows": each.rows, f"types.{name}.masters": each.masters}
        for route in ("up", "down", "peek_up", "peek_down"):
            lists = getattr(each, route)
            out[f"types.{name}.{route}"] = np.concatenate(lists)
            out[f"types.{name}.{route}.bounds"] = np.cumsum([0, *map(len, lists)])
    return out


def is_partitioned(path: Path) -> bool:
    """Return whether a path is a folder that `save` wrote."""
    return (path / MANIFEST).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder; DataError if it has none that this version reads."""
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
        header = msgspec.json.decode(content, type=Header)
        if header.format != FORMAT:
            raise DataError(
                f"a partitioned graph of format {header.format}",
                where=str(path),
                do=f"this version reads format {FORMAT}",
            )
        manifest = msgspec.json.decode(content, type=Manifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(
            f"not a partitioned graph: {error}", where=str(path), do="run tux partition again"
        ) from None
    if why := _contradiction(manifest):
        raise folder_damage(path, why)
    return manifest


def _contradiction(manifest: Manifest) -> str:
    """Describe the contradiction in a manifest; "" if there is none."""
    names = [entry.name for entry in manifest.types]
    files = [*names, *manifest.fields, *manifest.test_fields, *manifest.topology]
    files += [field for entry in manifest.types for field in entry.data]
    if not 1 <= manifest.parts <= MOST_PARTS:
        return f"{manifest.parts} parts"
    if set(names) != set(manifest.ends) or len(set(names)) < len(names):
        return f"types {', '.join(names)} of edges from {' to '.join(manifest.ends)}"
    if any(not name.isidentifier() for name in files):
        return "a name that is none of a type or a field"
    for entry in manifest.types:
        if not 0 <= entry.vertices <= entry.ids or len(entry.n_train) != manifest.parts:
            return f"{entry.name}: {entry.vertices} vertices of {entry.ids} ids"
        if not all(0 <= n_train <= entry.vertices for n_train in entry.n_train):
            return f"{entry.name}: a part with another number of rows than there are vertices"
    return ""


def vertex_fields(folder: Path, entry: TypeEntry) -> dict[str, np.ndarray]:
    """Map the fields that are known of the vertices of one type, by dense index."""
    fields = {}
    for field in entry.data:
        path = folder / f"{entry.name}.data.{field}.npy"
        fields[field] = map_array(path)
        # Of vertices that only held-out edges have, less may be known.
        if not entry.vertices <= len(fields[field]) <= entry.ids:
            check_length(fields[field], entry.ids, path)
    return fields


def load(folder: Path, number: int) -> Part:
    """Load part `number` of a folder, its arrays mapped. DataError if a file is missing, or does
    not hold what the manifest says.
    """
    manifest, part = read_manifest(folder), folder / f"part-{number}"
    if not 0 <= number < manifest.parts:
        raise DataError(
            f"a partitioned graph of {manifest.parts} parts has no part {number}",
            where=str(folder / MANIFEST),
        )
    types = {
        entry.name: _map_type(folder, part, entry, number, manifest.parts)
        for entry in manifest.types
    }
    first, second = (types[end] for end in manifest.ends)
    src = map_indices(part / "src.npy", first.n_train)
    dst = map_indices(part / "dst.npy", second.n_train, len(src))
    test_src = map_indices(part / "test_src.npy", len(first.rows))
    test_dst = map_indices(part / "test_dst.npy", len(second.rows), len(test_src))
    fields = {name: map_array(part / f"fields.{name}.npy", len(src)) for name in manifest.fields}
    test_fields = {
        name: map_array(part / f"test_fields.{name}.npy", len(test_src))
        for name in manifest.test_fields
    }
    degrees = (
        map_indices(folder / "degrees.0.npy", MOST_EDGES + 1, first.vertices),
        map_indices(folder / "degrees.1.npy", MOST_EDGES + 1, second.vertices),
    )
    return Part(
        types,
        degrees,
        src,
        dst,
        fields,
        test_src,
        test_dst,
        test_fields,
        {name: map_array(folder / f"topology.{name}.npy") for name in manifest.topology},
        manifest.has_test,
    )


def digest(folder: Path, number: int) -> str:
    """Compute the BLAKE2b of all arrays of a part, and of those that it shares with others: states
    of a worker fit this part alone.
    """
    total = blake2b(digest_size=16)
    for path in sorted((*folder.glob("*.npy"), *(folder / f"part-{number}").glob("*.npy"))):
        total.update(f"{path.name}\n".encode())
        with open(path, "rb") as file:
            while piece := file.read(PIECE):
                total.update(piece)
    return total.hexdigest()


def digest_of(parts: Sequence[Part], number: int) -> str:
    """Compute the `digest` that a part will have in a folder."""
    shared, own = _shared_arrays(parts[0]), part_arrays(parts[number])
    files = {Path(f"{name}.npy"): values for name, values in shared.items()}
    files |= {Path(f"part-{number}", f"{name}.npy"): values for name, values in own.items()}
    total = blake2b(digest_size=16)
    for path in sorted(files):
        total.update(f"{path.name}\n".encode())
        for piece in npy_bytes(files[path]):
            total.update(piece)
    return total.hexdigest()


def _map_type(folder: Path, part: Path, entry: TypeEntry, number: int, parts: int) -> TypePart:
    """Map one vertex type of part `number`."""
    own = f"types.{entry.name}"
    rows = map_indices(part / f"{own}.rows.npy", entry.ids)
    masters = map_indices(part / f"{own}.masters.npy", entry.vertices)
    if entry.n_train[number] > len(rows):
        raise folder_damage(
            part / f"{own}.rows.npy", f"{len(rows):,} rows of {entry.n_train[number]:,}"
        )
    up, down, peek_up, peek_down = (
        read_index_lists(part / f"{own}.{route}", below, parts)
        for route, below in (
            ("up", len(rows)),
            ("down", len(masters)),
            ("peek_up", len(rows)),
            ("peek_down", len(masters)),
        )
    )
    return TypePart(
        entry.name,
        StoredIds(folder / f"{entry.name}.ids.parquet", entry.ids),
        map_indices(folder / f"{entry.name}.order.npy", entry.ids, entry.ids),
        entry.vertices,
        entry.cut,
        rows,
        entry.n_train[number],
        masters,
        up,
        down,
        peek_up,
        peek_down,
        map_indices(folder / f"{entry.name}.home.npy", parts, entry.vertices),
        map_indices(folder / f"{entry.name}.number.npy", entry.vertices, entry.vertices),
        vertex_fields(folder, entry),
    )
