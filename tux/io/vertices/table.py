"""Tables of vertices, whatever their format: ids and data fields of the vertices of one type.

A column of words is read into a field of whole numbers: the words in ascending order are numbered
from 0, and are the field's categories.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tux.arrays.arrow import CodedColumn
from tux.arrays.frames import levels_of
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.io.edges.columns import unused_notes
from tux.io.source.odd_ids import odd_ids
from tux.io.source.text import BadRows, OnBadRow, quote_word
from tux.io.vertices.arrays import Column, check_lengths, file_columns, memory_columns
from tux.io.vertices.columns import PickedColumns, WantedField, columns_by_field, pick_columns
from tux.io.vertices.rows import Columns, VertexRows, filter_column, number_limits
from tux.io.vertices.text import F8, Kinds, TableHead, columns_without_names, read_text

Categories = Mapping[str, np.ndarray]
"""By field, the words that its numbers stand for, (k,) StringDType."""


@dataclass(frozen=True, eq=False)
class VertexTable:
    """n vertices of one type: their ids, each once, and their fields (n,) or (n, width)."""

    name: str  # of the file, for messages
    ids: Any
    fields: dict[str, np.ndarray]
    categories: dict[str, np.ndarray] = field(default_factory=dict)
    skipped: int = 0
    first_skipped: str = ""
    # the column that was taken for each field, where its name does not say so
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # sentences of the reader that the user should know


def read_vertices(
    source: Any,
    kind: str,
    wanted: Sequence[WantedField] | None,
    *,
    on_bad_row: OnBadRow = "stop",
    categories: Categories | None = None,
    points: bool = False,
) -> VertexTable:
    """Read the vertices of type `kind` from a table: a file of text with a line of names, of
    Parquet, or of numpy's arrays (.npz); or arrays by name, or a table of another library
    (`tux.arrays.frames`), whose rows are counted from 0.

    `wanted` are the fields that are read; None: all columns. With `categories` of earlier data,
    words keep their numbers, and rows with other words are bad. With `points`, rows may be without
    ids: they are numbered, those of files from 1; and the table may be without names, or be one
    array (.npy). See `tux.io.vertices.columns.pick_columns`.

    A row is bad if a value is missing, is not finite, does not fit the field's dtype or length, or
    if its id has come before. The first is an error, or with `on_bad_row` "skip" bad rows are left
    out and counted. Raises `DataError` with file and line.
    """
    path = os.fspath(source) if isinstance(source, str | os.PathLike) else ""
    bad = BadRows.of_memory(f"the table of {kind}s", on_bad_row)
    if path:
        bad = BadRows(path, stop=on_bad_row == "stop")
    read = _read_columns(source, kind, wanted, bad, points)
    rows = VertexRows(read, bad, kind)
    found: dict[str, np.ndarray | CodedColumn] = {
        each.name: rows.field(each, columns) for each, columns in read.picked.fields.items()
    }
    ids = rows.ids()
    known = categories or {}
    for name, values in found.items():
        if isinstance(values, CodedColumn) and name in known:
            new = np.flatnonzero(Ids(known[name]).encode(values.values) < 0)
            rows.drop(
                np.isin(values.codes, new),
                lambda row, v=values, name=name: (  # type: ignore[misc]
                    f"{name} is {quote_word(str(v.values[v.codes[row]]))}, which training "
                    "did not have"
                ),
            )
    rows.unique(ids)
    keep = rows.keep
    fields, words = {}, {}
    for each in read.picked.fields:
        values = found[each.name]
        if isinstance(values, CodedColumn):
            words[each.name], fields[each.name] = _number_words(values, keep, known.get(each.name))
            _check_categories(each, words[each.name], bad.path)
        else:
            fields[each.name] = values[keep]
    if not keep.any() and bad.count:
        raise bad.no_usable_row()
    good = filter_column(ids, keep)
    notes = read.notes
    if points and path and isinstance(good, CodedColumn):
        notes = (*notes, *odd_ids({kind: Ids(good.values)}))
    return VertexTable(bad.path, good, fields, words, bad.count, bad.first, read.taken, notes)


# ---- columns


def _read_columns(
    source: Any, kind: str, wanted: Sequence[WantedField] | None, bad: BadRows, points: bool
) -> Columns:
    """Read the columns of a table that are used, with the place of each row."""
    if not isinstance(source, str | os.PathLike):
        columns = memory_columns(source, kind)
    elif (of_file := file_columns(source)) is None:
        return _read_text(kind, wanted, bad, points)
    else:
        columns = of_file
    columns = {name or "x": column for name, column in columns.items()}
    if points and len(columns) == 1 and wanted is not None:
        (only,) = columns.values()
        vectors = [each.name for each in wanted if each.width is not None]
        columns = {vectors[0]: only} if only.wide and len(vectors) == 1 else columns
    lists = [name for name, column in columns.items() if column.wide]
    numeric = {
        name
        for name, column in columns.items()
        if column.measured and not isinstance(column.values, CodedColumn)
    }
    picked = pick_columns(
        [*columns],
        kind,
        wanted,
        lists,
        bad.path,
        points=points,
        numeric=numeric.__contains__,
        levels=[*map(str, levels_of(source))],
    )
    used = {name: columns[name] for name in picked.columns}
    count = check_lengths(used, bad.path)
    return Columns(
        picked,
        used,
        np.arange(1, count + 1),
        "row ",
        columns_by_field(picked),
        _unused_notes(picked, [*columns]),
        first=int(isinstance(source, str | os.PathLike)),
    )


def _read_text(
    kind: str, wanted: Sequence[WantedField] | None, bad: BadRows, points: bool
) -> Columns:
    chosen: list[tuple[PickedColumns, dict[str, str], tuple[str, ...]]] = []

    def choose(head: TableHead) -> Kinds:
        names = head.names or columns_without_names(head.width)
        if not head.names and not points:
            raise DataError(
                "the first row holds values, not names of columns",
                where=bad.path,
                do="Begin the table with a line of names: id, and the fields.",
            )
        picked = pick_columns(
            names,
            kind,
            wanted,
            (),
            bad.path,
            points=points,
            numeric=lambda name: head.numeric(names.index(name)),
        )
        chosen.append(
            (picked, columns_by_field(picked) if head.names else {}, _unused_notes(picked, names))
        )
        kinds: Kinds = {} if picked.ids is None else {picked.ids: None}
        for each, columns in picked.fields.items():
            for name in columns:
                number = (
                    head.numeric(names.index(name))
                    if each.dtype is None
                    else each.dtype.kind == "f" or each.width is not None
                )
                kinds[name] = F8 if number else None
        return kinds

    fields = () if wanted is None else (each.name for each in wanted)
    read = read_text(bad, choose, ("id", kind, f"{kind}id", *fields), kind)
    none = np.zeros(len(read.lines), np.bool_)
    columns = {name: Column(values, none) for name, values in read.columns.items()}
    picked, named, notes = chosen[0]
    return Columns(picked, columns, read.lines, "", named, (*notes, *read.notes))


def _unused_notes(picked: PickedColumns, names: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence about the columns that are not taken, none if all are."""
    return unused_notes(names, [at for at, name in enumerate(names) if name in picked.columns])


# ---- categories


def _number_words(
    words: CodedColumn, keep: np.ndarray, known: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Number the words of the rows to keep. Returns the distinct words, ascending, or those
    `known`; and the number of the word of each row, (rows to keep,).
    """
    own = filter_column(words, keep)
    if known is not None:
        return known, Ids(known).encode(own)
    names, codes = Ids.of(own)
    return names.values, codes


def _check_categories(wanted: WantedField, names: np.ndarray, where: str) -> None:
    """Raise DataError for more categories than the dtype of the field can number."""
    dtype = wanted.dtype or np.dtype("i4")
    if len(names) - 1 > number_limits(dtype)[1]:
        raise DataError(
            f"column {wanted.name!r} has {len(names):,} different words, which {dtype} cannot "
            "number",
            where=where,
            do=f'Declare it larger, as in {wanted.name} = data("i4").',
        )
