"""The partitioners: every edge in one part, the same for the same seed, and the favourite side
whole.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machines.team import relaxed

from tux.partition import PARTITIONERS, bicut, random, recommend_partitioner
from tux.partition.common.ends import ends
from tux.partition.methods.bicut import favourite_side

edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=40).map(
    lambda pairs: np.array(pairs, np.int32).reshape(-1, 2).T
)


@relaxed
@given(edges, st.integers(1, 60), st.sampled_from(sorted(PARTITIONERS)), st.integers(0, 3))
def test_every_edge_has_one_part_in_its_place(pairs, k, method, seed):
    parts = PARTITIONERS[method](*pairs, k, seed)
    assert (
        parts.dtype == np.int16
        and parts.shape == pairs[0].shape
        and ((parts >= 0) & (parts < k)).all()
    )
    assert np.array_equal(parts, PARTITIONERS[method](*pairs, k, seed))


@relaxed
@given(edges, st.integers(1, 9), st.sampled_from(["auto", "source", "target"]))
def test_bicut_keeps_its_favourite_side_whole(pairs, k, favourite):
    side = favourite_side(ends(*pairs), favourite)
    end, parts = pairs[0 if side == "source" else 1], bicut(*pairs, k, 0, favourite=favourite)
    assert all(len(set(parts[end == v])) == 1 for v in set(end.tolist()))


def test_the_favourite_side_is_the_larger_one():
    assert favourite_side(ends(np.arange(9), np.zeros(9, int))) == "source"
    assert favourite_side(ends(np.zeros(9, int), np.arange(9))) == "target"


def test_random_spreads_edges_evenly_and_ignores_direction():
    src, dst = np.divmod(np.arange(100_000), 317)
    parts = random(src, dst, 7)
    assert np.bincount(parts, minlength=7) == pytest.approx(np.full(7, len(src) / 7), rel=0.03)
    assert np.array_equal(parts, random(dst, src, 7))
    assert not np.array_equal(parts, random(src, dst, 7, seed=1))


@pytest.mark.parametrize("k", [0, -1, 32_768])
def test_an_impossible_number_of_parts(k):
    with pytest.raises(ValueError, match="32,767"):
        random(np.array([0]), np.array([0]), k)


def test_recommendations_go_by_shape():
    src, dst = np.divmod(np.arange(40), 4)
    assert (
        recommend_partitioner(src, dst, 3, bipartite=True)[0] == "aweto"
        and "10 vertices of the source side"
        in recommend_partitioner(src, dst, 3, bipartite=True)[1]
    )
    assert "10 vertices of the target side" in recommend_partitioner(dst, src, 3, bipartite=True)[1]
    assert (
        recommend_partitioner(src, dst, 3)[0] == "ne"
        and recommend_partitioner(src, dst, 1)[0] == "random"
    )
