"""Personalised PageRank: how near each page is to one page. A walker starts at the source, follows
a random link with the probability `damping`, and else goes back to the source, as from a page
without links. The rank of a page is the share of time that the walker spends there.

Haveliwala, "Topic-sensitive PageRank", WWW 2002. The file holds a link on each line: two ids, from
and to.

    tux run docs/examples/personal_pagerank.py links.txt --source 42 --out near
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
    vertex_param,
)


def count(src):
    src.seen += 1


def begin(page, tau, p):
    page.links = page.seen
    page.rank = 1.0 if page.id == p.source else 0.0
    tau.loose += page.rank if page.links == 0 else 0.0


def give(src, dst):
    dst.gain += src.rank / src.links


def update(page, tau, p):
    rank = p.damping * page.gain
    if page.id == p.source:
        rank += 1 - p.damping + p.damping * tau.dangling
    tau.moved += abs(rank - page.rank)
    page.rank = rank
    tau.loose += rank if page.links == 0 else 0.0


def finish(tau):
    tau.dangling, tau.change = tau.loose, tau.moved


class PersonalPageRank(Program):
    """PageRank of a walker who always goes back to one page."""

    source: str = vertex_param("page", "where the walker goes back to")
    damping: float = param(0.85, "probability of following a link", low=0, high=1)
    tolerance: float = param(1e-10, "stop when the ranks change by less in all", low=0)
    page = Vertex(rank=value("f8"), links=value("i4"), seen=delta("i4"), gain=delta("f8"))
    link = Edge("page", "page")
    tau = Context(loose=total(), moved=total(), dangling=value("f8"), change=metric())
    epochs = 1000

    def setup(self):
        return [Exchange(count), Apply("page", begin), GlobalSync(finish)]

    def stages(self):
        return [Exchange(give), Apply("page", update), GlobalSync(finish)]

    def converged(self, metrics):
        return metrics["change"] < self.tolerance
