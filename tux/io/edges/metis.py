"""Graphs as METIS, KaHIP and their kin write them: a line of sizes, then each vertex's neighbours
on a line of its own.

    % comment
    n m [fmt [ncon]]
    [size] [weight ...] neighbour [weight] neighbour [weight] ...     of vertex 1
    ...  of vertex n; a blank line has no neighbour

There are n vertices and m edges. The three digits of fmt are 1 or 0: vertices have sizes or not,
vertices have weights (ncon of them) or not, edges have weights or not. Vertices are numbered from
1, and every edge stands on the lines of both its ends. (Manual of METIS 5.1.)
"""

from __future__ import annotations

import os
from functools import partial
from typing import NamedTuple

import numpy as np

from tux.arrays.ids import MAX_VERTICES
from tux.arrays.packed import ENDINGS as PACKINGS
from tux.base.errors import DataError
from tux.base.hashing import hash_values
from tux.io.edges.sized_graph import SizedGraph, read_sized_graph
from tux.io.formats.format import EdgeFormat, Format
from tux.io.source.integer_lines import IntegerLines, read_integer_lines

ENDINGS = (".graph", ".metis")
NAME = "A file called .graph or .metis is read as a METIS graph; call a plain list of edges .txt."


class _MetisSizes(NamedTuple):
    n: int
    m: int
    skip: int  # numbers before the first neighbour
    weighted: bool
    line: int


def is_metis(path: str | os.PathLike[str]) -> bool:
    """Return whether the name of the file ends as those of METIS graphs do: .graph or .metis,
    perhaps packed.
    """
    name = os.fspath(path)
    return name.removesuffix(next((end for end in PACKINGS if name.endswith(end)), "")).endswith(
        ENDINGS
    )


def read_metis(path: str | os.PathLike[str]) -> SizedGraph:
    """Read a METIS graph: each edge once and from its lower end, in the order of these ends' lines.
    Sizes and weights of vertices are left out. Raises `DataError` with file and line for a file
    that is none.
    """
    head: _MetisSizes | None = None
    pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    done, entries, forth, back = 0, 0, 0, 0
    for lines in read_integer_lines(path):
        if head is None:
            if not len(lines.number):
                continue
            head = _head(lines, path)
            lines = IntegerLines(lines.values, lines.bounds[1:], lines.number[1:])
        own, neighbours, weights = _adjacent(lines, head, done, path)
        done += len(lines.number)
        up = neighbours > own
        entries += len(own)
        pieces.append(
            (
                own[up].astype(np.int32),
                neighbours[up].astype(np.int32),
                weights[up] if head.weighted else weights,
            )
        )
        forth += _sum(*pieces[-1])
        back += _sum(neighbours[~up], own[~up], weights[~up] if head.weighted else weights)
    if head is None:
        raise DataError(
            f"{path} holds no graph",
            do="A METIS graph begins with a line of its numbers of vertices and edges.",
        )
    if done < head.n:
        raise DataError(
            f"{done:,} lines of neighbours, but {head.n:,} vertices",
            where=f"{path}:{head.line}",
            do=f"Is it cut short? {NAME}",
        )
    low, high, weight = (np.concatenate([piece[at] for piece in pieces]) for at in range(3))
    if entries != 2 * head.m or 2 * len(low) != entries or (forth - back) % 2**64:
        raise _unequal(path, head, entries)
    values = weight if head.weighted else None
    sizes = head.n, head.n
    return SizedGraph("an undirected graph", "METIS", low, high, values, sizes, True, listed=True)


def _head(lines: IntegerLines, path: str | os.PathLike[str]) -> _MetisSizes:
    """Parse the line of sizes. Raises DataError if it is none."""
    header = lines.values[: lines.bounds[1]].tolist()
    where = f"{path}:{lines.number[0]}"
    rule = (
        "It should be: vertices, edges, and perhaps a format of three digits 0 or 1 and a number "
        "of weights."
    )
    if not 2 <= len(header) <= 4:
        raise DataError(f"the first line has {len(header)} numbers", where=where, do=rule)
    n, m, form, weights = header + [0, 1][len(header) - 2 :]
    if not set(str(form)) <= {"0", "1"} or form > 111:
        raise DataError(f"{form} is no format of a METIS graph", where=where, do=rule)
    if n > MAX_VERTICES:
        raise DataError(f"{n:,} vertices; at most {MAX_VERTICES:,} can be held", where=where)
    size, vertex, edge = form // 100, form // 10 % 10, form % 10
    return _MetisSizes(n, m, size + vertex * weights, bool(edge), int(lines.number[0]))


