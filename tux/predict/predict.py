"""Predictions of a trained model, for pairs of vertices (`tux predict DIR --pairs FILE`) and for
new vertices.

New vertices are the rows of a file (`tux predict DIR DATA`): documents, samples. They meet the
model's vertices by their ids.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.given import to_given_type
from tux.arrays.ids import Ids
from tux.base.checksums import is_changed
from tux.base.errors import DataError, UsageError
from tux.base.parallel import cores
from tux.base.text import data_name, plural, plural_noun
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.inputs.memory import MemoryData, points_table
from tux.inputs.new_rows import RowTypes, read_rows
from tux.inputs.pairs import read_pairs
from tux.inputs.points import read_points
from tux.inputs.samples import hash_bits
from tux.inputs.vertex_data import data_to_predict
from tux.inputs.wrapping import wrap_data
from tux.io.source.input_files import input_files
from tux.options.options import Reading
from tux.options.python_words import in_python
from tux.program import sources
from tux.program.base_program import other_types
from tux.program.input import Points, Samples
from tux.program.params import use_present_names
from tux.program.program import Program, score_of
from tux.run_folder.folder import RunRecord, fill, read_run
from tux.run_folder.model_files import Stored, model_reader, read_ids

Warn = Callable[[str], None]
OF_TRAINING = "min_count", "cross"
"""Options of reading that say which features or words there are."""
MOVED = (
    "put the file back, or write where it is now as the name of app there; in Python "
    "tux.load(RUN, program) takes the program itself"
)
"""The advice where the file of a run's program is not there any more."""


def predict(
    model: str | os.PathLike[str] | TrainedModel,
    pairs: Any,
    *,
    columns: str | None = None,
    vertices: Mapping[str, Any] | None = None,
    warn: Warn = lambda text: None,
) -> dict[str, np.ndarray]:
    """Score each row of a file of pairs, or of pairs in memory (`tux.inputs.memory`), by a model or
    the model in a run's folder; `columns` names those of the two ids ("a,b"), `vertices` the tables
    of vertices, if others than training has read.

    Returns columns in the file's order: the ids of both ends under their names in UDFs, as given,
    and the scores, (m,) float64, under the stage's name. Ids that training never saw are scored as
    fresh vertices of the program; `warn` tells how many ids these are. Raises DataError for files
    that cannot be read, ProgramError for a program that predicts nothing, UsageError for one that
    predicts nothing about pairs.
    """
    model = model if isinstance(model, TrainedModel) else open_model(model, warn)
    run, program, stage, role = model.run, model.program, model.stage, model.role
    if role:
        raise UsageError(
            f"{type(program).__name__} predicts for a {role}, not for pairs",
            do=f"tux predict {model.name} FILE OF {role.upper()}S",
        )
    ids = dict(model.ids)
    asked = read_pairs(pairs, run, program, ids, columns, warn)
    for kind, count in asked.unseen.items():
        if count:
            warn(
                f"{plural(count, kind)} of {data_name(pairs)} never occurred in training; "
                "of these the "
                "model knows nothing"
            )
    for name in stage.edge_fields(program):
        warn(
            f"predict() of {type(program).__name__} reads {program.edge_name}.{name}, which pairs "
            "do not have: it is 0"
        )
    # What a file of training edges would hold is not there to be read: zeros keep its place.
    asked = replace(
        asked,
        fields={name: np.zeros(len(asked), dtype) for name, dtype in program.edge.columns.items()},
    )
    data = data_to_predict(asked, ids, run, program, vertices, warn)
    scores = score_with_model(model, ids, replace(asked, vertex_fields=data))
    first, second = program.edge.roles
    ends = program.edge.ends
    return {
        first: _decode_ids(asked, ends[0], asked.src),
        second: _decode_ids(asked, ends[1], asked.dst),
        stage.name: scores,
    }


def _decode_ids(edges: EdgeData, kind: str, codes: np.ndarray) -> np.ndarray:
    """Return the ids of vertices of a type, in the type in which they were given."""
    return to_given_type(edges.ids[kind].decode(codes), edges.id_types.get(kind, ""))


