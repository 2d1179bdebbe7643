"""Packed symmetric matrices against numpy, compiled and as plain Python."""

import numba
import numpy as np
import pytest

import tux
from tux.rows import packed

LOWER = {n: np.tril_indices(n) for n in range(1, 9)}
both = pytest.mark.parametrize("compiled", [True, False], ids=["jit", "plain"])


def get_function(name, compiled):
    """Return the function of this name, compiled or as it is."""
    f = getattr(packed, name)
    return numba.njit(f) if compiled else f


@pytest.mark.long(after=2)
@both
@pytest.mark.parametrize(("n", "count"), [(1, 1), (5, 0), (5, 3), (5, 8), (7, 6)])
def test_add(compiled, n, count):
    rng = np.random.default_rng(count)
    x, w = rng.normal(size=(8, n)), rng.normal(size=8)
    y, a = x * w[:, None], rng.normal(size=n * (n + 1) // 2)
    expected = a + (x[:count].T @ y[:count])[LOWER[n]]
    get_function("packed_add", compiled)(a, x.copy(), y.copy(), count)
    np.testing.assert_allclose(a, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.long(after=1)
@both
@pytest.mark.parametrize("n", [1, 2, 8])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_solve(compiled, n, dtype):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n + 2, n))
    full, b = x.T @ x + np.eye(n), rng.normal(size=n)
    a, found = full[LOWER[n]].astype(dtype), b.astype(dtype)
    assert get_function("packed_solve", compiled)(a, found)
    tolerance = 1e-4 if dtype == "f4" else 1e-10
    np.testing.assert_allclose(found, np.linalg.solve(full, b), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(a, np.linalg.cholesky(full)[LOWER[n]], rtol=tolerance)


@pytest.mark.slow(after=4)
@both
@pytest.mark.parametrize("full", [[[0.0]], [[1, 2], [2, 1]], [[1, 0], [0, -1]], [[np.nan]]])
def test_a_matrix_that_is_not_positive_definite(compiled, full):
    n = len(full)
    a = np.array(full, float)[LOWER[n]]
    assert not get_function("packed_solve", compiled)(a, np.ones(n))


def test_they_are_public():
    assert tux.packed_add is packed.packed_add and tux.packed_solve is packed.packed_solve
