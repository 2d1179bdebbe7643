"""The parts of a graph that stages of the interpreter see: the edges on each worker, and who has
edges of which vertex; of the whole graph, or of a block of a MiniBatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from support.prove.memory import FieldRow, Shares, VertexReplicas, row_class
from support.prove.spec import EdgePlacement, EdgeSpec, GraphSpec, ProgramSpec

Scope = dict[str, Any]  # what a function may get, by the name of its parameter


class EdgeView:
    """An edge as functions see it: the rows of both ends, and the fields of the edge."""

    __slots__ = ("_ends", "_fields")

    def __init__(self, ends: Scope, fields: FieldRow) -> None:
        object.__setattr__(self, "_ends", ends)
        object.__setattr__(self, "_fields", fields)

    def __getattr__(self, name: str) -> Any:
        row = self._ends.get(name)
        return getattr(self._fields, name) if row is None else row

    def __setattr__(self, name: str, x: Any) -> None:
        setattr(self._fields, name, x)


class PlacedEdge(NamedTuple):
    """An edge on its worker: the numbers of both ends, and what a function for it may get."""

    ends: tuple[int, int]
    scope: Scope


class SeenPart(NamedTuple):
    """The part of a graph that a stage sees. `edges`: by edge type, those of each worker. `shares`:
    by vertex type, for each vertex that is visited, the workers that take part, each with the
    number of its edges of the vertex.
    """

    edges: dict[str, list[list[PlacedEdge]]]
    shares: dict[str, dict[int, Shares]]


def end_names(kind: EdgeSpec) -> tuple[str, str]:
    """The names of the two ends in functions."""
    return ("src", "dst") if kind.ends[0] == kind.ends[1] else kind.ends


def find_end(kind: EdgeSpec, over: str) -> int:
    """Return the end, 0 or 1, that `over` names: its type, "src" or "dst"; the first by default."""
    if over in ("src", "dst"):
        return ("src", "dst").index(over)
    return kind.ends.index(over) if over else 0


def find_shares(
    program: ProgramSpec, graph: GraphSpec, placement: EdgePlacement
) -> dict[str, dict[int, Shares]]:
    """Find the workers that have edges of each vertex, and how many. A vertex without edges is
    where its master is.
    """
    shares: dict[str, dict[int, Shares]] = {
        kind.name: {v: {} for v in range(graph.sizes[kind.name])} for kind in program.vertices
    }
    for kind in program.edges:
        for vertex, ends in zip(kind.ends, _ends(graph, kind).tolist(), strict=True):
            for v, w in zip(ends, placement.parts[kind.name], strict=True):
                _count(shares[vertex][v], int(w))
    for vertex, found in shares.items():
        for v, share in found.items():
            if not share:
                share[int(placement.masters[vertex][v])] = 0
    return shares


def place_edges(
    kind: EdgeSpec,
    graph: GraphSpec,
    workers: Sequence[int],
    types: dict[str, VertexReplicas],
    fixed: list[Scope],
) -> list[list[PlacedEdge]]:
    """Make the edges of a type on each worker. `workers`: that of each edge; `fixed`: what all
    functions of a worker may get.
    """
    make = row_class(kind.fields)
    values = graph.edge_data.get(kind.name, {})
    placed: list[list[PlacedEdge]] = [[] for _ in fixed]
    for i, (a, b) in enumerate(_ends(graph, kind).T.tolist()):
        w = int(workers[i])
        rows = types[kind.ends[0]].rows[w][a], types[kind.ends[1]].rows[w][b]
        ends = dict(zip(end_names(kind), rows, strict=True))
        fields = {f.name: values[f.name][i] if f.kind == "data" else f.init for f in kind.fields}
        scope = {**fixed[w], **ends, kind.name: EdgeView(ends, make(0, fields))}
        placed[w].append(PlacedEdge((a, b), scope))
    return placed


def cut_block(whole: SeenPart, kind: EdgeSpec, end: int, members: set[int]) -> SeenPart:
    """Cut a block out of the whole graph: these vertices at one end of an edge type, with all
    workers that hold them; their edges there; and, if the other end is of another type, the
    vertices at the other ends of these edges, with the workers that have such an edge.
    """
    edges = [[e for e in part if e.ends[end] in members] for part in whole.edges[kind.name]]
    own, other = kind.ends[end], kind.ends[1 - end]
    touched: dict[int, Shares] = {}
    for w, part in enumerate(edges):
        for edge in part:
            _count(touched.setdefault(edge.ends[1 - end], {}), w)
    shares: dict[str, dict[int, Shares]] = {name: {} for name in whole.shares}
    shares[other] = touched
    shares[own] = {v: dict.fromkeys(whole.shares[own][v], 0) for v in members}
    for w, part in enumerate(whole.edges[kind.name]):  # all edges of the type, not those of others
        for edge in part:
            for of, v in zip(kind.ends, edge.ends, strict=True):
                if of == own and v in members:
                    _count(shares[own][v], w)
    return SeenPart({kind.name: edges}, shares)


def _ends(graph: GraphSpec, kind: EdgeSpec) -> np.ndarray:
    return np.asarray(graph.ends[kind.name], dtype=np.int64).reshape(2, -1)


def _count(share: Shares, w: int) -> None:
    share[w] = share.get(w, 0) + 1
