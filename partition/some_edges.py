"""Partitioners by which an edge's part follows from its own two ends: their numbers and degrees.
Some edges of a graph get the parts that they have among all, without the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tux.partition.dbh import by_lower_degree
from tux.partition.ends import Ends
from tux.partition.grid import cells_of
from tux.partition.hashing import by_hash
from tux.partition.hybrid import THETA, with_low_targets
from tux.partition.random_cut import of_pairs


class SomeEdges(NamedTuple):
    """Edges between the vertices 0 .. n-1: `src`, `dst` (m,) int32. Of each vertex (n,), ascending:
    its `number` in the graph, as `Ends` has it; its `degree` there, a self-loop counted twice; and
    of these the edges that run `into` it.

    `favourite`: the side of the graph that `bicut` keeps whole, "source" or "target".
    """

    src: np.ndarray
    dst: np.ndarray
    number: np.ndarray
    degree: np.ndarray
    into: np.ndarray
    favourite: str


def _random(edges: SomeEdges, k: int, seed: int) -> np.ndarray:
    return of_pairs(edges.number[edges.src], edges.number[edges.dst], k, seed)


def _source(edges: SomeEdges, k: int, seed: int) -> np.ndarray:
    return by_hash(edges.number, k, seed)[edges.src]


def _target(edges: SomeEdges, k: int, seed: int) -> np.ndarray:
    return by_hash(edges.number, k, seed)[edges.dst]


def _bicut(edges: SomeEdges, k: int, seed: int) -> np.ndarray:
    return (_source if edges.favourite == "source" else _target)(edges, k, seed)


def _grid(edges: SomeEdges, k: int, seed: int) -> np.ndarray:
    return cells_of(edges.number, k, seed).parts(edges.src, edges.dst)


def _dbh(edges: SomeEdges, k: int, seed: int) -> np.ndarray:
    parts = np.empty(len(edges.src), np.int16)
    home = by_hash(edges.number, k, seed)
    by_lower_degree(edges.src, edges.dst, edges.degree, home, parts)
    return parts


def _hybrid(edges: SomeEdges, k: int, seed: int) -> np.ndarray:
    n = len(edges.number)
    home, low = by_hash(edges.number, k, seed), edges.into <= THETA
    return with_low_targets(Ends(edges.src, edges.dst, n, n), home, low, None)


BY_ENDS: dict[str, Callable[[SomeEdges, int, int], np.ndarray]] = {
    "random": _random,
    "source": _source,
    "target": _target,
    "grid": _grid,
    "dbh": _dbh,
    "hybrid": _hybrid,
    "bicut": _bicut,
}
"""By the names of the command line: ``(edges, k, seed) -> parts`` (m,) int16, without a cap."""
