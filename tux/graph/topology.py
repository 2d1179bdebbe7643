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

from tux.base.errors import DataError
from tux.program.fields import data
from tux.rows.table import RowTable


@dataclass(frozen=True)
class Topology:
    """The neighbours of each vertex: those of position v are ``ends[bounds[v] : bounds[v + 1]]``,
    ascending, each once.

    bounds (n + 1,) int64, ends (m,) int32; `sums` float64, (m,) where edges have weights: a
    vertex's weights up to and with each neighbour; otherwise (0,). `more`: arrays that the program
    has computed from them, of any shape.
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

        DataError for a weight that is not above 0.
        """
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
        if weights is None:
            keys.sort()
            keys, sums = keys[np.diff(keys, prepend=-1) > 0], np.empty(0)
        else:
            both = weights if directed else np.concatenate([weights, weights])
            order = np.argsort(keys, kind="stable")
            keys, first = np.unique(keys[order], return_index=True)
            each = (
                np.add.reduceat(both[order].astype(np.float64), first)
                if len(first)
                else np.empty(0)
            )
            sums = _running_sums(each, keys // max(n, 1))
        bounds = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * n)
        return Topology(bounds, (keys % max(n, 1)).astype(np.int32), sums)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name."""
        return {"bounds": self.bounds, "ends": self.ends, "sums": self.sums} | dict(self.more)

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> Topology:
        """Make the topology whose `arrays` these are."""
        more = {
            name: array for name, array in arrays.items() if name not in ("bounds", "ends", "sums")
        }
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


def _running_sums(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Add up `values` from the first of each group on. Group by group, so that small sums are not
    lost in that of all.
    """
    sums = np.cumsum(values)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    before = np.repeat(
        np.concatenate([[0.0], sums])[starts], np.diff(np.append(starts, len(values)))
    )
    return sums - before
