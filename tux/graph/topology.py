"""A whole graph of one vertex type as neighbour lists, for stages that generate edges: each worker
may look at all of it.

Vertices are numbered by their positions in the type's seeded order, which do not depend on the
number of workers. The arrays are laid down once a machine and mapped by its workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, ProgramError
from tux.graph.orders import order_of
from tux.graph.parts import Part
from tux.program.fields import data
from tux.program.program import Program
from tux.program.returns import call_hook
from tux.rows.table import RowTable


@dataclass(frozen=True)
class Topology:
    """The neighbours of each vertex: those of position v are ``ends[bounds[v] : bounds[v + 1]]``,
    ascending, each once.

    bounds (n + 1,) int64, ends (m,) int32; `sums` (m,) float64 where edges have weights: a vertex's
    weights up to and with each neighbour. `more`: arrays that the program has computed from them,
    of any shape.
    """

    bounds: np.ndarray
    ends: np.ndarray
    sums: np.ndarray | None = None
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
            keys, sums = keys[np.diff(keys, prepend=-1) > 0], None
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
        own = {"bounds": self.bounds, "ends": self.ends}
        return own | ({"sums": self.sums} if self.sums is not None else {}) | dict(self.more)

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> Topology:
        """Make the topology whose `arrays` these are."""
        more = {
            name: array for name, array in arrays.items() if name not in ("bounds", "ends", "sums")
        }
        return Topology(arrays["bounds"], arrays["ends"], arrays.get("sums"), more)

    @property
    def table(self) -> RowTable:
        """The table of one row whose fields are the arrays: `topology` in UDFs."""
        arrays = {name: np.asarray(array)[None] for name, array in self.arrays.items()}
        return RowTable(
            "topology", {name: data(*_spec(array)) for name, array in arrays.items()}, arrays
        )


def topology_kind(program: Program) -> str:
    """Return the topology that a program asks for: "directed", "undirected" or ""; else
    ProgramError.
    """
    return call_hook(program.input, "topology", program)


def topology_of_parts(program: Program, parts: Sequence[Part]) -> Topology:
    """Make the topology from the edges of all parts, which know their vertices by position."""
    name = program.edge.ends[0]
    src, dst = (
        np.concatenate([part.types[name].rows[getattr(part, end)] for part in parts])
        for end in ("src", "dst")
    )
    weights = (
        np.concatenate([part.fields["weight"] for part in parts])
        if "weight" in parts[0].fields
        else None
    )
    n, kind = parts[0].types[name].vertices, topology_kind(program)
    return _add_tables(
        program, Topology.of(src, dst, n, directed=kind == "directed", weights=weights)
    )


def topology_of(program: Program, edges: EdgeData, seed: int) -> Topology | None:
    """Make the topology that a program asks for, with the arrays that it computes from it; None if
    it asks for none, or there are no edges.
    """
    kind = topology_kind(program)
    if not kind or not len(edges):
        return None
    if edges.ends[0] != edges.ends[1]:
        raise ProgramError(
            f"{type(program).__name__} looks at neighbours of one type, but its edges join two"
        )
    n, weights = len(edges.ids[edges.ends[0]]), edges.fields.get("weight")
    _check_weights(edges, weights)
    position_of = np.empty(n, np.int32)
    position_of[order_of(edges, edges.ends[0], seed)] = np.arange(n, dtype=np.int32)
    topology = Topology.of(
        position_of[edges.src],
        position_of[edges.dst],
        n,
        directed=kind == "directed",
        weights=weights,
    )
    return _add_tables(program, topology)


def _check_weights(edges: EdgeData, weights: np.ndarray | None) -> None:
    """Raise DataError for the first edge whose weight is not above 0, with its ends."""
    if weights is None or not len(wrong := np.flatnonzero(~(weights > 0))):
        return
    at = int(wrong[0])
    ends = (
        (end, codes[at : at + 1])
        for end, codes in zip(edges.ends, (edges.src, edges.dst), strict=True)
    )
    source, target = (str(edges.ids[end].decode(code)[0]) for end, code in ends)
    raise DataError(
        f"the edge from {source} to {target} has the weight {weights[at]:g}",
        where=f"edge {at + 1:,}, without bad rows",
        do="Give weights above 0, or leave such edges out.",
    )


def _add_tables(program: Program, topology: Topology) -> Topology:
    """Add the arrays that the program's input computes from the topology."""
    tables = call_hook(program.input, "extra_tables", program, topology)
    return replace(
        topology, more={name: np.ascontiguousarray(table) for name, table in tables.items()}
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
