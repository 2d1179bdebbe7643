"""Predictions of a trained model for new vertices (`tux predict DIR DATA`), and their vectors
(`tux predict DIR --fold-in DATA`).

New vertices are the rows of a file: documents, samples, users. They meet the model's vertices by
their ids.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.given import ids_of
from tux.arrays.ids import Ids
from tux.base.errors import DataError, UsageError
from tux.base.text import data_name, did_you_mean, plural, plural_noun
from tux.inputs.memory import MemoryData, points_table
from tux.inputs.new_rows import RowTypes, read_rows
from tux.inputs.points import read_points
from tux.inputs.samples import hash_bits
from tux.inputs.vertex_data import data_to_predict
from tux.inputs.wrapping import wrap_first
from tux.io.source.input_files import input_files
from tux.options.options import Reading
from tux.options.python_words import in_python
from tux.predict.predict import TrainedModel, Warn, decode_ids, open_model
from tux.program.input import Points, Samples
from tux.program.new_vertices import NewVertices, ends_of_new, new_vertices
from tux.program.product import product_of
from tux.program.program import Program, stages_to_fold_in
from tux.program.stage import Stage

OF_TRAINING = "min_count", "cross"
"""Options of reading that say which features or words there are."""

Columns = dict[str, np.ndarray]


def predict_rows(
    model: str | os.PathLike[str] | TrainedModel,
    data: Any,
    reading: Reading | None = None,
    *,
    warn: Warn = lambda text: None,
) -> Columns:
    """Score each row of a file of new vertices, in any format that training reads, or of data in
    memory (`tux.inputs.memory`), by a model or the model in a run's folder.

    Returns columns in the file's order: the rows' ids under the name of their end in UDFs, and the
    scores, (n,) float64 or (n, width) float32, under the stage's name, or in columns of their own
    (`tux.stages.Score`). Entries of columns that the model does not know are left out; `warn` tells
    how many. A row of which nothing is left is there all the same. Raises what reading raises,
    DataError if the model knows none of the columns and they are not hashed, ProgramError for a
    program that predicts nothing, and UsageError for one that predicts for pairs, or for vertices
    by others of their type.
    """
    model = model if isinstance(model, TrainedModel) else open_model(model, warn)
    new, rows = read_new_rows(model, data, reading or Reading(), warn)
    return _score_new(model, new, rows, [model.stage], "predict")


def read_new_rows(
    model: TrainedModel, data: Any, reading: Reading, warn: Warn
) -> tuple[NewVertices, EdgeData]:
    """Read the rows of a file as new vertices of the end for which a model predicts. Raises as
    `predict_rows`.
    """
    program, role = model.program, model.role
    if not role:
        raise UsageError(
            f"{type(program).__name__} predicts for pairs, not for rows",
            do=f"tux predict {model.name} --pairs FILE",
        )
    if role not in ends_of_new(program):
        kind = program.edge.ends[0]
        raise UsageError(
            f"the rows of {data_name(data)} would be {plural_noun(kind)} that its columns "
            "are too, of which there are no new ones"
        )
    new = new_vertices(program, role)
    return new, _read_new(model, new, data, reading, warn)


def fold_in(
    model: str | os.PathLike[str] | TrainedModel,
    data: Any,
    reading: Reading | None = None,
    *,
    of: str = "",
    keep_known: bool = False,
    warn: Warn = lambda text: None,
) -> Columns:
    """Find the vectors of new vertices of the end `of`, by their edges to vertices of the model,
    which stay as they are. `data` are as `predict_rows` takes them; `of` left out is the end for
    which the program predicts, or else the first.

    Returns columns in the file's order: the ids under the name of their end in UDFs, and the
    vectors, (n, width) float32, and perhaps biases (n,), under the names of the model's fields. A
    program whose predictions are for rows has these instead. Ids that training has seen get vectors
    by the new edges alone, too, or, with `keep_known`, those of the model; where edges join one
    type, they keep theirs and are left out, and the column of ids is called like the type. An id of
    which no edge is left gets zeros.
    Raises as `predict_rows`, and UsageError for a program that has no stages for it.
    """
    model = model if isinstance(model, TrainedModel) else open_model(model, warn)
    program, new = model.program, new_to_fold_in(model, of)
    end = new.called
    if keep_known and new.from_one_type:
        raise UsageError(
            f"{type(program).__name__} finds no vectors of {plural_noun(end)} that it knows",
            do="leave out that those of known ids are kept",
        )
    if keep_known and not program.fold_in(new.role):
        raise UsageError(
            f"{type(program).__name__} predicts for each new {end}: nothing of the model is kept",
            do="leave out that those of known ids are kept",
        )
    rows = _read_new(model, new, data, reading or Reading(), warn)
    found = fold_in_rows(model, new, rows)
    vectors = next(column for name, column in found.items() if name != end)
    if vectors.ndim == 2 and (nothing := int((~vectors.any(axis=1)).sum())):
        kind = end if new.from_one_type else new.kind
        warn(f"nothing is known of {plural(nothing, kind)}: vectors of zeros")
    return _keep_known(model, found, new) if keep_known else found


def fold_in_rows(model: TrainedModel, new: NewVertices, rows: EdgeData) -> Columns:
    """Find the vectors of new vertices, as `fold_in` does, by their edges `rows` to known ones. The
    vertices of the model are laid out once for all calls with this `model`.
    """
    return _score_new(model, new, rows, stages_to_fold_in(model.program, new.role), "fold_in")


def new_to_fold_in(model: TrainedModel, of: str = "") -> NewVertices:
    """Return the new vertices that `fold_in` finds: of the end `of`, or of the one that it takes
    where this is left out. UsageError if there is no such end, or no stages for it.
    """
    program, ends = model.program, ends_of_new(model.program)
    if of and of not in ends:
        raise UsageError(
            f"{type(program).__name__} has no end {of!r}",
            do=f"{did_you_mean(of, ends)}its ends are {' and '.join(ends)}",
        )
    predicted = model.role if program.predict() is not None else ""
    new = new_vertices(program, of or (predicted if predicted in ends else ends[0]))
    if not stages_to_fold_in(program, new.role):
        raise UsageError(
            f"{type(program).__name__} cannot fold in a new {new.called}",
            do="train again on all data; in a program of your own, write fold_in(self, role)",
        )
    return new


def columns_of_new(folded: Columns, program: Program) -> Columns:
    """Return the vectors of vertices of the first end, which `fold_in` has found, as columns of the
    model: ids, factors, and biases, 0 if it has found none. DataError if there are no such vectors.
    """
    product, role = product_of(program), program.edge.roles[0]
    factors, bias = product.factors[0], product.biases[0]
    if missing := [name for name in (role, factors) if name not in folded]:
        raise DataError(
            f"the vectors of new vertices have no column {missing[0]}",
            do=f"find vectors of the end {role}",
        )
    found = {"id": folded[role], factors: folded[factors]}
    none = np.zeros(len(found["id"]), np.float32)
    return found | ({bias: folded.get(bias, none)} if bias else {})


class ColumnRows:
    """Rows of columns in memory, read as `tux.arrays.arrow.ParquetRows` are."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns["id"])

    def read(self, first: int, end: int) -> Columns:
        """Read the rows `first` up to `end`."""
        return {name: column[first:end] for name, column in self._columns.items()}

    def take(self, rows: np.ndarray) -> Columns:
        """Take some rows (m,), in their order."""
        return {name: column[rows] for name, column in self._columns.items()}


