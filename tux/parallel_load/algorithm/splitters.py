"""Splitters: the bounds of the ranges of ids that loaders own. The ranges are about equal, by a
sample of each share's ids, as in a sample sort.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

SAMPLE = 32
"""Ids of a share that are looked at for each loader."""


def sample_ids(values: np.ndarray, loaders: int) -> tuple[np.ndarray, float]:
    """Return some of a share's ascending ids, evenly spaced, and for how many each of them
    stands.
    """
    size = min(len(values), SAMPLE * loaders)
    at = (np.arange(size, dtype=np.int64) * len(values)) // max(size, 1)
    return values[at], len(values) / max(size, 1)


def splitters(samples: list[tuple[np.ndarray, float]], loaders: int) -> list[Any]:
    """Return the first id of each loader's range but the first one's, ascending, at most loaders -
    1; `samples` of all shares, the same on all loaders.
    """
    weighted = sorted((value, weight) for values, weight in samples for value in values.tolist())
    total = sum(weight for _, weight in weighted)
    found: list[Any] = []
    passed = 0.0
    for value, weight in weighted:
        while len(found) < loaders - 1 and passed >= total * (len(found) + 1) / loaders:
            found.append(value)
        passed += weight
    return found


def ranges(values: np.ndarray, splitters: list[Any], loaders: int) -> list[slice]:
    """Return by loader the slice of these ascending ids that is in its range."""
    cuts = [bisect_left(values, splitter) for splitter in splitters]  # type: ignore[type-var]
    cuts += [len(values)] * (loaders - 1 - len(cuts))
    return [slice(lo, hi) for lo, hi in zip([0, *cuts], [*cuts, len(values)], strict=True)]