@dataclass(frozen=True)
class TrainedModel:
    """A model that predicts: its run's record, its program, its columns, the function that reads
    its ids by vertex type, and its name in messages, the folder.
    """

    run: RunRecord
    program: Program
    stored: Stored
    read_ids: Callable[[], Mapping[str, Ids]]
    name: str

    @cached_property
    def stage(self) -> Any:
        """The stage that predicts, a `tux.stages.Score`. Only its methods are used here.
        ProgramError if there is none.
        """
        return score_of(self.program)

    @cached_property
    def role(self) -> str:
        """The end for whose vertices the stage is called; "" if it is called for each edge."""
        return str(self.stage.enumerated_role(self.program))

    @cached_property
    def ids(self) -> Mapping[str, Ids]:
        """The ids of the model's vertices, by type."""
        return self.read_ids()


def open_model(folder: str | os.PathLike[str], warn: Warn = lambda text: None) -> TrainedModel:
    """Open the model in a run's folder. Its columns and ids are read only when they are needed.
    Raises DataError.
    """
    run = read_run(folder)
    program = reopen_program(run, folder, warn)
    ids = partial(read_ids, folder, program)
    return TrainedModel(run, program, model_reader(folder), ids, os.fspath(folder))


def score_with_model(model: TrainedModel, ids: dict[str, Any], asked: EdgeData) -> np.ndarray:
    """Return the scores of held-out edges `asked`, computed as in the model's run."""
    options = model.run.options
    how = {
        name: bool(options.get(name, default))
        for name, default in (("jit", True), ("check", False))
    }
    return score_edges(
        model.program, ids, asked, partial(fill, model.stored), seed=model.run.seed, **how
    )


def score_edges(
    program: Program,
    ids: dict[str, Any],
    asked: EdgeData,
    fill_rows: Callable[[Worker], None],
    *,
    seed: int = 0,
    threads: int | None = None,
    **how: bool,
) -> np.ndarray:
    """Return the program's scores of held-out edges `asked`. The model has vertices `ids`, which
    come first in those of `asked`; `fill_rows` puts its fields into a worker. `how`: the worker's
    `jit` and `check`.
    """
    none = np.empty(0, np.int32)
    known = EdgeData(
        asked.ends, ids, none, none, {name: column[:0] for name, column in asked.fields.items()}
    )
    others = {
        name: EdgeData(edge.ends, ids, none, none, {})
        for name, edge in other_types(program).items()
    }
    known = known.join(others)
    graph = LocalGraph.whole(program, known, asked, seed)
    worker = Worker(program, graph, seed=seed, threads=threads or cores(), **how)
    fill_rows(worker)
    step = score_of(program).step(worker)
    step.run()
    return np.asarray(step.scores)


def reopen_program(run: RunRecord, folder: str | os.PathLike[str], warn: Warn) -> Program:
    """The program of a run with its parameters, which get their present names in `run`; `warn` if
    its source has changed since, or `run.json` of its `folder`.
    """
    if is_changed(Path(folder), "run.json"):
        warn(
            f"{Path(folder, 'run.json')} is damaged, or was changed by hand, since the run: the "
            "model may not mean what it did"
        )
    where = Path(folder, "run.json")
    source = sources.find_again(run.app.name, where, MOVED)
    if source.digest != run.app.digest:
        warn(
            f"{source.path}, or a file beside it that it imports, has changed since the run: the "
            "model may not mean what it did"
        )
    run.parameters = use_present_names(source.program.params, run.parameters, where=where)
    return source.program(**run.parameters)


def _predict_points(
    model: TrainedModel, data: Any, reading: Reading, warn: Warn
) -> dict[str, np.ndarray]:
    """Score new points of a table or in memory, in the order of their ids. They are read as the
    program reads those of training. Data fields that predictions can do without have defaults.
    """
    program, kind = model.program, model.program.edge.ends[0]
    if isinstance(data, MemoryData):
        with in_python():
            points = read_points(points_table(data, program), program, reading)
    else:
        points = (
            data if isinstance(data, EdgeData) else read_points(input_files(data), program, reading)
        )
    for note in points.notes:
        warn(f"{data_name(data)}: {note}")
    ids = {kind: Ids(points.ids[kind].values[:0])}
    scores = score_with_model(model, ids, points)
    return {
        kind: _decode_ids(points, kind, np.arange(len(points.ids[kind]))),
        model.stage.name: scores,
    }


