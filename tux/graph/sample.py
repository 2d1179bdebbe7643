"""A small part of a graph on which a program can be tried: vertices with all of their edges, as
single edges drawn at random would leave most vertices with one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.integers import distinct_integers


def sample(
    edges: EdgeData,
    test: EdgeData | None,
    most: int,
    seed: int,
    keep: Mapping[str, Sequence[int]] | None = None,
) -> tuple[EdgeData, EdgeData | None]:
    """Draw about `most` edges, and the held-out edges between their vertices; take all, if there
    are no more. Without edges, draw `most` vertices. The vertices `keep`, by type, are among them.

    Between two vertex types: all edges of vertices of the first end, such as users or samples, that
    are drawn at random. Of one type: all edges among vertices that a breadth-first search meets. At
    least one vertex is taken, so that `most` is exceeded where it has more edges. Of edges of other
    types, about `most` between vertices that are drawn, or of types that these edges do not have.
    """
    few = len(edges) <= most and (len(edges) or len(edges.ids[edges.ends[0]]) <= most)
    if few and all(len(each) <= most for each in edges.others.values()):
        return edges, test
    draw = np.random.default_rng(seed)
    chosen = np.ones(len(edges), bool)
    kept = {name: np.ones(len(edges.ids[name]), bool) for name in edges.ends}
    if not few:
        chosen, kept = _draw_edges(edges, most, draw, keep or {})
    others = _draw_other_edges(edges, kept, most, draw, keep or {})
    held_out = None if test is None else _held_out(test, kept, most, draw)
    rows = {name: _part(edges.others[name], index, kept) for name, index in others.items()}
    return _part(edges, chosen, kept).join(rows), held_out


def _draw_edges(
    edges: EdgeData, most: int, draw: np.random.Generator, named: Mapping[str, Sequence[int]]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw edges as `sample` says, and the `named` vertices. Return flags (m,), and flags of the
    vertices that are kept, by type.
    """
    first, second = edges.ends
    if first == second:
        inside = _neighbourhood(edges, most, draw, named.get(first, ()))
        return inside[edges.src] & inside[edges.dst], {first: inside}
    taken = _draw_vertices(edges.src, len(edges.ids[first]), most, draw, named.get(first, ()))
    chosen = taken[edges.src]
    other = np.zeros(len(edges.ids[second]), bool)
    other[edges.dst[chosen]] = True
    other[list(named.get(second, ()))] = True
    return chosen, {first: taken, second: other}


def _draw_other_edges(
    edges: EdgeData,
    kept: dict[str, np.ndarray],
    most: int,
    draw: np.random.Generator,
    named: Mapping[str, Sequence[int]],
) -> dict[str, np.ndarray]:
    """Draw about `most` edges of each other type, between vertices that are `kept`, by type; of a
    type of which none is, those at the drawn edges and the `named` ones are kept from then on.
    Return the numbers of the edges.
    """
    chosen = {}
    for name, each in edges.others.items():
        sides = list(zip(each.ends, (each.src, each.dst), strict=True))
        inside = np.ones(len(each), bool)
        for kind, codes in sides:
            if kind in kept:
                inside &= kept[kind][codes]
        among = np.flatnonzero(inside)
        if len(among) > most:
            among = np.sort(draw.choice(among, most, replace=False))
        for kind in each.ends - kept.keys():
            kept[kind] = np.zeros(len(edges.ids[kind]), bool)
            kept[kind][list(named.get(kind, ()))] = True
            for end, codes in sides:  # both, where they have one type
                if end == kind:
                    kept[kind][codes[among]] = True
        chosen[name] = among
    return chosen


def _draw_vertices(
    src: np.ndarray, n: int, most: int, draw: np.random.Generator, keep: Sequence[int] = ()
) -> np.ndarray:
    """Draw vertices, of n: `keep`, and others at random, as many as have `most` edges together.
    Return flags (n,).
    """
    degrees = np.bincount(src, minlength=n)
    order = draw.permutation(np.flatnonzero(degrees))
    fit = max(1, int(np.searchsorted(np.cumsum(degrees[order]), most, "right")))
    taken = np.zeros(n, bool)
    taken[order[:fit]] = True
    taken[list(keep)] = True
    return taken


def _neighbourhood(
    edges: EdgeData, most: int, draw: np.random.Generator, keep: Sequence[int]
) -> np.ndarray:
    """Search breadth-first from `keep`, along edges in both directions, until there are `most`
    edges among the vertices. Without edges, take `keep`, and `most` at random. Return flags (n,).
    """
    n = len(edges.ids[edges.ends[0]])
    if not len(edges):
        alone = np.zeros(n, bool)
        alone[draw.choice(n, most, replace=False)] = True
        alone[list(keep)] = True
        return alone
    ends = np.concatenate([edges.src, edges.dst])
    order = np.argsort(ends, kind="stable")
    neighbours = np.concatenate([edges.dst, edges.src])[order]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n))])
    starts = iter(draw.permutation(distinct_integers(ends)))
    taken, seen, queue, count = np.zeros(n, bool), np.zeros(n, bool), deque[int](), 0
    for v in keep:
        seen[v] = True
        queue.append(v)
    while count < most:
        if not queue:
            start = next(v for v in starts if not seen[v])
            seen[start] = True
            queue.append(start)
        v = queue.popleft()
        taken[v] = True
        near = neighbours[bounds[v] : bounds[v + 1]]
        count += int(taken[near].sum())
        new = distinct_integers(near[~seen[near]])
        seen[new] = True
        queue.extend(draw.permutation(new))
    return taken


def _part(edges: EdgeData, chosen: np.ndarray, kept: dict[str, np.ndarray]) -> EdgeData:
    """Select the chosen edges, and the vertices that are kept of each type."""
    index = {name: np.cumsum(inside, dtype=np.int32) - 1 for name, inside in kept.items()}
    first, second = edges.ends
    return replace(
        edges,
        ids={name: Ids(edges.ids[name].values[inside]) for name, inside in kept.items()},
        src=index[first][edges.src[chosen]],
        dst=index[second][edges.dst[chosen]],
        fields={name: values[chosen] for name, values in edges.fields.items()},
        vertex_fields={
            kind: {name: values[kept[kind]] for name, values in fields.items()}
            for kind, fields in edges.vertex_fields.items()
        },
        unseen={},
    )


def _held_out(
    test: EdgeData, kept: dict[str, np.ndarray], most: int, draw: np.random.Generator
) -> EdgeData:
    """Draw at most about `most` held-out edges. Vertices of the first end that only the test file
    has, such as new samples, are drawn as those of training are; other new vertices are left out.
    """
    known = {kind: len(inside) for kind, inside in kept.items()}
    more = {
        kind: np.concatenate([inside, np.zeros(len(test.ids[kind]) - len(inside), bool)])
        for kind, inside in kept.items()
    }
    first, second = test.ends
    inside = more[second][test.dst]
    if first != second:
        new = inside & (test.src >= known[first])
        if new.any():
            more[first] |= _draw_vertices(test.src[new], len(more[first]), most, draw)
    chosen = np.flatnonzero(inside & more[first][test.src])
    if len(chosen) > most:
        chosen = np.sort(draw.choice(chosen, most, replace=False))
    return _part(test, chosen, more)
