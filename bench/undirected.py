"""Graphs as partitioners of vertices take them, and parts of vertices as parts of edges."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tux.partition.common.capacity import capacity
from tux.partition.common.degrees import count_degrees
from tux.partition.common.ends import EdgeEnds
from tux.partition.common.lower_degree import count_lower_ends, lower_degree

PARHIP = 8 | 16 | 32
"""Bits of the head of a ParHIP file: numbers and weights of vertices, and weights of edges, have 32
bits; places of lists have 64.
"""

WEIGHTS = ("unit", "degree", "edges")


class UndirectedGraph(NamedTuple):
    """A graph without directions, self-loops and repeated edges. The neighbours of v are
    ``near[first[v]:first[v + 1]]``; `first` (n + 1,) int64, `near` (entries,) uint32.

    `times` (entries,) int32: how many edges of the original there are between the two.
    """

    first: np.ndarray
    near: np.ndarray
    times: np.ndarray


def undirected_graph(edges: EdgeEnds) -> UndirectedGraph:
    """Return the graph of these edges: one edge between two vertices, whatever joins them."""
    from scipy.sparse import coo_array

    kept = edges.src != edges.dst
    ends = edges.src[kept], edges.dst[kept]
    shape = (edges.vertices, edges.vertices)
    forth = coo_array((np.ones(len(ends[0]), np.int32), ends), shape).tocsr()
    both = (forth + forth.T).tocsr()
    return UndirectedGraph(
        both.indptr.astype(np.int64), both.indices.astype(np.uint32), both.data.astype(np.int32)
    )


def vertex_weights(edges: EdgeEnds, kind: str) -> np.ndarray:
    """Return weights of vertices (n,) int32 of a kind of `WEIGHTS`: 1 for all; their degrees; or
    how many edges follow each by the lower-degree rule, which makes parts of equal weight parts of
    equally many edges.
    """
    weight = np.zeros(edges.vertices, np.int64)
    match kind:
        case "unit":
            weight += 1
        case "degree":
            weight += _degrees(edges)
        case _:
            count_lower_ends(edges.src, edges.dst, _degrees(edges), weight)
    return weight.astype(np.int32)


def write_parhip(path: Path, graph: UndirectedGraph, weights: np.ndarray) -> None:
    """Write a graph with weights of vertices (n,) and edges in the binary form of ParHIP: a head,
    the place of each list in bytes, all neighbours, and the weights.
    """
    n, entries = len(graph.first) - 1, len(graph.near)
    start = 8 * (3 + n + 1)
    with path.open("wb") as file:
        np.array([PARHIP, n, entries], np.uint64).tofile(file)
        (start + 4 * graph.first).astype(np.uint64).tofile(file)
        for numbers in (graph.near, weights.astype(np.int32), graph.times):
            numbers.tofile(file)


def place_by_vertices(
    edges: EdgeEnds, home: np.ndarray, k: int, cap: float | None = None
) -> np.ndarray:
    """Place each edge in the part `home` (n,) of its end of lower degree, of equals its source;
    parts (m,) int16.

    With `cap`, a part that has cap times the mean is full: the edge goes to the part of its other
    end, else to the least loaded one.
    """
    return lower_degree(edges, _degrees(edges), home, k, capacity(len(edges.src), k, cap))


def _degrees(edges: EdgeEnds) -> np.ndarray:
    chunks = [(edges.src, edges.dst)]
    return count_degrees(chunks, edges.vertices, len(edges.src), of_loop=1).astype(np.int64)
