"""Samples as the rows of a Parquet file, or of a table in memory: the type of a column shows its
kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tux.arrays import arrow
from tux.arrays.arrow_values import to_numpy, zero_of
from tux.arrays.frames import Frame
from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.io.bags.entries import BagSpec
from tux.io.samples.columns import SampleRows, SampleTable, TableRead
from tux.io.samples.crossed import Words
from tux.io.samples.labels import SampleLabels
from tux.io.samples.options import SampleOptions
from tux.io.samples.roles import (
    CALLED,
    CODED,
    Role,
    faulty_values,
    known_kinds,
    roles_of,
    value_fault,
)
from tux.io.source.input_files import FilePiece, pieces_of
from tux.io.source.text import Tell

CELLS = 1 << 20  # cells of a file that are read at a time


def read_parquet_table(asked: BagSpec, how: SampleOptions) -> SampleRows:
    """Read the rows of a Parquet file, numbered from 1, bad ones counted. See
    `tux.io.samples.samples.read_samples`.
    """
    found = parquet_table(asked, how, asked.path)
    if not found.numbered:
        raise DataError(f"{asked.path} holds no {asked.row}")
    return found.table.whole(found.where)


def parquet_table(
    asked: BagSpec, how: SampleOptions, whole: str, tell: Tell | None = None
) -> TableRead:
    """Read the rows of Parquet files, all or a share of the `whole`, whose first file shows the
    columns. `tell` is called with the amount read.
    """
    first, done = pieces_of(whole)[0].path, 0
    with arrow.parquet_file(first) as file:
        table = _begin_table(list(file.schema_arrow), asked, how, first)
    for number, piece in enumerate(pieces_of(asked.path)):
        before = arrow.parquet_rows(piece.path, 0, piece.begin) if piece.begin else 0
        asked.bad.places.begin(done + 1, piece, before + 1)
        told, begun = _teller(tell, number, piece), done
        for columns in _batches(piece, table, first, how):
            done = _add_batch(table, columns, done)
            told(done - begun)
    return TableRead(table, done, lambda row: asked.bad.places.of(row, "row "))


def _batches(
    piece: FilePiece, table: SampleTable, first: str, how: SampleOptions
) -> Iterator[list[tuple[int, Any]]]:
    """Yield columns of the rows of a piece of a file, by place. Raises `DataError` if they are
    other ones than those of the `first` file, with which the table was begun.
    """
    names, picks = table.names, table.picks
    with arrow.parquet_file(piece.path) as file:
        own = _begin_table(list(file.schema_arrow), table.asked, how, piece.path)
        if [own.names, own.roles] != [names, table.roles]:
            raise DataError(
                f"the columns of {piece.path} are other ones than those of {first}",
                do=f"They are {', '.join(own.names)}, and {', '.join(names)}; give all files "
                "the same ones.",
            )
        groups = [*range(file.metadata.num_row_groups)][piece.begin : piece.end]
        size, wanted = max(1, CELLS // len(picks)), [names[at] for at in picks]
        arrow.check_columns(file, piece.path, groups, wanted)
        for batch in file.iter_batches(size, groups, columns=wanted):
            arrow.validate_piece(batch)
            yield [(at, batch.column(names[at])) for at in picks]


def _teller(tell: Tell | None, number: int, piece: FilePiece) -> Callable[[int], None]:
    """Return a function that tells how much is read when so many rows of piece `number` are."""
    if tell is None:
        return lambda rows: None
    total = max(arrow.parquet_rows(piece.path, piece.begin, piece.end), 1)
    return lambda rows: tell(0, number + rows / total)


class _Field(NamedTuple):
    """A column of a table in memory: its name, and its type in Arrow."""

    name: str
    type: Any


def read_frame_rows(asked: BagSpec, how: SampleOptions, frame: Frame) -> SampleRows:
    """Read the rows of a table in memory, numbered from 1, bad ones counted, as those of a Parquet
    file.
    """
    table: SampleTable | None = None
    done, picks = 0, list[int]()
    for batch in frame.batches(range(len(frame.names))):
        if table is None:
            columns = zip(frame.names, batch, strict=True)
            fields = [_Field(name, column.type) for name, column in columns]
            table = _begin_table(fields, asked, how, frame.what)
            picks = table.picks
        step = max(1, CELLS // len(picks))
        for begin in range(0, len(batch[0]), step):
            done = _add_batch(table, [(at, batch[at].slice(begin, step)) for at in picks], done)
    if table is None:
        raise DataError(f"{asked.path} holds no {asked.row}")
    return table.whole(lambda row: asked.bad.places.of(row, "row "))


def _begin_table(
    fields: Sequence[Any], asked: BagSpec, how: SampleOptions, path: str
) -> SampleTable:
    """Begin the table whose columns are the `fields` of Arrow: each gets its role."""
    names: list[str] = [field.name for field in fields]
    what = roles_of(names, how, path)
    roles = [what.get(at) or _parquet_kind(fields[at], path) for at in range(len(names))]
    for at, role in enumerate(roles):
        kind = _parquet_kind(fields[at], path) if role in (*CALLED, *CODED) else role
        if role in CALLED and kind != "number":
            raise DataError(
                f"{CALLED[role]}{names[at]} is a column of words",
                where=path,
                do="Name a column of numbers.",
            )
    for at, kind in known_kinds(names, how.known_features(asked.column)).items():
        if at not in what and roles[at] not in (kind, "none"):
            raise DataError(
                f"column {names[at]!r} is one of {roles[at]}s, but of {kind}s in training",
                where=path,
                do=f"Convert it to {'numbers' if kind == 'number' else 'strings'}.",
            )
    if not {"number", "word"} & set(roles):
        raise DataError(
            f"no column of {plural_noun(asked.column)}",
            where=path,
            do=f"It has {', '.join(names)}.",
        )
    return SampleTable(asked, names, roles, how)


def _parquet_kind(field: Any, path: str) -> Role:
    """Return the kind of a column, from its type."""
    kind = str(field.type)
    if match := re.match(r"dictionary<values=([^,]+),", kind):
        kind = match[1]
    if kind in ("string", "large_string", "string_view"):
        return "word"
    if kind in ("bool", "float", "double", "halffloat") or re.match(r"u?int\d+$|decimal", kind):
        return "number"
    if kind == "null":
        return "none"
    what = f"column {field.name!r} holds {field.type}, not numbers, truth values or strings"
    raise DataError(what, where=path, do="Convert it, or leave it out.")


def _add_batch(table: SampleTable, columns: list[tuple[int, Any]], done: int) -> int:
    """Append the good rows of a batch, after `done` others. Returns the number of rows so far."""
    numbers, words, missing, rows = {}, {}, {}, 0
    for at, column in columns:
        role = table.roles[at]
        texts = _parquet_texts(column)
        rows = len(column)
        if texts is not None:
            words[at] = texts
            continue
        if str(column.type).startswith("dictionary"):
            column = column.dictionary_decode()
            if role == "number":
                table.tell_categories(at)
        there = to_numpy(column.is_valid())
        if role in CODED and str(column.type) == "null":
            words[at] = Words(np.full(rows, -1, np.int32), [])
            continue
        if role in CODED:
            if str(column.type).startswith("decimal"):
                column = column.cast("float64")
            labels = SampleLabels.of(to_numpy(column.fill_null(zero_of(column.type))))
            words[at] = Words(np.where(there, labels.codes, -1).astype(np.int32), labels.texts)
            continue
        if role == "number":
            missing[at] = ~there
        values = to_numpy(column.cast("float64", safe=False))
        numbers[at] = np.where(there, values, 0.0 if role == "number" else np.nan)
    bad = {
        at: faulty_values(table.asked, table.roles[at], values, table.least)
        for at, values in numbers.items()
    }
    keep = ~np.logical_or.reduce([np.zeros(rows, np.bool_), *bad.values()])
    for row in np.flatnonzero(~keep).tolist():
        place = next(at for at, rows_ in bad.items() if rows_[row])
        number, what = float(numbers[place][row]), (table.names[place], table.roles[place])
        why = value_fault(table.asked, *what, number, table.least)
        table.asked.bad.note(done + row + 1, why, "row ")
    ids = np.arange(done + 1, done + rows + 1)[keep]
    kept = {at: Words(codes[keep], texts) for at, (codes, texts) in words.items()}
    gaps = {at: values[keep] for at, values in missing.items()}
    table.add(ids, {at: values[keep] for at, values in numbers.items()}, kept, gaps)
    return done + rows


def _parquet_texts(column: Any) -> Words | None:
    """Return the words of a column of strings; None for another column."""
    kind = str(column.type)
    if not kind.startswith("dictionary") and "string" in kind:
        return Words.of(column.cast("large_string").dictionary_encode())
    return (
        Words.of(column)
        if kind.startswith("dictionary<values=") and "string" in kind.split(",")[0]
        else None
    )
