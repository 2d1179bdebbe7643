"""The tally of a share of the edges: all that aweto needs to know of them."""

import numpy as np
import pytest

from tux.partition.methods.aweto import choose_parts, tally_hashes


@pytest.mark.parametrize(("n", "m", "k"), [(1, 0, 1), (5, 40, 3), (30, 60, 7), (9, 500, 2)])
def test_tallies_of_shares_stand_for_their_edges(n, m, k):
    rng = np.random.default_rng([n, m, k])
    whole, wanted = rng.integers(0, n, m).astype(np.int32), rng.integers(0, k, m).astype(np.int16)
    home = rng.integers(0, k, n).astype(np.int16)
    sent = rng.integers(0, 3, k)
    load = sent.copy()
    expected = choose_parts(whole, wanted, home, load)
    cut, vertices = m // 3, np.arange(n, dtype=np.int32)
    tallies = [tally_hashes(whole[at], wanted[at], n, k) for at in (slice(cut), slice(cut, m))]
    for tally, own in zip(tallies, (whole[:cut], whole[cut:]), strict=True):
        assert tally.times.sum() == len(own)
        assert len(tally.hashes) == tally.lengths.sum() <= len(own)
    keys = np.concatenate([np.repeat(vertices, tally.lengths) for tally in tallies])
    hashes = np.concatenate([tally.hashes for tally in tallies])
    times = np.concatenate([tally.times for tally in tallies])
    chosen = choose_parts(keys, hashes, home, sent, times=times)
    np.testing.assert_array_equal(chosen, expected)
    np.testing.assert_array_equal(sent, load)
