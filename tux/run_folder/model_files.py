"""The files of a model: columns by vertex type as Parquet, and the report's tables as text."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.arrow import STRING, parquet_writer, read_parquet
from tux.arrays.given import to_id_type
from tux.arrays.ids import Ids
from tux.arrays.parquet_footer import seal_set, set_of
from tux.arrays.ragged import Lists
from tux.base.checksums import read_sealed, sum_of
from tux.base.disk import replacing, writing
from tux.base.errors import DataError
from tux.base.parallel import spread
from tux.checkpoint.shard import hash_bytes
from tux.checkpoint.store import has_checkpoint
from tux.engine.start_model import model_file
from tux.program.program import Program
from tux.program.report import Tables

OF_EDGES = ".edges"
"""The end of the name of a file of edges with results, behind the name of their type."""

GROUP_BYTES, GROUP_ROWS = 1 << 22, 1 << 20
"""The most bytes of fields, and the most rows, of a row group of a model's file."""

LIST_BYTES = 1 << 10
"""The bytes that a list counts in a row group, however long it is."""


def group_ranges(rows: int, columns: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Cut so many rows into the ranges that are row groups of a file, by the widths of its
    `columns` alone: files of one model have the same bytes, whoever has written them.
    """
    width = sum(
        LIST_BYTES
        if isinstance(column, Lists)
        else column.dtype.itemsize * math.prod(column.shape[1:])
        for column in columns.values()
    )
    step = max(min(GROUP_ROWS, GROUP_BYTES // max(width, 1)), 1)
    return [(first, min(first + step, rows)) for first in range(0, max(rows, 1), step)]


def model_digest(folder: str | os.PathLike[str]) -> str:
    """Return the digest of the model in a run's folder that its files name (`write_columns`), or,
    of a model of an earlier version, one of its files. Raises OSError.
    """
    paths = sorted(Path(folder, "model").glob("*.parquet"))
    return next(filter(None, map(set_of, paths)), "") or _digest_of(paths)


def _digest_of(paths: Iterable[Path]) -> str:
    """Compute a digest of the names and the content of files. Raises OSError."""
    files = sorted(paths)
    sums = zip(spread(sum_of, files), files, strict=True)
    lines = [f"{each}  model/{path.name}" for each, path in sums]
    return hash_bytes("\n".join(lines).encode())


def write_columns(model: Path, types: Iterable[tuple[str, Iterable[Mapping[str, Any]]]]) -> None:
    """Write into the folder of a model a file for each vertex type, the column `id` and its fields,
    one for each type of edges with results, and one for the context, "tau", if it has any. Columns
    come in pieces, each of which is a row group. Each file names the digest of all files, by which
    those of another model are told (`tux.engine.start_model.model_file`). Raises DiskError.
    """
    paths = []
    for name, pieces in types:
        pieces = iter(pieces)
        if first := next(pieces, None):
            paths.append(model / f"{name}.parquet")
            with parquet_writer(paths[-1]) as write:
                for columns in chain([first], pieces):
                    write(columns)
    with writing(model):
        digest = _digest_of(paths)
        for path in paths:
            seal_set(path, digest)


def write_tables(model: Path, tables: Tables) -> None:
    """Write each of the report's tables into the folder of a model. Raises DiskError."""
    for name, table in tables.items():
        lines = [list(table), *zip(*table.values(), strict=True)]
        text = "".join("\t".join(map(_cell, line)) + "\n" for line in lines)
        with replacing(model / f"{name}.tsv") as part:
            part.write_text(text, encoding="utf-8")


def read_tables(model: Path) -> dict[str, dict[str, np.ndarray]]:
    """Read the tables that `write_tables` has written, by name: columns of numbers where each cell
    is one, else of strings. DataError for a file that is no table.
    """
    tables = {}
    for path in sorted(model.glob("*.tsv")):
        try:
            text = read_sealed(model.parent, f"{model.name}/{path.name}").decode()
            header, *lines = text.splitlines()
            names, rows = header.split("\t"), [line.split("\t") for line in lines]
            cells = zip(*rows, strict=True) if rows else [()] * len(names)
            columns = dict(zip(names, map(_column, cells), strict=True))
        except (OSError, ValueError):
            raise DataError("this is no table of a run", where=str(path)) from None
        tables[path.stem] = columns
    return tables


def check_model(folder: str | os.PathLike[str]) -> None:
    """Raise DataError if a run has not written its model."""
    if not Path(folder, "model").is_dir():
        raise DataError(
            f"{folder} holds no model",
            do="the run has not ended, or ended with an error: "
            + (f"tux run --resume {folder}" if has_checkpoint(folder) else "run it again"),
        )


def read_ids(folder: str | os.PathLike[str], program: Program) -> dict[str, Ids]:
    """Read the ids of the model's vertices, by type. Raises DataError if the run has not written
    its model.
    """
    check_model(folder)
    ends = dict.fromkeys(end for of in program.edge_types.values() for end in of.ends)
    return {name: read_type_ids(folder, name) for name in ends}


def read_type_ids(folder: str | os.PathLike[str], name: str) -> Ids:
    """Read the ids of the model's vertices of one type. Raises DataError."""
    return Ids(to_id_type(read_parquet(model_file(folder, name), ["id"])["id"]))


def _cell(value: Any) -> str:
    """Write a value for a file whose columns are separated by tabs."""
    return " ".join(str(value).split())


def _column(cells: Sequence[str]) -> np.ndarray:
    """Return the cells as a column of the narrowest kind that holds them."""
    kinds: tuple[tuple[Callable[[str], Any], type], ...]
    kinds = (int, np.int64), (int, np.uint64), (float, np.float64)
    # Python takes 1_000 and digits of other scripts for numbers, too
    written = all(cell.isascii() and "_" not in cell for cell in cells)
    for kind, dtype in kinds if written else ():
        try:
            return np.array([kind(cell) for cell in cells], dtype)
        except (ValueError, OverflowError):
            continue
    return np.array(cells, STRING)
