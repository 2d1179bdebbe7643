"""A partitioned graph: the rows that each worker holds, those that it masters, and the routes
between workers.

Positions number the vertices of a type in its one seeded order. A worker's rows and masters are
ascending lists of positions, so a block of a mini-batch, which is a range of positions, is a
contiguous range of rows on every worker. Routes are static and known to both ends, in the same
order, so messages carry no ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.integers import distinct_integers
from tux.arrays.lookup import look_up
from tux.base.hashing import by_hash
from tux.base.parallel import spread
from tux.graph.orders import order_of
from tux.graph.sorting import count_keys
from tux.partition.masters import homes
from tux.partition.replicas import gather_replicas


@dataclass(frozen=True)
class TypePart:
    """The share of one worker in a vertex type.

    `rows` (n,): positions of the local rows: ascending for the first `n_train`, which have training
    edges here (or, of a whole type and of vertices without edges, their home); then those that only
    held-out edges need. `masters` (s,): ascending positions mastered here. `up[h]`: local rows
    mastered by worker h; `down[w]`: numbers in `masters` of the vertices that worker w holds, in
    the same order. `peek_up`, `peek_down`: the same for rows that only held-out edges need. All
    int32.
    """

    name: str
    ids: Ids
    # (all vertices,) dense index of each position; those of the training graph first
    order: np.ndarray
    vertices: int  # vertices of the training graph
    cut: bool
    rows: np.ndarray
    n_train: int
    masters: np.ndarray
    up: list[np.ndarray]
    down: list[np.ndarray]
    peek_up: list[np.ndarray]
    peek_down: list[np.ndarray]
    home: np.ndarray  # (vertices,) int16: the worker of each position's master, and
    number: np.ndarray  # (vertices,) int32: its number there
    # fields of the data by name, of each vertex by dense index, over all workers
    data: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """The part of a graph that one worker holds: its vertex types, and its training and held-out
    edges as local rows (m,) int32 with fields.

    `degrees`: for either end, the training edges of each position of its type, over all workers
    (vertices,) int32.
    """

    types: dict[str, TypePart]
    degrees: tuple[np.ndarray, np.ndarray]
    src: np.ndarray
    dst: np.ndarray
    fields: dict[str, np.ndarray]
    test_src: np.ndarray
    test_dst: np.ndarray
    test_fields: dict[str, np.ndarray]
    # arrays of a `tux.graph.topology.Topology`, the same on all workers
    topology: Mapping[str, np.ndarray] = field(default_factory=dict)
    has_test: bool = False  # whether edges are held out, here or on another worker

    def beginning(self, most: int) -> Part:
        """Keep only the first edges and held-out edges, at most so many of each."""
        fields = {name: column[:most] for name, column in self.fields.items()}
        test_fields = {name: column[:most] for name, column in self.test_fields.items()}
        return replace(
            self,
            src=self.src[:most],
            dst=self.dst[:most],
            fields=fields,
            test_src=self.test_src[:most],
            test_dst=self.test_dst[:most],
            test_fields=test_fields,
        )


def _ends(data: EdgeData, position_of: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    first, second = data.ends
    return look_up(position_of[first], data.src), look_up(position_of[second], data.dst)


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


def cut(
    data: EdgeData,
    test: EdgeData | None,
    parts: np.ndarray,
    k: int,
    seed: int,
    held_out: str = "",
) -> list[Part]:
    """Cut a graph into k parts, edge i into parts[i]. See `hold_out` for the held-out edges `test`.

    Workers without edges, types without vertices on a worker, and more workers than edges are all
    fine.
    """
    counts = {name: len(data.ids[name]) for name in data.ids}
    orders = {name: order_of(data, name, seed) for name in counts}
    ends = _ends(data, {name: _inverse(order) for name, order in orders.items()})
    members = spread(lambda part: np.flatnonzero(parts == part), range(k))
    types = {}
    for name, n in counts.items():
        sides = [end for end, of in zip(ends, data.ends, strict=True) if of == name]
        placed = _place(spread(partial(_ends_of_edges, sides), members), n, k, seed)
        known = data.vertex_fields.get(name, {})
        types[name] = [
            replace(each, data=known)
            for each in _type_parts(name, data.ids[name], orders[name], placed, k)
        ]
    degrees = [
        count_keys(end, counts[of]).astype(np.int32)
        for end, of in zip(ends, data.ends, strict=True)
    ]
    nothing = np.empty(0, np.int32)

    def bare(part: int) -> Part:
        local = {name: _local_rows(types[name][part].rows, n) for name, n in counts.items()}
        edges = [local[of][end[members[part]]] for end, of in zip(ends, data.ends, strict=True)]
        fields = {name: array[members[part]] for name, array in data.fields.items()}
        mine = {name: each[part] for name, each in types.items()}
        both = (degrees[0], degrees[1])
        return Part(mine, both, edges[0], edges[1], fields, nothing, nothing, {})

    out = spread(bare, range(k))
    return hold_out(out, test, seed, held_out) if test is not None else out


def _ends_of_edges(sides: list[np.ndarray], members: np.ndarray) -> np.ndarray:
    """Return the vertices at these ends of some edges, by the numbers of the edges."""
    return np.concatenate([side[members] for side in sides])


def hold_out(parts: list[Part], test: EdgeData, seed: int, held_out: str = "") -> list[Part]:
    """Add the held-out edges of `test`, whose ids extend those of the parts, to parts that have
    none. Each edge goes where an end of it is whole, or to the home of its end of the type
    `held_out`.
    """
    k, types = len(parts), parts[0].types
    orders = {
        name: np.concatenate([t.order, np.arange(t.vertices, len(test.ids[name]))])
        for name, t in types.items()
    }
    ends = _ends(test, {name: _inverse(order) for name, order in orders.items()})
    home_of = {name: _homes([part.types[name] for part in parts]) for name in types}
    is_cut = {name: t.cut and name != held_out for name, t in types.items()}
    if held_out:
        is_cut |= dict.fromkeys(set(test.ends) - {held_out}, True)
    placed = _test_parts(test.ends, ends, home_of, is_cut, k, seed)
    members = [np.flatnonzero(placed == part) for part in range(k)]
    grown = {
        name: _held_out_type(
            [part.types[name] for part in parts],
            _needed_positions(
                test.ends, ends, members, name, t.vertices, len(test.ids[name]), seed
            ),
            home_of[name],
            orders[name],
            test,
        )
        for name, t in types.items()
    }
    return [
        _with_test_edges(part, {name: grown[name][at] for name in types}, test, ends, members[at])
        for at, part in enumerate(parts)
    ]


def _with_test_edges(
    part: Part,
    types: dict[str, TypePart],
    test: EdgeData,
    ends: tuple[np.ndarray, ...],
    edges: np.ndarray,
) -> Part:
    """Return `part` with `types`, which have the vertices of held-out `edges` of `test` too, and
    with these edges. `ends` are positions of all held-out edges.
    """
    local = {name: _local_rows(t.rows, len(test.ids[name])) for name, t in types.items()}
    src, dst = (local[of][end[edges]] for end, of in zip(ends, test.ends, strict=True))
    fields = {name: array[edges] for name, array in test.fields.items()}
    return replace(part, types=types, test_src=src, test_dst=dst, test_fields=fields, has_test=True)


def _held_out_type(
    parts: list[TypePart],
    needed: list[np.ndarray],
    home: np.ndarray,
    order: np.ndarray,
    test: EdgeData,
) -> list[TypePart]:
    """Add to one type the rows that held-out edges need: positions `needed`, by worker."""
    name, k = parts[0].name, len(parts)
    rows = [
        np.concatenate([t.rows, np.setdiff1d(more, t.rows, assume_unique=True)]).astype(np.int32)
        for t, more in zip(parts, needed, strict=True)
    ]
    number = _master_numbers([t.masters for t in parts], parts[0].vertices)
    out = []
    for w, t in enumerate(parts):
        up, down = _routes(
            rows, home, number, w, k, range_of=lambda w: (parts[w].n_train, len(rows[w]))
        )
        out.append(
            replace(
                t,
                ids=test.ids[name],
                order=order,
                rows=rows[w],
                peek_up=up,
                peek_down=down,
                data={**t.data, **test.vertex_fields.get(name, {})},
            )
        )
    return out


def remove_rows(part: TypePart) -> TypePart:
    """Remove the rows of a type, of which workers keep masters only."""
    none = np.empty(0, np.int32)
    nowhere = [none] * len(part.up)
    return replace(
        part,
        cut=True,
        rows=none,
        n_train=0,
        up=nowhere,
        down=nowhere,
        peek_up=nowhere,
        peek_down=nowhere,
    )


def _inverse(order: np.ndarray) -> np.ndarray:
    """Return the position of each dense index."""
    return np.argsort(order).astype(np.int32)


def _homes(parts: list[TypePart]) -> np.ndarray:
    """Return the master's worker of each position (vertices,) int16."""
    home = np.empty(parts[0].vertices, np.int16)
    for worker, part in enumerate(parts):
        home[part.masters] = worker
    return home


