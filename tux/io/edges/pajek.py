"""Pajek's networks as graphs of networkx. Its own reader is not used: it merges vertices with equal
labels, and reads neither lists of neighbours nor vertices that are only counted.

    *Vertices n
    1 "label" ...           perhaps not of all vertices
    *Arcs                   edges from the first vertex to the second: u v [value]
    *Edges                  without a direction
    *Arcslist, *Edgeslist   a vertex and its neighbours: u v w ...
    *Matrix                 a row of numbers for each vertex

(Batagelj and Mrvar: Pajek, reference manual.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tux.arrays.ids import is_plausible_size
from tux.base.errors import DataError
from tux.io.source.text import NUMBER, is_plain_number, quote_word

VERTEX = re.compile(r"(\d{1,10})(?:\s+(?:\"([^\"]*)\"|(\S+)).*)?", re.ASCII)
SECTIONS = ("vertices", "arcs", "edges", "arcslist", "edgeslist", "matrix", "network")


def parse_pajek(text: str, path: str) -> Any:
    """Parse a network. It is a MultiGraph of networkx if all its edges are undirected, else a
    MultiDiGraph, in which an undirected edge is two. Nodes are numbers, with their labels as
    `label`, and edges have their values as `weight` if one has a value (1 for those without).

    Raises `DataError` with file and line for a text that is no network.
    """
    network = _Network()
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if line[:1] not in ("", "%"):
            network.add(line, f"{path}:{number}")
    n, entries = network.vertices, len(network.labels) + len(network.arcs) + len(network.edges)
    if not is_plausible_size(n, entries):
        raise DataError(f"{path} is said to have {n:,} vertices", do="Correct the line *Vertices.")
    return network.graph()


@dataclass
class _Network:
    """The lines of a network so far. `row`: of the matrix, `valued`: an edge has a value."""

    section: str = ""
    vertices: int = 0
    row: int = 0
    valued: bool = False
    labels: dict[int, str] = field(default_factory=dict)
    arcs: list[tuple[int, int, float]] = field(default_factory=list)
    edges: list[tuple[int, int, float]] = field(default_factory=list)

    def add(self, line: str, where: str) -> None:
        """Add a line, which is neither empty nor a comment."""
        n, section = self.vertices, self.section
        into = self.arcs if section.startswith("arcs") else self.edges
        if line.startswith("*"):
            self.section, self.vertices = _section(line, n, where)
            self.row = 0
        elif section == "vertices":
            vertex, label = _vertex(line, n, where)
            self.labels[vertex] = label
        elif section in ("arcs", "edges"):
            words = line.split()
            value = _value(words[2], where) if len(words) > 2 else 1.0
            self.valued |= len(words) > 2
            into.append((*_ends(words[:2], n, where), value))
        elif section in ("arcslist", "edgeslist"):
            first, *others = line.split()
            into += [(*_ends([first, other], n, where), 1.0) for other in others]
        elif section == "matrix":
            self._add_row([_value(word, where) for word in line.split()], where)
        elif section != "network":
            raise DataError(f"{quote_word(line)} stands before *Vertices", where=where)

    def _add_row(self, values: list[float], where: str) -> None:
        self.row, self.valued = self.row + 1, True
        if self.row > self.vertices or len(values) != self.vertices:
            raise DataError(
                f"row {self.row} of {len(values)} numbers of a matrix of {self.vertices:,}",
                where=where,
            )
        self.arcs += [(self.row, at, value) for at, value in enumerate(values, 1) if value]

    def graph(self) -> Any:
        """Make networkx's graph of it."""
        import networkx as nx

        graph = nx.MultiDiGraph() if self.arcs else nx.MultiGraph()
        names = ((at, {"label": self.labels.get(at, "")}) for at in range(1, self.vertices + 1))
        graph.add_nodes_from(names)
        back = [(v, u, value) for u, v, value in self.edges if u != v] if self.arcs else []
        for u, v, value in [*self.arcs, *self.edges, *back]:
            graph.add_edge(u, v, **({"weight": value} if self.valued else {}))
        return graph


def _section(line: str, n: int, where: str) -> tuple[str, int]:
    """Parse a line that begins a section. Returns its name, and the number of vertices, `n` if it
    is another section than that of vertices.
    """
    name, *words = line[1:].split() or [""]
    name = name.lower()
    if name not in SECTIONS:
        raise DataError(
            f"the section {quote_word(line)} of a Pajek file is not read here",
            where=where,
            do=f"These are: {', '.join(f'*{each}' for each in SECTIONS)}.",
        )
    if name != "vertices":
        return name, n
    if n or not words or not re.fullmatch(r"\d{1,10}", words[0], re.ASCII):
        why = "a second *Vertices: tux reads one network" if n else "no number of vertices"
        raise DataError(why, where=where, do="It should be: *Vertices n, once.")
    return name, int(words[0])


def _vertex(line: str, n: int, where: str) -> tuple[int, str]:
    """Return the number and the label of a vertex."""
    found = VERTEX.fullmatch(line)
    if found is None or not 1 <= int(found[1]) <= n:
        raise DataError(f"{quote_word(line)} is no vertex of 1 to {n:,}", where=where)
    return int(found[1]), found[2] or found[3] or ""


def _ends(words: list[str], n: int, where: str) -> tuple[int, int]:
    """Return the two ends of an edge."""
    if len(words) < 2:
        raise DataError("an edge with one end", where=where)
    for word in words:
        if not is_plain_number(word, 10) or not 1 <= int(word) <= n:
            raise DataError(f"vertex {quote_word(word)}, but vertices are 1 to {n:,}", where=where)
    return int(words[0]), int(words[1])


def _value(word: str, where: str) -> float:
    """Return the value of an edge."""
    if not NUMBER.fullmatch(word) or not abs(float(word)) <= 1e308:
        raise DataError(f"the value {quote_word(word)} of an edge is no finite number", where=where)
    return float(word)
