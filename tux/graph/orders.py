"""The one order that the vertices of a type have on all workers: a function of the seed."""

from __future__ import annotations

import numpy as np

from tux.arrays.edges import TOGETHER, EdgeData
from tux.base.random import key, permutation


def seeded_order(seed: int, side: int, n: int, together: np.ndarray | None = None) -> np.ndarray:
    """Return the dense index of each position (n,): the order of the vertices of a type, which
    first occurs at end `side` of all edge types, whatever its name.

    Vertices with one number in `together` (n,) are neighbours in it; their groups come in a random
    order too.
    """
    order = permutation(order_key(seed, side), n)
    if together is None:
        return order
    values, group = np.unique(together[order], return_inverse=True)
    return order[
        np.argsort(permutation(key(seed, "groups", side), len(values))[group], kind="stable")
    ]


def order_key(seed: int, side: int) -> np.uint64:
    """Return the key of the order of the vertices of a type, which first occurs at end `side`."""
    return key(seed, "order", side)


def order_of(data: EdgeData, name: str, seed: int) -> np.ndarray:
    """Return the order of the vertices of a type of `data`. Vertices of one group, by its vertex
    field `together`, are neighbours in it.
    """
    return seeded_order(
        seed,
        data.vertex_types.index(name),
        len(data.ids[name]),
        data.vertex_fields.get(name, {}).get(TOGETHER),
    )
