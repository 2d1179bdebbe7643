"""Pairs in files, or in memory, cut in two: those to train on and those held out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.arrow import Column
from tux.arrays.frame_columns import gather_columns
from tux.arrays.frames import frame_of, object_name, take_rows
from tux.arrays.ids import Ids
from tux.base.disk import check_new, new_folder
from tux.base.errors import DataError
from tux.base.text import data_name
from tux.inputs.held_out_rows import HeldOutRule, times_of
from tux.io.edges.columns import WantedColumns, find_column, refuse_guess
from tux.io.edges.memory import no_row_error, pick_columns
from tux.io.edges.whole_rows import ParquetTable, TextTable
from tux.io.formats.detect import Format, detect_format
from tux.io.source.input_files import Source, input_files
from tux.io.source.text import BadRows

ENDS = "user", "item"


class SplitFiles(NamedTuple):
    """The two new files, and their numbers of rows."""

    train: Path
    test: Path
    rows: tuple[int, int]


def split_files(
    data: Source,
    out: str | os.PathLike[str],
    rule: HeldOutRule,
    columns: str | None = None,
    phase: Callable[[str], None] = lambda name: None,
    warn: Callable[[str], None] = lambda text: None,
) -> SplitFiles:
    """Write the pairs of a table, text or Parquet, one file or many, to two files in a new folder:
    `train` and, of those that the `rule` holds out, `test`. They have the format of the first file,
    all columns, and the rows in their order. `columns` names those of users and items; `warn` is
    told what is odd in the rows.

    The folder appears when both files are whole. The columns of users, items and times are in
    memory, the others a block at a time. Raises DataError for what is no table and for a bad row,
    UsageError for a folder that exists, DiskError if it cannot be written.
    """
    check_new(Path(out))
    path = input_files(data)
    table = _open_table(path, columns)
    phase(f"read {path}")
    found = table.read(rule.time)
    for note in table.notes:
        warn(f"{data_name(path)}: {note}")
    if not len(found[0]):
        raise no_row_error(BadRows(path, stop=True), "row")
    held = _choose(found, rule, path, phase)
    phase(f"write {out}")
    with new_folder(out) as folder:
        names = [f"{name}{table.ending}" for name in ("train", "test")]
        table.write([folder / name for name in names], held.view(np.int8))
    rows = len(held) - int(held.sum()), int(held.sum())
    return SplitFiles(Path(out, names[0]), Path(out, names[1]), rows)


def _open_table(path: str, columns: str | None) -> TextTable | ParquetTable:
    """Open a table. Raises DataError for files of another kind."""
    format = detect_format(path)
    if format not in (Format.TEXT, Format.PARQUET):
        raise DataError(
            f"{path} is no table, but {format.value}",
            do="Write the pairs as text or Parquet, a row for each.",
        )
    kind = TextTable if format is Format.TEXT else ParquetTable
    return kind(path, ENDS, columns)


def split_table(data: Any, rule: HeldOutRule, named: str | None = None) -> tuple[Any, Any]:
    """Return the rows of a table in memory to train on, and those held out by the `rule`, as tables
    of the same library; columns of numpy stay such. `named`: the `columns` of `split_files`. Raises
    DataError for an object that is no such table, and for a row without a value.
    """
    if (frame := frame_of(data)) is None:
        raise DataError(
            f"{object_name(data)} is no table of pairs",
            do="Give the name of a file, a DataFrame, or columns.",
        )
    wanted = WantedColumns(ENDS, {}, named)
    if frame.titled:
        refuse_guess(frame.names, wanted, frame.what)
    picks, kinds = pick_columns(frame, wanted), wanted.kinds
    labels = [*ENDS, str(rule.time)]
    if rule.time is not None:
        place = find_column(frame.names, rule.time, frame.what)
        picks = [*picks, place]
        kinds = [*kinds, None]  # whole numbers as they are: a float holds 53 bits
    bad = BadRows.of_memory(frame.what, "stop")

    def read(kinds: Sequence[np.dtype | None]) -> list[Column]:
        pieces, _ = gather_columns(
            frame, picks, labels[: len(picks)], kinds, lambda row, why: bad.note(row + 1, why)
        )
        if pieces.rows == 0:
            raise no_row_error(bad, "row")
        return pieces.columns()

    try:
        columns = read(kinds)
    except DataError:
        if rule.time is None or not frame.has_numbers(picks[-1]):
            raise
        columns = read([*kinds[:-1], np.dtype(np.float64)])
    held = _choose(columns, rule, frame.what, lambda name: None)
    return take_rows(data, ~held), take_rows(data, held)


def _choose(
    columns: list[Column], rule: HeldOutRule, path: str, phase: Callable[[str], None]
) -> np.ndarray:
    """Choose the rows that are held out, (m,) bool, from their users, items and times."""
    phase("choose rows")
    user, _, *times = columns
    _, (numbers,) = Ids.over([user])
    time = times_of(times[0], str(rule.time), path) if times else None
    return rule.choose(numbers, time)
