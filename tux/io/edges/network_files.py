"""Graphs as GML, GraphML and Pajek files hold them, with the direction that these say, and the
vertices that have no edge. networkx parses the first two.

(Himsolt: GML, a portable graph file format; Brandes and others: GraphML primer; Batagelj and Mrvar:
Pajek, reference manual.)
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, NamedTuple

from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.base.text import one_line
from tux.io.edges.memory import read_network
from tux.io.edges.pajek import parse_pajek
from tux.io.edges.request import EdgeRequest
from tux.io.formats.foreign_kinds import xml_root
from tux.io.formats.format import EdgeFormat, Format
from tux.io.source.text import CONVERT, NO_ROW, quote_word, text_blocks

BEGIN_GML = re.compile(r"(\w+\s+(\"[^\"]*\"|[-+]?[\d.]+)\s+)*graph\s*\[", re.IGNORECASE)
BEGIN_PAJEK = re.compile(r"\*(vertices\s+\d+|network\b)", re.IGNORECASE)
DUPLICATE = re.compile(r"edge .* is duplicated")  # as networkx refuses a second edge of GML
WEIGHTS = ("weight", "value")
"""Names of the number of an edge, if it has not the name of the field."""
PLAIN = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)  # an integer of 64 bits as it is written


class NetworkFormat(NamedTuple):
    """A format of networks: its name in messages, its parser, by which a text and the name of its
    file become a graph of networkx, and True if numbers of edges have names in the file.
    """

    title: str
    parse: Callable[[str, str], Any]
    named: bool = True

    def read(self, asked: EdgeRequest) -> EdgeData:
        """Read the edges of such a file.

        Ids are the labels of vertices if all have one of their own, else their ids in the file. The
        number of an edge is its attribute with the name of the field, else `weight`, else `value`.
        Raises `DataError` for a file that is no such graph, and for ends of two types, unless each
        node has the attribute `bipartite`, 0 or 1; `UsageError` for columns.
        """
        asked.refuse_columns("a graph")
        path, ends = asked.path, asked.ends
        graph = _rename_nodes(self._graph(path))
        types = [data.get("bipartite") for _, data in graph.nodes(data=True)]
        if ends[0] != ends[1] and not all(of in (0, 1) for of in types):
            raise DataError(
                f"{path} is a {self.title} graph, which has no edges from {ends[0]} to {ends[1]}",
                do="Its vertices are of one type.",
            )
        asked.check_one_number()
        if not graph.number_of_edges():
            raise DataError(f"{path} holds no edge", do=NO_ROW)
        names = {field: _copy_number(graph, field, path) for field in asked.fields}
        if not asked.both and not graph.is_directed():
            graph = _one_direction(graph)
        edges = read_network(graph, ends, asked.fields, path, against=asked.against)
        said = {at: name for at, name in names.items() if at != name and self.named}
        return replace(edges, columns=said)

    def _graph(self, path: str) -> Any:
        """Parse a file, and return it as a graph of networkx."""
        import networkx as nx  # type: ignore[import-untyped]

        try:
            text = b"".join(text_blocks(path)).decode()
        except UnicodeDecodeError:
            raise DataError(f"{path} is not UTF-8 text", do=CONVERT) from None
        try:
            with warnings.catch_warnings(action="ignore"):
                return self.parse(text, path)
        except (
            nx.NetworkXException,
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            SyntaxError,
            TypeError,
            ValueError,
        ) as error:
            said = one_line(str(error) or type(error).__name__)
            raise DataError(
                f"{path} cannot be read as a {self.title} graph: {said}",
                do="Correct the file, or write it again.",
            ) from None


def _parse_gml(text: str, path: str) -> Any:
    import networkx as nx

    try:
        return nx.parse_gml(text.split("\n"), label=None)
    except nx.NetworkXError as error:
        if not DUPLICATE.match(str(error)):
            raise
        raise DataError(
            f"{path} has an edge twice: {one_line(str(error))}",
            do='Write "multigraph 1" behind "graph [" if it is one; else leave one of them out.',
        ) from None


def _parse_graphml(text: str, path: str) -> Any:
    import networkx as nx

    if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise DataError(
            f"{path} has a document type of its own, which tux does not read",
            do="Remove <!DOCTYPE ...> from the GraphML file.",
        )
    return _fill_defaults(nx.parse_graphml(text, _check_node_id))


def _check_node_id(node: str | None) -> str:
    """Return the id of a node of GraphML. Raises ValueError for None, as an edge may lack it."""
    if node is None:
        raise ValueError("an edge without a source or a target")
    return node


def _fill_defaults(graph: Any) -> Any:
    """Give edges without a number of their own the one that the file states for all."""
    for *_, data in graph.edges(data=True):
        for name, value in graph.graph.get("edge_default", {}).items():
            data.setdefault(name, value)
    return graph


def _rename_nodes(graph: Any) -> Any:
    """Name the nodes of a graph by their labels if each has its own, and by integers if all are
    written as such.
    """
    import networkx as nx

    nodes: list[Hashable] = list(graph)
    labels = [data.get("label") for _, data in graph.nodes(data=True)]
    own = all(isinstance(label, int | str) and str(label).strip() for label in labels)
    if own and len({str(label) for label in labels}) == len(nodes):
        names: list[Any] = [str(label).strip() for label in labels]
    else:
        names = [str(node) for node in nodes]
    if all(map(PLAIN.fullmatch, names)):
        names = [int(name) for name in names]
    if len(set(names)) < len(nodes) or names == nodes:
        return graph
    return nx.relabel_nodes(graph, dict(zip(nodes, names, strict=True)))


def _copy_number(graph: Any, field: str, path: str | os.PathLike[str]) -> str:
    """Find the attribute of edges that is the wanted number, copy it to the attribute `field` of
    each edge, and return its name. Raises DataError if an edge lacks it.
    """
    among = {name for *_, data in graph.edges(data=True) for name in data}
    name = next((name for name in (field, *WEIGHTS) if name in among), None)
    if name is None:
        raise DataError(f"{path} has no {field}: its edges are without numbers")
    for u, v, data in graph.edges(data=True):
        if name not in data:
            raise DataError(
                f"the edge {quote_word(str(u))} - {quote_word(str(v))} has no {name}",
                where=os.fspath(path),
                do="Give each edge a number.",
            )
        data[field] = data[name]
    return name


def _one_direction(graph: Any) -> Any:
    """Make a directed graph of the edges of an undirected one, in one direction each."""
    import networkx as nx

    directed = nx.MultiDiGraph()
    directed.add_nodes_from(graph.nodes(data=True))
    directed.add_edges_from(graph.edges(data=True))
    return directed


GML = EdgeFormat(
    Format.GML,
    "GML",
    "a GML file is a whole graph",
    NetworkFormat("GML", _parse_gml).read,
    lambda start: BEGIN_GML.match(start.lines.text) is not None,
    one_type="the vertices of GML graphs are of one type",
)
GRAPHML = EdgeFormat(
    Format.GRAPHML,
    "GraphML",
    "a GraphML file is a whole graph",
    NetworkFormat("GraphML", _parse_graphml).read,
    lambda start: xml_root(start.lines.text) == "graphml",
    one_type="the vertices of GraphML graphs are of one type",
)
PAJEK = EdgeFormat(
    Format.PAJEK,
    "Pajek",
    "a Pajek file is a whole graph, and begins with its vertices",
    NetworkFormat("Pajek", parse_pajek, named=False).read,
    lambda start: BEGIN_PAJEK.match(start.lines.text) is not None,
    one_type="the vertices of Pajek's networks are of one type",
)
