"""`rng`: the plain and the compiled stream are one stream, and its numbers depend on what it is
seeded by alone.
"""

import numpy as np
import pytest
from numba import njit

from tux.base.random import key
from tux.rows.rng import Stream, compiled_seed_stream, compiled_stream, seed_stream

KEY = key(0, "stream")


@njit
def draw_compiled(keys, ids, out):
    state = np.zeros(1, np.uint64)
    for row in range(len(ids)):
        compiled_seed_stream(state, keys[row], ids[row, 0], ids[row, 1])
        rng = compiled_stream(state)
        out[row, 0] = rng.uniform()
        out[row, 1] = rng.normal()
        out[row, 2] = rng.below(10)
        out[row, 3] = rng.uniform()


def draw_plain(keys, ids, out):
    state = np.zeros(1, np.uint64)
    for row in range(len(ids)):
        seed_stream(state, keys[row], ids[row, 0], ids[row, 1])
        rng = Stream(state)
        out[row] = rng.uniform(), rng.normal(), rng.below(10), rng.uniform()


def draw_numbers(how, ids, keys=None):
    ids = np.asarray(ids, np.int64).reshape(-1, 2)
    out = np.empty((len(ids), 4))
    how(np.full(len(ids), KEY) if keys is None else keys, ids, out)
    return out


def pairs(n):
    return np.stack([np.arange(n), np.arange(n)[::-1] * 7], axis=1)


def test_is_splitmix64():
    stream = Stream(np.array([1234567], np.uint64))
    known = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [stream.bits() for _ in known] == known


def test_plain_and_compiled_give_the_same_numbers():
    ids = np.concatenate([pairs(200), [[0, 0], [2**31 - 1, 2**31 - 1], [2**40, 1]]])
    keys = np.array([key(i) for i in range(len(ids))])
    a, b = draw_numbers(draw_plain, ids, keys), draw_numbers(draw_compiled, ids, keys)
    assert np.array_equal(a[:, [0, 2, 3]], b[:, [0, 2, 3]])
    # the logarithm and cosine may differ in the last bit
    np.testing.assert_allclose(a[:, 1], b[:, 1], rtol=1e-12)


@pytest.mark.parametrize("how", [draw_plain, draw_compiled], ids=["plain", "jit"])
def test_order_does_not_matter(how):
    assert np.array_equal(draw_numbers(how, pairs(50))[::-1], draw_numbers(how, pairs(50)[::-1]))


def test_both_ids_and_the_key_matter():
    some = draw_numbers(draw_plain, [[1, 2], [2, 1], [1, 1], [2, 2], [0, 3]])
    assert len(np.unique(some[:, 0])) == 5
    assert draw_numbers(draw_plain, [[1, 2]], np.array([key(9)]))[0, 0] != some[0, 0]


def test_numbers_are_roughly_uniform_and_normal():
    out = draw_numbers(draw_compiled, np.stack(np.divmod(np.arange(40_000), 200), axis=1))
    for u in (out[:, 0], out[:, 3]):
        assert u.min() >= 0 and u.max() < 1
        counts = np.histogram(u, bins=20, range=(0, 1))[0]
        assert abs(counts - 2000).max() < 5 * np.sqrt(2000)
    assert abs(np.corrcoef(out[:, 0], out[:, 3])[0, 1]) < 0.025
    assert abs(np.corrcoef(out[:-1, 0], out[1:, 0])[0, 1]) < 0.025
    assert abs(out[:, 1].mean()) < 0.025 and abs(out[:, 1].std() - 1) < 0.02
    assert abs(np.bincount(out[:, 2].astype(int), minlength=10) - 4000).max() < 5 * np.sqrt(4000)


@pytest.mark.parametrize("n", [1, 2, 3, 1000])
def test_below_stays_below(n):
    stream = Stream(np.array([n], np.uint64))
    numbers = [stream.below(n) for _ in range(2000)]
    assert min(numbers) == 0 and max(numbers) < n and all(isinstance(i, int) for i in numbers)
    assert len(set(numbers)) == n or n > 100
