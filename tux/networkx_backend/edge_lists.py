"""Graphs from tables and matrices, without dicts: while one is built it takes 16 bytes an edge for
its ends, and its lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np

from tux.arrays.integers import index_dtype
from tux.base.compiled import cached_njit
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import NeighbourLists, neighbour, write_neighbour
from tux.networkx_backend.nodes import NodeNumbers

SPARSE = 4
"""Integers for each end of an edge from which on they are numbered by a table of Python."""


def why_not(given: Mapping[str, Any]) -> str | None:
    """Return why a graph of these arguments is left to networkx; None if it is not."""
    if given.get("create_using") not in (None, nx.Graph, nx.DiGraph):
        return "create_using is neither Graph nor DiGraph"
    return None


@cached_njit
def _number_in_order(ends, low, numbers, first):  # type: ignore[no-untyped-def]
    """Replace ends by numbers in the order of their first occurrence; write the values to `first`
    and return how many there are. `numbers` are -1.
    """
    count = 0
    for at in range(len(ends)):
        value = ends[at] - low
        if numbers[value] < 0:
            numbers[value] = count
            first[count] = ends[at]
            count += 1
        ends[at] = numbers[value]
    return count


@cached_njit
def _sizes(ends, directed, sizes):  # type: ignore[no-untyped-def]
    for at in range(0, len(ends), 2):
        u, v = ends[at], ends[at + 1]
        sizes[u] += 1
        if not directed and u != v:
            sizes[v] += 1


@cached_njit
def _place(ends, directed, free, lists, edges):  # type: ignore[no-untyped-def]
    """Write neighbours, and the edges that they come from, to lists in the order of the edges.
    `edges` may be empty.
    """
    for at in range(0, len(ends), 2):
        u, v = ends[at], ends[at + 1]
        for _ in range(1 if directed or u == v else 2):
            write_neighbour(lists, free[u], v)
            if len(edges) > 0:
                edges[free[u]] = at // 2
            free[u] += 1
            u, v = v, u


@cached_njit
def _remove_repeated(lists, edges):  # type: ignore[no-untyped-def]
    """Keep each neighbour once, at its first place with its last edge, as dicts do; return how many
    entries are left. The lists and `edges` are changed.
    """
    offsets = lists.offsets
    n = len(offsets) - 1
    seen = np.full(n, -1, np.int64)
    kept = begin = 0
    for v in range(n):
        start = kept
        for at in range(begin, offsets[v + 1]):
            w = neighbour(lists, at)
            place = seen[w]
            if place < start:
                place = seen[w] = kept
                if kept < at:
                    write_neighbour(lists, kept, w)
                kept += 1
            if len(edges) > 0:
                edges[place] = edges[at]
        begin = offsets[v + 1]
        offsets[v + 1] = kept
    return kept


def _number_nodes(sources: Any, targets: Any) -> tuple[NodeNumbers, np.ndarray]:
    """Return the nodes in the order in which edges name them, and the ends of edges, (2 m,), source
    and target in turn.
    """
    columns = np.asarray(sources), np.asarray(targets)
    ends = np.empty(2 * len(columns[0]), np.int64)
    if all(column.dtype.kind == "i" for column in columns):
        ends[0::2], ends[1::2] = columns
        return number_integers(ends), ends
    pairs = zip(sources, targets, strict=True)
    return _number_by_table(ends, chain.from_iterable(pairs)), ends


def number_integers(ends: np.ndarray) -> NodeNumbers:
    """Return the nodes in the order in which ends of edges, (2 m,) int64, name them, and replace
    the ends by their numbers.
    """
    low, high = int(ends.min(initial=0)), int(ends.max(initial=0))
    if high - low >= SPARSE * len(ends):
        return _number_by_table(ends, ends.data)
    numbers = np.full(high - low + 1, -1, index_dtype(len(ends)))
    first = np.empty(min(len(ends), high - low + 1), np.int64)
    count = _number_in_order(ends, low, numbers, first)
    return NodeNumbers(first[:count].tolist())


def _number_by_table(ends: np.ndarray, named: Iterable[Any]) -> NodeNumbers:
    """Write the numbers of `named` nodes to `ends`, and return the nodes.

    Raises ValueError for None, and TypeError for what has no hash, as networkx does.
    """
    table: dict[Any, int] = {}
    for at, node in enumerate(named):
        ends[at] = table.setdefault(node, len(table))
    if None in table:
        raise ValueError("None cannot be a node")
    return NodeNumbers(table, table)


def graph_of_ends(
    nodes: NodeNumbers, ends: np.ndarray, columns: Mapping[Any, np.ndarray], create_using: Any
) -> CompactGraph:
    """Make a graph of the ends of edges, (2 m,), and of `columns` (m,) of their attributes."""
    directed = create_using is nx.DiGraph
    sizes = np.zeros(len(nodes), np.int64)
    _sizes(ends, directed, sizes)
    out = NeighbourLists.of_sizes(sizes)
    edges = np.empty(int(out.offsets[-1]) if columns else 0, index_dtype(len(ends)))
    _place(ends, directed, out.offsets[:-1].copy(), out, edges)
    kept = _remove_repeated(out, edges)
    along = {name: column[edges[:kept]] for name, column in columns.items()}
    return CompactGraph(nodes, out.first(kept), directed=directed, columns=along)


def _column(values: Iterable[Any], name: Any) -> np.ndarray:
    column = np.asarray(values)
    if column.ndim != 1:
        raise NotImplementedError(f"several columns have the name {name!r}")
    if column.dtype.kind not in "iuf" or column.dtype.itemsize > 8:
        raise NotImplementedError(f"the column {name!r} does not hold numbers")
    return column


def graph_of_edges(
    sources: Any,
    targets: Any,
    columns: Mapping[Any, np.ndarray] | None = None,
    create_using: Any = None,
) -> CompactGraph:
    """Make a Graph, or a DiGraph if `create_using` is networkx.DiGraph, of the ends of edges (m,)
    and of `columns` (m,) of their attributes, with the nodes in the order in which edges name them.
    """
    nodes, ends = _number_nodes(sources, targets)
    return graph_of_ends(nodes, ends, columns or {}, create_using)


def from_pandas_edgelist(
    df: Any,
    source: Any = "source",
    target: Any = "target",
    edge_attr: Any = None,
    create_using: Any = None,
    edge_key: Any = None,
) -> CompactGraph:
    """Make a graph of a table with an edge in each row, as `networkx.from_pandas_edgelist` does;
    columns of attributes must be numbers.

    Raises networkx.NetworkXError for columns that are not there.
    """
    if edge_attr is None:
        names = []
    elif edge_attr is True:
        names = [name for name in df.columns if name not in (source, target)]
    else:
        names = list(edge_attr) if isinstance(edge_attr, list | tuple) else [edge_attr]
    if edge_attr is not None and not names:
        raise nx.NetworkXError(f"Invalid edge_attr argument: No columns found with name: {names}")
    try:
        columns = {name: _column(df[name], name) for name in names}
    except (KeyError, TypeError) as error:
        raise nx.NetworkXError(f"Invalid edge_attr argument: {edge_attr}") from error
    for name in (source, target):
        if getattr(df[name], "ndim", 1) != 1:
            raise NotImplementedError(f"several columns have the name {name!r}")
    return graph_of_edges(df[source], df[target], columns, create_using)


def from_numpy_array(
    A: Any,
    parallel_edges: bool = False,
    create_using: Any = None,
    edge_attr: Any = "weight",
    *,
    nodelist: Any = None,
) -> CompactGraph:
    """Make a graph of the entries of a square array of numbers that are not 0, as
    `networkx.from_numpy_array` does; the nodes are 0..n-1, or `nodelist`.

    Raises networkx.NetworkXError for an array that is not square, and ValueError for another number
    of nodes.
    """
    if A.ndim != 2:
        raise nx.NetworkXError(f"Input array must be 2D, not {A.ndim}")
    n, m = A.shape
    if n != m:
        raise nx.NetworkXError(f"Adjacency matrix not square: nx,ny={A.shape}")
    if not isinstance(A, np.ndarray) or isinstance(A, np.ma.MaskedArray):
        raise NotImplementedError(f"A is a {type(A).__name__}, not an array")
    A = np.asarray(A)  # an entry of an np.matrix is no number, but again a matrix
    _column(A[:0].reshape(-1), "A")
    if nodelist is not None and len(nodelist) != n:
        raise ValueError("nodelist must have the same length as A.shape[0]")
    nodes = NodeNumbers(range(n) if nodelist is None else nodelist)
    if nodelist is not None and not nodes.are_distinct():
        raise NotImplementedError("nodelist has a node twice, or nodes with attributes")
    rows, columns = A.nonzero()
    ends = np.stack([rows, columns], axis=1).reshape(-1)
    attributes = {} if edge_attr in [False, None] else {edge_attr: A[rows, columns]}
    return graph_of_ends(nodes, ends, attributes, create_using)


def from_scipy_sparse_array(
    A: Any,
    parallel_edges: bool = False,
    create_using: Any = None,
    edge_attribute: Any = "weight",
) -> CompactGraph:
    """Make a graph of the stored entries of a square matrix of numbers, as
    `networkx.from_scipy_sparse_array` does: the nodes are 0..n-1.

    Raises networkx.NetworkXError for a matrix that is not square.
    """
    n, m = A.shape
    if n != m:
        raise nx.NetworkXError(f"Adjacency matrix not square: nx,ny={A.shape}")
    entries = A.tocoo()
    ends = np.empty(2 * len(entries.data), np.int64)
    ends[0::2], ends[1::2] = entries.row, entries.col
    columns = {edge_attribute: _column(entries.data, edge_attribute)}
    return graph_of_ends(NodeNumbers(range(n)), ends, columns, create_using)
