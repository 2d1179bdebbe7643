"""Random numbers as functions of (seed, purpose, id, counter)."""

import numpy as np
import pytest

from tux.base.random import (
    Initialiser,
    constant,
    key,
    listed_values,
    mix,
    normal,
    permutation,
    uniform,
    uniforms,
)


def test_keys_differ_by_seed_and_purpose_and_repeat():
    keys = [key(0), key(1), key(0, "a"), key(0, "a", "b"), key(0, "ab"), key(0, "a", 1), key("0a")]
    assert len(set(map(int, keys))) == len(keys)
    assert key(3, "initial", "user") == key(3, "initial", "user")
    # the same on every machine and in every version
    assert key(0, "initial", "user", "p") == 0x161D14497DBD6B19


def test_mix_is_a_bijection_that_leaves_its_argument():
    z = np.arange(1000, dtype=np.uint64)
    mixed = mix(z)
    assert len(np.unique(mixed)) == 1000 and z.tolist() == list(range(1000))


def test_uniforms_depend_on_id_and_column_alone():
    ids = np.array([5, 0, 9, 2**40])
    wide = uniforms(key(1), ids, 4)
    assert wide.shape == (4, 4) and wide.min() >= 0 and wide.max() < 1
    assert np.array_equal(uniforms(key(1), ids[::-1], 4), wide[::-1])
    assert np.array_equal(uniforms(key(1), ids[1:2], 2), wide[1:2, :2])
    assert not np.array_equal(uniforms(key(2), ids, 4), wide)


def test_uniforms_are_roughly_uniform_and_uncorrelated():
    u = uniforms(key(0, "check"), np.arange(5000), 8)
    counts = np.histogram(u, bins=20, range=(0, 1))[0]
    assert abs(counts - 2000).max() < 5 * np.sqrt(2000)
    assert abs(np.corrcoef(u.T) - np.eye(8)).max() < 0.08
    assert abs(np.corrcoef(u[:-1, 0], u[1:, 0])[0, 1]) < 0.08


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_permutation(n):
    order = permutation(key(4), n)
    assert order.dtype == np.int64 and sorted(order.tolist()) == list(range(n))
    assert np.array_equal(order, permutation(key(4), n))


def test_permutations_differ_by_key():
    assert not np.array_equal(permutation(key(4), 100), permutation(key(5), 100))


LISTED = listed_values({(69_999, 5): 2.0, (7, 0): 1.0, (7, 4): 3.0, (80_000, 1): 9.0})


@pytest.mark.parametrize("law", [uniform(-1, 3), normal(2, 0.5), constant(7), LISTED])
def test_initial_values_do_not_depend_on_the_other_rows(law):
    ids = np.arange(70_000)  # several pieces
    whole, some = np.empty((70_000, 2, 3), np.float32), np.empty((3, 2, 3), np.float32)
    law.fill(whole, key(0), ids)
    law.fill(some, key(0), ids[[69_999, 0, 33_333]])
    assert np.array_equal(some, whole[[69_999, 0, 33_333]])


def test_listed_entries():
    out = np.full((3, 2, 3), 5, np.int32)
    LISTED.fill(out, key(0), np.array([69_999, 8, 7]))
    assert out.reshape(3, 6).tolist() == [[0, 0, 0, 0, 0, 2], [0] * 6, [1, 0, 0, 0, 3, 0]]
    assert listed_values({}) == constant(0)


def test_laws_have_their_moments():
    def draw_numbers(law):
        out = np.empty(100_000)
        law.fill(out, key(0, "moments"), np.arange(len(out)))
        return out

    even, bell = draw_numbers(uniform(-1, 3)), draw_numbers(normal(2, 0.5))
    assert even.min() >= -1 and even.max() < 3 and abs(even.mean() - 1) < 0.02
    assert (
        abs(bell.mean() - 2) < 0.01
        and abs(bell.std() - 0.5) < 0.01
        and abs(np.mean((bell - 2) ** 3)) < 0.01
    )
    assert set(draw_numbers(constant(2.5))) == {2.5}


def test_an_initialiser_stands_where_a_function_of_parameters_may():
    assert uniform(0, 1)(None) == Initialiser("uniform", 0, 1)
