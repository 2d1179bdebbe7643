"""Connected components: each vertex takes the least number among its own and its neighbours', until
no number changes.

Kang, Tsourakakis and Faloutsos, "PEGASUS: A Peta-Scale Graph Mining System", ICDM 2009, algorithm
HCC. The file holds an edge on each line: two ids, in any order.

    tux run docs/examples/components.py edges.txt --out components

The number of a component is that of its first vertex, which is a row of `model/node.parquet`.
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


def begin(node):
    node.component = node.id


def offer(src, dst):
    src.least = min(src.least, dst.component)
    dst.least = min(dst.least, src.component)


def take(node, tau):
    if node.least < node.component:
        node.component = node.least
        tau.changes += 1


def finish(tau):
    tau.changed = tau.changes


def is_stable(tau):
    return tau.changed == 0


class ComponentSizes(Report):
    """The components, the largest first: one vertex of each, and how many it has."""

    def tables(self, program, model):
        first, sizes = np.unique(model.fields["node"]["component"], return_counts=True)
        order = np.argsort(-sizes, kind="stable")
        names = [str(name) for name in model.ids["node"][first[order]]]
        return {"components": {"component of": names, "vertices": sizes[order]}}

    def summary(self, program, tables, records):
        return {"components": len(tables["components"]["vertices"])}


class Components(Program):
    """Connected components of a graph whose edges have no direction, in one epoch."""

    node = Vertex(component=value("i4"), least=delta("i4", combine="min"))
    link = Edge("node", "node")
    tau = Context(changes=total("i8"), changed=value("i8", kept=False))
    report = ComponentSizes()
    epochs = 1

    def setup(self):
        return [Apply("node", begin)]

    def stages(self):
        return [
            Repeat(
                Exchange(offer), Apply("node", take), GlobalSync(finish), until=is_stable, most=MOST
            )
        ]
