"""The share of one worker in a graph, in terms that do not depend on the cut: dense indices of
vertices, and numbers of edges in the data.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.graph.local import LocalGraph
from tux.program.base_program import BaseProgram


class TypeShare(NamedTuple):
    """The share of a worker in a vertex type, as dense indices: its rows (r,), of which those after
    the first `n_train` are there for held-out edges only, and its masters (s,); None: these rows
    are the masters. `entries` (r,): of each row in ragged fields, if there are any.
    """

    rows: np.ndarray
    n_train: int
    masters: np.ndarray | None
    entries: np.ndarray | None = None

    @property
    def trained_rows(self) -> np.ndarray:
        """The rows that are trained."""
        return self.rows[: self.n_train]


class Share(NamedTuple):
    """The share of a worker in a graph: vertex types by name, and the number of each edge in the
    worker's order, by the set of edges: "edges", "held_out", and "edges.TYPE" of the other types.
    """

    types: dict[str, TypeShare]
    numbers: dict[str, np.ndarray]


def types_of(program: BaseProgram, graph: LocalGraph) -> dict[str, TypeShare]:
    """Return the worker's share of each vertex type."""
    out = {}
    for name, each in graph.vertices.items():
        ragged = any(f.is_ragged for f in program.vertices[name].fields.values())
        masters = each.part.order[each.part.masters] if each.part and each.is_cut else None
        entries = graph.counts(name) if ragged else None
        out[name] = TypeShare(each.order, each.n_train, masters, entries)
    return out
