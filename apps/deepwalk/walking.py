"""The common parts of programs that walk: their parameters, the neighbour lists they read, and the
UDF of `Generate` that takes a step.
"""

from __future__ import annotations

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
        1.0, "node2vec: above 1, walks seldom go back at once", low=1e-3, high=1e3, dtype="f8"
    )
    q: float = param(
        1.0,
        "node2vec: below 1, walks lead away, above they stay near",
        low=1e-3,
        high=1e3,
        dtype="f8",
    )
    directed: bool = param(False, "walk along edges only from their first end to their second")
    weighted: bool = param(False, "read a third column, and walk in proportion to it")
    precision = "f4"
    input = WalkInput()

    def __init__(self, *nameless, **parameters):
        super().__init__(*nameless, **parameters)
        if self.weighted:
            self.edge = Edge("node", "node", weight=data("f4"))


def step(start, path, at, topology, p, rng):
    """Step to a neighbour: by the weights of edges, if they have any, and by the biases of p and q.

    Other biases than 1 make the walks of node2vec.
    """
    if p.p == 1 and p.q == 1:
        first_order(path, start, at, topology.bounds, topology.ends, topology.sums, rng)
    else:
        second_order(path, start, at, topology.bounds, topology.ends, topology.sums, p.p, p.q, rng)
