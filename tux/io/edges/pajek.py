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
    import networkx as nx

    labels: dict[int, str] = {}
    arcs: list[tuple[int, int, float]] = []
    edges: list[tuple[int, int, float]] = []
    section, n, valued, row = "", 0, False, 0
    for number, line in enumerate(text.split("\n"), 1):
        line, where = line.strip(), f"{path}:{number}"
        if line[:1] in ("", "%"):
            continue
        if line.startswith("*"):
            section, n = _section(line, n, where)
            row = 0
        elif section == "vertices":
            vertex, label = _vertex(line, n, where)
            labels[vertex] = label
        elif section in ("arcs", "edges"):
            words = line.split()
            value = _value(words[2], where) if len(words) > 2 else 1.0
            valued |= len(words) > 2
            into = arcs if section == "arcs" else edges
            into.append((*_ends(words[:2], n, where), value))
        elif section in ("arcslist", "edgeslist"):
            first, *others = line.split()
            into = arcs if section == "arcslist" else edges
            into += [(*_ends([first, other], n, where), 1.0) for other in others]
        elif section == "matrix":
            row, valued = row + 1, True
            values = [_value(word, where) for word in line.split()]
            if row > n or len(values) != n:
                raise DataError(
                    f"row {row} of {len(values)} numbers of a matrix of {n:,}", where=where
                )
            arcs += [(row, at, value) for at, value in enumerate(values, 1) if value]
        elif section != "network":
            raise DataError(f"{quote_word(line)} stands before *Vertices", where=where)
    if not is_plausible_size(n, len(labels) + len(arcs) + len(edges)):
        raise DataError(f"{path} is said to have {n:,} vertices", do="Correct the line *Vertices.")
    graph = nx.MultiDiGraph() if arcs else nx.MultiGraph()
    graph.add_nodes_from((at, {"label": labels.get(at, "")}) for at in range(1, n + 1))
    back = [(v, u, value) for u, v, value in edges if u != v] if arcs else []
    for u, v, value in [*arcs, *edges, *back]:
        graph.add_edge(u, v, **({"weight": value} if valued else {}))
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
