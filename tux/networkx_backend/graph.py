"""The compact graph: neighbour lists, numbered nodes, and values of edges when they are needed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from tux.base.errors import UsageError
from tux.networkx_backend.expansion import build_networkx
from tux.networkx_backend.lists import (
    NOTHING,
    NeighbourLists,
    count_targets,
    loops_of,
    reorder_values,
    sum_lists,
    transpose,
    transpose_values,
)
from tux.networkx_backend.nodes import NodeNumbers
from tux.networkx_backend.values import EdgeValues, count_parallel, lists_of, values_of


class CompactGraph:
    """A graph that does not change, of up to 3 bytes a neighbour (4 from 16.7 million nodes on).

    `out` has the successors of each vertex, in an undirected graph its neighbours, a self-loop
    once; the order is networkx's. Parallel edges are one entry. `original` is the networkx graph
    that it was made from, or one with the same dicts, which is read when a function asks for values
    of edges; without one, `columns` has those of each attribute along `out`, (entries,) each.
    """

    __networkx_backend__ = "tux"

    def __init__(
        self,
        nodes: NodeNumbers,
        out: NeighbourLists,
        *,
        directed: bool,
        multigraph: bool = False,
        original: Any = None,
        columns: Mapping[Any, np.ndarray] | None = None,
    ) -> None:
        self.nodes = nodes
        self.out = out
        self.directed = directed
        self.multigraph = multigraph
        self.original = original
        self.columns = dict(columns or {})
        self.graph: dict[Any, Any] = {} if original is None else original.graph
        self.__networkx_cache__: dict[str, Any] = {}
        self._values: dict[Any, EdgeValues] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies have: values are read again, as a copy of `NOTHING` would be another
        array.
        """
        return {**vars(self), "_values": {}}

    # as networkx's graphs

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.nodes)

    def __contains__(self, node: Any) -> bool:
        return node in self.nodes

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""
        return self.directed

    def is_multigraph(self) -> bool:
        """Return whether there may be parallel edges."""
        return self.multigraph

    def number_of_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    def number_of_edges(self) -> int:
        """Return the number of edges; parallel ones and self-loops count."""
        ends = int(self.degrees().sum())
        return ends // 2

    def neighbors(self, node: Hashable) -> Iterator[Hashable]:
        """Return the successors of a node, in an undirected graph its neighbours, in order.

        Raises KeyError for what is no node.
        """
        number = self.nodes.find(node)
        if number < 0:
            raise KeyError(node)
        return iter(self.nodes.pick(self.out.of_vertex(number)))

    def to_networkx(self) -> Any:
        """Return the graph that it was made from; else a networkx Graph or DiGraph with equal
        nodes, edges and attributes, all in the same order.
        """
        if self.original is not None:
            return self.original
        made = build_networkx(self.nodes, self.out, self.columns, directed=self.directed)
        made.graph.update(self.graph)
        return made

    # lists

    @cached_property
    def into(self) -> NeighbourLists:
        """The predecessors of each vertex, ascending; in an undirected graph `out`."""
        return transpose(self.out) if self.directed else self.out

    @cached_property
    def ascending(self) -> NeighbourLists:
        """The lists `out`, each ascending."""
        return transpose(self.into)

    @cached_property
    def ascending_into(self) -> NeighbourLists:
        """The lists `into`, each ascending."""
        return self.into if self.directed else self.ascending

    @cached_property
    def predecessors(self) -> NeighbourLists:
        """The lists `into` in networkx's order, the order of edges; ascending without an original,
        as lists of successors do not tell which of two edges from different nodes came first.
        """
        if self.directed and self.original is not None:
            lists = lists_of(self.original._pred, self.nodes)
            self._check_is_same(int(lists.offsets[-1]))
            return lists
        return self.into

    # values of edges

    def values(self, name: Any, *, parallel: str = "sum") -> EdgeValues:
        """Return the attribute `name` of edges along `out`, 1 where it is absent or `name` is None;
        of parallel edges the "sum" or the "min".

        Raises NotImplementedError, by which networkx tries another back-end, if a value is no
        number.
        """
        key = name, parallel
        if key not in self._values:
            found = values_of(self.original, self.columns, name, parallel)
            if found.numbers is not NOTHING:
                self._check_is_same(len(found.numbers))
            self._values[key] = found
        return self._values[key]

    def _check_is_same(self, entries: int) -> None:
        """Raise UsageError if the original graph has now other `entries` than `out`."""
        if entries != self.out.offsets[-1]:
            raise UsageError(
                "the networkx graph has other edges than when it was converted",
                do="Convert it again; networkx does, if the graph is changed by its methods.",
            )

    def values_into(self, values: np.ndarray) -> np.ndarray:
        """Return `values` along `out` in the order of `into`."""
        if values is NOTHING or not self.directed:
            return values
        return transpose_values(self.out, self.into, values)

    def values_of_predecessors(self, values: np.ndarray) -> np.ndarray:
        """Return `values` along `out` in the order of `predecessors`, of a simple graph."""
        ascending = self.values_into(values)
        if values is NOTHING or self.predecessors is self.into:
            return ascending
        return reorder_values(self.into, ascending, self.predecessors)

    @cached_property
    def loops(self) -> np.ndarray:
        """The entry in `out` of each vertex's self-loop, (n,) int64, -1 where there is none."""
        return loops_of(self.out)

    @cached_property
    def _edges_of_entries(self) -> np.ndarray | None:
        """The number of parallel edges of each entry in `out`; None if it is 1."""
        if not self.is_multigraph():
            return None
        edges = count_parallel(self.original)
        self._check_is_same(len(edges))
        return edges

    def out_degrees(self) -> np.ndarray:
        """Count the edges from each vertex, (n,) int64."""
        edges = self._edges_of_entries
        return self.out.sizes if edges is None else sum_lists(self.out, edges)

    def in_degrees(self) -> np.ndarray:
        """Count the edges to each vertex, (n,) int64."""
        edges = self._edges_of_entries
        return (
            count_targets(self.out)
            if edges is None
            else sum_lists(self.into, self.values_into(edges))
        )

    def degrees(self) -> np.ndarray:
        """Count the ends of edges at each vertex, (n,) int64: a self-loop has two."""
        if self.directed:
            return self.out_degrees() + self.in_degrees()
        has_loop = self.loops >= 0
        edges = self._edges_of_entries
        twice = has_loop if edges is None else np.append(edges, 0)[self.loops]
        return self.out_degrees() + twice


def refuse_iterator(name: str, given: Any) -> None:
    """Raise NotImplementedError for an iterator: networkx sees nothing of it after its checks."""
    if isinstance(given, Iterator):
        raise NotImplementedError(f"{name} is an iterator, which networkx checks and so uses up")


def choose(graph: CompactGraph, nodes: Any) -> tuple[np.ndarray, list[Any]]:
    """Return the numbers (k,) int64 of `nodes` (one node, several, or None for all) in their order,
    without those that are no nodes, and the caller's objects for them, as networkx does it.

    Raises networkx.NetworkXError if `nodes` is neither a node nor several.
    """
    if nodes is None:
        return np.arange(len(graph)), list(graph)
    if nodes in graph:
        return np.array([graph.nodes.find(nodes)]), [nodes]
    from networkx import NetworkXError

    if not isinstance(nodes, Iterable):
        raise NetworkXError(f"Node {nodes} is not in the graph.")
    numbers, named = [], []
    for node in nodes:
        if not isinstance(node, Hashable):
            raise NetworkXError(f"Node {node} in sequence nbunch is not a valid node.")
        if (number := graph.nodes.find(node)) >= 0:
            numbers.append(number)
            named.append(node)
    return np.array(numbers, np.int64), named
