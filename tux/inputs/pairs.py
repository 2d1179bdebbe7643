"""Pairs of vertices that a model is to score: a file without the numbers that show, in a file of
training, where a header ends.

The columns and ids of training show it here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.base.text import data_name
from tux.inputs.memory import MemoryData, read_memory_pairs
from tux.inputs.untyped import first_rows
from tux.inputs.wrapping import wrap_first
from tux.io.edges.columns import plain_name
from tux.io.edges.read import read_edges
from tux.io.formats.detect import Format, detect_format
from tux.io.source.input_files import input_files
from tux.io.source.text import NUMBER, SAMPLE, without_skipping
from tux.options.python_words import in_python
from tux.program.program import Program
from tux.run_folder.folder import RunRecord

Warn = Callable[[str], None]


def read_pairs(
    path: Any,
    run: RunRecord,
    program: Program,
    ids: dict[str, Ids],
    columns: str | None,
    warn: Warn,
) -> EdgeData:
    """Read the pairs of a file, or of data in memory, as edges; `ids` are those of the model, which
    come first, and `columns` names the columns of the two ends ("a,b").

    A first row that holds the names of the columns of training is a header, and names the columns
    here too. Raises `DataError` for a row that is surely a header of other names, and the errors of
    `read_edges`; warns of a row that may be a header.
    """
    if isinstance(path, EdgeData):
        return path.against(ids)
    given = wrap_first(program, path)
    if isinstance(given, MemoryData):
        with in_python():
            before = trained_columns(run), run.data.numbered
            pairs = read_memory_pairs(given, program, ids, columns, *before)
        return _tell_notes(pairs, given.what, warn)
    path = input_files(path)
    format = detect_format(path)

    def read(columns: str | None) -> EdgeData:
        try:
            return read_edges(
                path,
                program.edge.ends,
                {},
                columns=columns,
                against=ids,
                numbered=run.data.numbered,
                format=format,
            )
        except DataError as error:  # each row has its score
            raise without_skipping(error) from None

    rows = first_rows(path, SAMPLE + 1) if columns is None and format is Format.TEXT else []
    if rows and (names := trained_columns(run)) and set(names) <= set(rows[0]):
        columns = ",".join(names)
    pairs = _tell_notes(read(columns), data_name(path), warn)
    if columns is None and rows:  # else they have been named, or there is no header
        _check_header(pairs, ids, rows, path, program, warn)
    return pairs


def _check_header(
    pairs: EdgeData,
    ids: dict[str, Ids],
    rows: list[list[str]],
    path: str,
    program: Program,
    warn: Warn,
) -> None:
    """Warn of a first row of a file that may be a header. DataError for one that surely is."""
    header = _unknown_words(pairs, ids)
    if not header or not set(header) <= set(rows[0]):
        return  # `read_edges` has found the header, or there is none
    say = f"--columns {','.join(header)}"
    if _is_header(header, rows, program):
        raise DataError(
            f"the first row, {','.join(header)}, is a header and no pair of ids",
            where=path,
            do=f"Say {say}, or remove the row.",
        )
    warn(
        f"the first row of {data_name(path)}, {','.join(header)}, is taken for a pair of "
        "unknown ids; "
        f"if it is a header, say {say}"
    )


def _tell_notes(pairs: EdgeData, name: str, warn: Warn) -> EdgeData:
    """Warn of what the reader of pairs, which are called `name`, has noted, and return them."""
    for note in pairs.notes:
        warn(f"{name}: {note}")
    return pairs


def _unknown_words(pairs: EdgeData, ids: dict[str, Ids]) -> list[str]:
    """Return the first pair, if both of its ids are words that training has not seen; else []."""
    if not len(pairs):
        return []
    first = [
        pairs.ids[end].decode(column[:1])[0]
        for end, column in zip(pairs.ends, (pairs.src, pairs.dst), strict=True)
        if column[0] >= len(ids[end])
    ]
    unknown = len(first) == 2 and all(
        isinstance(each, str) and not NUMBER.fullmatch(each) for each in first
    )
    return first if unknown else []


POSITION = re.compile(r"(column )?\d+")  # of a column without a name


def trained_columns(run: RunRecord) -> list[str]:
    """Return the names of the columns that training took for the two ends, as far as they are
    known.
    """
    asked = run.options.get("columns")
    if not isinstance(asked, str):  # run.json may have been changed
        asked = ""
    names = asked.split(",") if asked else list(run.data.columns.values())
    names = [name.strip() for name in names[:2]]
    return [] if any(POSITION.fullmatch(name) for name in names) else names


def _is_header(header: list[str], rows: list[list[str]], program: Program) -> bool:
    """Return whether a first row of unknown words is surely a header: one of them is the name of an
    end, or numbers alone stand below one.
    """
    ends = {plain_name(name) for name in (*program.edge.ends, *program.edge.roles)}
    if any(plain_name(word).removesuffix("id") in ends for word in header):
        return True
    below = [
        [row[rows[0].index(word)] for row in rows[1:] if len(row) == len(rows[0])]
        for word in header
    ]
    return any(column and all(map(NUMBER.fullmatch, column)) for column in below)
