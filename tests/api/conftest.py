"""Fixtures that tests of the Python face share."""

import numpy as np
import pytest

from tux.arrays.edges import EdgeData


@pytest.fixture
def ratings():
    """Return 60 ratings of 9 users, who are numbers, and 7 items, which have names."""
    rng = np.random.default_rng(0)
    return EdgeData.of(
        ("user", "item"),
        rng.integers(10, 19, 60),
        np.array([f"item {k}" for k in rng.integers(0, 7, 60)]),
        {"value": rng.normal(3, 1, 60).astype("f4")},
    )
