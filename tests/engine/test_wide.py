"""Programs on vertices that are numbered by 64 bits: the results are those of the narrow path, to
the last bit.
"""

from dataclasses import replace

import numpy as np
import pytest
from support.machines.lda_team import draw_documents
from support.machines.team import Team, ratings
from support.programs.links import DirectedLinks
from support.programs.programs import random_pairs

from tux import Edge, Program, Vertex, shared
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.lda.lda import LDA
from tux.apps.mf.mf import MF
from tux.arrays import integers
from tux.arrays.networks import from_arrays
from tux.checkpoint.spool import Scratch, Spool, SpooledLists
from tux.stages import Generate, MiniBatch

LINKS = from_arrays(*random_pairs(14, 14, 40, seed=3), ends=("page", "page"))
NODES = replace(LINKS, ends=("node", "node"), ids={"node": LINKS.ids["page"]})


@pytest.fixture
def wide(monkeypatch):
    """Return a function from which on all but the smallest types are numbered by 64 bits."""
    return lambda: monkeypatch.setattr(integers, "MOST_NARROW", 3)


def follow(start, path, topology, rng):
    at = start
    for i in range(len(path)):
        path[i] = at
        lo, hi = topology.bounds[at], topology.bounds[at + 1]
        if hi > lo:
            at = topology.ends[lo + rng.below(hi - lo)]


def pass_on(path):
    for i in range(len(path)):
        path[i].page.sum += path[i].page.id + 1


class WalkingSums(Program):
    """Each page on a walk adds its number to its sum."""

    input = DirectedLinks()
    page = Vertex(remote=True, sum=shared("f8"))
    link = Edge("page", "page")

    def stages(self):
        return [MiniBatch(Generate(follow, pass_on, "page", rounds=2, path=4), vertices=5)]


def both(wide, program, edges, fields, test=None, *, epochs=2, **options):
    """Return the fields of a program on narrow and on wide numbers, by kind."""

    def gather():
        team = Team(program, edges, test, **options).train(epochs)
        return [team.gather(*field.split(".")) for field in fields]

    narrow = gather()
    wide()
    return narrow, gather()


@pytest.mark.parametrize("slack", [0, 1])
@pytest.mark.parametrize("k", [1, 2])
def test_pulled_rows(wide, k, slack):
    narrow, found = both(wide, WalkingSums(), LINKS, ["page.sum"], k=k, slack=slack)
    assert np.array_equal(narrow, found) and narrow[0].any()


@pytest.mark.parametrize("k", [1, 2])
def test_rows_that_are_kept(wide, k):
    train, test = ratings()
    narrow, found = both(wide, MF(rank=3), train, ["user.f", "item.f"], test, k=k)
    assert all(map(np.array_equal, narrow, found))


def test_lists_that_are_kept(wide, tmp_path):
    wide()
    spool = Spool("page", {"path": 2}, Scratch(lambda: open(tmp_path / "lists", "wb+")))
    written = np.array([[0, 4], [1, -1], [2, 3], [3, 0], [4, 1]])
    for _ in range(2):
        spool.append(np.arange(5), {"path": written})
    with SpooledLists([spool.flush()], {"page": np.arange(5)}) as lists:
        assert lists.rounds == 2
        assert [piece["path"].tolist() for piece in lists.pieces()] == [written.tolist()] * 2


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
def test_compiled_walks(wide, k):
    program = DeepWalk(dimensions=4, num_walks=1, walk_length=4, window=2, pool=6)
    narrow, found = both(wide, program, NODES, ["node.u"], k=k, jit=True)
    assert np.array_equal(narrow, found)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
def test_compiled_edges(wide, k):
    train, test = ratings()
    narrow, found = both(wide, MF(rank=3), train, ["user.f", "item.f"], test, k=k, jit=True)
    assert all(map(np.array_equal, narrow, found))


@pytest.mark.parametrize("k", [1, 2])
def test_results_on_edges(wide, k):
    """Topics of tokens, of which the words are cut."""
    corpus = draw_documents()
    narrow, found = both(wide, LDA(topics=3), corpus, ["word.n"], k=k, by="source", epochs=1)
    assert np.array_equal(narrow, found) and narrow[0].any()
