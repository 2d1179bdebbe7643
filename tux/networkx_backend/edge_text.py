"""Graphs from lines of text, as networkx reads them, without dicts of edges. Lines of two integers
are read by a compiled loop, others by Python; what columns of numbers cannot hold, networkx reads.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np
from networkx.utils import open_file

from tux.networkx_backend.conversion import compact
from tux.networkx_backend.edge_lists import graph_of_ends, number_integers
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.nodes import NodeNumbers
from tux.networkx_backend.plain_lines import ANYTHING, NOTHING_ELSE, WEIGHT, read_plain_lines

BYTES_AT_ONCE = 1 << 24
COLUMN_TYPES = {int: "q", float: "d"}
"""The types of columns of attributes, as `array` has them."""

OTHER = "columns of numbers cannot hold the attributes of a line"


class EdgeText:
    """The edges that lines of text tell: ends of edges, two in turn, and columns of attributes.

    Ends are integers as they stand there if `nodetype` is int, else the places of nodes in `table`.
    """

    def __init__(
        self, comments: str | None, delimiter: str | None, nodetype: Any, data: Any
    ) -> None:
        self.comments, self.delimiter = comments, delimiter
        self.nodetype = nodetype
        self.rest_is_free = data is False
        kinds = [] if isinstance(data, bool) else list(data)
        if not {kind for _, kind in kinds} <= set(COLUMN_TYPES):
            raise NotImplementedError(OTHER)
        self.columns = {name: array(COLUMN_TYPES[kind]) for name, kind in kinds}
        self.types = [kind for _, kind in kinds]
        if len(self.columns) < len(kinds):
            raise NotImplementedError(OTHER)
        self.ends = array("q")
        self.table: dict[Any, int] = {}

    @property
    def separator(self) -> int | None:
        """The separator of lines that `read_plain_lines` reads; None if it can read none."""
        signs = set(f"-0123456789. \t\r{self.delimiter or ''}")
        may_be_comment = self.comments is not None and set(self.comments) <= signs
        if self.nodetype is not int or self.types not in ([], [float]) or may_be_comment:
            return None
        if self.delimiter is None:
            return -1
        is_sign = len(self.delimiter) == 1 and self.delimiter in ",;|\t "
        return ord(self.delimiter) if is_sign else None

    def add_line(self, line: str) -> None:
        """Add the edge of a line, if it has one.

        Raises NotImplementedError if it has attributes of other kinds, and what `nodetype` and the
        types of attributes raise.
        """
        if self.comments is not None:
            cut = line.find(self.comments)
            line = line[:cut] if cut >= 0 else line
        words = line.rstrip("\n").split(self.delimiter)
        if len(words) < 2:
            return
        if not self.rest_is_free and len(words) != 2 + len(self.types):
            raise NotImplementedError(OTHER)
        for word in words[:2]:
            node: Any = word if self.nodetype is None else self.nodetype(word)
            if node is None:
                raise NotImplementedError(OTHER)
            is_own = self.nodetype is int
            self.ends.append(node if is_own else self.table.setdefault(node, len(self.table)))
        for column, kind, word in zip(self.columns.values(), self.types, words[2:], strict=False):
            column.append(kind(word))

    def add_bytes(self, text: bytes, separator: int, encoding: str) -> None:
        """Add the edges of whole lines; the last one may have no end."""
        codes = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", np.uint8)
        rest = WEIGHT if self.types else ANYTHING if self.rest_is_free else NOTHING_ELSE
        room, begin = len(codes) // 4 + 1, 0  # as a line has four bytes
        ends, weights = np.empty(2 * room, np.int64), np.empty(room if self.types else 0)
        while begin < len(codes):
            read, count = read_plain_lines(codes[begin:], separator, rest, ends, weights)
            self.ends.frombytes(ends[: 2 * count].data.cast("B"))
            for column in self.columns.values():
                column.frombytes(weights[:count].data.cast("B"))
            begin += read
            if begin < len(codes):
                end = text.find(b"\n", begin) + 1 or len(codes)
                self.add_line(text[begin:end].decode(encoding))
                begin = end

    def graph(self, create_using: Any) -> CompactGraph:
        """Make the graph of the edges."""
        ends = np.array([], np.int64) if not self.ends else np.frombuffer(self.ends, np.int64)
        nodes = (
            number_integers(ends) if self.nodetype is int else NodeNumbers(self.table, self.table)
        )
        columns = {name: np.array(column, column.typecode) for name, column in self.columns.items()}
        return graph_of_ends(nodes, ends, columns, create_using)


def _blocks_of_lines(file: Any) -> Iterator[bytes]:
    """Yield the rest of a file in pieces of whole lines."""
    while block := file.read(BYTES_AT_ONCE):
        yield block + file.readline()


def _decode(lines: Iterable[Any], encoding: str) -> Iterator[str]:
    return (line if isinstance(line, str) else line.decode(encoding) for line in lines)


def _read_edges(source: Any, edges: EdgeText, encoding: str) -> None:
    separator = edges.separator
    is_plain = encoding.lower() in ("utf-8", "ascii", "latin-1")
    has_bytes = not isinstance(source, list) and isinstance(source.read(0), bytes)
    if separator is not None and is_plain and has_bytes:
        for block in _blocks_of_lines(source):
            edges.add_bytes(block, separator, encoding)
    else:
        for line in _decode(source, encoding):
            edges.add_line(line)


@open_file(0, mode="rb")
def read_edgelist(
    path: Any,
    comments: str | None = "#",
    delimiter: str | None = None,
    create_using: Any = None,
    nodetype: Any = None,
    data: Any = True,
    edgetype: Any = None,
    encoding: str = "utf-8",
) -> CompactGraph:
    """Make a graph of a file of edges, or of its lines; parameters and errors are those of
    `networkx.read_edgelist`.
    """
    can_return = hasattr(path, "seekable") and path.seekable()
    source: Any = path if can_return else list(path)
    start = path.tell() if can_return else 0
    try:
        edges = EdgeText(comments, delimiter, nodetype, data)
        _read_edges(source, edges, encoding)
    except Exception:  # whatever is wrong, networkx tells it, or it can read it
        if can_return:
            source.seek(start)
        lines = _decode(source, encoding)
        parse = nx.parse_edgelist.orig_func
        return compact(parse(lines, comments, delimiter, create_using, nodetype, data))
    return edges.graph(create_using)


def read_weighted_edgelist(
    path: Any,
    comments: str | None = "#",
    delimiter: str | None = None,
    create_using: Any = None,
    nodetype: Any = None,
    encoding: str = "utf-8",
) -> CompactGraph:
    """Make a graph of a file of edges with a weight each, or of its lines; parameters and errors
    are those of `networkx.read_weighted_edgelist`.
    """
    data = (("weight", float),)
    return read_edgelist(path, comments, delimiter, create_using, nodetype, data, encoding=encoding)
