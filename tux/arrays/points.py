"""Points in memory: vertices of one type with vectors, and no edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError

KIND = "point"
"""The vertex type of points of which nothing is said."""


def points(
    x: Any, *, ids: Any = None, kind: str = KIND, field: str = "x", **fields: Any
) -> EdgeData:
    """Return n vertices of type `kind` and no edges: row i of `x` (n, width) is the data field
    `field` of vertex i. More `fields` are (n,) or (n, width). If `kind` is left out, a program
    whose only vertex type has another name takes them too.

    `ids` (n,): integers or strings, each once; without them, the row's number from 0. Raises
    `DataError` for rows that are not finite numbers, and for an id that comes twice.
    """
    matrix = np.asarray(x)
    if matrix.ndim != 2:
        raise DataError(
            f"points of shape {matrix.shape}", do="Give one row of numbers for each point."
        )
    known, place = Ids.of(np.arange(len(matrix)) if ids is None else ids)
    if len(place) != len(matrix) or len(known) != len(matrix):
        raise DataError(
            f"{len(known):,} different ids for {len(matrix):,} points",
            do="Give each point an id of its own.",
        )
    given = {name: np.asarray(values) for name, values in {field: matrix, **fields}.items()}
    for name, values in given.items():
        if len(values) != len(matrix):
            raise DataError(
                f"{name} has {len(values):,} rows, but there are {len(matrix):,} points"
            )
    order = np.argsort(place)
    none = known.values[:0]
    return EdgeData.of(
        (kind, kind),
        none,
        none,
        {},
        vertices={kind: known.values},
        vertex_fields={kind: {name: values[order] for name, values in given.items()}},
    )
