"""The share of one worker in a graph, in terms that do not depend on the cut: positions of
vertices, and names of edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from mmap import MADV_DONTNEED, mmap
from typing import NamedTuple, Protocol

import numpy as np

from tux.graph.local import LocalGraph
from tux.program.base_program import BaseProgram

Keep = Callable[[np.ndarray], np.ndarray]
"""A function that takes an array, and returns it or, to hold it no more, one that is mapped."""


class RangedRows(Protocol):
    """Rows (n, ...) of numbers of which a range at a time is looked at: an array, or a file."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all."""

    @property
    def dtype(self) -> np.dtype:
        """The type of the numbers."""

    def __getitem__(self, rows: slice, /) -> np.ndarray:
        """Return the rows of a range."""


class TypeShare(NamedTuple):
    """The share of a worker in a vertex type, as positions in its seeded order, which `order` (n,)
    gives the dense indices: its `rows` (r,), of which the first `n_train` ascend, and then those
    that are there for held-out edges only; and its `masters` (s,), which ascend; None: these rows
    are the masters. `bounds` (r + 1,): of the entries of each row in ragged fields, if there are
    any.
    """

    rows: Sequence[int] | np.ndarray
    n_train: int
    masters: np.ndarray | None
    order: np.ndarray
    bounds: np.ndarray | None = None


class EdgeNames(NamedTuple):
    """The edges of a set that a worker has: their `names` (m,) int64, which ascend, and the place
    of each in the worker's order (m,). A name is the same on the workers of any cut. Edges of one
    name are on one worker, and follow each other as in the data.
    """

    names: np.ndarray
    places: np.ndarray


class Share(NamedTuple):
    """The share of a worker in a graph: vertex types by name, and edges by the set of edges:
    "edges", "held_out", and "edges.TYPE" of the other types.
    """

    types: dict[str, TypeShare]
    edges: dict[str, EdgeNames]


def types_of(program: BaseProgram, graph: LocalGraph, keep: Keep) -> dict[str, TypeShare]:
    """Return the worker's share of each vertex type; `keep` holds what is made anew."""
    out = {}
    for name, each in graph.vertices.items():
        bounds = None
        if any(f.is_ragged for f in program.vertices[name].fields.values()):
            bounds = keep(np.concatenate([[0], np.cumsum(graph.counts(name), dtype=np.int64)]))
        if each.part is None:
            out[name] = TypeShare(range(len(each)), each.n_train, None, each.order, bounds)
        else:
            masters = each.part.masters if each.is_cut else None
            out[name] = TypeShare(each.part.rows, each.n_train, masters, each.part.order, bounds)
    return out


def names_by_ends(graph: LocalGraph, name: str) -> np.ndarray:
    """Name the edges of a set (m,) by the positions of their two ends. Where a partitioner places
    edges by their ends, all edges of one name are on one worker.
    """
    edges = graph.edge_sets[name]
    first, second = (graph.vertices[end] for end in edges.declared.ends)
    assert first.part is not None and second.part is not None
    names = first.part.rows[edges.src].astype(np.int64) * len(second.ids)
    names += second.part.rows[edges.dst]
    return names


def sort_names(names: np.ndarray, places: np.ndarray, keep: Keep) -> EdgeNames:
    """Sort edges by their names (m,), given in the order of the data with their `places`."""
    order = np.argsort(names, kind="stable")
    return EdgeNames(keep(names[order]), keep(places[order]))


def copy_range(values: Sequence[int] | np.ndarray, first: int, end: int) -> np.ndarray:
    """Copy a range of an array, or of numbers in sequence. The memory that shows the file of a
    mapped array is given back.
    """
    if not isinstance(values, np.ndarray):
        return np.arange(values[first], values[first] + end - first) if end > first else NONE
    piece = np.array(values[first:end])
    if isinstance(values.base, mmap):
        values.base.madvise(MADV_DONTNEED)
    return piece


NONE = np.empty(0, np.int64)
"""No numbers."""
