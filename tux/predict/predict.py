"""Predictions of a trained model for pairs of vertices (`tux predict DIR --pairs FILE`), and
writers of predictions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.given import ids_of, to_given_type
from tux.arrays.ids import Ids
from tux.base.errors import UsageError
from tux.base.text import data_name, plural
from tux.engine.start_model import Stored, model_reader
from tux.inputs.pairs import read_pairs
from tux.inputs.vertex_data import data_to_predict
from tux.predict.scorer import Scorer
from tux.program import sources
from tux.program.params import use_present_names
from tux.program.program import Program, rebuild, score_of
from tux.program.report import Model
from tux.program.stage import Stage
from tux.run_folder.folder import RunRecord, is_as_written, read_run
from tux.run_folder.model_files import model_digest, read_ids

Warn = Callable[[str], None]
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
                f"{plural(count, kind)} of {data_name(pairs)} never occurred in training: their "
                "scores are what is known of the other end alone"
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
    scorer = model.make_scorer(program, ids, [stage])
    scores = scorer.score(replace(asked, vertex_fields=data))
    first, second = program.edge.roles
    ends = program.edge.ends
    return {
        first: decode_ids(asked, ends[0], asked.src),
        second: decode_ids(asked, ends[1], asked.dst),
        stage.name: scores,
    }


def decode_ids(edges: EdgeData, kind: str, codes: np.ndarray) -> np.ndarray:
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
    scorers: dict[tuple[str, str], Scorer] = field(default_factory=dict, init=False)

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

    def make_scorer(
        self, program: Program, ids: Mapping[str, Ids], stages: Sequence[Stage]
    ) -> Scorer:
        """Make a scorer that computes as the model's run does. `program`: as the stages see it;
        `ids`: those of its types.
        """
        options = self.run.options
        how = {
            name: bool(options.get(name, default))
            for name, default in (("jit", True), ("check", False))
        }
        return Scorer(program, ids, self.stored, stages, seed=self.run.seed, **how)


def open_model(folder: str | os.PathLike[str], warn: Warn = lambda text: None) -> TrainedModel:
    """Open the model in a run's folder. Its columns and ids are read only when they are needed.
    Raises DataError.
    """
    run = read_run(folder)
    program = reopen_program(run, folder, warn)
    ids = partial(read_ids, folder, program)
    return TrainedModel(run, program, model_reader(folder), ids, os.fspath(folder))


def memory_model(run: RunRecord, program: Program, model: Model, name: str = "RUN") -> TrainedModel:
    """Return a model whose columns are in memory, or are kept there once they have been read, in
    the form that predicts.
    """

    def read_columns(kind: str, fields: Sequence[str]) -> tuple[Mapping[str, Any], str]:
        table = model.fields[kind]
        return {each: table[each] for each in fields if each in table}, "the model"

    def read_known() -> dict[str, Ids]:
        return {kind: ids_of(ids) for kind, ids in model.ids.items()}

    return TrainedModel(run, program, read_columns, read_known, name)


def reopen_program(run: RunRecord, folder: str | os.PathLike[str], warn: Warn) -> Program:
    """The program of a run with its parameters, which get their present names in `run`; `warn` if
    its source has changed since, or `run.json` of its `folder`, or if the model there is another.
    """
    if not is_as_written(folder):
        warn(
            f"{Path(folder, 'run.json')} is damaged, or was changed by hand, since the run: the "
            "model may not mean what it did"
        )
    if _has_other_model(run, folder):
        warn(f"{Path(folder, 'model')} is not the model that its run has written")
    where = Path(folder, "run.json")
    source = sources.find_again(run.app.name, where, MOVED)
    if source.digest != run.app.digest:
        warn(
            f"{source.path}, or a file beside it that it imports, has changed since the run: the "
            "model may not mean what it did"
        )
    run.parameters = use_present_names(source.program.params, run.parameters, where=where)
    return rebuild(source.program, run.parameters)


def _has_other_model(run: RunRecord, folder: str | os.PathLike[str]) -> bool:
    """Return whether the model in the folder of a run is one that the run has not written."""
    try:
        there = Path(folder, "model").is_dir()
        return there and run.model_digest not in ("", model_digest(folder))
    except OSError:
        return False  # whoever reads the model tells it
