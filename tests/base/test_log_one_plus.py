"""The logarithm of one and a small number."""

import numpy as np

from tux.base.log_one_plus import log_one_plus


def test_it_is_right_to_the_last_bits():
    e = np.concatenate([[0.0, 1.0, 5e-324, 1e-300], 2.0 ** np.linspace(-80, 0, 4001)])
    found = np.array([log_one_plus(x) for x in e.tolist()])
    np.testing.assert_allclose(found, np.log1p(e), rtol=1e-15, atol=0)
