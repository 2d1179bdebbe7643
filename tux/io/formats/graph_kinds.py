"""The formats of graphs as text that are recognised by their first lines, or by the ending of their
name where lines cannot tell.
"""

from __future__ import annotations

import re
from typing import Literal

from tux.io.formats.foreign_kinds import Beginning, xml_root

GraphKind = Literal["dimacs", "gml", "pajek", "graphml", "adjlist", "edge-data"]

COMMENT = re.compile(r"c(\s|\Z)")
PROBLEM = re.compile(r"p\s+[a-z]\w*\s+\d+\s+\d+", re.IGNORECASE)
LINE = re.compile(r"[aendvx]\s|\d")  # a line after that of the problem
GML = re.compile(r"(\w+\s+(\"[^\"]*\"|[-+]?[\d.]+)\s+)*graph\s*\[", re.IGNORECASE)
PAJEK = re.compile(r"\*(vertices\s+\d+|network\b)", re.IGNORECASE)
DATA = re.compile(r"([^\s,;{}]+)[ \t]*[\s,;][ \t]*([^\s,;{}]+)[ \t]*[\s,;][ \t]*(\{.*\})")
"""A line of networkx: source, target, and the dict of the edge's data."""


def graph_kind(head: bytes, ending: str) -> GraphKind | None:
    """Return the format of a graph whose file begins with `head`, unpacked, and whose name ends in
    `ending`; None for all other files.

    An adjacency list is known by its ending alone: rows of several widths may be a damaged table.
    """
    if ending == ".adjlist":
        return "adjlist"
    begun = Beginning.of(head)
    if PAJEK.match(begun.text):
        return "pajek"
    if xml_root(begun.text) == "graphml":
        return "graphml"
    if GML.match(begun.text):
        return "gml"
    if begun.rows and begun.rows[0][:1] in "cp" and _is_dimacs(begun.text):
        return "dimacs"
    return "edge-data" if begun.most(DATA.fullmatch) else None


def _is_dimacs(text: str) -> bool:
    """Return whether a text has, after comments, the line of a problem and then a line of a vertex
    or an edge.
    """
    lines = (line.strip() for line in text.split("\n"))
    rows = (line for line in lines if not COMMENT.match(line))
    return PROBLEM.fullmatch(next(rows, "")) is not None and bool(LINE.match(next(rows, "a ")))
