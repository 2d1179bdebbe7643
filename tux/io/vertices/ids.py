"""Ids of vertices of one type, one a row: a column of a table, or of a text without a header."""

from __future__ import annotations

import os
from collections.abc import Collection

import numpy as np

from tux.arrays.arrow import STRING, CodedColumn, Column
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.io.source.text import BadRows, without_skipping
from tux.io.vertices.arrays import file_columns
from tux.io.vertices.columns import find_usual_name, usual_names
from tux.io.vertices.text import Kinds, TableHead, columns_without_names, read_text


def read_ids(
    path: str | os.PathLike[str], kind: str, known: Ids, names: Collection[str] = ()
) -> np.ndarray:
    """Read the ids of vertices of type `kind` in a file of text, Parquet or numpy's arrays, (m,) in
    its order, repeated ones too.

    They are the column with the name `id`, that of the type, or one of `names`; else the first. The
    first row of a text is an id if it is one of `known`, or if it has none of these names and does
    not stand above numbers alone. Raises `DataError` with file and line.
    """
    usual = [*names, *usual_names(kind)]
    columns = file_columns(path)
    if columns is None:
        try:
            return _of_text(os.fspath(path), usual, known)
        except DataError as error:
            raise without_skipping(error) from None
    if not columns:
        raise DataError(f"{path} has no column of {plural_noun(kind)}")
    column = columns[find_usual_name(list(columns), usual) or next(iter(columns))]
    if column.wide:
        raise DataError(f"{path} has lists where ids of {plural_noun(kind)} are looked for")
    if column.missing.any():
        raise DataError("an id is missing", where=f"{path}:row {1 + int(column.missing.argmax())}")
    return _array(column.values)  # type: ignore[arg-type]


def _of_text(path: str, usual: Collection[str], known: Ids) -> np.ndarray:
    first: list[str] = []

    def choose(head: TableHead) -> Kinds:
        names = head.names or columns_without_names(head.width)
        name = find_usual_name(names, usual) or names[0]
        numbers_below = bool(head.rows) and head.numeric(names.index(name))
        is_known = known.index_of(name) >= 0
        if head.names and not find_usual_name([name], usual) and (is_known or not numbers_below):
            first.append(name)
        return {name: None}

    read = read_text(BadRows(path, stop=True), choose, usual)
    (column,) = read.columns.values()
    if not first:
        return _array(column)
    ids, codes = Ids.over([np.array(first, STRING), column])
    return ids.decode(np.concatenate(codes))


def _array(column: Column) -> np.ndarray:
    """Convert a column of ids to an array."""
    return column.values[column.codes] if isinstance(column, CodedColumn) else np.asarray(column)
