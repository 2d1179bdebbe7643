"""Every partitioner on 500 small graphs of odd shapes: no abort, each edge in one part, and the
bound kept where there is one.
"""

import numpy as np
import pytest

from tux.partition import PARTITIONERS
from tux.partition.common.capacity import capacity

BOUNDED = {"ne": 1.001, "best": 1.03, "two_phase": 1.05}  # without a cap of the caller's


def graphs(count):
    """Yield (src, dst, k, bipartite) of graphs of all kinds, the same each time."""
    rng = np.random.default_rng(0)
    for number in range(count):
        n, m = int(rng.integers(1, 25)), int(rng.integers(0, 80))
        clique = np.stack(np.triu_indices(n, 1))
        pairs = (
            rng.integers(0, n, (2, m)),  # repeated edges, self-loops
            np.zeros((2, 0), int),
            rng.integers(0, n, (2, 1)),
            np.stack([np.zeros(n, int), np.arange(n)]),  # a star, with a loop at its centre
            clique,
            np.repeat(rng.integers(0, n, (1, m)), 2, axis=0),  # self-loops alone
            np.stack([np.arange(m), np.arange(m) + 1]),  # a path
            np.zeros((2, m), int),  # one edge, many times
            rng.integers(0, n, (2, m)) * 10**7,  # sparse ids
            np.stack([rng.integers(0, 3, m), rng.integers(0, n, m)]),  # hubs
        )[number % 10]
        k = int(rng.choice([1, 2, 3, 4, 7, 13, 64, 100, 1000, 32_767]))
        yield (
            pairs[0].astype(rng.choice([np.int32, np.int64])),
            pairs[1],
            k,
            bool(rng.integers(0, 2)),
        )


@pytest.mark.slow(after=3)
@pytest.mark.long(after=6)
@pytest.mark.parametrize("method", PARTITIONERS)
def test_odd_graphs(method):
    for number, (src, dst, k, bipartite) in enumerate(graphs(500)):
        cap = (None, 1.0, 1.05, 2.0)[number % 4]
        parts = PARTITIONERS[method](src, dst, k, number, bipartite=bipartite, cap=cap)
        assert parts.dtype == np.int16 and parts.shape == src.shape
        if len(src):
            loads = np.bincount(parts, minlength=k)
            assert len(loads) == k and parts.min() >= 0
            assert loads.max() <= capacity(len(src), k, BOUNDED.get(method) if cap is None else cap)


@pytest.mark.parametrize("method", PARTITIONERS)
def test_the_same_seed_gives_the_same_parts(method):
    src, dst = np.random.default_rng(1).integers(0, 60, (2, 400))
    first, again = (PARTITIONERS[method](src, dst, 9, 3) for _ in range(2))
    assert np.array_equal(first, again) and len(np.unique(first)) > 1
