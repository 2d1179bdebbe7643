"""Katz centrality: score(v) = beta + alpha * sum of score(u) over the links (u, v). A page counts
the walks that end at it; each link that a walk has makes it worth alpha times as much.

Katz, "A new status index derived from sociometric analysis", Psychometrika 18, 1953. The file holds
a link on each line: two ids, from and to. `alpha` must be less than 1 over the largest eigenvalue
of the graph, or the scores grow without end.

    tux run docs/examples/katz.py links.txt --alpha 0.05 --out scores
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


def give(src, dst):
    dst.sum += src.score


def update(page, tau, p):
    score = p.beta + p.alpha * page.sum
    tau.moved += abs(score - page.score)
    page.score = score


def finish(tau):
    tau.change = tau.moved


class Katz(Program):
    """Katz centrality of a directed graph."""

    alpha: float = param(0.1, "worth of a walk that is longer by one link", low=0, high=1)
    beta: float = param(1.0, "worth of a page without links")
    tolerance: float = param(1e-10, "stop when the scores change by less in all", low=0)
    page = Vertex(score=value("f8"), sum=delta("f8"))
    link = Edge("page", "page")
    tau = Context(moved=total(), change=metric())
    epochs = 1000

    def stages(self):
        return [Exchange(give), Apply("page", update), GlobalSync(finish)]

    def converged(self, metrics):
        return metrics["change"] < self.tolerance
