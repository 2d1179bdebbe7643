"""A partitioned graph on disk: a folder with `manifest.json`, one `.npy` per array and part, and
the ids of each type as Parquet.

Arrays are opened by memory map, so that the workers of one machine share what they read. Nothing in
it is executable or pickled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from mmap import mmap
from pathlib import Path

import numpy as np

from tux.arrays.arrow import parquet_types, read_parquet, write_parquet
from tux.arrays.ids import Ids
from tux.arrays.npy import npy_bytes, write_npy
from tux.base.disk import writing
from tux.base.errors import DataError
from tux.graph.manifest import MANIFEST, EdgeEntry, TypeEntry, read_manifest, write_manifest
from tux.graph.parts import EdgePart, Part, TypePart
from tux.graph.stored_arrays import (
    Indices,
    StoredIndices,
    check_length,
    folder_damage,
    map_array,
    map_indices,
    read_index_lists,
)

PIECE = 1 << 22  # bytes that are read at a time
MOST_EDGES = 2**31 - 1
"""Edges of one vertex: degrees are int32."""


def edges_prefix(name: str) -> str:
    """Return the beginning of the names of arrays of an edge type; "" is the first one."""
    return f"edges.{name}." if name else ""


class StoredIds(Ids):
    """The ids of a folder, which are read when they are first asked for; their number is known
    before.
    """

    def __init__(self, path: Path, count: int) -> None:
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_count", count)

    @cached_property
    def values(self) -> np.ndarray:  # type: ignore[override]
        """The ids (n,), by dense index. They stay in memory from then on."""
        return self.read()

    @property
    def are_strings(self) -> bool:
        """True if they are strings, which their file says without being read."""
        return "string" in parquet_types(self._path).get("id", "")  # type: ignore[attr-defined]

    def read(self) -> np.ndarray:
        """Read the ids, which do not stay in memory."""
        path: Path = self._path  # type: ignore[attr-defined]
        ids = read_parquet(path, ["id"])["id"]
        if not isinstance(ids, np.ndarray) or ids.ndim != 1 or ids.dtype.kind not in "iuT":
            raise folder_damage(path, "no column of integers or strings")
        check_length(ids, len(self), path)
        return ids

    def __len__(self) -> int:
        return self._count  # type: ignore[attr-defined, no-any-return]


def ids_file(folder: Path, kind: str) -> Path:
    """Return the file of the ids of a vertex type, by dense index: a column `id`."""
    return folder / f"{kind}.ids.parquet"


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
    numbered: str = "",
    categories: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    linked: Path | None = None,
) -> None:
    """Write the parts of one graph, or `which` of them, into `folder`, which exists. The manifest
    comes last: with one, all is there. Arrays of a part that are mapped from the folder `linked`
    become links to their files, and take no room.

    The manifest gets the `digest` of the edges, the `partitioner` and the `seed` of the cut;
    `classes`: the words that labels of vertices stand for; `numbered`: see
    `tux.arrays.edges.EdgeData.numbered`; `categories`: the words that numbers of
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
            _write_or_link(into / f"{name}.npy", values, linked)
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
        numbered=numbered,
        has_test=parts[0].has_test,
        others=[
            EdgeEntry(
                name, each.ends, [*each.fields], sum(len(part.others[name].src) for part in parts)
            )
            for name, each in parts[0].others.items()
        ],
    )


def _write_or_link(path: Path, values: np.ndarray, linked: Path | None) -> None:
    """Write an array, or a link to its file where that is mapped as a whole, in folder `linked`."""
    if linked and isinstance(values, np.memmap) and isinstance(values.base, mmap):
        file = Path(values.filename or "").resolve()
        if linked in file.parents:
            with writing(path):
                path.symlink_to(file)
            return
    write_npy(path, values)


def _save_type(
    folder: Path,
    parts: Sequence[Part],
    name: str,
    categories: Mapping[str, Mapping[str, np.ndarray]],
) -> TypeEntry:
    """Write the ids of one vertex type; return its entry."""
    first = parts[0].types[name]
    write_parquet(ids_file(folder, name), {"id": first.ids.values})
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


def _shared_arrays(part: Part) -> dict[str, Indices]:
    """Collect the arrays that all parts share, by file name."""
    out = {f"degrees.{side}": degrees for side, degrees in enumerate(part.degrees)}
    for name, edges in part.others.items():
        own = edges_prefix(name)
        out |= {f"{own}degrees.{side}": each for side, each in enumerate(edges.degrees)}
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
    for name, edges in part.others.items():
        own = edges_prefix(name)
        out |= {f"{own}src": edges.src, f"{own}dst": edges.dst}
        out |= {f"{own}fields.{field}": array for field, array in edges.fields.items()}
    for name, each in part.types.items():
        out |= {f"types.{name}.rows": each.rows, f"types.{name}.masters": each.masters}
        for route in ("up", "down", "peek_up", "peek_down"):
            lists = getattr(each, route)
            out[f"types.{name}.{route}"] = np.concatenate(lists)
            out[f"types.{name}.{route}.bounds"] = np.cumsum([0, *map(len, lists)])
    return out


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
        StoredIndices(folder / "degrees.0.npy", MOST_EDGES + 1, first.vertices),
        StoredIndices(folder / "degrees.1.npy", MOST_EDGES + 1, second.vertices),
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
        {entry.name: _map_edges(folder, part, entry, types) for entry in manifest.others},
    )


def _map_edges(
    folder: Path, part: Path, entry: EdgeEntry, types: Mapping[str, TypePart]
) -> EdgePart:
    """Map the edges of another type of a part."""
    first, second = (types[end] for end in entry.ends)
    own = edges_prefix(entry.name)
    src = map_indices(part / f"{own}src.npy", first.n_train)
    dst = map_indices(part / f"{own}dst.npy", second.n_train, len(src))
    names = {name: part / f"{own}fields.{name}.npy" for name in entry.fields}
    fields = {name: map_array(path, len(src)) for name, path in names.items()}
    degrees = (
        StoredIndices(folder / f"{own}degrees.0.npy", MOST_EDGES + 1, first.vertices),
        StoredIndices(folder / f"{own}degrees.1.npy", MOST_EDGES + 1, second.vertices),
    )
    return EdgePart(entry.ends, degrees, src, dst, fields)


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
        StoredIds(ids_file(folder, entry.name), entry.ids),
        StoredIndices(folder / f"{entry.name}.order.npy", entry.ids, entry.ids),
        entry.vertices,
        entry.cut,
        rows,
        entry.n_train[number],
        masters,
        up,
        down,
        peek_up,
        peek_down,
        StoredIndices(folder / f"{entry.name}.home.npy", parts, entry.vertices),
        StoredIndices(folder / f"{entry.name}.number.npy", entry.vertices, entry.vertices),
        vertex_fields(folder, entry),
    )
