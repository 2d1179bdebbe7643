"""The cut of a graph into parts: where the rows and the master of each vertex are, by the parts of
its edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.integers import index_dtype
from tux.base.parallel import spread
from tux.graph.orders import order_of
from tux.graph.parts import (
    EdgePart,
    Part,
    TypePart,
    hold_out,
    invert_order,
    local_rows,
    master_numbers,
    positions_of_ends,
    routes_between,
)
from tux.graph.sorting import count_keys
from tux.partition.masters import homes
from tux.partition.replicas import gather_replicas


@dataclass(frozen=True)
class _Cut:
    """The places of one type's vertices: per worker the ascending positions that have a row there,
    and the home of each position.
    """

    held: list[np.ndarray]  # a vertex without edges at its home
    home: np.ndarray  # (vertices,) int16
    cut: bool


def _place(positions_by_part: list[np.ndarray], n: int, k: int, seed: int) -> _Cut:
    """Place the vertices of a type, and their masters by load and locality. A vertex without edges
    is placed only where masters are fewest.
    """
    replicas = gather_replicas(positions_by_part, n)
    bounds = np.cumsum([0, *np.bincount(replicas.part, minlength=k)])
    vertex = np.repeat(np.arange(n), replicas.counts)[np.argsort(replicas.part, kind="stable")]
    held = [vertex[bounds[part] : bounds[part + 1]] for part in range(k)]
    home = homes(replicas, k, seed)
    if len(alone := np.flatnonzero(replicas.counts == 0)):
        held = [
            np.sort(np.concatenate([own, alone[home[alone] == part]]))
            for part, own in enumerate(held)
        ]
    return _Cut(held, home, bool((replicas.counts > 1).any()))


class _TypedEdges:
    """The edges of one type while a graph is cut: the positions (m,) of both ends, and for each
    part the numbers of its edges.
    """

    def __init__(
        self, data: EdgeData, position_of: dict[str, np.ndarray], parts: np.ndarray, k: int
    ) -> None:
        self.data, self.ends = data, positions_of_ends(data, position_of)
        self.members = spread(lambda part: np.flatnonzero(parts == part), range(k))
        self.degrees = tuple(
            count_keys(end, len(position_of[of])).astype(np.int32)
            for end, of in zip(self.ends, data.ends, strict=True)
        )

    def positions_of(self, name: str, part: int) -> list[np.ndarray]:
        """List the positions of a vertex type at the ends of the edges of a part."""
        sides = zip(self.ends, self.data.ends, strict=True)
        return [end[self.members[part]] for end, of in sides if of == name]

    def of_part(self, part: int, types: dict[str, list[TypePart]]) -> EdgePart:
        """Return the edges of a part, as its rows."""
        members = self.members[part]
        src, dst = (
            local_rows(types[of][part].rows, types[of][part].vertices)[end[members]]
            for end, of in zip(self.ends, self.data.ends, strict=True)
        )
        fields = {name: array[members] for name, array in self.data.fields.items()}
        return EdgePart(self.data.ends, (self.degrees[0], self.degrees[1]), src, dst, fields)


def cut(
    data: EdgeData,
    test: EdgeData | None,
    parts: np.ndarray,
    k: int,
    seed: int,
    held_out: str = "",
) -> list[Part]:
    """Cut a graph into k parts, edge i into parts[i]; edges of other types follow those of `data`,
    type by type. See `hold_out` for the held-out edges `test`.

    Workers without edges, types without vertices on a worker, and more workers than edges are all
    fine.
    """
    orders = {name: order_of(data, name, seed) for name in data.ids}
    position_of = {name: invert_order(order) for name, order in orders.items()}
    lengths = [len(each) for each in data.by_type.values()]
    shares = np.split(parts, np.cumsum(lengths)[:-1])
    edges = {
        name: _TypedEdges(each, position_of, share, k)
        for (name, each), share in zip(data.by_type.items(), shares, strict=True)
    }
    types = {}
    for name, order in orders.items():
        positions = partial(_positions_in_part, [*edges.values()], name)
        placed = _place(spread(positions, range(k)), len(order), k, seed)
        known = data.vertex_fields.get(name, {})
        types[name] = [
            replace(each, data=known)
            for each in _type_parts(name, data.ids[name], order, placed, k)
        ]
    nothing = np.empty(0, np.int32)

    def bare(part: int) -> Part:
        mine = {name: each[part] for name, each in types.items()}
        first, *others = (each.of_part(part, types) for each in edges.values())
        _, degrees, src, dst, fields = first
        named = dict(zip(data.others, others, strict=True))
        return Part(mine, degrees, src, dst, fields, nothing, nothing, {}, others=named)

    out = spread(bare, range(k))
    return hold_out(out, test, seed, held_out) if test is not None else out


def _positions_in_part(edges: Sequence[_TypedEdges], name: str, part: int) -> np.ndarray:
    """Return the positions of a vertex type that edges of a part touch."""
    return np.concatenate([end for each in edges for end in each.positions_of(name, part)])


def _type_parts(name: str, ids: Ids, order: np.ndarray, placed: _Cut, k: int) -> list[TypePart]:
    kind = index_dtype(len(placed.home))
    mastered = [np.flatnonzero(placed.home == h).astype(kind) for h in range(k)]
    rows = [
        np.asarray(placed.held[part] if placed.cut else mastered[part], kind) for part in range(k)
    ]
    number = master_numbers(mastered, len(placed.home))
    none: list[np.ndarray] = [np.empty(0, np.int32)] * k
    out = []
    for part in range(k):
        up, down = (
            routes_between(rows, placed.home, number, part, k, range_of=lambda w: (0, len(rows[w])))
            if placed.cut
            else (none, none)
        )
        rest = (mastered[part], up, down, none, none, placed.home, number)
        out.append(
            TypePart(
                name, ids, order, len(placed.home), placed.cut, rows[part], len(rows[part]), *rest
            )
        )
    return out
