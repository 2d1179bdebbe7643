"""The combinations by which a master joins the values of several replicas: changes of shared
fields, and deltas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _pair_combiner(
    better: Callable[[Any, Any], Any],
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a function that combines values with their keys: of two it takes the better, of equal
    ones that of the smaller key. Its arrays have value, key, value, key ... along the last axis.
    """

    def combine(held: np.ndarray, given: np.ndarray) -> np.ndarray:
        pairs = held.reshape(-1, 2), given.reshape(-1, 2)
        (value, key), (new, of_new) = (each.T for each in pairs)
        take = better(new, value) | (new == value) & (of_new < key)
        return np.where(take[:, None], pairs[1], pairs[0]).reshape(held.shape)

    return combine


Merge = Callable[[Any, Any], Any]
"""A function of the user that combines two values of a delta: of two numbers it returns one; of two
arrays it changes the first.
"""

COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "mean": np.add,
    "replica_mean": np.add,
    "sqrt_mean": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "argmin": _pair_combiner(np.less),
    "argmax": _pair_combiner(np.greater),
}


def fold_copies(combine: str, copies: np.ndarray) -> np.ndarray:
    """Return the minimum or the maximum of all copies (n, ...), with keys or without: the same as
    if `COMBINE` combined one after the other.
    """
    best: np.ndarray = getattr(np, combine.removeprefix("arg"))(copies, axis=0)
    if combine in PAIRED:
        value, key = best[..., 0], copies[..., 1]
        best[..., 1] = np.where(copies[..., 0] == value, key, np.inf).min(axis=0)
    return best


PAIRED = ("argmin", "argmax")
"""Combinations of a value with its key."""

# the combinations of a kind
COMBINES = {"shared": ("sum", "mean", "replica_mean", "sqrt_mean"), "delta": ("sum", "min", "max")}
MEANS = ("mean", "replica_mean")
"""Combinations over the replicas of a vertex."""
