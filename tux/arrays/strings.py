"""Strings of numpy in order.

numpy's quicksort of StringDType ends the process by a segmentation fault (numpy 2.4: `sort`,
`argsort` and `unique` of ascending strings that begin in the middle), so all such sorts are stable
ones, which are no slower.
"""

from __future__ import annotations

import numpy as np


def distinct_values(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values among `values` (n,), StringDType or numbers, ascending, and the
    place of each value among them, (n,) int64.
    """
    found, _, place = np.unique(values, return_index=True, return_inverse=True)  # a stable sort
    return found, place
