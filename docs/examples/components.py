"""Connected components: each vertex takes the least mark among its own and its neighbours', until
no mark changes. Only edges of vertices whose mark has changed are visited.

Kang, Tsourakakis and Faloutsos, "PEGASUS: A Peta-Scale Graph Mining System", ICDM 2009, algorithm
HCC. The file holds an edge on each line: two ids, in any order.

    tux run docs/examples/components.py edges.txt --out components

Marks are the vertices' numbers, scrambled: along a road whose vertices are numbered in turn, a
mark would change in each step. The number of a component is that of one of its vertices, which is a
row of `model/node.parquet`.
"""

import numpy as np

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Repeat,
    Report,
    Vertex,
    delta,
    total,
    value,
)

MOST = 10**9  # repetitions: as many as the longest path needs
BITS = 2**32 - 1
SCRAMBLE = 2654435769  # 2^32 divided by the golden ratio
UNSCRAMBLE = pow(SCRAMBLE, -1, 2**32)


def begin(node):
    node.mark = node.id * SCRAMBLE & BITS
    node.changed = True


def offer_forth(src, dst):
    dst.least = min(dst.least, src.mark)


def offer_back(src, dst):
    src.least = min(src.least, dst.mark)


def take(node, tau):
    node.changed = node.least < node.mark
    if node.changed:
        node.mark = node.least
        tau.changes += 1


def number(node):
    node.component = node.mark * UNSCRAMBLE & BITS


def finish(tau):
    tau.changed = tau.changes


def is_stable(tau):
    return tau.changed == 0


class ComponentSizes(Report):
    """The components, the largest first: one vertex of each, and how many it has."""

    def tables(self, program, model):
        component = model.fields["node"]["component"]
        _, first, sizes = np.unique(component, return_index=True, return_counts=True)
        order = np.argsort(-sizes, kind="stable")
        names = [str(name) for name in model.ids["node"][first[order]]]
        return {"components": {"component of": names, "vertices": sizes[order]}}

    def summary(self, program, tables, records):
        return {"components": len(tables["components"]["vertices"])}


class Components(Program):
    """Connected components of a graph whose edges have no direction, in one epoch."""

    node = Vertex(
        component=value("i4"),
        mark=value("u4", kept=False),
        least=delta("u4", combine="min"),
        changed=value("b1", kept=False),
    )
    link = Edge("node", "node")
    tau = Context(changes=total("i8"), changed=value("i8", kept=False))
    report = ComponentSizes()
    epochs = 1

    def setup(self):
        return [Apply("node", begin)]

    def stages(self):
        return [
            Repeat(
                Exchange(offer_forth, over="src", active="changed"),
                Exchange(offer_back, over="dst", active="changed"),
                Apply("node", take),
                GlobalSync(finish),
                until=is_stable,
                most=MOST,
            ),
            Apply("node", number, gather=False),
        ]
