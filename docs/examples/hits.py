"""HITS, hubs and authorities: authority(v) = sum of hub(u) over the links (u, v); then hub(u) = sum
of authority(v) over the links (u, v); then both are scaled so that their squares sum to 1.

Kleinberg, "Authoritative sources in a hyperlinked environment", Journal of the ACM 46, 1999. The
file holds a link on each line: two ids, from and to.

    tux run docs/examples/hits.py links.txt --out scores
"""

from math import sqrt

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Vertex,
    delta,
    master,
    metric,
    param,
    total,
    value,
)


def to_authority(src, dst):
    dst.sum += src.hub


def take_authority(page, tau):
    page.authority = page.sum
    tau.authorities += page.authority**2


def to_hub(src, dst):
    src.sum += dst.authority


def take_hub(page, tau):
    page.new_hub = page.sum
    tau.hubs += page.new_hub**2


def norms(tau):
    tau.authority_norm, tau.hub_norm = sqrt(tau.authorities) or 1, sqrt(tau.hubs) or 1


def scale(page, tau):
    page.authority /= tau.authority_norm
    hub = page.new_hub / tau.hub_norm
    tau.changes += abs(hub - page.hub)
    page.hub = hub


def finish(tau):
    tau.change = tau.changes


class HITS(Program):
    """Hubs and authorities of a directed graph."""

    tolerance: float = param(1e-10, "stop when the hubs change by less in all", low=0)
    page = Vertex(
        hub=value("f8", init=1),
        authority=value("f8"),
        new_hub=master("f8", kept=False),
        sum=delta("f8"),
    )
    link = Edge("page", "page")
    tau = Context(
        authorities=total(),
        hubs=total(),
        changes=total(),
        authority_norm=value("f8", kept=False),
        hub_norm=value("f8", kept=False),
        change=metric(),
    )
    epochs = 1000

    def stages(self):
        return [
            Exchange(to_authority),
            Apply("page", take_authority),
            Exchange(to_hub),
            Apply("page", take_hub),
            GlobalSync(norms),
            Apply("page", scale),
            GlobalSync(finish),
        ]

    def converged(self, metrics):
        return metrics["change"] < self.tolerance
