"""Tables of vertices, whatever their format: ids and data fields of the vertices of one type.

A column of words is read into a field of whole numbers: the words in ascending order are numbered
from 0, and are the field's categories.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.arrow import CodedColumn, parquet_rows
from tux.arrays.frames import levels_of
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.io.edges.columns import unused_notes
from tux.io.formats.format import Format
from tux.io.source.input_files import FilePiece, pieces_of
from tux.io.source.odd_ids import odd_ids
from tux.io.source.text import BadRows, OnBadRow, Tell, quote_word
from tux.io.vertices.arrays import (
    Column,
    check_lengths,
    file_columns,
    memory_columns,
    npy_columns,
    parquet_columns,
)
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
    bad = BadRows.of_memory(f"the table of {plural_noun(kind)}", on_bad_row)
    if path:
        bad = BadRows(path, stop=on_bad_row == "stop")
    read = read_columns(source, kind, wanted, bad, points)
    good = good_rows(read, bad, kind, categories or {})
    for each in read.picked.fields:
        if each.name in good.words:
            check_categories(each, good.words[each.name], bad.path)
    if not good.rows.keep.any() and bad.count:
        raise bad.no_usable_row()
    notes = (*read.notes, *read.passed.notes(kind), *read.doubt)
    if points and path and isinstance(good.ids, CodedColumn):
        notes = (*notes, *odd_ids({kind: Ids(good.ids.values)}))
    counts = bad.count, bad.first
    return VertexTable(bad.path, good.ids, good.fields, good.words, *counts, read.taken, notes)


class GoodRows(NamedTuple):
    """The good rows of a table, m of n: their ids, their fields (m,) or (m, width), and the words
    that numbers stand for, by field; and the `rows` (n,) of which they are.
    """

    ids: Any
    fields: dict[str, np.ndarray]
    words: dict[str, np.ndarray]
    rows: VertexRows


def good_rows(
    read: Columns, bad: BadRows, kind: str, known: Categories, words: Collection[str] = ()
) -> GoodRows:
    """Return the good rows of the columns of a table. Bad ones are noted. `known`: the categories
    of earlier data; `words`: see `VertexRows`.
    """
    rows = VertexRows(read, bad, kind, words)
    found: dict[str, np.ndarray | CodedColumn] = {
        each.name: rows.field(each, columns) for each, columns in read.picked.fields.items()
    }
    ids = rows.ids()
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
    fields, own = {}, {}
    for name, values in found.items():
        if isinstance(values, CodedColumn):
            own[name], fields[name] = _number_words(values, rows.keep, known.get(name))
        else:
            fields[name] = values[rows.keep]
    return GoodRows(filter_column(ids, rows.keep), fields, own, rows)


# ---- columns


def read_columns(
    source: Any, kind: str, wanted: Sequence[WantedField] | None, bad: BadRows, points: bool
) -> Columns:
    """Read the columns of a table that are used, with the place of each row."""
    if not isinstance(source, str | os.PathLike):
        columns = memory_columns(source, kind)
    elif (of_file := file_columns(source)) is None:
        return read_text_columns(kind, wanted, bad, points=points)
    else:
        columns = of_file
    picked, columns = _pick(columns, source, kind, wanted, bad.path, points)
    used = {name: columns[name] for name in picked.columns}
    first = int(isinstance(source, str | os.PathLike))
    return _numbered_rows(picked, used, [*columns], bad.path, first=first)


def read_column_share(
    kind: str,
    wanted: Sequence[WantedField] | None,
    bad: BadRows,
    *,
    points: bool,
    whole: str,
    format: Format,
) -> Columns:
    """Read the columns that are used of a share of the `whole` file, Parquet or an array of numpy;
    `bad.path` is the share.
    """
    read = npy_columns if format is Format.NPY else parquet_columns
    (piece,) = pieces_of(bad.path) or [FilePiece(whole, 0, 0)]
    types = read(FilePiece(whole, 0, 0))
    picked, named = _pick(types, whole, kind, wanted, whole, points)
    given = dict(zip(named, types, strict=True))
    columns = read(piece, [given[name] for name in picked.columns])
    used = {name: columns[given[name]] for name in picked.columns}
    bad.places.begin(1, piece, _rows_before(piece, format) + 1)
    return _numbered_rows(picked, used, [*named], whole)


def _rows_before(piece: FilePiece, format: Format) -> int:
    """Count the rows of a file before a piece of it."""
    if format is Format.NPY or not piece.begin:
        return piece.begin
    return parquet_rows(piece.path, 0, piece.begin)


def _pick(
    columns: dict[str, Column],
    source: Any,
    kind: str,
    wanted: Sequence[WantedField] | None,
    where: str,
    points: bool,
) -> tuple[PickedColumns, dict[str, Column]]:
    """Find the columns that are used among those of a table; return all under their names."""
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
        where,
        points=points,
        numeric=numeric.__contains__,
        levels=[*map(str, levels_of(source))],
    )
    return picked, columns


def _numbered_rows(
    picked: PickedColumns,
    used: dict[str, Column],
    names: Sequence[str],
    where: str,
    *,
    first: int = 1,
) -> Columns:
    """Return the columns that are `used`, of all `names`, with their rows in order."""
    lines = np.arange(1, check_lengths(used, where) + 1)
    notes = _unused_notes(picked, names)
    return Columns(picked, used, lines, "row ", columns_by_field(picked), notes, first=first)


def read_text_columns(
    kind: str,
    wanted: Sequence[WantedField] | None,
    bad: BadRows,
    *,
    points: bool,
    whole: str = "",
    tell: Tell | None = None,
) -> Columns:
    """Read the columns that are used of a file of text, or of a share of the `whole` one."""
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
    read = read_text(bad, choose, ("id", kind, f"{kind}id", *fields), kind, whole, tell)
    none = np.zeros(len(read.lines), np.bool_)
    columns = {name: Column(values, none) for name, values in read.columns.items()}
    picked, named, notes = chosen[0]
    return Columns(picked, columns, read.lines, "", named, notes, read.passed, read.doubt)


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


def check_categories(wanted: WantedField, names: np.ndarray, where: str) -> None:
    """Raise DataError for more categories than the dtype of the field can number."""
    dtype = wanted.dtype or np.dtype("i4")
    if len(names) - 1 > number_limits(dtype)[1]:
        raise DataError(
            f"column {wanted.name!r} has {len(names):,} different words, which {dtype} cannot "
            "number",
            where=where,
            do=f'Declare it larger, as in {wanted.name} = data("i4").',
        )
