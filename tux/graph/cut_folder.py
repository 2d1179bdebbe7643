"""A folder that `tux partition` wrote, under the names of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.graph.manifest import Manifest, read_manifest
from tux.graph.parts import Part
from tux.graph.store import StoredIds, vertex_fields
from tux.program.types import Edge


def without_edges(
    folder: Path,
    ends: tuple[str, str],
    wanted: Mapping[str, np.dtype],
    others: Mapping[str, Edge] | None = None,
) -> EdgeData:
    """Read the ids of a partitioned folder under the names of a program, and its fields, without an
    edge; `others` are the edge types of the program beside the first.

    DataError if the folder has other numbers of vertex types or of fields than the program wants,
    or other edge types.
    """
    manifest = read_manifest(folder)
    _check_types(folder, manifest, others or {})
    if (manifest.ends[0] == manifest.ends[1]) != (ends[0] == ends[1]):
        kinds = {True: "one type", False: "two types"}
        raise DataError(
            f"its edges join vertices of {kinds[manifest.ends[0] == manifest.ends[1]]}, the "
            f"program's those of {kinds[ends[0] == ends[1]]}",
            where=str(folder),
            do="partition the file again, with --bipartite or --one-type as the program has it",
        )
    match_fields(manifest.fields, list(wanted), folder)
    stored = {entry.name: entry for entry in manifest.types}
    names = names_in_folder(manifest, ends)
    ids = {
        name: StoredIds(folder / f"{entry}.ids.parquet", stored[entry].ids)
        for entry, name in names.items()
    }
    none = np.empty(0, np.int32)
    numbers = {name: np.empty(0, dtype) for name, dtype in wanted.items()}
    known = {name: vertex_fields(folder, stored[entry]) for entry, name in names.items()}
    words = {
        name: {field: np.array(each, STRING) for field, each in stored[entry].categories.items()}
        for entry, name in names.items()
        if stored[entry].categories
    }
    classes = tuple(manifest.classes)
    rows = {
        name: EdgeData(edge.ends, ids, none, none, _empty_columns(folder, manifest, name, edge))
        for name, edge in (others or {}).items()
    }
    return EdgeData(
        ends,
        ids,
        none,
        none,
        numbers,
        vertex_fields=known,
        classes=classes,
        numbered=manifest.numbered,
        categories=words,
        others=rows,
    )


def names_in_folder(manifest: Manifest, ends: tuple[str, str]) -> dict[str, str]:
    """Return the vertex types of a folder, each with its name in a program with edges between
    `ends`: by their place where there is one edge type, else their own.
    """
    if manifest.others:
        return {entry.name: entry.name for entry in manifest.types}
    return dict(zip(manifest.ends, ends, strict=True))


def _check_types(folder: Path, manifest: Manifest, others: Mapping[str, Edge]) -> None:
    """Raise DataError where a folder has other edge types beside the first than `others`."""
    stored = {entry.name: entry.ends for entry in manifest.others}
    wanted = {name: edge.ends for name, edge in others.items()}
    if [*stored.items()] == [*wanted.items()]:  # workers number the types in their order
        return
    has, wants = (
        ", ".join(f"{name} from {ends[0]} to {ends[1]}" for name, ends in types.items()) or "none"
        for types in (stored, wanted)
    )
    raise DataError(
        f"its edge types beside the first are {has}, the program's {wants}",
        where=str(folder),
        do="partition the files of all edge types: tux partition TYPE=FILE .. --program PROG"
        if wanted
        else "run the program that it was cut for",
    )


def _empty_columns(
    folder: Path, manifest: Manifest, name: str, edge: Edge
) -> dict[str, np.ndarray]:
    """Return empty columns of the fields that a program reads of another edge type."""
    entry = next(each for each in manifest.others if each.name == name)
    match_fields(entry.fields, [*edge.columns], folder)
    return {field: np.empty(0, dtype) for field, dtype in edge.columns.items()}


def check_whole(folder: Path, ends: tuple[str, str], whole: Sequence[str]) -> None:
    """Raise DataError if the folder cuts vertices of a type that must be `whole`, one of `ends`."""
    manifest = read_manifest(folder)
    cut = {entry.name for entry in manifest.types if entry.cut}
    for stored, name in names_in_folder(manifest, ends).items():
        if stored in cut and name in whole:
            what = (
                f"its {plural_noun(stored)} are cut, by "
                f"{manifest.partitioner or 'unknown'}, but each "
                f"{name} is needed whole"
            )
            raise DataError(
                what, where=str(folder), do="partition the file again, by --method bicut or aweto"
            )


def match_fields(stored: list[str], wanted: list[str], folder: Path) -> dict[str, str]:
    """Match the stored fields with the wanted ones: by name, or by place if there are as many.
    DataError where neither works.
    """
    if set(wanted) <= set(stored):
        return {name: name for name in wanted}
    if len(stored) == len(wanted):
        return dict(zip(wanted, stored, strict=True))
    raise DataError(
        f"its edges hold {', '.join(stored) or 'no numbers'}; the program wants "
        f"{', '.join(wanted)}",
        where=str(folder),
        do="partition the file again, with all columns that the program reads",
    )


def rename_part(part: Part, manifest: Manifest, bare: EdgeData, folder: Path) -> Part:
    """Return a part of a folder with the names and dtypes of `bare`, which `without_edges` has
    made.
    """
    names = names_in_folder(manifest, bare.ends)
    known: dict[str, Any] = {
        name: {"ids": bare.ids[own], "data": bare.vertex_fields[own]} for name, own in names.items()
    }
    types = {
        names[name]: replace(each, name=names[name], **known[name])
        for name, each in part.types.items()
    }
    others = {
        name: each._replace(fields=_convert_fields(each.fields, bare.others[name].fields, folder))
        for name, each in part.others.items()
    }
    fields = _convert_fields(part.fields, bare.fields, folder)
    return replace(part, types=types, fields=fields, others=others)


def _convert_fields(
    stored: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray], folder: Path
) -> dict[str, np.ndarray]:
    """Return stored columns under the names, and with the dtypes, of those that are wanted."""
    return {
        name: _convert_column(stored[own], wanted[name].dtype, own)
        for name, own in match_fields([*stored], [*wanted], folder).items()
    }


def _convert_column(column: np.ndarray, dtype: np.dtype, name: str) -> np.ndarray:
    """Convert a column to another dtype; DataError if whole numbers are wanted and it has
    others.
    """
    if (
        dtype.kind in "iu"
        and column.dtype.kind == "f"
        and not np.array_equal(column, np.floor(column))
    ):
        raise DataError(
            f"{name} is {column[column != np.floor(column)][0]}, not a whole number",
            do="name the program that these edges are for",
        )
    return column.astype(dtype, copy=False)
