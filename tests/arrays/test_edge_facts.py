"""Facts about edges: those of shares, joined, are those of all edges."""

import numpy as np
import pytest

from tux.arrays.edge_facts import EdgeFacts, join_numbers
from tux.arrays.edges import EdgeData

EDGES = EdgeData.of(("user", "item"), ["b", "a", "b"], [7, 8, 9], {"n": np.array([4, -2, -2])})


def test_the_least_number_is_the_first_of_them():
    facts = EdgeFacts.of(EDGES)
    found = facts.number("n")
    assert len(facts) == 3 and (found.least, found.row, found.total) == (-2, 1, 0)
    assert facts.ids_of_ends(found) == ("a", "8")
    assert facts.number("m") is None


def test_edges_that_are_elsewhere():
    facts = EdgeFacts.of(EDGES.bare(), 3, {"n": EdgeFacts.of(EDGES).number("n")})
    assert len(facts) == 3 and facts.number("n") == EdgeFacts.of(EDGES).number("n")
    assert EdgeFacts.of(EDGES.bare(), 3).number("n") is None


@pytest.mark.parametrize("dtype", ["i4", "u2", "f4"])
def test_facts_of_shares_are_those_of_all(dtype):
    rng = np.random.default_rng(4)
    for _ in range(20):
        values = rng.integers(0, 9, 30).astype(dtype)
        ends = rng.integers(0, 5, (2, 30))
        whole = EdgeData.of(("user", "item"), *ends, {"n": values})
        bounds = [0, *sorted(rng.integers(0, 31, 3).tolist()), 30]
        shares = []
        for lo, hi in zip(bounds[:-1], bounds[1:], strict=True):
            own = slice(lo, hi)
            part = EdgeData(
                whole.ends, whole.ids, whole.src[own], whole.dst[own], {"n": values[own]}
            )
            found = EdgeFacts.of(part).number("n")
            shares.append((hi - lo, {"n": found} if found else {}))
        assert join_numbers(shares)["n"] == EdgeFacts.of(whole).number("n")
