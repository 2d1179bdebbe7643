"""The nearest of a model's vertices to one of them, by the angle between their vectors:
`tux predict DIR --nearest ID`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tux.arrays.arrow import read_parquet
from tux.base.errors import UsageError
from tux.run.folder import read_ids, read_run
from tux.run.predict import reopened

COUNT = 10
ROWS = 1 << 16  # vectors compared at a time


def nearest(matrix: np.ndarray, row: int, count: int = COUNT) -> tuple[np.ndarray, np.ndarray]:
    """The `count` other rows of `matrix` (n, d) nearest to row `row` by cosine, and the cosines,
    (count,) int64 and float64.

    The nearest is first, of equal ones the lower row; there are fewer if there are fewer others. A
    vector of zeros has cosine 0 to all.
    """
    vector = matrix[row].astype(np.float64)
    near = np.empty(len(matrix))
    for at in range(0, len(matrix), ROWS):
        piece = matrix[at : at + ROWS].astype(np.float64)
        size = np.linalg.norm(piece, axis=1) * np.linalg.norm(vector)
        near[at : at + ROWS] = np.divide(
            piece @ vector, size, out=np.zeros(len(piece)), where=size > 0
        )
    near[row] = -np.inf
    count = max(0, min(count, len(matrix) - 1))
    if not count:
        return np.empty(0, np.int64), np.empty(0)
    least = np.partition(near, -count)[-count]
    rows = np.flatnonzero(near >= least)  # all that tie for the last place too
    rows = rows[np.argsort(-near[rows], kind="stable")][:count]
    return rows, near[rows].clip(-1, 1)


def nearest_of(
    folder: str | os.PathLike[str],
    vertex: str,
    count: int = COUNT,
    field: str = "",
    *,
    warn: Callable[[str], None] = lambda text: None,
) -> dict[str, np.ndarray]:
    """The vertices of a run's model nearest to the one of id `vertex`: their ids under the name of
    the vertex type, and `cosine`.

    Vectors are the first field of several numbers of its vertex type; `field` ("item.q") names
    another. Raises UsageError if there is no such id or field, or ids of two types are so called;
    DataError if there is no model.
    """
    if count < 1:
        raise UsageError(f"--count {count}: one at least is needed")
    program = reopened(read_run(folder), warn)
    ids = read_ids(folder, program)
    models = {kind: read_parquet(Path(folder, "model", f"{kind}.parquet")) for kind in ids}
    matrices = {
        (kind, name): array
        for kind, model in models.items()
        for name, array in model.items()
        if _vectors(array)
    }
    if field:
        kind, _, name = field.partition(".")
        if (kind, name) not in matrices:
            known = ", ".join(".".join(each) for each in matrices) or "none"
            raise UsageError(f"the model has no vectors {field!r}", do=f"it has: {known}")
        matrices = {(kind, name): matrices[kind, name]}
    if not matrices:
        raise UsageError(
            f"{type(program).__name__} has no vectors to compare",
            do="its vertices have no field of several numbers",
        )
    matches = {}
    for kind, name in reversed(matrices):  # so that the first field of a type stays
        row = ids[kind].index_of(vertex)
        if row >= 0:
            matches[kind] = name, row
    if len(matches) != 1:
        kinds = sorted({kind for kind, _ in matrices})
        if matches:
            choices = " or ".join(
                f"--field {kind}.{name}" for kind, (name, _) in sorted(matches.items())
            )
            raise UsageError(
                f"{vertex!r} is an id of several types: {', '.join(sorted(matches))}",
                do=f"say which: {choices}",
            )
        raise UsageError(
            f"no {' or '.join(kinds)} is called {vertex!r}", do="ids are written as in the data"
        )
    ((kind, (name, row)),) = matches.items()
    rows, cosines = nearest(matrices[kind, name], row, count)
    return {kind: models[kind]["id"][rows], "cosine": cosines}


def _vectors(array: np.ndarray) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 2 and array.dtype.kind == "f"
