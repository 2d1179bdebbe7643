"""Files of columns that a prediction writes: Parquet, or text with commas or tabs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from tux.arrays.arrow import WRITTEN, parquet_writer, text_writer, write_parquet, write_text
from tux.base.disk import check_folder
from tux.base.errors import UsageError

Write = Callable[[dict[str, np.ndarray]], None]


def writer(path: str | os.PathLike[str]) -> Write:
    """Return a function that writes columns to a new file: Parquet (.parquet), or text with commas
    (.csv) or tabs (.tsv), packed if .gz or .zst follows.

    Raises UsageError for another ending, or if the file exists; writing raises DiskError.
    """
    separator = _separator(path)
    if not separator:
        return lambda columns: write_parquet(path, columns)
    return lambda columns: write_text(path, columns, separator)


def pieces_writer(
    path: str | os.PathLike[str], others: str = ""
) -> Callable[[Iterable[dict[str, np.ndarray]]], int]:
    """Return a function that writes pieces of columns, one after the other, to a new file, and
    returns the number of rows; see `writer`. An error names `others` that a caller writes.
    """
    separator = _separator(path, others)

    def write(pieces: Iterable[dict[str, np.ndarray]]) -> int:
        rows = 0
        with text_writer(path, separator) if separator else parquet_writer(path) as add:
            for columns in pieces:
                add(columns)
                rows += len(next(iter(columns.values())))
        return rows

    return write


def check_new(path: str | os.PathLike[str]) -> None:
    """Raise UsageError if there is such a file, or no folder for it."""
    if Path(path).exists():
        raise UsageError(f"{path} exists", do="name a new file")
    check_folder(path)


def _separator(path: str | os.PathLike[str], others: str = "") -> str:
    """Return the separator of columns in a new file by its name, "" for Parquet. Raises as
    `writer`.
    """
    check_new(path)
    name = Path(path)
    if name.suffix == ".parquet":
        return ""
    ending = name.with_suffix("").suffix if name.suffix in WRITTEN else name.suffix
    if ending not in (".csv", ".tsv"):
        raise UsageError(
            f"{path} does not say which kind of file to write",
            do=f"end its name in {others}.parquet, .csv or .tsv",
        )
    return "," if ending == ".csv" else "\t"
