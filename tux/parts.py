"""A partitioned graph: which rows each worker holds, which it masters, and the routes between them.

Positions number the vertices of a type in its one seeded order. A worker's rows and masters are ascending lists of positions, so a
block of a mini-batch, which is a range of positions, is a contiguous range of rows on every worker. Routes are static and known to both
ends, in the same order, so messages carry no ids.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tux.edges import EdgeData
from tux.ids import Ids
from tux.partition.hashing import by_hash
from tux.random import key, permutation


@dataclass(frozen=True)
class TypePart:
    """One vertex type on one worker.

    `rows` (n,): positions of the local rows: ascending for the first `known`, which have training edges (or, of a whole type, their
    home) here; then those that only held-out edges need. `masters` (s,): ascending positions mastered here. `up[h]`: local rows
    mastered by worker h; `down[w]`: numbers in `masters` of the vertices that worker w holds, in the same order. `peek_up`,
    `peek_down`: the same for rows that only held-out edges need. All int32.
    """

    name: str
    ids: Ids
    order: np.ndarray  # (all vertices,) dense index of each position; those of the training graph first
    vertices: int  # vertices of the training graph
    cut: bool
    rows: np.ndarray
    known: int
    masters: np.ndarray
    up: list[np.ndarray]
    down: list[np.ndarray]
    peek_up: list[np.ndarray]
    peek_down: list[np.ndarray]


@dataclass(frozen=True)
class Part:
    """What one worker holds: its vertex types, and its training and held-out edges as local rows (m,) int32 with fields.

    `degrees`: for either end, the training edges of each position of its type, over all workers (vertices,) int32.
    """

    types: dict[str, TypePart]
    degrees: tuple[np.ndarray, np.ndarray]
    src: np.ndarray
    dst: np.ndarray
    fields: dict[str, np.ndarray]
    test_src: np.ndarray
    test_dst: np.ndarray
    test_fields: dict[str, np.ndarray]
    test_index: np.ndarray  # place of each held-out edge in the file


def _ends(data: EdgeData, position_of: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    first, second = data.ends
    return position_of[first][data.src], position_of[second][data.dst]


@dataclass(frozen=True)
class _Cut:
    """Where one type's vertices are: per worker the ascending positions with edges there, and the home of each position."""

    held: list[np.ndarray]
    home: np.ndarray  # (vertices,) int16
    cut: bool


def _place(positions_by_part: list[np.ndarray], n: int, k: int, seed: int) -> _Cut:
    """Choose each vertex's master among the workers that hold it, evenly by hash; a vertex without edges gets a home by hash."""
    held = [np.unique(p) for p in positions_by_part]
    replicas = np.bincount(np.concatenate(held), minlength=n) if held else np.zeros(n, np.int64)
    draw = by_hash(np.arange(n), 32_767, seed)
    chosen = np.where(replicas > 0, draw % np.maximum(replicas, 1), 0)
    home = (draw % k).astype(np.int16)
    seen = np.zeros(n, np.int64)
    for part, positions in enumerate(held):
        here = chosen[positions] == seen[positions]
        home[positions[here]] = part
        seen[positions] += 1
    return _Cut(held, home, bool((replicas > 1).any()))