def _adjacent(
    lines: IntegerLines, head: _MetisSizes, done: int, path: str | os.PathLike[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return vertex, neighbour and weight of each entry of some lines, the first of them that of
    vertex done+1. Raises DataError for a false line.
    """
    lengths = np.diff(lines.bounds)
    where = lambda line: f"{path}:{lines.number[line]}"  # noqa: E731
    extra = np.flatnonzero((np.arange(len(lengths)) + done >= head.n) & (lengths > 0))
    if len(extra):
        raise DataError(
            f"more lines than the {head.n:,} vertices of line {head.line}",
            where=where(extra[0]),
            do=NAME,
        )
    lengths = lengths[: max(head.n - done, 0)]
    short = np.flatnonzero(lengths < head.skip)
    if len(short):
        raise DataError(
            f"{lengths[short[0]]} numbers, but each vertex has {head.skip} of sizes and weights "
            "before its neighbours",
            where=where(short[0]),
        )
    odd = np.flatnonzero((lengths - head.skip) % 2 * head.weighted)
    if len(odd):
        raise DataError(
            "a neighbour without the weight of its edge",
            where=where(odd[0]),
            do=f"Line {head.line} says that edges have weights.",
        )
    line = np.repeat(np.arange(len(lengths)), lengths)
    values = lines.values[lines.bounds[0] :]
    place = (
        np.arange(len(values))
        - (lines.bounds[:-1][: len(lengths)] - lines.bounds[0])[line]
        - head.skip
    )
    first = place >= 0
    if head.weighted:
        first &= place % 2 == 0
    weights = values[np.flatnonzero(first) + 1] if head.weighted else np.empty(0, np.int64)
    line, neighbours = line[first], values[first]
    own = line + done + 1
    wrong = np.flatnonzero((neighbours < 1) | (neighbours > head.n) | (neighbours == own))
    if len(wrong):
        vertex, neighbour = own[wrong[0]], neighbours[wrong[0]]
        why = (
            "itself; METIS graphs have no self-loops"
            if vertex == neighbour
            else f"{neighbour}, but vertices are 1 to {head.n:,}"
        )
        raise DataError(f"vertex {vertex} has the neighbour {why}", where=where(line[wrong[0]]))
    return own, neighbours, weights


def _sum(low: np.ndarray, high: np.ndarray, weights: np.ndarray) -> int:
    """Add up hashes of edges. Two lists of the same edges and weights, in whatever order, have the
    same sum, and hardly any others.
    """
    keys = hash_values(low, 1) ^ hash_values(high, 2)
    if len(weights):
        keys = hash_values(keys, 3) ^ hash_values(weights, 4)
    return int(hash_values(keys, 5).sum(dtype=np.uint64))


def _unequal(path: str | os.PathLike[str], head: _MetisSizes, entries: int) -> DataError:
    """Return the error about a false number of edges in the first line, or about an edge that
    stands on the line of one end only. Reads the file again.
    """
    where = f"{path}:{head.line}"
    if entries != 2 * head.m:
        rule = (
            "Each edge stands on the lines of both its ends, so there must be twice as many "
            "neighbours as edges."
        )
        return DataError(f"{entries:,} neighbours, but {head.m:,} edges", where=where, do=rule)
    named = []
    done, skipped = 0, False
    for lines in read_integer_lines(path):
        if not skipped and len(lines.number):
            skipped, lines = True, IntegerLines(lines.values, lines.bounds[1:], lines.number[1:])
        named.append(_adjacent(lines, head, done, path)[:2])
        done += len(lines.number)
    own, other = (np.concatenate(columns) for columns in zip(*named, strict=True))
    lone = np.setdiff1d(own * (head.n + 1) + other, other * (head.n + 1) + own)
    if not len(lone):
        return DataError(
            "the lines of two neighbours do not agree on the weight of their edge, or on how often "
            "it is there",
            where=where,
        )
    vertex, neighbour = divmod(int(lone[0]), head.n + 1)
    return DataError(
        f"vertex {vertex} names {neighbour} as its neighbour, but {neighbour} does not name "
        f"{vertex}",
        where=os.fspath(path),
    )


METIS = EdgeFormat(
    Format.METIS,
    "METIS",
    "a METIS file is a whole graph, and begins with its sizes",
    partial(read_sized_graph, parse=read_metis),
    lambda start: is_metis(start.path),
    one_type="METIS graphs are undirected",
)
