"""A run whose partitioner places the edges of one type, and those of others beside them, and that
loads its data in shares, has what a run has that loads them whole.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.machines.same_loads import begin_run, load_both_ways
from support.programs.typed_programs import SocialShop, shop_edges, shop_files

from tux import Edge, Program, Vertex, data, value
from tux.options.options import RunOptions

pytestmark = pytest.mark.usefixtures("here")


class Kept(Program):
    """Films that stay whole, with loops between them, and users who see nothing."""

    user = Vertex(n=value("f4"))
    film = Vertex(whole=True, n=value("f4"))
    rating = Edge("user", "film", value=data("f4"))
    sequel = Edge("film", "film")
    friend = Edge("user", "user")

    def stages(self):
        return []


@pytest.mark.slow(after=4)
@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize(
    "partitioner",
    [
        "bicut:bought",
        "aweto:bought",
        "auto:tagged",
        "random:friend",
        "dbh:friend",
        "hybrid:tagged",
        "grid:friend",
        "pds:friend",
        "aweto:friend",
    ],
)
def test_edges_of_each_type(here, partitioner, workers):
    options = RunOptions(partitioner=partitioner, seed=workers, workers=workers)
    found = load_both_ways(here, SocialShop(), shop_files(here, shop_edges()), options)
    if partitioner == "auto:tagged":
        assert any(text.startswith("partitioner aweto:tagged: edges") for text in found.lines)


@pytest.mark.parametrize("partitioner", ["aweto:rating", "bicut:rating", "target:sequel"])
def test_whole_vertices_and_loops(here, partitioner):
    draw = np.random.default_rng(4)
    films = draw.integers(0, 20, (90, 2))
    users = [f"u{n}" for n in draw.integers(0, 50, 90)]
    tables = {
        "rating": {"user": users, "film": films[:, 0], "value": 1},
        "sequel": {"first": films[:, 0] // 3, "second": films[:, 1] // 3},
        "friend": {"one": [f"u{n}" for n in draw.integers(0, 90, 60)], "other": users[:60]},
    }
    for name, table in tables.items():
        pd.DataFrame(table).to_csv(f"{name}.csv", index=False)
    named = {name: f"{name}.csv" for name in tables}
    load_both_ways(here, Kept(), named, RunOptions(partitioner=partitioner, workers=3))


def test_few_edges_between_many_vertices_are_read_whole(here):
    """A partitioner numbers their vertices anew."""
    users = [f"u{n}" for n in range(3000)]
    pd.DataFrame({"user": users, "film": range(3000), "value": 1}).to_csv("r.csv", index=False)
    pd.DataFrame({"first": [1], "second": [2]}).to_csv("s.csv", index=False)
    Path("f.csv").write_text("u9,u2999\nu2,u9\n")
    named = {"rating": "r.csv", "sequel": "s.csv", "friend": "f.csv"}
    options = RunOptions(partitioner="dbh:friend", workers=2)
    begun = [
        begin_run(here / "parts", Kept(), named, None, options, in_shares=in_shares)
        for in_shares in (False, True)
    ]
    assert not begun[1].in_shares and begun[0].files == begun[1].files
    assert any("vertices with 2 edges are numbered by one process" in t for t in begun[1].lines)
