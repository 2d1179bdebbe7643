"""The vertices of a model with which a run begins: they come first among those of its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError, UsageError
from tux.options.options import Reading
from tux.program.input import Bags, Points, Samples
from tux.program.program import Program

NONE = np.empty(0, np.int32)


def known_vertices(
    program: Program,
    ids: Mapping[str, Ids],
    reading: Reading,
    *,
    numbered: str,
    id_types: Mapping[str, str],
    classes: tuple[str, ...],
) -> EdgeData:
    """Return the vertices with the `ids` of a model as data without edges, against which new data
    are read; the others are as in `EdgeData`.

    Rows of files of documents, samples or points are new vertices each time, so those of the model
    are left out. UsageError for an option of reading that is about features of a first training.
    """
    if reading.min_count is not None:
        raise UsageError(
            "--min-count leaves out features of a first training",
            do="leave it out: a model keeps those that it has",
        )
    first = program.edge.ends[0]
    rows = isinstance(program.input, Bags | Samples | Points)
    kept = {
        kind: Ids(known.values[:0]) if rows and kind == first else known
        for kind, known in ids.items()
    }
    fields = {name: np.empty(0, dtype) for name, dtype in program.edge.columns.items()}
    none = {
        name: np.empty((0, *declared.resolve(program.parameters).lengths), declared.dtype)
        for name, declared in program.vertices[first].fields.items()
        if declared.kind == "data"
    }
    return EdgeData(
        program.edge.ends,
        kept,
        NONE,
        NONE,
        fields,
        numbered=numbered,
        id_types=id_types,
        classes=classes,
        vertex_fields={first: none} if rows else {},
    )


def follow_known(edges: EdgeData, known: EdgeData) -> EdgeData:
    """Return new edges with the ids of all `known` vertices, also of types at no end of them, and
    numbered as these. DataError for ids that were given in another type.
    """
    for kind, ids in known.ids.items():
        had, has = known.id_types.get(kind, ""), edges.id_types.get(kind, "")
        if len(ids) and kind in edges.ids and had != has and not is_number_type(had, has):
            raise DataError(
                f"ids of {kind} are {has or 'plain'} in these data, and {had or 'plain'} in the "
                "model",
                do="give the ids of a vertex type in one type",
            )
    return replace(
        edges,
        ids={**known.ids, **edges.ids},
        unseen={},
        numbered=known.numbered or edges.numbered,
        id_types={**known.id_types, **edges.id_types},
    )


def is_number_type(*given: str) -> bool:
    """Return whether types in which ids were given may all hold whole numbers."""
    return all(not each or each.startswith(("int", "uint")) for each in given)


def refuse_without_new_data(data: Any, folder: Path | None) -> None:
    """Raise UsageError unless a run that begins with a model has new data, and these are in no
    partitioned folder.
    """
    if folder or data is None:
        raise UsageError(
            f"{folder} is cut already, without the vertices of a model"
            if folder
            else "a run that begins with a model needs new data",
            do="name files of new data",
        )
