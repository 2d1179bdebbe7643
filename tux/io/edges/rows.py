"""Lists of edges as networkx writes them, and tables do not have them: adjacency lists, and edges
with a dict of their data.

    1 2 3 4                 a vertex and its neighbours: an edge from the first to each other one
    1 2 {'weight': 3.0}     an edge and its attributes

As in a table, an edge stands there as it is, and nothing says whether it leads both ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from tux.arrays import arrow
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.io.edges.field_values import field_values
from tux.io.edges.memory import no_row_error
from tux.io.edges.network_files import WEIGHTS
from tux.io.edges.request import EdgeRequest
from tux.io.formats.format import EdgeFormat, Format
from tux.io.source.cells import is_marked
from tux.io.source.text import (
    NUMBER,
    BadRows,
    decode_lines,
    quote_word,
    text_blocks,
)

TOKEN = re.compile(
    r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[{}\[\]():,]|[^\s'\"{}\[\]():,]+", re.DOTALL
)
CUTS = r"(?:[ \t]++(?:[^\S \t]|[,;])?|[^\S \t]|[,;])[ \t]*+"
DATA = re.compile(rf"([^\s,;{{}}]++){CUTS}([^\s,;{{}}]++){CUTS}(\{{.*\}})")
"""A line of networkx: source, target, and the dict of the edge's data."""
CUT = "\x1f"  # str.split takes it for a blank, so that no id has it


def read_edge_rows(asked: EdgeRequest, format: Format) -> EdgeData:
    """Read the edges of an adjacency list, or of rows with a dict of data; see
    `tux.io.edges.read.read_edges`.

    Ids are integers or strings, as in a table. The number of an edge is the entry of its dict with
    the name of the field, else `weight`, else `value`. A vertex that stands alone has no edge.
    """
    asked.refuse_columns(format.value)
    path, ends, fields = asked.path, asked.ends, asked.fields
    if fields and format is Format.ADJLIST:
        name = next(iter(fields))
        raise DataError(f"{path} has no {name}: an adjacency list has edges without numbers")
    bad = BadRows(path, stop=asked.on_bad_row == "stop")
    rows, alone, numbers = arrow.Pieces([None, None]), arrow.Pieces([None]), _Numbers(fields)
    take = _neighbours if format is Format.ADJLIST else numbers.edge
    number = 1
    for block in text_blocks(path, bad.places):
        for pieces, texts in zip((rows, alone), _read_block(block, number, take, bad), strict=True):
            _add(pieces, texts)
        number += block.count(b"\n")
    if not rows.rows:
        raise no_row_error(bad, "edge")
    src, dst = rows.columns()
    return EdgeData.of(
        ends,
        src,
        dst,
        {
            name: field_values(np.array(values), name, np.dtype(fields[name]), path)
            for name, values in numbers.values.items()
        },
        against=asked.against,
        vertices={ends[0]: alone.columns()[0]} if alone.rows else None,
        columns={name: source for name, source in numbers.names.items() if name != source},
        skipped=bad.count,
        first_skipped=bad.first,
    )


def _read_block(
    block: bytes, number: int, take: Callable[[str, list[str], list[str]], str], bad: BadRows
) -> tuple[list[str], list[str]]:
    """Return the edges and the lone vertices of a block, whose first line has this number; note
    its bad rows.
    """
    edges: list[str] = []
    vertices: list[str] = []
    lines = decode_lines(block, lambda at: bad.places.of(number + at))
    for at, line in enumerate(lines, number):
        row = "" if is_marked(line) else line.strip()
        if row and (why := take(row, edges, vertices)):
            bad.note(at, why)
    return edges, vertices


def _neighbours(line: str, edges: list[str], vertices: list[str]) -> str:
    """Append the edges from a vertex to its neighbours, or the vertex alone if it has none. Returns
    "", as there is no fault.
    """
    first, *others = line.split()
    edges += [f"{first}{CUT}{other}\n" for other in others]
    vertices += [] if others else [f"{first}\n"]
    return ""


class _Numbers:
    """The wanted numbers of edges, by field, and their names in the dicts, which the first dict
    shows.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.values: dict[str, list[float]] = {name: [] for name in fields}
        self.names: dict[str, str] = {}

    def edge(self, line: str, edges: list[str], vertices: list[str]) -> str:
        """Append an edge and its numbers; returns its fault in words, "" if it has none."""
        if (found := DATA.fullmatch(line)) is None:
            return "no edge with a dict of its data"
        if why := self._fault(found[3]):
            return why
        edges.append(f"{found[1]}{CUT}{found[2]}\n")
        return ""

    def _fault(self, data: str) -> str:
        """Append the numbers of one dict; returns its fault in words, "" if it has none."""
        if not self.values:
            return ""
        there = data_of(data)
        others = WEIGHTS if len(self.values) == 1 else ()
        names = self.names or {
            field: next((name for name in (field, *others) if name in there), field)
            for field in self.values
        }
        words = {field: there.get(name) for field, name in names.items()}
        for field, word in words.items():
            if word is None:
                return f"the edge has no {names[field]!r}"
            if not NUMBER.fullmatch(word) or not np.isfinite(float(word)):
                return f"{names[field]} is {quote_word(word)}, no finite number"
        self.names = names
        for field, word in words.items():
            self.values[field].append(float(word or 0))
        return ""


def data_of(text: str) -> dict[str, str]:
    """Parse a dict with keys that are strings, as Python writes it. Returns the first word of each
    value, also the number in ``np.float64(3.0)``. Nothing is evaluated.
    """
    found: dict[str, str] = {}
    depth, key, before = 0, "", ""
    for token in TOKEN.findall(text):
        if token == ":" and depth == 1 and before[:1] in ("'", '"'):
            key = before[1:-1]
        elif token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        elif token == ",":
            key = key if depth > 1 else ""
        elif key and not token.startswith(("np.", "numpy.")):
            found.setdefault(key, token)
            key = ""
        before = token
    return found


def _add(pieces: arrow.Pieces, lines: list[str]) -> None:
    """Append rows of ids."""
    if lines:
        text, kinds = "".join(lines).encode(), pieces.kinds
        width = len(kinds)
        pieces.add(arrow.parse_text(text, width, range(width), kinds, CUT, quotes=False))


ADJLIST = EdgeFormat(
    Format.ADJLIST,
    "adjacency",
    "tux reads one adjacency list",
    partial(read_edge_rows, format=Format.ADJLIST),
    lambda start: start.ending == ".adjlist",  # rows of several widths may be a damaged table
)
EDGE_DATA = EdgeFormat(
    Format.EDGE_DATA,
    "networkx",
    "tux reads one list of edges with their data as dicts",
    partial(read_edge_rows, format=Format.EDGE_DATA),
    lambda start: start.lines.most(DATA.fullmatch),
)
