"""Graphs as the challenges of DIMACS have them: comments, a line of the problem with its sizes, and
a line for each edge.

    c comment
    p sp n m                    shortest paths: m arcs   a u v length
    p max n m                   maximum flow: m arcs     a u v capacity
    p asn n m                   assignment: m arcs       a u v cost
    p edge n m   or  p col n m  colouring, cliques: m edges without a direction   e u v [weight]
    p tw n m     or  p td n m   of PACE, tree widths and covers: the same         u v

Vertices are numbered from 1. Lines that begin with n, d, v or x describe vertices, and are
passed over. (Goldberg and others: 9th DIMACS Implementation Challenge, file formats; Johnson and
Trick: 2nd Challenge.)
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import NamedTuple

import numpy as np

from tux.arrays.ids import MAX_VERTICES
from tux.base.errors import DataError
from tux.io.edges.sized_graph import EntryLines, SizedGraph, read_sized_graph
from tux.io.formats.format import EdgeFormat, FileStart, Format
from tux.io.source.text import NUMBER, blocks, cut_word, is_plain_number, quote_word

ARCS = {
    **dict.fromkeys(("sp", "max", "asn"), b"a"),
    **dict.fromkeys(("edge", "edges", "col", "clq"), b"e"),
    **dict.fromkeys(("tw", "td", "ds"), b""),
}
"""The problems that are read, and the first letter of their edges."""
DIRECTED = ("sp", "max", "asn")
OTHER = "cndvx"  # the first letters of comments and of lines of vertices
PASSED = re.compile(rb"^[ \t]*(c|[cndvx][ \t][^\n]*)\r?$", re.MULTILINE)
EDGE = {mark: re.compile(rb"^[ \t]*" + mark + rb"[ \t]+", re.MULTILINE) for mark in (b"a", b"e")}
EDGE[b""] = re.compile(rb"^[ \t]*(?=\d)", re.MULTILINE)
PROBLEM = re.compile(rb"^[ \t]*p[ \t]+([^\n]*)", re.MULTILINE)
COMMENT = re.compile(r"c(\s|\Z)")
SIZES = re.compile(r"p\s+[a-z]\w*\s+\d+\s+\d+", re.IGNORECASE)
LINE = re.compile(r"[aendvx]\s|\d")  # a line after that of the problem


class _Problem(NamedTuple):
    kind: str
    n: int
    m: int
    line: int


def read_dimacs(path: str | os.PathLike[str]) -> SizedGraph:
    """Read a graph. Raises `DataError` with file and line for a line that does not fit, and for
    another problem than those above.
    """
    problem: _Problem | None = None
    edges: EntryLines | None = None
    number = 1
    for block in blocks(os.fspath(path)):
        if problem is None and (problem := _problem(block, number, path)) is not None:
            # the lines before it are comments
            block = re.sub(PROBLEM, b"", block, count=1)
        if problem is not None:
            mark = ARCS[problem.kind]
            if edges is None and (width := _width(block, mark)):
                fault = partial(_fault, mark=mark, width=width, n=problem.n)
                edges = EntryLines(path, width, (problem.n, problem.n), fault)
            if edges is not None:
                text, count = EDGE[mark].subn(b"", block)
                edges.add(PASSED.sub(b"", text), block, number, count)
        number += block.count(b"\n")
    if problem is None:
        raise DataError(f"{path} has no line of its problem", do="It should be: p sp n m")
    src, dst, *values = (
        map(np.asarray, edges.pieces.columns()) if edges else (np.empty(0, "i4"),) * 2
    )
    directed = problem.kind in DIRECTED
    numbers, sizes = values[0] if values else None, (problem.n, problem.n)
    graph = SizedGraph("a DIMACS graph", "DIMACS", src, dst, numbers, sizes, not directed)
    kept = graph if directed else _drop_repeated_edges(graph)
    # many files of graphs without a direction count their edges once and list them twice, or so
    if problem.m not in ((len(src),) if directed else (len(src), len(kept.src), 2 * len(src))):
        raise DataError(
            f"{len(src):,} edges, but line {problem.line} says {problem.m:,}",
            where=os.fspath(path),
            do="Is the file cut short?",
        )
    return kept


def _problem(block: bytes, number: int, path: str | os.PathLike[str]) -> _Problem | None:
    """Return the problem that a block of lines names, the first of them line `number`; None if it
    names none. Raises DataError for a problem that is not read.
    """
    if (found := PROBLEM.search(block)) is None:
        return None
    line = number + block.count(b"\n", 0, found.start())
    kind, *sizes = found[1].decode(errors="replace").split()
    where = f"{path}:{line}"
    if kind not in ARCS:
        raise DataError(
            f"a DIMACS file of the problem {quote_word(kind)} is not read here",
            where=where,
            do=f"Graphs of these problems are read: {', '.join(ARCS)}.",
        )
    if len(sizes) != 2 or not all(map(is_plain_number, sizes)) or int(sizes[0]) > MAX_VERTICES:
        raise DataError(
            f"{cut_word(' '.join(sizes))} are no sizes",
            where=where,
            do=f"It should be the numbers of vertices, at most {MAX_VERTICES:,}, and of edges.",
        )
    return _Problem(kind, int(sizes[0]), int(sizes[1]), line)


def _width(block: bytes, mark: bytes) -> int:
    """Return the number of numbers in the first edge of a block, 2 or 3; 0 if there is no edge."""
    if (found := EDGE[mark].search(block)) is None:
        return 0
    return min(max(len(block[found.end() : block.index(b"\n", found.end())].split()), 2), 3)


def _fault(words: list[str], mark: bytes, width: int, n: int) -> str:
    """Return the fault of a line in words, "" if it has none."""
    if not words or words[0] in tuple(OTHER):
        return ""
    words = words if mark else ["", *words]
    if words[0] != mark.decode():
        return f"{quote_word(words[0])} begins no line of such a file"
    if len(words) != width + 1:
        return f"{len(words) - 1} numbers of an edge instead of {width}"
    for word in words[1:3]:
        if not is_plain_number(word) or not 1 <= int(word) <= n:
            return f"vertex {quote_word(word)}, but vertices are 1 to {n:,}"
    if width == 3 and not (NUMBER.fullmatch(words[3]) and np.isfinite(float(words[3]))):
        return f"the number {quote_word(words[3])} of an edge is not finite, or none"
    return ""


def _drop_repeated_edges(graph: SizedGraph) -> SizedGraph:
    """Drop the edges that repeat an earlier one, in the same or in the other direction."""
    low, high = np.minimum(graph.src, graph.dst), np.maximum(graph.src, graph.dst)
    keys = low.astype(np.int64) * (graph.sizes[0] + 1) + high
    _, first = np.unique(keys, return_index=True)
    first.sort()
    values, twice = graph.values, len(keys) - len(first)
    return graph._replace(
        src=low[first],
        dst=high[first],
        values=None if values is None else values[first],
        notes=(f"repeated edges, in either direction, are left out: {twice:,}",) if twice else (),
    )


def _begins(start: FileStart) -> bool:
    """Return whether a text has, after comments, the line of a problem and then a line of a vertex
    or an edge.
    """
    text, first = start.lines.text, start.lines.rows[:1]
    if not first or first[0][:1] not in ("c", "p"):
        return False
    lines = (line.strip() for line in text.split("\n"))
    rows = (line for line in lines if not COMMENT.match(line))
    return SIZES.fullmatch(next(rows, "")) is not None and bool(LINE.match(next(rows, "a ")))


DIMACS = EdgeFormat(
    Format.DIMACS,
    "DIMACS",
    "a DIMACS file is a whole graph, and begins with its sizes",
    partial(read_sized_graph, parse=read_dimacs),
    _begins,
    one_type="the vertices of DIMACS graphs are of one type",
)
