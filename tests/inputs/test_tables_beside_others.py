"""Tables of vertices that loaders read beside edges of which they do more: neighbours of all
vertices, held-out links, and words of documents.
"""

import numpy as np
import pytest
from support.machines.same_loads import load_both_ways

from tux import Bags, Edge, Graph, Program, Vertex, data, value
from tux.options.options import RunOptions
from tux.stages import Exchange

RNG = np.random.default_rng(6)
ENDS = (40 * RNG.random((300, 2)) ** 2).astype(int)
TOWNS = ("Rome", "Oslo")


class AllNeighbours(Graph):
    def topology(self, program):
        return "undirected"


class HoldsSome(Graph):
    def hold_out(self, program):
        return 0.1


class PagesWithNeighbours(Program):
    page = Vertex(age=data("f4", default=2), town=data("i4", default=0))
    link = Edge("page", "page")
    input = AllNeighbours()

    def stages(self):
        return []


class PagesHeldOut(Program):
    page = Vertex(age=data("f4", default=2), town=data("i4", default=0), rank=value("f4"))
    link = Edge("page", "page")
    input = HoldsSome()

    def stages(self):
        return []

    def evaluate(self):
        return [Exchange(None, held_out=True)]


class AgedDocuments(Program):
    document = Vertex(age=data("f4", default=2))
    word = Vertex(town=data("i4", default=0))
    occurrence = Edge("document", "word", count=data("i4"))
    input = Bags()

    def stages(self):
        return []


@pytest.fixture(autouse=True)
def table_file(here):
    rows = "".join(f"{at},{at % 9},{TOWNS[at % 2]}\n" for at in range(60, 3, -1))
    (here / "table.csv").write_text("id,age,town\n" + rows)


@pytest.mark.parametrize("program", [PagesWithNeighbours, PagesHeldOut])
@pytest.mark.parametrize("workers", [2, 5])
def test_links(here, program, workers):
    (here / "links.txt").write_text("".join(f"{u} {v}\n" for u, v in ENDS))
    how = {"partitioner": "dbh", "seed": 2, "vertices": {"page": "table.csv"}}
    found = load_both_ways(here, program(), "links.txt", RunOptions(workers=workers, **how))
    assert "page.data.town.npy" in found.files


@pytest.mark.parametrize("workers", [2, 5])
def test_documents(here, workers):
    texts = (RNG.integers(0, 30, RNG.integers(0, 9)) for _ in range(60))
    lines = (" ".join(f"w{word}" for word in text) for text in texts)
    (here / "texts.txt").write_text("\n".join(lines) + "\n")
    rows = "".join(f"w{at},{TOWNS[at % 2]}\n" for at in range(33))
    (here / "words.csv").write_text("id,town\n" + rows)
    tables = {"document": "table.csv", "word": "words.csv"}
    options = RunOptions(workers=workers, form="text", vertices=tables)
    load_both_ways(here, AgedDocuments(), "texts.txt", options)
