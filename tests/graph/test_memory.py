"""The memory of edges while a graph is made of them and laid out."""

import tracemalloc
import weakref

import numpy as np
import pytest

from tux.apps.mf.mf import MF
from tux.arrays.networks import from_arrays
from tux.graph.local import LocalGraph
from tux.inputs.load import Inputs

EDGES, USERS, ITEMS = 300_000, 3000, 200


def ratings():
    """Return edges of 12 bytes each."""
    rng = np.random.default_rng(3)
    user, item = (rng.integers(n, size=EDGES, dtype=np.int32) for n in (USERS, ITEMS))
    return from_arrays(user, item, ends=("user", "item"), value=rng.random(EDGES, np.float32))


def whole_ratings():
    """Return edges with ten different ratings."""
    edges = ratings()
    edges.fields["value"][:] = np.round(9 * edges.fields["value"])
    return edges


def laid_out(inputs):
    """Return the edges of a graph in tiles, as training walks them."""
    edges = LocalGraph.whole(MF(), inputs.release_train(), None, 0).edges
    edges.walk_tiled("item", np.array([0, ITEMS]), USERS, (48, 48))
    return edges


@pytest.fixture
def trace_memory(monkeypatch):
    """Count the memory of one thread; little of it does not depend on the edges."""
    monkeypatch.setattr("tux.base.parallel._chosen", [1])
    monkeypatch.setattr("tux.arrays.lookup.CHUNK", 1 << 12)
    laid_out(Inputs(ratings()))  # compiles
    laid_out(Inputs(whole_ratings()))
    tracemalloc.start()
    yield
    tracemalloc.stop()


def test_edges_handed_over_are_never_there_twice(trace_memory):
    inputs = Inputs(ratings())
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    edges = laid_out(inputs)
    after, peak = tracemalloc.get_traced_memory()
    assert before < 13 * EDGES and len(edges) == EDGES
    assert after < 9 * EDGES  # offsets of 2 bytes, and the rating
    assert peak < 19 * EDGES  # the columns, the keys of 2 bytes, and one column anew


def test_ratings_of_few_values_take_a_byte(trace_memory):
    edges = laid_out(Inputs(whole_ratings()))
    assert tracemalloc.get_traced_memory()[0] < 6 * EDGES and len(edges) == EDGES


def test_columns_handed_over_are_given_up():
    inputs = Inputs(ratings())
    columns = [weakref.ref(each) for each in (inputs.train.src, inputs.train.dst)]
    users = inputs.train.ids["user"]
    laid_out(inputs)
    assert [column() for column in columns] == [None, None]
    assert len(inputs.train) == 0 and inputs.train.ids["user"] is users


def test_edges_that_somebody_holds_stay_as_they_are():
    given, same = ratings(), ratings()
    edges, again = laid_out(Inputs(given)), laid_out(Inputs(given))
    assert given.digest() == same.digest()
    for one, other in ((edges.src, again.src), (edges.dst, again.dst)):
        assert np.array_equal(one, other)
    assert np.array_equal(edges.fields["value"], again.fields["value"])
