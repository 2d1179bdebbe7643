"""The manifest of a partitioned graph on disk: what its folder holds (`tux.graph.store`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tux.base.disk import writing
from tux.base.errors import DataError
from tux.graph.stored_arrays import folder_damage
from tux.partition.common.capacity import MOST_PARTS

FORMAT, MANIFEST = 2, "manifest.json"
FORMAT_OF_TYPES = 3
"""The format of a folder with several edge types, of which format 2 knows nothing."""


class TypeEntry(msgspec.Struct):
    """The entry of one vertex type in the manifest."""

    name: str
    ids: int  # with those of held-out edges
    vertices: int
    cut: bool
    n_train: list[int]  # by part
    data: list[str] = []  # fields of vertices
    categories: dict[str, list[str]] = {}  # by field: the words that its numbers stand for


class EdgeEntry(msgspec.Struct):
    """The entry of an edge type in the manifest, of those beside the first."""

    name: str
    ends: tuple[str, str]
    fields: list[str]
    edges: int  # over all parts


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
    numbered: str = ""  # see `tux.arrays.edges.EdgeData.numbered`
    has_test: bool = False
    others: list[EdgeEntry] = []  # of the edge types beside the first


def write_manifest(folder: Path, *, test_fields: Sequence[str] = (), **about: Any) -> None:
    """Write the manifest of a folder in which all else is; `about`: the fields of `Manifest`."""
    format = FORMAT_OF_TYPES if about.get("others") else FORMAT
    manifest = Manifest(format=format, test_fields=[*test_fields], **about)
    # not synced: the folder of a job does not outlive it, and `tux partition` syncs its own
    with writing(folder / MANIFEST):
        (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))


def change_manifest(folder: Path, manifest: Manifest, **changed: Any) -> None:
    """Write the manifest of a folder anew, with some other fields."""
    about = {name: getattr(manifest, name) for name in Manifest.__struct_fields__}
    del about["format"]
    write_manifest(folder, **about | changed)


def is_partitioned(path: Path) -> bool:
    """Return whether a path is a folder that `save` wrote."""
    return (path / MANIFEST).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder; DataError if it has none that this version reads."""
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
        header = msgspec.json.decode(content, type=Header)
        if header.format not in (FORMAT, FORMAT_OF_TYPES):
            raise DataError(
                f"a partitioned graph of format {header.format}",
                where=str(path),
                do=f"this version reads format {FORMAT} and {FORMAT_OF_TYPES}",
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
    files += [name for entry in manifest.others for name in (entry.name, *entry.fields)]
    ends = {*manifest.ends}.union(*(entry.ends for entry in manifest.others))
    if not 1 <= manifest.parts <= MOST_PARTS:
        return f"{manifest.parts} parts"
    if set(names) != ends or len(set(names)) < len(names):
        return f"types {', '.join(names)} of edges from {' to '.join(manifest.ends)}"
    if any(not name.isidentifier() for name in files):
        return "a name that is none of a type or a field"
    for entry in manifest.types:
        if not 0 <= entry.vertices <= entry.ids or len(entry.n_train) != manifest.parts:
            return f"{entry.name}: {entry.vertices} vertices of {entry.ids} ids"
        if not all(0 <= n_train <= entry.vertices for n_train in entry.n_train):
            return f"{entry.name}: a part with another number of rows than there are vertices"
    return ""
