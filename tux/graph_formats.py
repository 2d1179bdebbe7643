"""Graph files that know their vertices' number: METIS and Matrix Market, which say too whether edges have a direction, and MATLAB's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from tux.edges import EdgeData
from tux.errors import DataError, UsageError
from tux.ids import Ids, believed
from tux.market import Market, is_market, read_market
from tux.mat import is_mat, read_mat_edges
from tux.metis import Metis, is_metis, read_metis


def read_graph(
    path: str | os.PathLike[str],
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    columns: str | None,
    against: Mapping[str, Ids] | None,
    both: bool,
) -> EdgeData | None:
    """The edges of a METIS, Matrix Market or MATLAB file, None if it is none; vertices without edges are vertices too. See `read_edges`.

    Of a MATLAB file, `columns` names the matrix. With `both` an undirected edge, or an entry off the diagonal of a symmetric Matrix
    Market one, becomes two, one in each direction.
    """
    if is_mat(path):
        return read_mat_edges(path, ends, columns, fields, against)
    metis = is_metis(path)
    if not metis and not is_market(path):
        return None
    if columns is not None:
        raise UsageError(f"{path} has no columns to name", do=f"leave --columns out: this is a {'METIS graph' if metis else 'matrix'}")
    src, dst, values, sizes, undirected, sign = _metis(read_metis(path)) if metis else _market(read_market(path))
    if ends[0] == ends[1] and sizes[0] != sizes[1]:
        raise DataError(f"{path} is a {sizes[0]:,} x {sizes[1]:,} matrix: it has no edges from {ends[0]} to {ends[1]}")
    if undirected and ends[0] != ends[1]:
        what = "an undirected graph" if metis else "a symmetric matrix"
        raise DataError(f"{path} holds {what}, which has no edges from {ends[0]} to {ends[1]}", do="Its vertices are of one type.")
    if fields and values is None:
        raise DataError(f"{path} has no {next(iter(fields))}: its edges are without numbers")
    if len(fields) > 1:
        raise DataError(f"{path} has one number an edge, but {', '.join(fields)} are needed")
    if not len(src):
        raise DataError(f"{path} holds no edge")
    if not metis and not believed(max(sizes), len(src)):  # a METIS graph has a line for each vertex
        raise DataError(f"{path} is said to be {sizes[0]:,} x {sizes[1]:,}, with {len(src):,} entries", do="Correct the size line.")
    if undirected and both:
        apart = np.flatnonzero(src != dst)
        values = values if values is None else np.concatenate([values, sign * values[apart]])
        src, dst = np.concatenate([src, dst[apart]]), np.concatenate([dst, src[apart]])
    numbers = {name: values.astype(dtype) for name, dtype in fields.items()} if values is not None else {}
    vertices = {end: np.arange(1, size + 1) for end, size in zip(ends, sizes, strict=True)}
    return EdgeData.of(ends, src, dst, numbers, against=against, vertices=vertices)


def _metis(read: Metis) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, tuple[int, int], bool, int]:
    return read.low, read.high, read.weights, (read.n, read.n), True, 1


def _market(read: Market) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, tuple[int, int], bool, int]:
    return read.row, read.column, read.values, (read.rows, read.columns), read.symmetric, -1 if read.skew else 1