def _test_parts(
    of: tuple[str, str],
    ends: tuple[np.ndarray, ...],
    home_of: dict[str, np.ndarray],
    cut: dict[str, bool],
    k: int,
    seed: int,
) -> np.ndarray:
    """Choose the worker of each held-out edge: the home of an end that is whole, else of the first
    end; where that is unseen, by hash.
    """
    side = 0 if not cut[of[0]] or cut[of[1]] else 1
    home, positions = home_of[of[side]], ends[side]
    parts = by_hash(positions, k, seed)
    seen = positions < len(home)
    parts[seen] = home[positions[seen]]
    return parts


def _needed_positions(
    of: tuple[str, str],
    ends: tuple[np.ndarray, ...],
    members: list[np.ndarray],
    name: str,
    n_train: int,
    n: int,
    seed: int,
) -> list[np.ndarray]:
    """List per worker the ascending positions of one type that its held-out edges touch, and its
    share of those after `n_train` without any.
    """
    sides = [end for end, each in zip(ends, of, strict=True) if each == name]
    lone = np.ones(n, np.bool_)
    for side in sides:
        lone[side] = False
    bare = np.flatnonzero(lone[n_train:]) + n_train
    home = by_hash(bare, len(members), seed)
    return [
        distinct_integers(np.concatenate([*(side[m] for side in sides), bare[home == w]]))
        for w, m in enumerate(members)
    ]