def cut(data: EdgeData, test: EdgeData | None, parts: np.ndarray, k: int, seed: int) -> list[Part]:
    """The k parts of a graph whose edge i goes to worker parts[i]. `test`'s ids extend those of `data`; its edges go where an end is whole.

    Workers without edges, types without vertices on a worker, and more workers than edges are all fine.
    """
    last = test or data
    known = {name: len(data.ids[name]) for name in data.ids}
    orders = {
        name: np.concatenate([permutation(key(seed, "order", name), known[name]), np.arange(known[name], len(last.ids[name]))])
        for name in data.ids
    }
    position_of = {name: np.argsort(order).astype(np.int32) for name, order in orders.items()}
    ends = _ends(data, position_of)
    members = [np.flatnonzero(parts == part) for part in range(k)]
    placed = {}
    counts = [np.bincount(end, minlength=known[of]).astype(np.int32) for end, of in zip(ends, data.ends, strict=True)]
    for name, n in known.items():
        sides = [end for end, of in zip(ends, data.ends, strict=True) if of == name]
        placed[name] = _place([np.concatenate([side[m] for side in sides]) for m in members], n, k, seed)
    test_ends = _ends(test, position_of) if test else (np.empty(0, np.int32), np.empty(0, np.int32))
    test_parts = _test_parts(data.ends, test_ends, placed, k, seed)
    test_members = [np.flatnonzero(test_parts == part) for part in range(k)]
    types = {}
    for name in known:
        needed = _needed(data.ends, test_ends, test_members, name)
        types[name] = _type_parts(name, last.ids[name], orders[name], placed[name], needed, k)
    out = []
    for part in range(k):
        local = {name: _numbering(types[name][part].rows, len(last.ids[name])) for name in known}
        edges = [local[of][end[members[part]]] for end, of in zip(ends, data.ends, strict=True)]
        held_out = [local[of][end[test_members[part]]] for end, of in zip(test_ends, data.ends, strict=True)]
        fields = {name: array[members[part]] for name, array in data.fields.items()}
        test_fields = {name: array[test_members[part]] for name, array in test.fields.items()} if test else {}
        mine = {name: each[part] for name, each in types.items()}
        out.append(
            Part(mine, (counts[0], counts[1]), edges[0], edges[1], fields, held_out[0], held_out[1], test_fields, test_members[part])
        )
    return out


def _test_parts(of: tuple[str, str], ends: tuple[np.ndarray, ...], placed: dict[str, _Cut], k: int, seed: int) -> np.ndarray:
    """The worker of each held-out edge: the home of an end that is whole, else of the first end; where that is unseen, by hash."""
    side = 0 if not placed[of[0]].cut or placed[of[1]].cut else 1
    home, positions = placed[of[side]].home, ends[side]
    parts = by_hash(positions, k, seed)
    seen = positions < len(home)
    parts[seen] = home[positions[seen]]
    return parts


def _needed(of: tuple[str, str], ends: tuple[np.ndarray, ...], members: list[np.ndarray], name: str) -> list[np.ndarray]:
    """Per worker the ascending positions of one type that its held-out edges touch."""
    sides = [end for end, each in zip(ends, of, strict=True) if each == name]
    return [np.unique(np.concatenate([side[m] for side in sides])) for m in members]


def _type_parts(name: str, ids: Ids, order: np.ndarray, placed: _Cut, needed: list[np.ndarray], k: int) -> list[TypePart]:
    n, homes = len(placed.home), [np.flatnonzero(placed.home == h).astype(np.int32) for h in range(k)]
    rows, known = [], []
    for part in range(k):
        own = placed.held[part] if placed.cut else homes[part]
        rows.append(np.concatenate([own, np.setdiff1d(needed[part], own)]).astype(np.int32))
        known.append(len(own))
    number = np.empty(n, np.int32)  # of each position in its home's masters
    for masters in homes:
        number[masters] = np.arange(len(masters))
    none: list[np.ndarray] = [np.empty(0, np.int32)] * k
    out = []
    for part in range(k):
        up, down = (_routes(rows, placed.home, number, part, k, range_of=lambda w: (0, known[w]))) if placed.cut else (none, none)
        peek_up, peek_down = _routes(rows, placed.home, number, part, k, range_of=lambda w: (known[w], len(rows[w])))
        out.append(TypePart(name, ids, order, n, placed.cut, rows[part], known[part], homes[part], up, down, peek_up, peek_down))
    return out


def _routes(rows, home, number, part, k, range_of):  # type: ignore[no-untyped-def]
    """(rows of `part` by home, numbers in the masters of `part` by worker), over the local rows in range_of(worker)."""

    def homes_of(w: int) -> np.ndarray:
        lo, hi = range_of(w)
        positions = rows[w][lo:hi]
        return np.where(positions < len(home), home[np.minimum(positions, len(home) - 1)], -1) if len(home) else np.full(len(positions), -1)

    lo = range_of(part)[0]
    mine = homes_of(part)
    up = [(np.flatnonzero(mine == h) + lo).astype(np.int32) for h in range(k)]
    down = []
    for w in range(k):
        start, stop = range_of(w)
        positions = rows[w][start:stop][homes_of(w) == part]
        down.append(number[positions])
    return up, down


def _numbering(rows: np.ndarray, n: int) -> np.ndarray:
    """Local row of each position (n,) int32; -1 where there is none."""
    local = np.full(n, -1, np.int32)
    local[rows] = np.arange(len(rows), dtype=np.int32)
    return local
