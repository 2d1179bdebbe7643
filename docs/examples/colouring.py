"""Greedy colouring: neighbours get different colours, and few colours are used. In each epoch, the
vertices that are before all their uncoloured neighbours in a random order take the smallest colour
that no neighbour has. The result is that of colouring one vertex after the other in this order.

Jones and Plassmann, "A parallel graph coloring heuristic", SIAM Journal on Scientific Computing 14,
1993. The file holds an edge on each line, two ids. Each edge stands in both directions: `a b` and
`b a`.

    tux run docs/examples/colouring.py edges.txt --out colours
"""

import numpy as np

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Vertex,
    delta,
    metric,
    total,
    value,
)


def draw(node, rng):
    node.place, node.colour = rng.uniform(), -1


def choose(src, edges):
    if src.colour >= 0:
        return
    taken = np.zeros(len(edges) + 1, np.bool_)
    for i in range(len(edges)):
        other = edges[i].dst
        if other.id == src.id:
            continue
        if other.colour >= 0:
            if other.colour < len(taken):
                taken[other.colour] = True
        elif other.place < src.place or (other.place == src.place and other.id < src.id):
            return
    src.chosen += np.argmin(taken) + 1


def take(node, tau):
    if node.chosen > 0:
        node.colour = node.chosen - 1
    if node.colour < 0:
        tau.rest += 1
    tau.most = max(tau.most, node.colour + 1)


def finish(tau):
    tau.uncoloured, tau.colours = tau.rest, tau.most


class Colouring(Program):
    """Colours of the vertices, from 0 on; `place` is the vertex's place in the random order."""

    node = Vertex(place=value("f8"), colour=value("i4"), chosen=delta("i4"))
    link = Edge("node", "node", whole="src")
    tau = Context(
        rest=total("i8"),
        most=total("i8", combine="max"),
        uncoloured=metric(),
        colours=metric(),
    )
    epochs = 100_000

    def setup(self):
        return [Apply("node", draw)]

    def stages(self):
        return [Exchange(choose), Apply("node", take), GlobalSync(finish)]

    def converged(self, metrics):
        return metrics["uncoloured"] == 0
