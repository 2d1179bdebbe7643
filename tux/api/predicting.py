"""Predictions of a model in memory, with the same results as ``tux predict`` on a run's folder."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from tux.api.options import options_of
from tux.arrays.edges import EdgeData
from tux.base.text import flags_to_arguments
from tux.inputs.pairs import read_pairs
from tux.options.options import Reading
from tux.predict import row_exports, rows
from tux.predict.predict import TrainedModel
from tux.predict.predict import predict as predict_pairs
from tux.program.report import Export, Model


def warn(text: str) -> None:
    """Warn of something odd in one line, by the logger "tux"."""
    logging.getLogger("tux").warning(flags_to_arguments(text))


def predict(
    model: TrainedModel, data: Any, vertices: Mapping[str, Any] | None, reading: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Return columns of ids and scores, of pairs or of rows, as the program predicts for one or the
    other.
    """
    how = options_of(Reading, reading, vertices=vertices)
    if model.role:
        return rows.predict_rows(model, data, how, warn=warn)
    return predict_pairs(model, data, columns=how.columns, vertices=vertices, warn=warn)


def pairs_of(model: TrainedModel, data: Any) -> EdgeData:
    """Read pairs of ids, of a file or in memory, as edges that have the model's ids first. Raises
    DataError.
    """
    return read_pairs(data, model.run, model.program, dict(model.ids), None, warn)


def fold_in(
    model: TrainedModel,
    data: Any,
    of: str,
    keep_known: bool,
    vertices: Mapping[str, Any] | None,
    reading: Mapping[str, Any],
) -> dict[str, np.ndarray]:
    """Return columns of ids and vectors of new vertices: see `tux.Run.fold_in`."""
    how = options_of(Reading, reading, vertices=vertices)
    return rows.fold_in(model, data, how, of=of, keep_known=keep_known, warn=warn)


def export_rows(
    trained: TrainedModel,
    form: str,
    function: Export,
    model: Model,
    data: Any,
    reading: Mapping[str, Any],
) -> dict[str, np.ndarray]:
    """Return the arrays of a format about rows: see `tux.Run.export`."""
    how = options_of(Reading, reading)
    matrix = row_exports.export_rows(trained, form, function, model, data, how, warn=warn)
    return {name: array.whole() for name, array in row_exports.matrix_arrays(matrix).items()}
