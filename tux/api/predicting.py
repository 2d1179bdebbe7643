"""Predictions of a model in memory: the same as ``tux predict`` makes of a run's folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tux.api.options import options_of
from tux.api.table import Vertices
from tux.arrays.arrow import STRING
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.integers import LAST
from tux.base.errors import DataError
from tux.program.program import Program
from tux.run.folder import Run as Record
from tux.run.options import Reading
from tux.run.pairs import read_pairs
from tux.run.predict import Trained, predict_rows
from tux.run.predict import predict as predict_pairs

warn = logging.getLogger("tux").warning


def trained(
    record: Record,
    program: Program,
    vertices: Mapping[str, Vertices],
    context: Mapping[str, np.ndarray],
) -> Trained:
    """A model in memory as `tux.run.predict` takes it."""

    def stored(name: str, fields: Sequence[str]) -> tuple[Mapping[str, Any], str]:
        table: Any = context if name == "tau" else vertices[name]
        if missing := [field for field in fields if field not in table]:
            raise DataError(
                f"the model's {name} has no {missing[0]}",
                do="use the program as it was when the model was trained",
            )
        return {field: table[field] for field in fields}, "the model"

    def ids() -> dict[str, Ids]:
        return {name: held(each.ids) for name, each in vertices.items()}

    return Trained(record, program, stored, ids, "RUN")


def held(values: np.ndarray) -> Ids:
    """Ids in one of the types that `Ids` holds, in their order."""
    if values.dtype == STRING:
        return Ids(values)
    large = values.dtype.kind == "u" and int(values.max(initial=0)) > LAST
    return Ids(values.astype(np.uint64 if large else np.int64, copy=False))


def predict(
    model: Trained, data: Any, vertices: Mapping[str, Any] | None, reading: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Columns of ids and scores, of pairs or of rows, whichever the program predicts for."""
    how = options_of(Reading, reading, vertices=vertices)
    if model.role:
        return predict_rows(model, data, how, warn=warn)
    pairs = pairs_of(model, data, how.columns)
    return predict_pairs(model, pairs, columns=how.columns, vertices=vertices, warn=warn)


def pairs_of(model: Trained, data: Any, columns: str | None = None) -> EdgeData:
    """Pairs of ids, of a file or in memory, as edges that have the model's ids first; `columns`
    names those of the two ids ("a,b"). Raises DataError.
    """
    ids, ends = dict(model.ids), model.program.edge.ends
    if isinstance(data, EdgeData):
        return data
    if is_file(data):
        return read_pairs(data, model.run, model.program, ids, columns, warn)
    first, second = _two(data, model.program.edge.roles, columns)
    return EdgeData.of(ends, first, second, {}, against=ids)


def is_file(data: Any) -> bool:
    """Whether data are the name of a file, or names of files."""
    if isinstance(data, list) and data:
        return all(map(is_file, data))
    return isinstance(data, str | os.PathLike)


def _two(data: Any, roles: tuple[str, str], columns: str | None) -> tuple[Any, Any]:
    """The two columns of ids of a table in memory: those named, else those called as the ends are,
    else the first two.
    """
    if isinstance(data, tuple) and len(data) >= 2:
        return np.asarray(data[0]), np.asarray(data[1])
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] >= 2:
        return data[:, 0], data[:, 1]
    names = [*data] if isinstance(data, Mapping) else [*getattr(data, "columns", [])]
    wanted = columns.split(",") if columns else [*roles]
    if not set(wanted) <= set(names):
        wanted = names[:2]
    if len(wanted) < 2:
        raise DataError(
            f"{type(data).__name__} holds no pairs of ids",
            do=f"give a table with the columns {' and '.join(roles)}, or a tuple of two arrays",
        )
    return np.asarray(data[wanted[0]]), np.asarray(data[wanted[1]])
