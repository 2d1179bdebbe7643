"""Arrays that are read from the dicts of a networkx graph: neighbours, and attributes of edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.integers import index_dtype
from tux.networkx_backend.lists import NOTHING, NeighbourLists
from tux.networkx_backend.nodes import NodeNumbers

PLAIN = frozenset([int, float, np.float64])
"""Types of numbers that are read. With others, as numpy's integers, networkx computes in their own
ways and gives results of their types.
"""

LARGEST_EXACT = 2**53
"""Integers up to this are exact as float64."""


class EdgeValues(NamedTuple):
    """Numbers along neighbour lists: `numbers` (entries,) float64, or `NOTHING` if each is 1.
    `whole` says that all are Python's integers, so that sums of them are.
    """

    numbers: np.ndarray
    whole: bool


ONES = EdgeValues(NOTHING, whole=True)


def lists_of(adjacency: Mapping[Any, Mapping[Any, Any]], nodes: NodeNumbers) -> NeighbourLists:
    """Return the neighbour lists that networkx has as dicts of dicts, or views of such."""
    count = len if isinstance(adjacency, dict) else _count
    sizes = np.fromiter(map(count, adjacency.values()), np.int64, len(nodes))
    every = chain.from_iterable(adjacency.values())
    numbers = every if nodes.is_range else map(nodes.numbers.__getitem__, every)
    kind, total = index_dtype(len(nodes)), int(sizes.sum())
    return NeighbourLists.of(sizes, np.fromiter(numbers, kind, total))


def _count(neighbours: Iterable[Any]) -> int:
    """Count the neighbours that a view shows: its `len` counts those, too, whose edges it hides."""
    return sum(1 for _ in neighbours)


def count_parallel(graph: Any) -> np.ndarray:
    """Count the edges of each entry of a multigraph's lists, (entries,) int64."""
    every = chain.from_iterable(edges.values() for edges in graph._adj.values())
    return np.fromiter(map(len, every), np.int64)


def values_of(
    graph: Any, columns: Mapping[Any, np.ndarray], name: Any, parallel: str
) -> EdgeValues:
    """Return the attribute `name` along the lists of a networkx graph, or of `columns` if it is
    None; see `CompactGraph.values`.
    """
    if graph is None:
        if name not in columns:
            return ONES
        column = columns[name]
        return _check_numbers(column.astype(np.float64), column.dtype.kind in "iu", name)
    if name is None and (parallel == "min" or not graph.is_multigraph()):
        return ONES
    try:
        numbers, kinds = _read_numbers(graph, name, parallel)
    except OverflowError as error:
        raise NotImplementedError(
            f"the attribute {name!r} of an edge is too large for a float"
        ) from error
    return _check_numbers(numbers, kinds <= {int}, name)


def _read_numbers(graph: Any, name: Any, parallel: str) -> tuple[np.ndarray, set[type]]:
    """Return the attribute of each entry, (entries,) float64, and the types that edges have."""
    edges = chain.from_iterable(edges.values() for edges in graph._adj.values())
    if graph.is_multigraph():
        folds: dict[str, Callable[[Any], Any]] = {"sum": sum, "min": min}
        found = [[each.get(name, 1) for each in parts.values()] for parts in edges]
        kinds = set(map(type, chain.from_iterable(found)))
        _check_kinds(kinds, name)
        values = list(map(folds[parallel], found))
    else:
        values = [each.get(name, 1) for each in edges]
        kinds = set(map(type, values))
        _check_kinds(kinds, name)
    return np.array(values, np.float64), kinds


def _check_kinds(kinds: set[type], name: Any) -> None:
    for kind in kinds - PLAIN:
        raise NotImplementedError(
            f"the attribute {name!r} of an edge is a {kind.__name__}, not an int or a float"
        )


def _check_numbers(numbers: np.ndarray, whole: bool, name: Any) -> EdgeValues:
    if whole and np.abs(numbers).sum() >= LARGEST_EXACT:
        raise NotImplementedError(f"the attribute {name!r} of edges adds up to 2^53 or more")
    if not np.isfinite(numbers).all():
        raise NotImplementedError(f"the attribute {name!r} of an edge is infinite or not a number")
    return ONES if whole and (numbers == 1).all() else EdgeValues(numbers, whole)
