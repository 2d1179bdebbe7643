"""A whole graph of one vertex type as neighbour lists, for stages that generate edges: each worker
may look at all of it.

Vertices are numbered by their positions in the type's seeded order, which do not depend on the
number of workers. The arrays are laid down once a machine and mapped by its workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tux.arrays.integers import check_pairs, index_dtype
from tux.base.compiled import cached_njit
from tux.base.errors import DataError
from tux.program.fields import data
from tux.rows.table import RowTable, freeze

WEIGHT = "weight"
"""The data field of edges by which neighbours have weights."""

ARRAYS = ("bounds", "ends", "sums")
"""The arrays of every topology, by name."""


@dataclass(frozen=True)
class Topology:
    """The neighbours of each vertex: those of position v are ``ends[bounds[v] : bounds[v + 1]]``,
    ascending, each once.

    bounds (n + 1,) int64, ends (m,) of `index_dtype`; `sums` float64, (m,) where edges have
    weights: a vertex's weights up to and with each neighbour; otherwise (0,). `more`: arrays that
    the program has computed from them, of any shape.
    """

    bounds: np.ndarray
    ends: np.ndarray
    sums: np.ndarray = field(default_factory=partial(np.empty, 0))
    more: Mapping[str, np.ndarray] = field(default_factory=dict)

    @staticmethod
    def of(
        src: np.ndarray,
        dst: np.ndarray,
        n: int,
        *,
        directed: bool,
        weights: np.ndarray | None = None,
    ) -> Topology:
        """Make the topology of edges (m,) between positions. Undirected: each edge leads both ways.
        Loops lead nowhere, and are left out; the weights of repeated edges add up.

        DataError for a weight that is not above 0, and for too many vertices.
        """
        check_pairs(n)
        if weights is not None and len(weights) and not weights.min() > 0:
            raise DataError(
                f"an edge of weight {weights.min()}",
                do="Give weights above 0, or leave such edges out.",
            )
        apart = src != dst
        src, dst, weights = src[apart], dst[apart], None if weights is None else weights[apart]
        keys = src.astype(np.int64) * n + dst
        if not directed:
            keys = np.concatenate([keys, dst.astype(np.int64) * n + src])
            weights = None if weights is None else np.concatenate([weights, weights])
        return Topology(*neighbour_lists(keys, weights, n, range(n)))

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name."""
        return {"bounds": self.bounds, "ends": self.ends, "sums": self.sums} | dict(self.more)

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> Topology:
        """Make the topology whose `arrays` these are."""
        more = {name: array for name, array in arrays.items() if name not in ARRAYS}
        return Topology(arrays["bounds"], arrays["ends"], arrays["sums"], more)

    @property
    def table(self) -> RowTable:
        """The table of one row whose fields are the arrays: `topology` in UDFs."""
        arrays = {name: np.asarray(array)[None] for name, array in self.arrays.items()}
        return RowTable(
            "topology", {name: data(*_spec(array)) for name, array in arrays.items()}, arrays
        )


def _spec(array: np.ndarray) -> tuple[str | int, ...]:
    return (f"{array.dtype.kind}{array.dtype.itemsize}", *array.shape[1:])


def neighbour_lists(
    keys: np.ndarray, weights: np.ndarray | None, n: int, vertices: range
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bounds, ends and sums of the lists of some `vertices` of n, as in a `Topology`:
    `keys` (m,) int64 are ``source * n + end`` of their edges, in the order of the input, which
    `weights` (m,) have too. The keys are changed.
    """
    bounds = np.zeros(len(vertices) + 1, np.int64)
    ends = np.empty(len(keys), index_dtype(n))
    if weights is None:
        keys.sort()
        count, sums = _list_ends(keys, n, vertices.start, bounds, ends), np.empty(0)
    else:
        order, sums = np.argsort(keys, kind="stable"), np.empty(len(keys))
        given = freeze(np.asarray(weights))
        count = _list_weights(keys, order, given, n, vertices.start, bounds, ends, sums)
        sums.resize(count, refcheck=False)
    ends.resize(count, refcheck=False)
    return np.cumsum(bounds, out=bounds), ends, sums


@cached_njit
def _list_ends(keys, n, first, bounds, ends):  # type: ignore[no-untyped-def]
    """Write the end of each different one of some ascending keys to `ends`, and how many each
    source has, from `first` on, to `bounds`, behind its place. Return how many there are.
    """
    count, last = 0, np.int64(-1)
    for key in keys:
        if key != last:
            source = key // n
            bounds[source - first + 1] += 1
            ends[count] = key - source * n
            count, last = count + 1, key
    return count


@cached_njit
def _list_weights(keys, order, weights, n, first, bounds, ends, sums):  # type: ignore[no-untyped-def]
    """Do as `_list_ends` for keys in their `order`, and write the sums of the weights of a source
    up to and with each end. Each source begins anew, so that small sums are not lost in that of
    all.
    """
    count, last, before, total = 0, np.int64(-1), np.int64(-1), 0.0
    for at in order:
        key = keys[at]
        if key != last:
            source = key // n
            if source != before:
                before, total = source, 0.0
            bounds[source - first + 1] += 1
            ends[count] = key - source * n
            count, last = count + 1, key
        total += weights[at]
        sums[count - 1] = total
    return count
