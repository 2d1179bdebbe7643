"""A run whose program looks at all neighbours, and loads its edges in shares, has what a run has
that loads them whole.
"""

import numpy as np
import pytest
from support.machines.same_loads import begin_run, load_both_ways

from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.deepwalk.walks import Walks
from tux.base.errors import DataError, ProgramError
from tux.options.options import RunOptions
from tux.program.input import Graph
from tux.program.program import Program
from tux.program.types import Edge, Vertex

RNG = np.random.default_rng(6)
ENDS = (40 * RNG.random((300, 2)) ** 2).astype(int)  # some edges are repeated, some are loops
WEIGHTS = RNG.random(300)


@pytest.fixture(autouse=True)
def links_file(here):
    (here / "links.txt").write_text("".join(f"{u} v{v}\n" for u, v in ENDS))
    rows = zip(ENDS, WEIGHTS, strict=True)
    (here / "weights.csv").write_text("".join(f"{u},{v},{w:.3g}\n" for (u, v), w in rows))


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("file", ["links.txt", "weights.csv"])
def test_neighbours(here, file, directed, workers):
    program = DeepWalk(directed=directed, weighted=file == "weights.csv")
    options = RunOptions(workers=workers, seed=workers)
    found = load_both_ways(here, program, file, options)
    arrays = {name for name in found.files if name.startswith("topology.")}
    names = "bounds", "ends", "sums", "keep", "other"
    assert arrays == {f"topology.{name}.npy" for name in names}


@pytest.mark.parametrize("partitioner", ["dbh", "random"])
def test_walks_with_held_out_edges(here, partitioner):
    (here / "held.txt").write_text("1 2\n3 new\n")
    options = RunOptions(workers=3, partitioner=partitioner)
    load_both_ways(here, DeepWalk(), "links.txt", options, "held.txt")
    load_both_ways(here, Walks(), "links.txt", options)


def faults(here, program, data):
    """Return what a run says that loads whole, and asserts that one that loads in shares says the
    same.
    """
    told = []
    for in_shares in (False, True):
        with pytest.raises((DataError, ProgramError)) as caught:
            options = RunOptions(workers=3)
            begin_run(here / f"{in_shares}", program, data, None, options, in_shares=in_shares)
        told.append(str(caught.value))
    assert told[0] == told[1]
    return told[0]


def test_a_weight_that_is_not_above_0(here):
    rows = "".join(f"{n % 7},{n % 9},1\n" for n in range(90))
    (here / "weights.csv").write_text(f"{rows}2,3,-1\n{rows}4,5,0\n6,7,-1\n")
    told = faults(here, DeepWalk(weighted=True), "weights.csv")
    assert "the edge from 2 to 3 has the weight -1" in told and "edge 91, " in told


def test_ids_that_are_no_words(here):
    (here / "links.csv").write_text("src,dst\n" + "a b,c\nc,d\n" * 50)
    assert "a b" in faults(here, Walks(), "links.csv")


class Neighbours(Graph):
    def topology(self, program):
        return "directed"


class Purchases(Program):
    user = item = Vertex()
    bought = Edge("user", "item")
    input = Neighbours()

    def stages(self):
        return []


def test_neighbours_of_two_types(here):
    assert "its edges join two" in faults(here, Purchases(), "links.txt")
