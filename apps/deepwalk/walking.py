"""The common parts of programs that walk: their parameters, the neighbour lists they read, and the
UDF of `Generate` that takes a step.
"""

from __future__ import annotations

import numpy as np

from tux.apps.deepwalk.steps import first_order, second_order
from tux.program.fields import data
from tux.program.input import Graph
from tux.program.params import param
from tux.program.program import Program
from tux.program.types import Edge


class WalkInput(Graph):
    """A graph of which every worker sees all neighbours."""

    def topology(self, program):
        """Return whether neighbours lie along edges alone, or along and against them."""
        return "directed" if program.directed else "undirected"


class WalkProgram(Program):
    """A program that walks from every vertex of type `node`, along edges `link`."""

    num_walks: int = param(10, "walks from each vertex in an epoch", low=1, former="walks")
    walk_length: int = param(40, "vertices on a walk", low=1, former="length")
    p: float = param(
        1.0, "node2vec: above 1, walks seldom go back at once", low=1e-3, high=1e3, dtype="f4"
    )
    q: float = param(
        1.0,
        "node2vec: below 1, walks lead away, above they stay near",
        low=1e-3,
        high=1e3,
        dtype="f4",
    )
    directed: bool = param(False, "walk along edges only from their first end to their second")
    weighted: bool = param(False, "read a third column, and walk in proportion to it")
    input = WalkInput()

    def __init__(self, *nameless, **parameters):
        super().__init__(*nameless, **parameters)
        if self.weighted:
            self.edge = Edge("node", "node", weight=data("f4"))


def uniform(start, path, at, topology, p, rng):
    """Step to any neighbour, with equal probabilities."""
    first_order(path, start, at, topology.bounds, topology.ends, topology.ends[:0], rng)


def step_by_weight(start, path, at, topology, p, rng):
    """Step to a neighbour, with a probability in proportion to the weight of the edge."""
    first_order(path, start, at, topology.bounds, topology.ends, topology.sums, rng)


def step_by_bias(start, path, at, topology, p, rng):
    """Step to a neighbour, with the probabilities that p and q give."""
    second_order(
        path,
        start,
        at,
        topology.bounds,
        topology.ends,
        topology.ends[:0],
        np.float64(p.p),
        np.float64(p.q),
        rng,
    )


def step_by_both(start, path, at, topology, p, rng):
    """Step to a neighbour, with the probabilities that weights, p and q give."""
    second_order(
        path,
        start,
        at,
        topology.bounds,
        topology.ends,
        topology.sums,
        np.float64(p.p),
        np.float64(p.q),
        rng,
    )


def choose_step(program):
    """Return the UDF of the step that a program's parameters `weighted`, `p` and `q` ask for."""
    if program.p == program.q == 1:
        return step_by_weight if program.weighted else uniform
    return step_by_both if program.weighted else step_by_bias
