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
from typing import NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.integers import distinct_integers, index_dtype
from tux.arrays.lookup import look_up
from tux.base.hashing import by_hash
from tux.graph.stored_arrays import Indices


@dataclass(frozen=True)
class TypePart:
    """The share of one worker in a vertex type.

    `rows` (n,): positions of the local rows: ascending for the first `n_train`, which have training
    edges here (or, of a whole type and of vertices without edges, their home); then those that only
    held-out edges need. `masters` (s,): ascending positions mastered here. `up[h]`: local rows
    mastered by worker h; `down[w]`: numbers in `masters` of the vertices that worker w holds, in
    the same order. `peek_up`, `peek_down`: the same for rows that only held-out edges need. All
    int32; positions int64 where `index_dtype` says so.
    """

    name: str
    ids: Ids
    # (all vertices,) dense index of each position; those of the training graph first
    order: Indices
    vertices: int  # vertices of the training graph
    cut: bool
    rows: np.ndarray
    n_train: int
    masters: np.ndarray
    up: list[np.ndarray]
    down: list[np.ndarray]
    peek_up: list[np.ndarray]
    peek_down: list[np.ndarray]
    home: Indices  # (vertices,) int16: the worker of each position's master, and
    number: Indices  # (vertices,) int32: its number there
    # fields of the data by name, of each vertex by dense index, over all workers
    data: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def homes_of_rows(self) -> np.ndarray:
        """The worker of the master of each row (n_train,) int16, where the type is cut."""
        homes = np.empty(self.n_train, np.int16)
        for home, rows in enumerate(self.up):
            homes[rows] = home
        return homes

    def beginning(self, most: int) -> TypePart:
        """Keep only the first rows, at most so many of training and of held-out edges alone, and of
        masters and routes those about them, which do not fit those of other workers any more.
        """
        n, some = self.n_train, min(self.n_train, most)
        rows = np.concatenate([self.rows[:some], self.rows[n : n + most]])
        masters = self.masters[:most]

        def first(lists: list[np.ndarray], below: int, offset: int = 0) -> list[np.ndarray]:
            return [each[each < below] - offset for each in (whole[:most] for whole in lists)]

        return replace(
            self,
            rows=rows,
            n_train=some,
            masters=masters,
            up=first(self.up, some),
            down=first(self.down, len(masters)),
            peek_up=first(self.peek_up, n + len(rows) - some, n - some),
            peek_down=first(self.peek_down, len(masters)),
        )

    def beginning_of(self, ends: np.ndarray, most: int) -> np.ndarray:
        """Return ends of edges as rows of `beginning`, each as some row of its kind."""
        n, some = self.n_train, min(self.n_train, most)
        others = some + (ends - n) % max(min(len(self.rows) - n, most), 1)
        return np.where(ends < n, ends % max(some, 1), others)


class EdgePart(NamedTuple):
    """The training edges of one type that one worker holds: the vertex types of their ends, their
    `degrees` as in `Part`, their ends as local rows (m,) int32, and fields.
    """

    ends: tuple[str, str]
    degrees: tuple[Indices, Indices]
    src: np.ndarray
    dst: np.ndarray
    fields: dict[str, np.ndarray]

    def beginning(self, most: int, types: Mapping[str, TypePart]) -> EdgePart:
        """Keep only the first edges, at most so many, between first rows of `types`."""
        first, second = (types[end] for end in self.ends)
        src = first.beginning_of(self.src[:most], most)
        dst = second.beginning_of(self.dst[:most], most)
        fields = {name: column[:most] for name, column in self.fields.items()}
        return self._replace(src=src, dst=dst, fields=fields)


@dataclass(frozen=True)
class Part:
    """The part of a graph that one worker holds: its vertex types, and its training and held-out
    edges as local rows (m,) int32 with fields.

    `degrees`: for either end, the training edges of each position of its type, over all workers
    (vertices,) int32.
    """

    types: dict[str, TypePart]
    degrees: tuple[Indices, Indices]
    src: np.ndarray
    dst: np.ndarray
    fields: dict[str, np.ndarray]
    test_src: np.ndarray
    test_dst: np.ndarray
    test_fields: dict[str, np.ndarray]
    # arrays of a `tux.graph.topology.Topology`, the same on all workers
    topology: Mapping[str, np.ndarray] = field(default_factory=dict)
    has_test: bool = False  # whether edges are held out, here or on another worker
    # training edges of other types, by name
    others: Mapping[str, EdgePart] = field(default_factory=dict)

    def along(self, name: str) -> Part:
        """Return the part with the edges of another type, of which none is held out."""
        none = np.empty(0, np.int32)
        _, degrees, src, dst, fields = self.others[name]
        return Part(self.types, degrees, src, dst, fields, none, none, {}, self.topology)

    def beginning(self, most: int, ends: tuple[str, str]) -> Part:
        """Keep only the first edges, held-out edges and rows, at most so many of each. Edges join
        other rows than before, `ends` being their types: it is a part to compile for alone.
        """
        own = EdgePart(ends, self.degrees, self.src, self.dst, self.fields)
        held = EdgePart(ends, self.degrees, self.test_src, self.test_dst, self.test_fields)
        own, held = own.beginning(most, self.types), held.beginning(most, self.types)
        return replace(
            self,
            types={name: each.beginning(most) for name, each in self.types.items()},
            src=own.src,
            dst=own.dst,
            fields=own.fields,
            test_src=held.src,
            test_dst=held.dst,
            test_fields=held.fields,
            others={name: each.beginning(most, self.types) for name, each in self.others.items()},
        )


def positions_of_ends(
    data: EdgeData, position_of: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of both ends of edges, (m,) each."""
    first, second = data.ends
    return look_up(position_of[first], data.src), look_up(position_of[second], data.dst)


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
    ends = positions_of_ends(test, {name: invert_order(order) for name, order in orders.items()})
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
    local = {name: local_rows(t.rows, len(test.ids[name])) for name, t in types.items()}
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
        np.concatenate([t.rows, np.setdiff1d(more, t.rows, assume_unique=True)]).astype(
            index_dtype(len(test.ids[name])), copy=False
        )
        for t, more in zip(parts, needed, strict=True)
    ]
    number = master_numbers([t.masters for t in parts], parts[0].vertices)
    out = []
    for w, t in enumerate(parts):
        up, down = routes_between(
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


def invert_order(order: np.ndarray) -> np.ndarray:
    """Return the position of each dense index."""
    return np.argsort(order).astype(index_dtype(len(order)), copy=False)


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


def master_numbers(mastered: list[np.ndarray], n: int) -> np.ndarray:
    """Return, for each position (n,), its number among its home's masters."""
    number = np.empty(n, np.int32)
    for masters in mastered:
        number[masters] = np.arange(len(masters))
    return number


def routes_between(rows, home, number, part, k, range_of):  # type: ignore[no-untyped-def]
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


def local_rows(rows: np.ndarray, n: int) -> np.ndarray:
    """Return the place in `rows` of each of n numbers, positions or indices, (n,) int32; -1 where
    it is not there.
    """
    local = np.full(n, -1, np.int32)
    local[rows] = np.arange(len(rows), dtype=np.int32)
    return local
