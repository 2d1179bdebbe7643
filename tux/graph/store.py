"""A partitioned graph on disk: a folder with `manifest.json`, one `.npy` per array and part, and
the ids of each type as Parquet.

Arrays are opened by memory map, so that the workers of one machine share what they read. Nothing in
it is executable or pickled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.lib.format import open_memmap

from tux.arrays.arrow import read_parquet, write_parquet
from tux.arrays.ids import Ids
from tux.arrays.npy import write_npy
from tux.base.disk import replacing
from tux.base.errors import DataError
from tux.graph.parts import Part, TypePart

FORMAT, MANIFEST = 2, "manifest.json"


class TypeEntry(msgspec.Struct):
    """One vertex type in the manifest."""

    name: str
    ids: int  # with those of held-out edges
    vertices: int
    cut: bool
    known: list[int]  # by part
    data: list[str] = []  # fields of vertices


class Header(msgspec.Struct):
    """What the manifest of every format has."""

    format: int


class Manifest(Header):
    """What `manifest.json` holds."""

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
    classes: list[str] = []  # what labels of -1 and +1 stand for


class StoredIds(Ids):
    """Ids that are read when they are first asked for; how many there are is known before."""

    def __init__(self, path: Path, count: int) -> None:
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_count", count)

    @cached_property
    def values(self) -> np.ndarray:  # type: ignore[override]
        """The ids (n,), by dense index."""
        return read_parquet(self._path)["id"]  # type: ignore[attr-defined]

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
) -> None:
    """Write the parts of one graph, or `which` of them, into `folder`, which exists. The manifest
    comes last: with one, all is there.

    `digest` of the edges, `partitioner` and `seed` say where the parts are from, `classes` what
    labels of vertices stand for. Raises DiskError.
    """
    types = []
    for name, first in parts[0].types.items():
        write_parquet(folder / f"{name}.ids.parquet", {"id": first.ids.values})
        write_npy(folder / f"{name}.order.npy", first.order)
        write_npy(folder / f"{name}.home.npy", first.home)
        write_npy(folder / f"{name}.number.npy", first.number)
        known = [part.types[name].known for part in parts]
        for field, array in first.data.items():
            write_npy(folder / f"{name}.data.{field}.npy", array)
        types.append(
            TypeEntry(name, len(first.ids), first.vertices, first.cut, known, list(first.data))
        )
    for side, degrees in enumerate(parts[0].degrees):
        write_npy(folder / f"degrees.{side}.npy", degrees)
    for number in range(len(parts)) if which is None else which:
        part = parts[number]
        into = folder / f"part-{number}"
        into.mkdir()
        for name, array in _arrays(part).items():
            write_npy(into / f"{name}.npy", array)
    fields, held = list(parts[0].fields), list(parts[0].test_fields)
    edges = sum(len(part.src) for part in parts)
    for name, array in parts[0].topology.items():
        write_npy(folder / f"topology.{name}.npy", array)
    whole = list(parts[0].topology)
    manifest = Manifest(
        FORMAT,
        len(parts),
        ends,
        fields,
        held,
        types,
        edges,
        digest,
        partitioner,
        seed,
        whole,
        [*classes],
    )
    with replacing(folder / MANIFEST) as written:
        written.write_bytes(msgspec.json.encode(manifest))


def _arrays(part: Part) -> dict[str, np.ndarray]:
    """All arrays of a part by file name; lists of arrays as one array and its bounds."""
    out = {
        "src": part.src,
        "dst": part.dst,
        "test_src": part.test_src,
        "test_dst": part.test_dst,
        "test_index": part.test_index,
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
    """Whether a path is a folder that `save` wrote."""
    return (path / MANIFEST).is_file()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder; DataError if it has none that this version reads."""
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
        return msgspec.json.decode(content, type=Manifest)
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"not a partitioned graph: {error}", where=str(path)) from None


def vertex_fields(folder: Path, entry: TypeEntry) -> dict[str, np.ndarray]:
    """What is known of the vertices of one type, by dense index, mapped."""
    return {
        field: open_memmap(folder / f"{entry.name}.data.{field}.npy", mode="r")
        for field in entry.data
    }


def load(folder: Path, number: int) -> Part:
    """Part `number` of a folder, its arrays mapped. DataError if a file is missing or is no
    array.
    """
    manifest, part = read_manifest(folder), folder / f"part-{number}"
    if not 0 <= number < manifest.parts or any(
        len(entry.known) != manifest.parts for entry in manifest.types
    ):
        raise DataError(
            f"a partitioned graph of {manifest.parts} parts has no part {number}",
            where=str(folder / MANIFEST),
        )

    def array(path: Path) -> Any:
        try:
            # of plain numbers only: objects, which would be pickled, cannot be mapped
            return open_memmap(path, mode="r")
        except (OSError, ValueError) as error:
            raise DataError(
                f"a partitioned graph lacks an array: {error}", where=str(path)
            ) from None

    def lists(name: str) -> list[np.ndarray]:
        joined, bounds = array(part / f"{name}.npy"), array(part / f"{name}.bounds.npy")
        return [np.asarray(joined[lo:hi]) for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)]

    types = {}
    for entry in manifest.types:
        ids = StoredIds(folder / f"{entry.name}.ids.parquet", entry.ids)
        own = [array(part / f"types.{entry.name}.{what}.npy") for what in ("rows", "masters")]
        routes = [
            lists(f"types.{entry.name}.{route}") for route in ("up", "down", "peek_up", "peek_down")
        ]
        order = array(folder / f"{entry.name}.order.npy")
        size, known = (entry.vertices, entry.cut), entry.known[number]
        homes = array(folder / f"{entry.name}.home.npy"), array(folder / f"{entry.name}.number.npy")
        data = {field: array(folder / f"{entry.name}.data.{field}.npy") for field in entry.data}
        up, down, peek_up, peek_down = routes
        types[entry.name] = TypePart(
            entry.name,
            ids,
            order,
            *size,
            own[0],
            known,
            own[1],
            up,
            down,
            peek_up,
            peek_down,
            *homes,
            data,
        )
    fields = {name: array(part / f"fields.{name}.npy") for name in manifest.fields}
    test_fields = {name: array(part / f"test_fields.{name}.npy") for name in manifest.test_fields}
    ends = [
        array(part / f"{name}.npy") for name in ("src", "dst", "test_src", "test_dst", "test_index")
    ]
    degrees = array(folder / "degrees.0.npy"), array(folder / "degrees.1.npy")
    topology = {name: array(folder / f"topology.{name}.npy") for name in manifest.topology}
    return Part(
        types, degrees, ends[0], ends[1], fields, ends[2], ends[3], test_fields, ends[4], topology
    )
