"""Edges that are whole at one end: all edges that leave a page, or that end at it, lie on one
worker.
"""

import numpy as np
import pytest
from support.machines.team import train_team
from support.messages import message

from tux import Context, Edge, Program, Vertex, metric, shared, total
from tux.arrays.edges import EdgeData
from tux.base.errors import ProgramError
from tux.graph.local import LocalGraph
from tux.stages import Apply, Exchange, GlobalSync

SRC = np.array([0, 0, 1, 1, 2, 3, 4, 5, 5, 6, 7, 7, 8, 0])
DST = np.array([1, 2, 0, 3, 0, 4, 0, 6, 7, 5, 5, 8, 0, 0])
LINKS = EdgeData.of(("page", "page"), SRC, DST, {}, vertices={"page": [9]})


def degree(src, edges):
    src.n += len(edges)


def visit_once(src, edges):
    src.visits += 1


class LinksOfPages(Program):
    """Counts of the links that leave each page; see docs/examples/label_propagation.py for more."""

    page = Vertex(n=shared("i4"), visits=shared("i4"))
    link = Edge("page", "page", whole="src")

    def stages(self):
        return [Exchange(degree), Apply("page")]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_each_vertex_is_visited_once_with_all_its_edges_or_none(k):
    class VisitsOfPages(LinksOfPages):
        def stages(self):
            return [Exchange(degree), Exchange(visit_once), Apply("page")]

    team = train_team(VisitsOfPages(), LINKS, 1, k=k, by="source")
    assert team.gather("page", "n").tolist() == np.bincount(SRC, minlength=10).tolist()
    assert team.gather("page", "visits").tolist() == [1] * 10


def test_edges_that_are_whole_and_are_cut_are_refused():
    with pytest.raises(ProgramError, match=message("the-edges-of-as-lie", "page", "0", "src")):
        train_team(LinksOfPages(), LINKS, 1, k=2, by="random")


@pytest.mark.parametrize("ends", [("user", "item"), ("page", "page")])
def test_what_cannot_be_whole(ends):
    with pytest.raises(ProgramError, match=message("an-edge-from-to-is-2")):
        Edge(*ends, whole="src" if ends[0] == "user" else "page")


def held_out_visits(src, edges, tau):
    tau.n += 1 + len(edges)


def finish(tau):
    tau.all = tau.n


class HeldOutVisits(Program):
    """Counts of the held-out edges, and of the pages that have some."""

    page = Vertex()
    link = Edge("page", "page", whole="src")
    tau = Context(n=total(), all=metric())
    epochs = 1

    def stages(self):
        return []

    def evaluate(self):
        return [Exchange(held_out_visits, held_out=True), GlobalSync(finish)]


def test_held_out_edges_of_a_vertex_lie_together():
    test = EdgeData.of(
        ("page", "page"), [0, 0, 3, 77, 77, 5], [4, 5, 78, 2, 79, 77], {}, against=LINKS.ids
    )
    alls = [
        train_team(HeldOutVisits(), LINKS, 1, test, k=k, by="source").history("all")
        for k in (1, 2, 3)
    ]
    assert alls == [[4 + 6]] * 3
    assert len(LocalGraph.whole(HeldOutVisits(), LINKS, test, 0).held_out) == 6
