"""A run whose program holds out links, and loads its edges in shares, has what a run has that loads
them whole.
"""

import numpy as np
import pytest
from support.machines.same_loads import begin_run, load_both_ways

from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.base.errors import ProgramError
from tux.options.options import RunOptions
from tux.program.fields import data, value
from tux.program.input import Graph
from tux.program.program import Program
from tux.program.types import Edge, Vertex
from tux.stages import Exchange

RNG = np.random.default_rng(6)
ENDS = (40 * RNG.random((300, 2)) ** 2).astype(int)  # some edges are repeated, some are loops


class HoldsTenth(Graph):
    def hold_out(self, program):
        return 0.1


class JudgedByLinks(Program):
    """A program that judges its model by held-out edges."""

    page = Vertex(rank=value("f4"))
    link = Edge("page", "page")
    input = HoldsTenth()

    def stages(self):
        return []

    def evaluate(self):
        return [Exchange(None, held_out=True)]


class Cited(JudgedByLinks):
    """Rows that stand for several edges, and edges of another type between the same vertices."""

    tag = Vertex()
    link = Edge("page", "page", repeats="count", age=data("f4"))
    tagged = Edge("page", "tag")


class Bought(Program):
    user = item = Vertex(rank=value("f4"))
    link = Edge("user", "item")
    input = HoldsTenth()

    def stages(self):
        return []


@pytest.fixture(autouse=True)
def links_file(here):
    (here / "links.txt").write_text("".join(f"{u} v{v}\n" for u, v in ENDS))
    rows = zip(ENDS, RNG.random(300), strict=True)
    (here / "weights.csv").write_text("".join(f"{u},{v},{w:.3g}\n" for (u, v), w in rows))


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("hold", [0.1, 0.9, 1e-9])
@pytest.mark.parametrize("file", ["links.txt", "weights.csv"])
def test_held_out_links(here, file, hold, workers):
    program = DeepWalk(hold=hold, weighted=file == "weights.csv")
    found = load_both_ways(here, program, file, RunOptions(workers=workers))
    assert found.digests["test data"] and "part-0/test_src.npy" in found.files
    assert found.record.sizes["edges"] == 300


@pytest.mark.parametrize("partitioner", ["random", "grid", "hybrid", "aweto", "target", "pds"])
def test_parts_are_cut_by_the_edges_that_are_left(here, partitioner):
    options = RunOptions(workers=3, partitioner=partitioner, seed=2)
    load_both_ways(here, JudgedByLinks(), "links.txt", options)


def test_held_out_edges_that_are_given(here):
    (here / "held.txt").write_text("1 2\n3 new\n")
    found = load_both_ways(here, DeepWalk(hold=0.5), "links.txt", RunOptions(workers=2), "held.txt")
    assert found.record.sizes["test"]["edges"] == 2


@pytest.mark.parametrize("workers", [2, 5])
def test_repeated_edges_and_those_of_other_types(here, workers):
    counts = RNG.integers(1, 9, 300)
    rows = (f"{u},{v},{n},{n / 8}\n" for (u, v), n in zip(ENDS, counts, strict=True))
    (here / "cited.csv").write_text("".join(rows) + "x,1\n")
    (here / "tagged.csv").write_text("".join(f"{u + v},t{v}\n" for u, v in ENDS[:50]))
    options = RunOptions(workers=workers, partitioner="dbh", on_bad_row="skip")
    named = {"link": "cited.csv", "tagged": "tagged.csv"}
    found = load_both_ways(here, Cited(), named, options)
    assert found.record.sizes["repeated"] == counts.sum()
    assert found.record.sizes["rows"] == 301


def test_what_is_said_of_ids_is_said_of_all_edges(here):
    """Most sources lose the edges by which they are sources."""
    text = "".join(f"{u},{v}\n" for u in range(1, 100) for v in range(1, 20))
    (here / "links.csv").write_text(text)
    found = load_both_ways(here, DeepWalk(hold=0.9), "links.csv", RunOptions(workers=2))
    assert any("sides count their ids" in text for text in found.warnings)


def test_links_of_two_types_are_not_held_out(here):
    for in_shares in (False, True):
        given = Bought(), "links.txt", None, RunOptions(workers=3)
        with pytest.raises(ProgramError, match="its edges join two") as caught:
            begin_run(here / f"{in_shares}", *given, in_shares=in_shares)
        assert "--test" in caught.value.do
