"""Partitioners by which an edge's part follows from its own two ends: their numbers and degrees.
Some edges of a graph get the parts that they have among all, without the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tux.base.hashing import by_hash
from tux.partition.common.pieces import Rule
from tux.partition.methods.dbh import by_lower_degree
from tux.partition.methods.grid import cells_of
from tux.partition.methods.hybrid import THETA, with_low_targets
from tux.partition.methods.random_cut import hash_pairs


class SomeVertices(NamedTuple):
    """Some vertices of a graph, 0 .. n-1, between which there are edges. Of each (n,), ascending:
    its `number` in the graph, as `EdgeEnds` has it; its `degree` there, a self-loop counted twice;
    and of these the edges that run `into` it.

    `favourite`: the side of the graph that `bicut` keeps whole, "source" or "target".
    """

    number: np.ndarray
    degree: np.ndarray
    into: np.ndarray
    favourite: str


def _random(some: SomeVertices, k: int, seed: int) -> Rule:
    number = some.number
    return lambda src, dst: hash_pairs(number[src], number[dst], k, seed)


def _source(some: SomeVertices, k: int, seed: int) -> Rule:
    home = by_hash(some.number, k, seed)
    return lambda src, dst: home[src]


def _target(some: SomeVertices, k: int, seed: int) -> Rule:
    home = by_hash(some.number, k, seed)
    return lambda src, dst: home[dst]


def _bicut(some: SomeVertices, k: int, seed: int) -> Rule:
    return (_source if some.favourite == "source" else _target)(some, k, seed)


def _grid(some: SomeVertices, k: int, seed: int) -> Rule:
    return cells_of(some.number, k, seed).parts


def _dbh(some: SomeVertices, k: int, seed: int) -> Rule:
    return by_lower_degree(some.degree, by_hash(some.number, k, seed))


def _hybrid(some: SomeVertices, k: int, seed: int) -> Rule:
    home, low = by_hash(some.number, k, seed), some.into <= THETA
    return with_low_targets(home, low)


BY_ENDS: dict[str, Callable[[SomeVertices, int, int], Rule]] = {
    "random": _random,
    "source": _source,
    "target": _target,
    "grid": _grid,
    "dbh": _dbh,
    "hybrid": _hybrid,
    "bicut": _bicut,
}
"""By the names of the command line: ``(vertices, k, seed) -> rule``, without a cap. What each
vertex takes is computed once; the rule can be asked about some of their edges at a time.
"""
