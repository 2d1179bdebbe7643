"""Files that hold a whole graph or matrix and state its sizes: METIS, Matrix Market and DIMACS.
Their vertices are numbered from 1, and those without edges are vertices too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids, are_plausible_sizes
from tux.base.errors import DataError, UsageError
from tux.io.edges.dimacs import read_dimacs
from tux.io.edges.field_values import field_values
from tux.io.edges.market import read_market
from tux.io.edges.metis import read_metis
from tux.io.formats.detect import Format
from tux.io.source.precision import coarse_notes
from tux.io.source.text import NO_ROW


class SizedGraph(NamedTuple):
    """m edges between vertices 1 to ``sizes[0]`` and 1 to ``sizes[1]``, or entries of a matrix."""

    what: str  # the file holds
    src: np.ndarray  # (m,)
    dst: np.ndarray
    values: np.ndarray | None  # (m,), None if edges have no numbers
    sizes: tuple[int, int]
    undirected: bool  # an edge stands for two
    sign: int = 1  # of the number of the other one
    notes: tuple[str, ...] = ()


def read_sized_graph(
    path: str | os.PathLike[str],
    format: Format,
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    columns: str | None,
    against: Mapping[str, Ids] | None,
    *,
    both: bool,
) -> EdgeData:
    """Read the edges of such a file; see `tux.io.edges.read.read_edges`.

    With `both` an undirected edge, or an entry off the diagonal of a symmetric matrix, becomes two,
    one in each direction.
    """
    if columns is not None:
        raise UsageError(
            f"{path} has no columns to name",
            do=f"leave --columns out: this is a {'matrix' if format is Format.MARKET else 'graph'}",
        )
    read = _read_graph(path, format)
    _check(read, path, format, ends, fields, against)
    _, src, dst, values, sizes, undirected, sign, notes = read
    if undirected and both:
        apart = np.flatnonzero(src != dst)
        values = values if values is None else np.concatenate([values, sign * values[apart]])
        src, dst = np.concatenate([src, dst[apart]]), np.concatenate([dst, src[apart]])
    numbers = (
        {}
        if values is None
        else {
            name: field_values(values, name, np.dtype(dtype), path)
            for name, dtype in fields.items()
        }
    )
    vertices = {end: np.arange(1, size + 1) for end, size in zip(ends, sizes, strict=True)}
    return EdgeData.of(
        ends,
        src,
        dst,
        numbers,
        against=against,
        vertices=vertices,
        notes=(*notes, *coarse_notes(numbers)),
    )


def _check(
    read: SizedGraph,
    path: str | os.PathLike[str],
    format: Format,
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    against: Mapping[str, Ids] | None,
) -> None:
    """Raise DataError for a file that has no edges between such ends, or without their numbers."""
    matrix, sizes = format is Format.MARKET, read.sizes
    if ends[0] == ends[1] and sizes[0] != sizes[1]:
        raise DataError(
            f"{path} is a {sizes[0]:,} x {sizes[1]:,} matrix: it has no edges from {ends[0]} to "
            f"{ends[1]}"
        )
    if ends[0] != ends[1] and (read.undirected or not matrix):
        raise DataError(
            f"{path} holds {read.what}, which has no edges from {ends[0]} to {ends[1]}",
            do="Its vertices are of one type.",
        )
    if fields and read.values is None:
        raise DataError(f"{path} has no {next(iter(fields))}: its edges are without numbers")
    if len(fields) > 1:
        raise DataError(f"{path} has one number an edge, but {', '.join(fields)} are needed")
    if not len(read.src):
        raise DataError(f"{path} holds no edge", do=NO_ROW)
    # a METIS graph has a line for each vertex
    if format is not Format.METIS and not are_plausible_sizes(sizes, ends, len(read.src), against):
        raise DataError(
            f"{path} is said to be {sizes[0]:,} x {sizes[1]:,}, with {len(read.src):,} entries",
            do="Correct the size line.",
        )


def _read_graph(path: str | os.PathLike[str], format: Format) -> SizedGraph:
    """Read a file of one of the three formats."""
    if format is Format.METIS:
        graph = read_metis(path)
        sizes = graph.n, graph.n
        return SizedGraph("an undirected graph", graph.low, graph.high, graph.weights, sizes, True)
    if format is Format.DIMACS:
        read = read_dimacs(path)
        twice = f"repeated edges, in either direction, are left out: {read.twice:,}"
        return SizedGraph(
            "a DIMACS graph",
            read.src,
            read.dst,
            read.values,
            (read.n, read.n),
            not read.directed,
            notes=(twice,) if read.twice else (),
        )
    market = read_market(path)
    return SizedGraph(
        "a symmetric matrix" if market.symmetric else "a matrix",
        market.row,
        market.column,
        market.values,
        (market.rows, market.columns),
        market.symmetric,
        -1 if market.skew else 1,
    )
