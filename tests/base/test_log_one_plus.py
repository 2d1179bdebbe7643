"""The logarithm of one and a small number."""

import numpy as np
import pytest
from numba import njit

from tux.base.log_one_plus import log_one_plus
from tux.stages.kernel.compile import OPTIONS


@pytest.mark.parametrize("f", [log_one_plus, njit(**OPTIONS)(log_one_plus)])
def test_it_is_right_also_where_the_order_of_sums_is_free(f):
    e = np.concatenate([[0.0, 1.0, 5e-324, 1e-300], 2.0 ** np.linspace(-80, 0, 4001)])
    found = np.array([f(x) for x in e.tolist()])
    np.testing.assert_allclose(found, np.log1p(e), rtol=1e-12, atol=0)
