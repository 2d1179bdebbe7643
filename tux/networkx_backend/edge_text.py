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

from tux.base.compiled import cached_njit
from tux.networkx_backend.conversion import compact
from tux.networkx_backend.edge_lists import graph_of_ends, number_integers
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.nodes import NodeNumbers

BYTES_AT_ONCE = 1 << 24
MOST_DIGITS = 18  # of an integer that surely fits in 64 bits
COLUMN_TYPES = {int: "q", float: "d"}
"""The types of columns of attributes, as `array` has them."""

OTHER = "columns of numbers cannot hold the attributes of a line"

NEW_LINE, RETURN, BLANK, TAB, MINUS, ZERO, NINE = b"\n\r \t-09"


@cached_njit
def _skip_blanks(text, at):  # type: ignore[no-untyped-def]
    while text[at] == BLANK or text[at] == TAB:
        at += 1
    return at


@cached_njit
def _read_integer(text, at):  # type: ignore[no-untyped-def]
    """Return an integer and where it ends; `at` itself if there is none of up to 18 digits."""
    begin = at + (text[at] == MINUS)
    number, end = 0, begin
    while ZERO <= text[end] <= NINE:
        number = 10 * number + (text[end] - ZERO)
        end += 1
    if end == begin or end > begin + MOST_DIGITS:
        return 0, at
    return (-number if begin > at else number), end


@cached_njit
def _read_pairs(text, separator, ends):  # type: ignore[no-untyped-def]
    """Read lines of two integers up to the first other one, and write the integers to `ends`;
    return where that line begins, and how many integers there are.

    The integers are separated by the byte `separator`, or by blanks if it is -1. `text` ends with a
    new line.
    """
    line = count = 0
    while line < len(text):
        at = _skip_blanks(text, line) if separator < 0 else line
        first, end = _read_integer(text, at)
        if end == at or not (
            text[end] == separator or separator < 0 and (text[end] == BLANK or text[end] == TAB)
        ):
            break
        at = _skip_blanks(text, end) if separator < 0 else end + 1
        second, end = _read_integer(text, at)
        if end == at:
            break
        end = _skip_blanks(text, end) if separator < 0 else end
        end += text[end] == RETURN
        if text[end] != NEW_LINE:
            break
        ends[count], ends[count + 1] = first, second
        count += 2
        line = end + 1
    return line, count


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
        """The separator of lines that the compiled loop reads, see `_read_pairs`; None if it can
        read none.
        """
        signs = set("-0123456789 \t\r")
        may_be_comment = self.comments is not None and set(self.comments) <= signs
        if self.nodetype is not int or self.columns or may_be_comment:
            return None
        if self.delimiter is None:
            return -1
        is_sign = len(self.delimiter) == 1 and self.delimiter in ",;|\t "
        return ord(self.delimiter) if is_sign else None

    def add_line(self, line: str) -> None:
        """Add the edge of a line, if it has one; NotImplementedError if it has attributes of other
        kinds, and what `nodetype` and the types of attributes raise.
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
            node = word if self.nodetype is None else self.nodetype(word)
            if node is None:
                raise NotImplementedError(OTHER)
            is_own = self.nodetype is int
            self.ends.append(node if is_own else self.table.setdefault(node, len(self.table)))
        for column, kind, word in zip(self.columns.values(), self.types, words[2:], strict=False):
            column.append(kind(word))

    def add_bytes(self, text: bytes, separator: int, encoding: str) -> None:
        """Add the edges of whole lines; the last one may have no end."""
        codes = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", np.uint8)
        pairs, begin = np.empty(len(codes) // 2 + 2, np.int64), 0
        while begin < len(codes):
            read, count = _read_pairs(codes[begin:], separator, pairs)
            self.ends.frombytes(memoryview(pairs[:count]).cast("B"))
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
    is_plain = encoding.lower().replace("_", "-") in ("utf-8", "ascii", "latin-1", "iso-8859-1")
    if separator is not None and is_plain and not isinstance(source, list):
        blocks = _blocks_of_lines(source)
        for block in blocks:
            if isinstance(block, str):
                raise NotImplementedError(OTHER)
            edges.add_bytes(block, separator, encoding)
        return
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
    start, source = (path.tell(), path) if can_return else (0, list(path))
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
