"""The nearest of a model's vertices to one of them, by the angle between their vectors:
`tux predict DIR --nearest ID`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tux.arrays.arrow import read_parquet
from tux.base.errors import UsageError
from tux.base.text import did_you_mean
from tux.engine.start_model import model_file
from tux.predict.predict import reopen_program
from tux.predict.topk import similar
from tux.run_folder.folder import read_run
from tux.run_folder.model_files import read_ids

COUNT = 10


def vectors_of(fields: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], np.ndarray]:
    """Return the vectors of a model by vertex type and field: the fields of several numbers, as
    `tux.program.report.Model` has `fields`.
    """
    return {
        (kind, name): array
        for kind, columns in fields.items()
        for name, array in columns.items()
        if kind != "tau"
        and isinstance(array, np.ndarray)
        and array.ndim == 2
        and array.dtype.kind == "f"
    }


def choose_vectors(
    fields: Mapping[str, Mapping[str, Any]], field: str = "", preferred: Sequence[str] = ()
) -> tuple[str, str]:
    """Return the vertex type and the field of the vectors that `field` names: "item.f", or "item"
    for the first of this type. Left out: the first of the first of the types `preferred` that has
    one, else of the last type that has one. UsageError if there are no such vectors.
    """
    vectors = {f"{kind}.{name}": (kind, name) for kind, name in vectors_of(fields)}
    if not vectors:
        raise UsageError(
            "the model has no vectors to compare", do="its vertices have no such field"
        )
    first = {kind: (kind, name) for kind, name in reversed(vectors.values())}
    if not field:
        last = [*vectors.values()][-1][0]
        return first[next((kind for kind in preferred if kind in first), last)]
    if field not in vectors and field not in first:
        do = f"{did_you_mean(field, [*vectors, *first])}there are: {', '.join(vectors)}"
        raise UsageError(f"the model has no vectors {field!r}", do=do)
    return vectors.get(field) or first[field]


def nearest_of(
    folder: str | os.PathLike[str],
    vertex: str,
    count: int = COUNT,
    field: str = "",
    *,
    warn: Callable[[str], None] = lambda text: None,
) -> dict[str, np.ndarray]:
    """Find the vertices of a run's model nearest to the one of id `vertex`. Returns their ids under
    the name of the vertex type, and `cosine`.

    Vectors are the first field of several numbers of its vertex type; `field` ("item.q") names
    another. Raises UsageError if there is no such id or field, or ids of two types are so called;
    DataError if there is no model.
    """
    if count < 1:
        raise UsageError(f"--count {count}: one at least is needed")
    program = reopen_program(read_run(folder), folder, warn)
    ids = read_ids(folder, program)
    models = {kind: read_parquet(model_file(folder, kind)) for kind in ids}
    matrices = vectors_of(models)
    if field:
        chosen = choose_vectors(models, field)
        matrices = {chosen: matrices[chosen]}
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
    rows, cosines = similar(matrices[kind, name], np.array([row]), count)
    return {kind: models[kind]["id"][rows[0]], "cosine": cosines[0]}
