"""Files that hold a whole graph or matrix and state its sizes: METIS, Matrix Market and DIMACS.
Their vertices are numbered from 1, and those without edges are vertices too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tux.arrays import arrow
from tux.arrays.arrow_values import to_numpy
from tux.arrays.edges import EdgeData
from tux.arrays.ids import are_plausible_sizes
from tux.base.errors import DataError
from tux.io.bags.numbering import ColumnNumbering
from tux.io.edges.bare_pairs import held_entries
from tux.io.edges.numbers import NumberedEnds, numbered_edges
from tux.io.edges.request import EdgeRequest
from tux.io.source.cells import BLANKS, TextLayout
from tux.io.source.precision import coarse_notes
from tux.io.source.table_text import HEXADECIMAL
from tux.io.source.text import NO_ROW


class SizedGraph(NamedTuple):
    """m edges between vertices 1 to ``sizes[0]`` and 1 to ``sizes[1]``, or entries of a matrix."""

    what: str  # the file holds
    form: str  # see `tux.io.bags.numbering.ColumnNumbering`
    src: np.ndarray  # (m,)
    dst: np.ndarray
    values: np.ndarray | None  # (m,), None if edges have no numbers
    sizes: tuple[int, int]
    undirected: bool  # an edge stands for two
    matrix: bool = False
    listed: bool = False  # the file has a line for each vertex
    sign: int = 1  # of the number of the other edge
    notes: tuple[str, ...] = ()


def read_sized_graph(
    asked: EdgeRequest, parse: Callable[[str], SizedGraph], what: str = "a graph"
) -> EdgeData:
    """Read the edges of such a file, which `parse` reads; see `tux.io.edges.read.read_edges`.

    An undirected edge, or an entry off the diagonal of a symmetric matrix, may become two, one in
    each direction.
    """
    asked.refuse_columns(what)
    graph = parse(asked.path)
    _check(graph, asked)
    src, dst, values = graph.src, graph.dst, graph.values
    if values is not None and asked.bare == "members":
        there = held_entries(values, asked.ends, asked.path)
        src, dst, values = src[there], dst[there], values[there]
    if graph.undirected and asked.both:
        apart = np.flatnonzero(src != dst)
        values = values if values is None else np.concatenate([values, graph.sign * values[apart]])
        src, dst = np.concatenate([src, dst[apart]]), np.concatenate([dst, src[apart]])
    numbers = {} if values is None else asked.numbers(values)
    ends = NumberedEnds(ColumnNumbering(graph.form, 1), src, dst, graph.sizes)
    return numbered_edges(asked, ends, numbers, (*graph.notes, *coarse_notes(numbers)))


def _check(graph: SizedGraph, asked: EdgeRequest) -> None:
    """Raise DataError for a file that has no edges between such ends, or without their numbers."""
    path, (first, second), (rows, columns) = asked.path, asked.ends, graph.sizes
    if first == second and rows != columns:
        raise DataError(
            f"{path} is a {rows:,} x {columns:,} matrix: it has no edges from {first} to {second}"
        )
    if first != second and (graph.undirected or not graph.matrix):
        raise DataError(
            f"{path} holds {graph.what}, which has no edges from {first} to {second}",
            do="Its vertices are of one type.",
        )
    if asked.fields and graph.values is None:
        raise DataError(f"{path} has no {next(iter(asked.fields))}: its edges are without numbers")
    asked.check_one_number()
    count = len(graph.src)
    if not count:
        raise DataError(f"{path} holds no edge", do=NO_ROW)
    if not graph.listed and not are_plausible_sizes(graph.sizes, asked.ends, count, asked.against):
        raise DataError(
            f"{path} is said to be {rows:,} x {columns:,}, with {count:,} entries",
            do="Correct the size line.",
        )


class EntryLines:
    """Lines of two numbers from 1 to `limits`, and perhaps a real number, as edges or entries.
    ``fault(words)`` returns the fault of a line of the file, "" if it has none.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        width: int,
        limits: tuple[int, int],
        fault: Callable[[list[str]], str],
    ) -> None:
        self.pieces = arrow.Pieces([np.dtype(kind) for kind in ("i4", "i4", "f8")][:width])
        self._path, self._limits, self._fault = path, limits, fault

    def add(self, text: bytes, block: bytes, number: int, count: int | None = None) -> None:
        """Append the numbers in `text`, those of a `block` of lines, the first of them line
        `number`; there are `count` rows, if it is known. Raises DataError for the first bad line.
        """
        kinds = self.pieces.kinds
        width = len(kinds)
        text = TextLayout(BLANKS, width, []).cut(text)
        if not text.strip():
            return
        try:
            if HEXADECIMAL.search(text):
                raise arrow.UnreadableText("Arrow reads such numbers as integers")
            table = arrow.parse_text(text, width, range(width), kinds, BLANKS, quotes=False)
            ends = (to_numpy(table.column(at)) for at in range(2))
            if count not in (None, table.num_rows) or not all(
                1 <= end.min(initial=1) and end.max(initial=1) <= limit
                for end, limit in zip(ends, self._limits, strict=True)
            ):
                raise arrow.UnreadableText("a vertex outside the graph")
            self.pieces.add(table)
        except arrow.UnreadableText as error:
            for at, line in enumerate(block.split(b"\n"), number):
                if why := self._fault(line.decode(errors="replace").split()):
                    raise DataError(why, where=f"{self._path}:{at}") from None
            raise DataError(f"cannot be read ({error})", where=f"{self._path}:{number}") from None
