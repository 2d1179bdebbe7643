"""Core numbers: the k-core is what is left when vertices with fewer than k neighbours are removed,
again and again. The core number of a vertex is the largest k whose k-core holds it.

Seidman, "Network structure and minimum degree", Social Networks 5, 1983. The file holds an edge on
each line: two ids, in any order. Each edge stands once, as one that stands twice counts as two
neighbours: if all edges stand in both directions, all core numbers are twice as large. A vertex is
no neighbour of itself.

    tux run docs/examples/core_numbers.py edges.txt --out cores

Epoch k finds the k-core, and reports how many vertices it has.
"""

from tux import (
    Apply,
    Barrier,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Repeat,
    Vertex,
    delta,
    metric,
    total,
    value,
)

MOST = 10**9  # repetitions: as many as the longest path needs


def count(src, dst):
    if not src.removed and not dst.removed and src.id != dst.id:
        src.degree += 1
        dst.degree += 1


def remove(node, tau):
    if not node.removed:
        if node.degree < tau.k:
            node.removed, node.core = True, tau.k - 1
            tau.removals += 1
        else:
            tau.rest += 1


def finish(tau):
    tau.removed, tau.vertices = tau.removals, tau.rest


def is_core(tau):
    return tau.removed == 0


def raise_k(tau):
    tau.k += 1


class CoreNumbers(Program):
    """Core numbers of a graph whose edges have no direction."""

    node = Vertex(core=value("i4"), removed=value("b1", kept=False), degree=delta("i4"))
    link = Edge("node", "node")
    tau = Context(
        k=value("i4", init=1, kept=False),
        removals=total("i8"),
        rest=total("i8"),
        removed=value("i8", kept=False),
        vertices=metric(),
    )
    epochs = 10_000

    def stages(self):
        return [
            Barrier(),  # a core is what is left of the one before
            Repeat(
                Exchange(count), Apply("node", remove), GlobalSync(finish), until=is_core, most=MOST
            ),
            GlobalSync(raise_k),
        ]

    def converged(self, metrics):
        return metrics["vertices"] == 0
