"""The model of another run with which a run begins (`tux run APP DATA --from RUN`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.base.errors import Refused, UsageError
from tux.base.text import flag_of
from tux.engine.start_model import NOTHING, StartModel
from tux.inputs.known import known_vertices
from tux.inputs.samples import NAMED, classes_of
from tux.options.options import RunOptions
from tux.predict.predict import TrainedModel, Warn, open_model
from tux.program import sources
from tux.program.params import settable
from tux.program.program import Program, begins_with_model
from tux.run_folder.model_columns import LazyColumns
from tux.run_folder.model_files import model_digest
from tux.runs.resume import StoppedRun


class StartOfRun(NamedTuple):
    """The beginning of a run: a model for its workers, and the vertices of this model for those who
    read the data; None: there is no model. `context`: as `EdgeFacts` has it. `digest`: of a model
    in a folder.
    """

    model: StartModel = NOTHING
    vertices: EdgeData | None = None
    context: Mapping[str, np.ndarray | None] = {}
    digest: str = ""


NO_START = StartOfRun()
"""The beginning of a run without a model."""


def begin_with(
    model: TrainedModel | None,
    program: Program,
    options: RunOptions,
    warn: Warn,
    before: StoppedRun | None = None,
) -> StartOfRun:
    """Return the beginning of a run of `program` with a model, or with that of the run that the
    options name, if there is either. UsageError where this is of another program, or the program
    cannot begin with a model. Refused where it is not the one with which the run `before` began.
    """
    digest = ""
    if options.from_run is not None:
        model, digest = open_model(options.from_run, warn), model_digest(options.from_run)
    if model is None:
        return NO_START
    if before is not None and before.run.start_digest not in ("", digest):
        raise Refused(
            "the model with which the run began is another one now",
            where=str(options.from_run),
            do="put the model back, or start a new run",
        )
    _check_program(model, program)
    if not begins_with_model(program):
        raise UsageError(
            f"{type(program).__name__} cannot begin with a model",
            do="train it on all data; in a program of your own, write setup_from(self)",
        )
    _check_meaning(model, program, options, warn)
    vertices = known_vertices(
        program,
        model.ids,
        options,
        numbered=model.run.data.numbered,
        id_types=model.run.id_types,
        classes=tuple(classes_of(model.program, None) or ()),
    )
    known = {kind: len(ids) for kind, ids in vertices.ids.items()}
    start = StartModel(known, model.stored)
    return StartOfRun(start, vertices, _context_of(model), digest)


def _context_of(model: TrainedModel) -> Mapping[str, np.ndarray | None]:
    """Return the fields of the context of a model, each of which is read when it is asked for."""
    names = [name for name, field in model.program.context.fields.items() if field.in_model]
    return LazyColumns(names, lambda name: model.stored("tau", [name])[0].get(name))


def _check_program(model: TrainedModel, program: Program) -> None:
    """Raise UsageError for a model of another program. The file of a user's own may have moved, and
    an app may have several programs for one kind of model, of which the data choose one.
    """
    names = [sources.source_of(each).name for each in (model.program, program)]
    before, now = (name if os.sep not in name else name.rpartition(":")[2] for name in names)
    kinds = [
        (type(each).__module__.rpartition(".")[0], each.vertices.keys(), each.edge_types.keys())
        for each in (model.program, program)
    ]
    if before != now and (kinds[0] != kinds[1] or os.sep in "".join(names)):
        raise UsageError(
            f"{model.name} is a run of {before}, and this is one of {now}",
            do=f"name a run of {now}",
        )


def _check_meaning(model: TrainedModel, program: Program, options: RunOptions, warn: Warn) -> None:
    """Warn of parameters, and of options of reading, that are others than those of the model's run:
    some say what its numbers mean. UsageError for another file that a parameter names, for a
    fixed one that means something else, and for tables of vertices with categories, which would be
    numbered anew.
    """
    if options.vertices and model.run.categories:
        raise UsageError(
            f"tables of vertices with words, as in {model.name}, would be numbered anew",
            do="train it on all data",
        )
    for name in settable(program.params):
        had, has = model.program.parameters.get(name), program.parameters[name]
        if had != has and not program.params[name].may_become(had, has):
            raise UsageError(
                f"{name} of a model cannot change",
                where=model.name,
                do="leave it out; in Python, take the program of the run: run.program",
            )
        if had == has or has in ("", "auto", 0) and not isinstance(has, bool):
            continue  # the data choose it
        warn(f"{name} is {has}, and {had} in {model.name}")
    for name in (*NAMED, "vocab", "stop"):
        had, has = model.run.options.get(name), getattr(options, name)
        if had is not None and has is None and name != "labels":
            warn(f"{model.name} was trained with {flag_of(name)}, which is not given here")
