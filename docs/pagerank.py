"""PageRank (Page, Brin, Motwani and Winograd 1999): rank = (1 - d) / n + d (sum over links in of
rank / links out + dangling / n).
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


def count(src):
    src.seen += 1


def begin(page, tau):
    page.links = page.seen
    tau.n += 1


def size(tau):
    tau.pages = tau.n


def start(page, tau):
    page.rank = 1 / tau.pages
    tau.loose += page.rank if page.links == 0 else 0.0


def give(src, dst):
    dst.gain += src.rank / src.links


def update(page, tau, p):
    rank = (1 - p.damping + p.damping * tau.dangling) / tau.pages + p.damping * page.gain
    tau.moved += abs(rank - page.rank)
    page.rank = rank
    tau.loose += rank if page.links == 0 else 0.0


def finish(tau):
    tau.dangling, tau.change = tau.loose, tau.moved


class PageRank(Program):
    """PageRank of a directed graph; pages without links give their rank to all."""

    damping: float = param(0.85, "probability of following a link", low=0, high=1)
    tolerance: float = param(1e-10, "stop when the ranks change by less in all", low=0)
    page = Vertex(rank=value("f8"), links=value("i4"), seen=delta("i4"), gain=delta("f8"))
    link = Edge("page", "page")
    tau = Context(
        n=total(),
        loose=total(),
        moved=total(),
        pages=value("f8"),
        dangling=value("f8"),
        change=metric(),
    )
    epochs = 200

    def setup(self):
        return [
            Exchange(count),
            Apply("page", begin),
            GlobalSync(size),
            Apply("page", start),
            GlobalSync(finish),
        ]

    def stages(self):
        return [Exchange(give), Apply("page", update), GlobalSync(finish)]

    def converged(self, metrics):
        return metrics["change"] < self.tolerance
