"""A maximal independent set: no two of its vertices are neighbours, and every other vertex is a
neighbour of one of them. In each epoch, all undecided vertices draw numbers; one whose number is
greater than those of its undecided neighbours joins, and its neighbours are out.

Luby, "A simple parallel algorithm for the maximal independent set problem", SIAM Journal on
Computing 15, 1986. The file holds an edge on each line: two ids, in any order.

    tux run docs/examples/independent_set.py edges.txt --out chosen
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

UNDECIDED, IN, OUT = 0, 1, 2


def draw(node, rng):
    node.number = rng.uniform() if node.state == UNDECIDED else -np.inf


def compare(src, dst):
    if src.id != dst.id:
        src.most = max(src.most, dst.number)
        dst.most = max(dst.most, src.number)


def join(node):
    if node.state == UNDECIDED and node.number > node.most:
        node.state = IN


def exclude(src, dst):
    if src.id != dst.id:
        src.near += src.state == UNDECIDED and dst.state == IN
        dst.near += dst.state == UNDECIDED and src.state == IN


def leave(node, tau):
    if node.near > 0:
        node.state = OUT
    tau.rest += node.state == UNDECIDED
    tau.chosen += node.state == IN


def finish(tau):
    tau.undecided, tau.size = tau.rest, tau.chosen


class IndependentSet(Program):
    """A maximal independent set: the vertices whose `state` is 1."""

    node = Vertex(
        state=value("i4"),
        number=value("f8", kept=False, finite=False),
        most=delta("f8", combine="max"),
        near=delta("i4"),
    )
    link = Edge("node", "node")
    tau = Context(rest=total("i8"), chosen=total("i8"), undecided=metric(), size=metric())
    epochs = 10_000

    def stages(self):
        return [
            Apply("node", draw), Exchange(compare), Apply("node", join), Exchange(exclude),
            Apply("node", leave), GlobalSync(finish),
        ]  # fmt: skip

    def converged(self, metrics):
        return metrics["undecided"] == 0