def predict_rows(
    model: str | os.PathLike[str] | TrainedModel,
    data: Any,
    reading: Reading | None = None,
    *,
    warn: Warn = lambda text: None,
) -> dict[str, np.ndarray]:
    """Score each row of a file of new vertices, in any format that training reads, or of data in
    memory (`tux.inputs.memory`), by a model or the model in a run's folder.

    Returns columns in the file's order: the rows' ids under the name of their end in UDFs, and the
    scores, (n,) float64 or (n, width) float32, under the stage's name, or in columns of their own
    (`tux.stages.Score`). Entries of columns that the model does not know are left out; `warn` tells
    how many. A row of which nothing is left is there all the same. Raises what reading raises,
    DataError if the model knows none of the columns and they are not hashed, ProgramError for a
    program that predicts nothing, and UsageError for one that predicts for pairs.
    """
    model = model if isinstance(model, TrainedModel) else open_model(model, warn)
    run, program, role = model.run, model.program, model.role
    if not role:
        raise UsageError(
            f"{type(program).__name__} predicts for pairs, not for rows",
            do=f"tux predict {model.name} --pairs FILE",
        )
    reading = reading or Reading()
    data = given_rows(program, data, reading)
    if isinstance(program.input, Points):
        return _predict_points(model, data, reading, warn)
    rows, (kind, other, known, _) = rows_of(model, data, reading, warn)
    ids = {kind: Ids(rows.ids[kind].values[:0]), other: known}
    known_data = data_to_predict(
        rows, ids, run, program, reading.vertices, warn, reading.on_bad_row
    )
    fields = {name: {**own, **rows.vertex_fields.get(name, {})} for name, own in known_data.items()}
    scores = score_with_model(model, ids, replace(rows, vertex_fields=fields))
    every = np.arange(len(rows.ids[kind]))
    return {role: _decode_ids(rows, kind, every), **model.stage.columns(scores)}


def given_rows(program: Program, data: Any, reading: Reading) -> Any:
    """Wrap new rows as `tux.inputs.wrapping.wrap_data` does. UsageError for an option of reading
    that is of training.
    """
    given = [name for name in OF_TRAINING if getattr(reading, name) is not None]
    if given:
        raise UsageError(
            f"{given[0]} is about {plural_noun(program.edge.ends[1])} of training, not of new rows",
            do="leave it out: new rows get those of training",
        )
    return wrap_data(program, data)


def rows_of(
    model: TrainedModel, data: Any, reading: Reading, warn: Warn
) -> tuple[EdgeData, RowTypes]:
    """Read new rows, as edges to vertices that the model knows. Returns also the types of both;
    `warn` tells what is odd.
    """
    program = model.program
    kind = dict(zip(program.edge.roles, program.edge.ends, strict=True))[model.role]
    if len(set(program.edge.ends)) < 2:
        raise UsageError(
            f"the rows of {data_name(data)} would be {plural_noun(kind)} that its columns "
            "are too, of which "
            "there are no new ones"
        )
    other = program.edge.ends[program.edge.ends[0] == kind]
    types = RowTypes(kind, other, model.ids[other], model.run.data.numbered)
    rows, left_out, total = read_rows(data, program, types, model.run.options, reading)
    _warn_of_rows(model, data, rows, other, left_out, total, warn)
    return rows, types


def warn_of_bad_rows(data: Any, skipped: int, first: str, warn: Warn) -> None:
    """Warn of bad rows of the data that were left out, if there were some."""
    if skipped:
        warn(f"{plural(skipped, 'bad row')} of {data_name(data)} skipped; the first is {first}")


def _warn_of_rows(
    model: TrainedModel,
    data: Any,
    rows: EdgeData,
    other: str,
    left_out: int,
    total: int,
    warn: Warn,
) -> None:
    """Warn of odd rows of the data, of whose entries so many are left out. DataError if these are
    all, unless they are hashed: a hash of an unknown name is no error.
    """
    if total and left_out == total and not hash_bits(model.program):
        raise DataError(
            f"the model knows none of the {plural_noun(other)}",
            where=data if isinstance(data, str) else data_name(data),
            do=f"its first {other} is {model.ids[other].values[0]}; call {plural_noun(other)} "
            "as in "
            "training",
        )
    for note in rows.notes:
        warn(f"{data_name(data)}: {note}")
    warn_of_bad_rows(data, rows.skipped, rows.first_skipped, warn)
    if left_out:
        are = "is" if left_out == 1 else "are"
        if isinstance(model.program.input, Samples):
            what = (
                f"entries of {data_name(data)} {are} of {plural_noun(other)} that the model "
                "does not know"
            )
            warn(f"{left_out:,} of {total:,} {what}: left out")
        else:
            what = f"{plural(total, other)} of {data_name(data)} {are} not in the model"
            warn(f"{left_out:,} of {what}: left out")
