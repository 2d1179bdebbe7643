"""The model of another run with which a run begins (`tux run APP DATA --from RUN`)."""

from __future__ import annotations

import os
from typing import NamedTuple

from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.engine.start_model import NOTHING, StartModel
from tux.inputs.known import known_vertices
from tux.options.options import RunOptions
from tux.predict.predict import TrainedModel, Warn, open_model
from tux.program import sources
from tux.program.program import Program


class StartOfRun(NamedTuple):
    """The beginning of a run: a model for its workers, and the vertices of this model for those who
    read the data; None: there is no model.
    """

    model: StartModel = NOTHING
    vertices: EdgeData | None = None


def begin_with(
    model: TrainedModel | None, program: Program, options: RunOptions, warn: Warn
) -> StartOfRun:
    """Return the beginning of a run of `program` with a model, or with that of the run that the
    options name, if there is either. UsageError where this is of another program, or the program
    cannot begin with a model.
    """
    if options.from_run is not None:
        model = open_model(options.from_run, warn)
    if model is None:
        return StartOfRun()
    _check_program(model, program)
    if type(program).setup_from is Program.setup_from:
        raise UsageError(
            f"{type(program).__name__} cannot begin with a model",
            do="train it on all data; in a program of your own, write setup_from(self)",
        )
    vertices = known_vertices(program, model.ids, model.run.data.numbered, options)
    known = {kind: len(ids) for kind, ids in vertices.ids.items()}
    return StartOfRun(StartModel(known, model.stored), vertices)


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
