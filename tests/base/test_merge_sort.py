"""The sort for compiled functions beside numpy's."""

import numpy as np
import pytest

from tux.base.compiled import cached_njit
from tux.base.merge_sort import RUN, compiled_merge_sort, merge_sort


@cached_njit
def compiled_sort(numbers):
    """Sort numbers by the function that is linked into this one."""
    compiled_merge_sort(numbers)


@pytest.mark.parametrize("size", [0, 1, 2, RUN - 1, RUN, RUN + 1, 4 * RUN, 1000, 4099])
@pytest.mark.parametrize("values", [3, 10**6])
def test_numbers_are_sorted(size, values):
    drawn = np.random.default_rng(size).integers(0, values, size).astype(np.float64)
    for numbers in (drawn, np.sort(drawn), np.sort(drawn)[::-1]):
        found, compiled = numbers.copy(), numbers.copy()
        merge_sort(found)
        compiled_sort(compiled)
        assert found.tolist() == compiled.tolist() == np.sort(drawn).tolist()


def test_a_part_of_an_array_is_sorted():
    numbers = np.random.default_rng(1).permutation(300)
    expected = [*numbers[:2], *sorted(numbers[2:-1]), numbers[-1]]
    merge_sort(numbers[2:-1])
    assert numbers.tolist() == expected