def _type_parts(name: str, ids: Ids, order: np.ndarray, placed: _Cut, k: int) -> list[TypePart]:
    mastered = [np.flatnonzero(placed.home == h).astype(np.int32) for h in range(k)]
    rows = [
        np.asarray(placed.held[part] if placed.cut else mastered[part], np.int32)
        for part in range(k)
    ]
    number = _master_numbers(mastered, len(placed.home))
    none: list[np.ndarray] = [np.empty(0, np.int32)] * k
    out = []
    for part in range(k):
        up, down = (
            _routes(rows, placed.home, number, part, k, range_of=lambda w: (0, len(rows[w])))
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


def _master_numbers(mastered: list[np.ndarray], n: int) -> np.ndarray:
    """Return, for each position (n,), its number among its home's masters."""
    number = np.empty(n, np.int32)
    for masters in mastered:
        number[masters] = np.arange(len(masters))
    return number


def _routes(rows, home, number, part, k, range_of):  # type: ignore[no-untyped-def]
    """Return (rows of `part` by home, numbers in the masters of `part` by worker), over the local
    rows in range_of(worker).
    """

    def homes_of(w: int) -> np.ndarray:
        lo, hi = range_of(w)
        positions = rows[w][lo:hi]
        return (
            np.where(positions < len(home), home[np.minimum(positions, len(home) - 1)], -1)
            if len(home)
            else np.full(len(positions), -1)
        )

    lo = range_of(part)[0]
    mine = homes_of(part)
    up = [(np.flatnonzero(mine == h) + lo).astype(np.int32) for h in range(k)]
    down = []
    for w in range(k):
        start, stop = range_of(w)
        positions = rows[w][start:stop][homes_of(w) == part]
        down.append(number[positions])
    return up, down


def _local_rows(rows: np.ndarray, n: int) -> np.ndarray:
    """Return the local row of each position (n,) int32; -1 where there is none."""
    local = np.full(n, -1, np.int32)
    local[rows] = np.arange(len(rows), dtype=np.int32)
    return local
