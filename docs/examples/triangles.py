"""Triangles and clustering coefficients: in how many triangles each vertex is, and which share of
the pairs of its neighbours are neighbours themselves.

Watts and Strogatz, "Collective dynamics of small-world networks", Nature 393, 1998. The ends of an
edge and each common neighbour of theirs are a triangle. Each epoch looks for the common neighbours
among `width` vertices: a vertex has a flag for each of these that is its neighbour. The file holds
an edge on each line: two ids, in any order. Each edge stands once, and no vertex is a neighbour of
itself.

    tux run docs/examples/triangles.py edges.txt --out triangles
"""

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
    param,
    total,
    value,
)


def mark(src, dst, tau, p):
    i, j = dst.id - tau.first, src.id - tau.first
    if 0 <= i < p.width:
        src.seen[i] = max(src.seen[i], 1)
    if 0 <= j < p.width:
        dst.seen[j] = max(dst.seen[j], 1)


def keep(node, tau):
    for i in range(len(node.near)):
        node.near[i] = node.seen[i] > 0
        node.degree += node.near[i]
    tau.nodes += 1


def count(src, dst):
    common = 0
    for i in range(len(src.near)):
        common += src.near[i] * dst.near[i]
    src.common += common
    dst.common += common


def add(node):
    """Add up the triangles of a vertex: each is found on both of its edges that meet here."""
    node.triangles += node.common / 2
    pairs = node.degree * (node.degree - 1) / 2
    node.clustering = node.triangles / pairs if pairs else 0.0


def advance(tau, p):
    tau.first += p.width
    tau.left = max(tau.nodes - tau.first, 0)


class Triangles(Program):
    """Triangles of a graph whose edges have no direction; coefficients are right at the end."""

    width: int = param(256, "vertices that are looked at in an epoch", low=1)
    node = Vertex(
        triangles=value("f8"),
        clustering=value("f8"),
        degree=value("i4"),
        near=value("i1", "width", kept=False),
        seen=delta("i1", "width", combine="max"),
        common=delta("i8"),
    )
    link = Edge("node", "node")
    tau = Context(first=value("i8", kept=False), nodes=total("i8"), left=metric())
    epochs = 1_000_000

    def stages(self):
        return [
            Exchange(mark), Apply("node", keep), Exchange(count), Apply("node", add),
            GlobalSync(advance),
        ]  # fmt: skip

    def converged(self, metrics):
        return metrics["left"] == 0