def _keep_known(model: TrainedModel, found: Columns, new: NewVertices) -> Columns:
    """Return vectors, and biases, with those of the model for the ids that it knows."""
    program, kind = model.program, new.kind
    name = next(name for name in found if name != new.called)
    known = model.ids[kind].encode(ids_of(found[new.called]).values)
    at = program.edge.roles.index(new.role)
    bias = getattr(None if program.predict() is None else model.stage, "biases", ("", ""))[at]
    none = {bias: np.zeros(len(known), np.float32)} if bias and bias not in found else {}
    kept = found | none
    stored, _ = model.stored(kind, [name, bias] if bias else [name])
    for field in stored.keys() & kept.keys():
        kept[field] = kept[field].copy()
        kept[field][known >= 0] = np.asarray(stored[field])[known[known >= 0]]
    return kept


def _score_new(
    model: TrainedModel, new: NewVertices, rows: EdgeData, stages: Sequence[Stage], method: str
) -> Columns:
    """Return the ids of new vertices, and their scores by the last of `stages`, which the program's
    `method` has returned.
    """
    ids = {**model.ids, new.kind: Ids(np.empty(0, np.int64))}
    if (new.kind, method) not in model.scorers:
        model.scorers[new.kind, method] = model.make_scorer(new.program, ids, stages)
    scores = model.scorers[new.kind, method].score(replace(rows, ids=ids | dict(rows.ids)))
    of_rows = decode_ids(rows, new.kind, np.arange(len(rows.ids[new.kind])))
    last: Any = stages[-1]
    return {new.called: of_rows, **last.columns(scores)}


def _read_new(
    model: TrainedModel, new: NewVertices, data: Any, reading: Reading, warn: Warn
) -> EdgeData:
    """Read new vertices, and their edges to known ones, in the order of the data, with the data of
    both.
    """
    data = given_rows(model.program, data, reading)
    if isinstance(model.program.input, Points):
        return _read_new_points(model, data, reading, warn)
    return with_vertex_data(model, new, rows_of(model, new, data, reading, warn), reading, warn)


