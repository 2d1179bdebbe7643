"""Functions of all estimators: they train a program on data in memory, and keep plain arrays of it,
by which its rows can be filled again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tux.api.result import Run
from tux.api.running import run
from tux.arrays.arrow import STRING
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.callers import warn_caller
from tux.base.errors import DataError, Interrupted, UsageError
from tux.base.text import flags_to_arguments
from tux.engine.records import metrics
from tux.estimators.conventions import check_random_state
from tux.io.source.text import without_skipping
from tux.options.watcher import NullWatcher
from tux.predict.predict import TrainedModel, memory_model
from tux.predict.scorer import Scorer
from tux.program import sources
from tux.program.input import Bags, Points, Samples
from tux.program.params import internal_names
from tux.program.program import NOT_CONVERGED, Program, score_of
from tux.program.report import Model
from tux.run_folder.folder import App, DataOrigin
from tux.run_folder.folder import RunRecord as Record

Fields = Mapping[str, Mapping[str, np.ndarray]]
"""By vertex type, or "tau", and by name: a field of a model, (n, ...)."""


class _Warnings(NullWatcher):
    """Passes on what is odd as Python's warnings."""

    def warn(self, text: str) -> None:
        """Issue one warning of Python; not of a run that has not converged, of which estimators
        warn in the words of scikit-learn, where that does.
        """
        if not text.startswith(NOT_CONVERGED):
            warn_caller(flags_to_arguments(text))


def fit(
    estimator: Any, program: Program, data: Any, *, start: Run | None = None, **chosen: Any
) -> Run:
    """Train an estimator's program on data in memory, for `max_iter` epochs; or from the model of
    the run `start`, for as many as such runs of the program have. Its `random_state` may be
    `chosen` anew. Raises what `tux.run` does, and KeyboardInterrupt after Ctrl-C: whoever fits
    several models, as a grid search, must neither go on nor take one of fewer epochs for whole.
    """
    if data is None:
        raise UsageError("X is None", do="give the data that are to be fitted")
    if start is None:
        estimator._run = None  # a fit that fails leaves nothing to go on from
    goes_on = start is not None and program.epochs_from
    options: dict[str, Any] = {
        "epochs": program.epochs_from if goes_on else estimator.max_iter,
        "seed": seed_of(chosen.get("random_state", estimator.random_state)),
        "threads": threads_of(estimator.n_jobs),
    }
    try:
        fitted = run(program, data, progress=_Warnings(), from_run=start, **options)
    except Interrupted:
        raise KeyboardInterrupt from None
    except DataError as error:
        _leave_out_options(error)
        raise
    if fitted.interrupted:
        raise KeyboardInterrupt
    return fitted


def _leave_out_options(error: DataError) -> None:
    """Leave the options of reading out of an error's advice, which estimators do not have."""
    without_skipping(error)
    sentences = re.split(r"(?<=[.;]) ", error.do)
    kept = [each for each in sentences if "columns=" not in each]
    if len(kept) < len(sentences):
        told = " ".join(kept).removesuffix(";").removesuffix(".")
        error.do = f"{told}. Give the columns that are needed alone.".removeprefix(". ")


def starting_run(fitted: Run) -> Run:
    """Return the part of a run with which another can begin: its model, without the rows of
    documents or samples, which are new each time.
    """
    program = fitted.program
    first = program.edge.ends[0] if isinstance(program.input, Bags | Samples | Points) else ""
    model: dict[str, dict[str, Any]] = {
        name: {
            f: column[:0] if name == first else column
            for f, column in {"id": each.ids, **{f: each[f] for f in each.fields}}.items()
        }
        for name, each in fitted.vertices.items()
    }
    model["tau"] = {name: fitted.context[name] for name in fitted.context}
    return Run(fitted._record, program, [], model, {})


def history_of(fitted: Run) -> dict[str, np.ndarray]:
    """Return the metrics of a run's epochs by name, and their numbers, (epochs,); NaN where none
    is.
    """
    history = fitted.history
    names = ["epoch", *metrics(dict.fromkeys(history.columns))]
    return {name: np.array(history[name]) for name in names}


def epochs_of(fitted: Run) -> int:
    """Return how many epochs a run has had."""
    return int(fitted.history["epoch"][-1])


def ids_of(fitted: Run, kind: str) -> np.ndarray:
    """Return the ids of a vertex type as they were given, (n,); text as objects, as in a
    DataFrame.
    """
    ids = fitted.vertices[kind].ids
    return np.array(ids, object) if ids.dtype == STRING else np.array(ids)


def model_of(
    program: Program,
    vertices: Mapping[str, dict[str, np.ndarray]],
    context: dict[str, np.ndarray],
) -> tuple[Run, TrainedModel]:
    """Return a run that has such vertices, by type: their ids ("id") and some of their fields; and
    such fields of the context. Return it once more in the form that functions of pairs read.
    """
    app = App(sources.source_of(program).name, "")
    record = Record(
        app,
        program.parameters,
        0,
        {},
        DataOrigin("memory", ""),
        internal=internal_names(program.params),
    )
    held = {kind: columns | {"id": _text(columns["id"])} for kind, columns in vertices.items()}
    run = Run(record, program, [], held | {"tau": context}, {})
    ids = {kind: each.ids for kind, each in run.vertices.items()}
    return run, memory_model(record, program, Model({**run.vertices, "tau": context}, ids))


def _text(ids: np.ndarray) -> np.ndarray:
    """Return ids as tables hold them: `ids_of` has made objects of text."""
    return ids.astype(STRING) if ids.dtype == object else ids


def seed_of(random_state: Any) -> int:
    """Return the seed of a run: a whole number as it is, else one drawn as scikit-learn draws."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def threads_of(n_jobs: int | None) -> int | None:
    """Return the threads of a run: None and -1 are all cores, of which results do not depend."""
    if n_jobs is None or n_jobs == -1:
        return None
    if n_jobs < 1:
        raise ValueError(f"n_jobs is {n_jobs}: give a number of threads, or None for all cores")
    return int(n_jobs)


def scores(
    program: Program, fields: Fields, asked: EdgeData, kind: str, n_jobs: int | None
) -> np.ndarray:
    """Return the program's prediction for each vertex of type `kind` of the edges `asked`, by its
    index. `fields` are the model's; vertices of the other type have its indices.
    """
    known = {**asked.ids, kind: Ids(np.empty(0, np.int64))}
    read = partial(_read_fields, fields)
    scorer = Scorer(program, known, read, [score_of(program)], threads=threads_of(n_jobs))
    return scorer.score(asked)


def _read_fields(
    fields: Fields, name: str, wanted: Sequence[str]
) -> tuple[dict[str, np.ndarray], str]:
    """Return those of the `wanted` fields of a type that there are."""
    held = fields.get(name, {})
    found = {field: held[field] for field in wanted if field in held}
    if name == "tau":  # one row, which may be left out
        found = {field: np.reshape(values, (1, -1)) for field, values in found.items()}
    return found, "memory"


def matrix_edges(ends: tuple[str, str], matrix: Any, **fields: np.ndarray) -> EdgeData:
    """Return the stored entries of a matrix in CSR as edges from rows to columns, with `fields` in
    the order of its entries; ids are the numbers of rows and columns.
    """
    rows, columns = matrix.shape
    return EdgeData(
        ends,
        {ends[0]: Ids(np.arange(rows)), ends[1]: Ids(np.arange(columns))},
        np.repeat(np.arange(rows, dtype=np.int32), np.diff(matrix.indptr)),
        matrix.indices.astype(np.int32, copy=False),
        fields,
    )
