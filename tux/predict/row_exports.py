"""Formats of `tux export` that are about new rows, such as SHAP values of samples: the rows, and
the files of a matrix with a row for each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.edges import EdgeData
from tux.arrays.npy import write_npz
from tux.arrays.pieced import ArrayPieces
from tux.base.disk import replacing
from tux.base.errors import DataError, ProgramError, UsageError
from tux.base.text import plural_noun
from tux.inputs.known import known_vertices
from tux.inputs.load import load
from tux.inputs.origin import cut_folder, origin_files
from tux.inputs.samples import classes_of
from tux.options.options import FORMER, MEMORY
from tux.options.reading import Reading
from tux.options.rules import options_by_name
from tux.predict.column_files import check_new, pieces_writer
from tux.predict.predict import TrainedModel, Warn, decode_ids
from tux.predict.rows import read_new_rows
from tux.program.naming import describe_value, place
from tux.program.report import Export, Model, NewRows, RowMatrix

ROWS = 1024  # of which indices are made at a time


def export_rows(
    trained: TrainedModel,
    form: str,
    function: Export,
    model: Model,
    data: Any,
    reading: Reading | None = None,
    *,
    warn: Warn,
) -> RowMatrix:
    """Make the matrix of a format that is about rows: those of `data`, read as
    `tux.predict.rows.predict_rows` does, or those of training where this is None.

    Raises as it does, UsageError or DataError where the data of training are not there any more, or
    are others, and ProgramError for a result that is no `RowMatrix`.
    """
    data = _training_edges(trained, warn) if data is None else data
    new, edges = read_new_rows(trained, data, reading or Reading(), warn)
    ids = decode_ids(edges, new.kind, np.arange(len(edges.ids[new.kind])))
    matrix = function(trained.program, model, rows_of_edges(edges, new.called, ids))
    if not isinstance(matrix, RowMatrix):
        what = f"the function of the format {form} returns {describe_value(matrix)}"
        do = "return a tux.RowMatrix, as it has a parameter rows"
        raise ProgramError(what, where=place(function), do=do)
    return matrix


def refuse_rows(form: str, *given: Any) -> None:
    """Raise UsageError if data, or how they are read, are given for a format without rows."""
    if any(each is not None and each != {} for each in given):
        raise UsageError(f"the format {form} is about the model alone", do="leave out --data")


def rows_of_edges(edges: EdgeData, called: str, ids: np.ndarray) -> NewRows:
    """Return the vertices at the first ends of edges as rows, `called` so, with their `ids`."""
    order = np.argsort(edges.src, kind="stable")
    bounds = np.searchsorted(edges.src[order], np.arange(len(ids) + 1))
    fields = {name: np.asarray(column)[order] for name, column in edges.fields.items()}
    return NewRows(called, ids, bounds, edges.ends[1], edges.dst[order], fields)


def _training_edges(model: TrainedModel, warn: Warn) -> EdgeData:
    """Read the training edges again, from the files that the run's record names."""
    run, program = model.run, model.program
    rows = plural_noun(program.edge.ends[0])
    do = f"name a file of {rows} with --data"
    files = origin_files(run.data.path)
    options = {FORMER.get(name, name): value for name, value in run.options.items()}
    given = {name: options[name] for name in options_by_name(Reading) if name in options}
    in_memory = MEMORY in (given.get("vertices") or {}).values()
    if files is None or cut_folder(files) or in_memory or not run.data.digest:
        raise UsageError(
            f"{rows} of training cannot be read again: {model.name} names {run.data.path_text}",
            do=do,
        )
    reading, known = Reading(**given), None
    if run.start_digest:  # what the model before knew came first
        known = known_vertices(
            program,
            model.ids,
            reading,
            numbered=run.data.numbered,
            id_types=run.id_types,
            classes=tuple(classes_of(program, None) or ()),
        )
    try:
        inputs = load(program, files, None, reading, warn=warn, known=known)
        if inputs.digest() != run.data.digest:
            raise DataError("the data changed since the run", where=run.data.path_text)
    except DataError as error:
        error.do = do
        raise
    return inputs.train


def matrix_arrays(matrix: RowMatrix) -> dict[str, ArrayPieces]:
    """Return a matrix as the arrays of which scipy makes one in CSR form, `data`, `indices`,
    `indptr`, `shape` and `format`, with the ids of its rows and the names of its columns.
    """
    n, k = len(matrix.rows.ids), len(matrix.columns)
    kind = np.dtype(np.int64 if max(n * k, matrix.width) > np.iinfo(np.int32).max else np.int32)
    column = matrix.columns.astype(kind)

    def of(array: Any) -> ArrayPieces:
        array = np.asarray(array)
        array = np.array(array.tolist(), "U") if array.dtype == STRING else array
        return ArrayPieces(array.dtype, len(array), [array])

    def tiles() -> Iterator[np.ndarray]:
        for at in range(0, n, ROWS):
            yield np.tile(column, min(ROWS, n - at))

    data = (piece.reshape(-1) for piece in matrix.pieces)
    return {
        "data": ArrayPieces(np.dtype(np.float32), n * k, data),
        "indices": ArrayPieces(kind, n * k, tiles()),
        "indptr": of(np.arange(n + 1, dtype=kind) * kind.type(k)),
        "shape": of(np.array([n, matrix.width])),
        "format": of(np.array([b"csr"])),
        matrix.rows.called: of(matrix.rows.ids),
        matrix.rows.kind: of(matrix.names),
    }


def matrix_writer(path: str | os.PathLike[str]) -> Callable[[RowMatrix], None]:
    """Return a function that writes a matrix to a new file, piece by piece: .npz as `matrix_arrays`
    has it, or .parquet, .csv or .tsv, a line for each number. Raises as
    `tux.predict.column_files.writer`.
    """
    if Path(path).suffix != ".npz":
        write = pieces_writer(path, ".npz, ")
        return lambda matrix: _write_lines(write, matrix)
    check_new(path)

    def write_arrays(matrix: RowMatrix) -> None:
        with replacing(path) as part:
            write_npz(part, matrix_arrays(matrix))

    return write_arrays


def _write_lines(write: Callable[[Iterator[dict[str, np.ndarray]]], int], of: RowMatrix) -> None:
    """Write the numbers of a matrix, each with the id of its row and the name of its column."""

    def lines() -> Iterator[dict[str, np.ndarray]]:
        done, names = 0, of.names.astype(STRING)
        for piece in of.pieces:
            ids = of.rows.ids[done : done + len(piece)]
            done += len(piece)
            yield {
                of.rows.called: np.repeat(ids, len(names)),
                of.rows.kind: np.tile(names, len(ids)),
                of.value: piece.reshape(-1),
            }

    write(lines())