def with_vertex_data(
    model: TrainedModel, new: NewVertices, rows: EdgeData, reading: Reading, warn: Warn
) -> EdgeData:
    """Add the data of new vertices, and of known ones, to their edges, as `data_to_predict` reads
    them.
    """
    known = {**model.ids, new.kind: Ids(rows.ids[new.kind].values[:0])}
    known_data = data_to_predict(
        rows, known, model.run, new.program, reading.vertices, warn, reading.on_bad_row
    )
    fields = {name: {**own, **rows.vertex_fields.get(name, {})} for name, own in known_data.items()}
    return replace(rows, vertex_fields=fields)


def _read_new_points(model: TrainedModel, data: Any, reading: Reading, warn: Warn) -> EdgeData:
    """Read new points of a table or in memory, in the order of their ids, as the program reads
    those of training. Data fields that predictions can do without have defaults.
    """
    program = model.program
    if isinstance(data, MemoryData):
        with in_python():
            points = read_points(points_table(data, program), program, reading)
    elif isinstance(data, EdgeData):
        points = data
    else:
        points = read_points(input_files(data), program, reading)
    for note in points.notes:
        warn(f"{data_name(data)}: {note}")
    return points


def given_rows(program: Program, data: Any, reading: Reading) -> Any:
    """Wrap new rows as `tux.inputs.wrapping.wrap_first` does. UsageError for an option of reading
    that is of training.
    """
    given = [name for name in OF_TRAINING if getattr(reading, name) is not None]
    if given:
        raise UsageError(
            f"{given[0]} is about {plural_noun(program.edge.ends[1])} of training, not of new rows",
            do="leave it out: new rows get those of training",
        )
    return wrap_first(program, data)


def rows_of(
    model: TrainedModel, new: NewVertices, data: Any, reading: Reading, warn: Warn
) -> EdgeData:
    """Read new vertices as edges to vertices that the model knows, which stay in their order;
    `warn` tells what is odd.
    """
    types = RowTypes(new.kind, new.other, model.ids[new.other], model.run.data.numbered)
    rows, left_out, total = read_rows(data, model.program, types, model.run.options, reading)
    for note in rows.notes:
        warn(f"{data_name(data)}: {note}")
    warn_of_bad_rows(data, rows.skipped, rows.first_skipped, warn)
    tell = _warn_of_edges if new.from_one_type else _warn_of_entries
    tell(model, data, new.other, left_out, total, warn)
    return rows


def warn_of_bad_rows(data: Any, skipped: int, first: str, warn: Warn) -> None:
    """Warn of bad rows of the data that were left out, if there were some."""
    if skipped:
        warn(f"{plural(skipped, 'bad row')} of {data_name(data)} skipped; the first is {first}")


def _warn_of_edges(
    model: TrainedModel, data: Any, kind: str, left_out: int, total: int, warn: Warn
) -> None:
    """Warn of edges of one type of which so many are left out. DataError if these are all."""
    joins = f"a new {kind} with one that the model knows"
    edges = plural(total, model.program.edge_name)
    if total and left_out == total:
        raise DataError(
            f"no {model.program.edge_name} of {total:,} joins {joins}",
            where=data if isinstance(data, str) else data_name(data),
            do=f"the first {kind} of the model is {model.ids[kind].values[0]}; call "
            f"{plural_noun(kind)} as in training",
        )
    if left_out:
        join = "does" if left_out == 1 else "do"
        warn(f"{left_out:,} of {edges} of {data_name(data)} {join} not join {joins}: left out")


def _warn_of_entries(
    model: TrainedModel, data: Any, other: str, left_out: int, total: int, warn: Warn
) -> None:
    """Warn of entries of rows of which so many are left out. DataError if these are all, unless
    they are hashed: a hash of an unknown name is no error.
    """
    if total and left_out == total and not hash_bits(model.program):
        raise DataError(
            f"the model knows none of the {plural_noun(other)}",
            where=data if isinstance(data, str) else data_name(data),
            do=f"its first {other} is {model.ids[other].values[0]}; call {plural_noun(other)} "
            "as in "
            "training",
        )
    if left_out:
        are = "is" if left_out == 1 else "are"
        if model.program.edge.repeats:
            what = f"{plural(total, other)} of {data_name(data)} {are} not in the model"
            warn(f"{left_out:,} of {what}: left out")
        else:
            samples = isinstance(model.program.input, Samples)
            each = "entries" if samples else plural_noun(model.program.edge_name)
            what = (
                f"{each} of {data_name(data)} {are} of {plural_noun(other)} that the model "
                "does not know"
            )
            warn(f"{left_out:,} of {total:,} {what}: left out")
