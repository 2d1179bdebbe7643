"""NE++: as the plain rule says, within its bound on any graph, and finding what there is to
find.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.oracles.slow_ne import slow_ne

from tux.partition.methods.ne import ne

edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=60).map(
    lambda pairs: np.array(pairs, np.int32).reshape(-1, 2).T
)


def replicas(src, dst, parts):
    return len(
        {(v, p) for end in (src, dst) for v, p in zip(end.tolist(), parts.tolist(), strict=True)}
    )


@settings(max_examples=examples(150), deadline=None)
@given(
    edges,
    st.integers(1, 9),
    st.sampled_from([0.3, 1.0, 2.0, 100.0]),
    st.sampled_from([None, 1.0, 1.3]),
    st.integers(0, 3),
)
def test_the_rule(pairs, k, tau, cap, seed):
    src, dst = pairs
    expected = slow_ne(src.tolist(), dst.tolist(), k, seed, min(1.001, cap or 9), tau)
    assert ne(src, dst, k, seed, tau=tau, cap=cap).tolist() == expected


def test_a_generous_cap_leaves_no_part_empty():
    src = np.arange(2000)
    assert np.bincount(ne(src, src + 1, 4, cap=4)).tolist() == [500, 500, 500, 500]


def test_the_rule_on_a_larger_graph():
    src, dst = (np.random.default_rng(1).zipf(1.8, (2, 600)) % 150).astype(np.int32)
    for k, tau in ((7, 100.0), (16, 1.5), (40, 0.5), (170, 9.0)):
        assert ne(src, dst, k, tau=tau).tolist() == slow_ne(src.tolist(), dst.tolist(), k, tau=tau)


SHAPES = {
    "empty": ([], []),
    "one edge": ([0], [1]),
    "one self-loop": ([5], [5]),
    "only self-loops": (range(40), range(40)),
    "star": ([0] * 50, range(1, 51)),
    "clique": np.divmod(np.arange(400), 20),
    "the same edge": ([3] * 30, [4] * 30),
    "path": (range(60), range(1, 61)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 2, 3, 8, 50, 32_767])
@pytest.mark.parametrize("tau", [0.5, 100.0])
def test_the_bound_on_every_shape(shape, k, tau):
    src, dst = (np.array(end, np.int64) for end in SHAPES[shape])
    for bipartite in (False, True):
        parts = ne(src, dst, k, bipartite=bipartite, tau=tau)
        assert (
            parts.dtype == np.int16
            and parts.shape == src.shape
            and ((parts >= 0) & (parts < k)).all()
        )
        assert np.bincount(parts, minlength=k).max() <= max(
            -(-len(src) // k), int(1.001 * len(src) / k)
        )


def test_two_cliques_stay_whole():
    """
    0 - 1   4 - 5
    | x | - | x |
    2 - 3   6 - 7     one edge between them, which either part may have
    """
    square = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    src, dst = np.concatenate([square, square + 4, [(3, 4)]]).T
    parts = ne(src, dst, 2)
    assert len(set(parts[:6])) == len(set(parts[6:12])) == 1 and parts[0] != parts[6]


def test_separate_cliques_are_one_part_each():
    clique = np.array([(u, v) for u in range(9) for v in range(u)])
    src, dst = np.concatenate([clique + 9 * c for c in range(12)])[
        np.random.default_rng(0).permutation(12 * len(clique))
    ].T
    assert replicas(src, dst, ne(src, dst, 12)) == 12 * 9


def test_ids_and_seeds():
    src, dst = np.random.default_rng(2).integers(0, 300, (2, 2000))
    parts = ne(src, dst, 6)
    assert np.array_equal(parts, ne(src, dst, 6))
    assert not np.array_equal(parts, ne(src, dst, 6, seed=1))
    assert np.array_equal(ne(src, dst, 6, bipartite=True), ne(src, dst + 300, 6))


def test_progress_rises_to_the_end():
    src, dst = np.random.default_rng(2).integers(0, 300, (2, 2000))
    seen = []
    assert np.array_equal(ne(src, dst, 200, progress=seen.append), ne(src, dst, 200))
    assert seen == sorted(seen) and 0 < seen[0] and 0.9 < seen[-1] <= 1


@pytest.mark.parametrize("tau", [0, -1, float("nan")])
def test_an_impossible_tau(tau):
    with pytest.raises(ValueError, match="tau"):
        ne(np.array([0]), np.array([1]), 2, tau=tau)
