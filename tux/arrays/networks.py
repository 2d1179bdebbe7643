"""Graphs that are already in memory: networkx, scipy.sparse, and plain arrays, in and out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.frame_columns import cast_numbers, unfit_reason
from tux.arrays.ids import Ids
from tux.base.errors import DataError


def from_arrays(
    src: Any, dst: Any, *, ends: tuple[str, str] = ("vertex", "vertex"), **fields: Any
) -> EdgeData:
    """Return edges from two columns of ids, (m,) integers or strings each, and data fields of m
    finite numbers each.

    Raises `DataError` if columns differ in length or hold anything else.
    """
    return EdgeData.of(ends, src, dst, fields)


def from_scipy(
    matrix: Any,
    ends: tuple[str, str] = ("vertex", "vertex"),
    field: str | None = "value",
    dtype: Any = "f4",
) -> EdgeData:
    """Return one edge for each stored entry of a scipy.sparse matrix, from its row to its column;
    ids are the row and column numbers.

    Empty rows and columns are vertices too. The entries become data field `field`; None drops them.
    If both ends are of one type, the matrix must be square; else `DataError`.
    """
    entries = matrix.tocoo()
    rows, columns = entries.shape
    if ends[0] == ends[1] and rows != columns:
        raise DataError(
            f"a {rows} x {columns} matrix has no edges from {ends[0]} to {ends[1]}",
            do="Give two types, or a square matrix.",
        )
    vertices = {ends[0]: np.arange(rows), ends[1]: np.arange(columns)}
    fields = {} if field is None else {field: entries.data.astype(dtype)}
    return EdgeData.of(ends, entries.row, entries.col, fields, vertices=vertices)


def from_networkx(
    graph: Any,
    ends: tuple[str, str] = ("vertex", "vertex"),
    fields: Mapping[str, Any] | None = None,
    weight: str | None = None,
    against: Mapping[str, Ids] | None = None,
) -> EdgeData:
    """Return the edges of a networkx graph. Nodes are ids: all integers or all strings. Nodes
    without an edge are vertices too.

    An edge of an undirected graph becomes two, one in each direction, a self-loop one. `fields`
    maps edge attributes to the dtypes of the data fields they become; `weight` names an attribute
    to be field "value" (float32), 1 where absent. With ids `against`, of other edges, nodes that
    these have keep their indices.

    If the ends are of two types, a node is ``(type, id)``, as `to_networkx` makes it, or has the
    attribute ``bipartite``, 0 for the first type and 1 for the second; an undirected edge then runs
    once, from the first to the second. Raises `DataError` for other nodes and for absent
    attributes.
    """
    kinds = {name: np.dtype(dtype) for name, dtype in (fields or {}).items()}
    two_types = ends[0] != ends[1]
    places = {
        node: _place(node, attributes, ends) if two_types else (ends[0], node)
        for node, attributes in graph.nodes(data=True)
    }
    sides: tuple[list[Any], list[Any]] = [], []
    values: dict[str, list[Any]] = {name: [] for name in [*kinds, *(["value"] if weight else [])]}
    for u, v, attributes in graph.edges(data=True):
        pair = _orient(places[u], places[v], ends, turns=two_types and not graph.is_directed())
        if pair is None:
            raise DataError(f"edge {u!r} - {v!r} does not run from {ends[0]} to {ends[1]}")
        twice = not (two_types or graph.is_directed() or u == v)
        for side, way in zip(sides, (pair, pair[::-1]), strict=True):
            side.extend(way if twice else way[:1])
        for name, column in values.items():
            column.extend([_attribute(u, v, attributes, name, weight)] * (1 + twice))
    columns = {
        name: _numbers(name, column, kinds.get(name, np.dtype(np.float32)))
        for name, column in values.items()
    }
    nodes = {end: [id for kind, id in places.values() if kind == end] for end in ends}
    return EdgeData.of(
        ends,
        _column(sides[0]),
        _column(sides[1]),
        columns,
        vertices={end: _column(ids) for end, ids in nodes.items()},
        against=against,
    )


def _orient(
    u: tuple[str, Any], v: tuple[str, Any], ends: tuple[str, str], *, turns: bool
) -> tuple[Any, Any] | None:
    """Return the ids of an edge's nodes, each given as (type, id), from the first end to the
    second; None where their types are others. `turns`: the edge may run the other way.
    """
    if turns and u[0] != ends[0]:
        u, v = v, u
    return (u[1], v[1]) if (u[0], v[0]) == ends else None


def _place(node: Hashable, attributes: Mapping[str, Any], ends: tuple[str, str]) -> tuple[str, Any]:
    """Return vertex type and id of a node of a graph of two types."""
    if isinstance(node, tuple) and len(node) == 2 and node[0] in ends:
        return node
    if attributes.get("bipartite") in (0, 1):
        return ends[attributes["bipartite"]], node
    raise DataError(
        f"node {node!r} may be a {ends[0]} or a {ends[1]}",
        do=(
            f"Name nodes ({ends[0]!r}, id) and ({ends[1]!r}, id), or give each the attribute "
            "bipartite, 0 or 1."
        ),
    )


def _attribute(
    u: Hashable, v: Hashable, attributes: Mapping[str, Any], name: str, weight: str | None
) -> Any:
    if weight and name == "value":
        return attributes.get(weight, 1)
    if name not in attributes:
        raise DataError(f"edge {u!r} - {v!r} has no attribute {name!r}")
    return attributes[name]


def _numbers(name: str, column: list[Any], kind: np.dtype) -> np.ndarray:
    """Convert an attribute of edges to numbers of a kind. Raises DataError for one that the kind
    cannot hold.
    """
    try:
        given = np.array(column)
        given = given if given.dtype.kind in "biuf" else np.array(column, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"the attribute {name!r} of edges is not always a number", do="Give each edge a number."
        ) from None
    values, bad = cast_numbers(given, kind)
    if bad is not None:
        raise DataError(
            f"the attribute {name!r} of an edge is {unfit_reason(given[bad][0], kind)}",
            do="Give numbers that the program's field can hold.",
        )
    return values


def _column(nodes: list[Any]) -> np.ndarray:
    """Convert ids to an array of objects, which keeps integers apart from strings; numpy would make
    all of them strings.
    """
    for node in nodes:
        if isinstance(node, bool) or not isinstance(node, int | np.integer | str):
            raise DataError(
                f"node {node!r} is neither an integer nor a string",
                do="Relabel with networkx.convert_node_labels_to_integers.",
            )
    return np.array(nodes, dtype=object)


def to_networkx(edges: EdgeData) -> Any:
    """Make a networkx DiGraph (a MultiDiGraph if edges repeat) with fields as edge attributes, all
    values plain Python.

    If the ends are of one type, nodes are ids. If of two, the graph is undirected, a node is
    ``(type, id)`` and its attribute ``bipartite`` is 0 or 1.
    """
    import networkx as nx  # type: ignore[import-untyped]

    two_types = edges.ends[0] != edges.ends[1]
    kinds = {
        (False, False): nx.DiGraph,
        (False, True): nx.MultiDiGraph,
        (True, False): nx.Graph,
        (True, True): nx.MultiGraph,
    }
    graph = kinds[two_types, edges.duplicates > 0]()
    names = {
        end: [(end, id_) if two_types else id_ for id_ in edges.ids[end].values.tolist()]
        for end in edges.ends
    }
    for part, end in enumerate(dict.fromkeys(edges.ends)):
        graph.add_nodes_from(names[end], **({"bipartite": part} if two_types else {}))
    values = (
        zip(*(array.tolist() for array in edges.fields.values()), strict=True)
        if edges.fields
        else iter([()] * len(edges))
    )
    source, target = (names[end] for end in edges.ends)
    for u, v, row in zip(edges.src.tolist(), edges.dst.tolist(), values, strict=True):
        graph.add_edge(source[u], target[v], **dict(zip(edges.fields, row, strict=True)))
    return graph
