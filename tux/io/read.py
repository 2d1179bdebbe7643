"""Files of edges, whatever their format: the one place that calls the reader of each.

METIS, Matrix Market, MATLAB and .npz files know their vertices' number, and the first two whether
edges have a direction.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids, believed
from tux.base.errors import DataError, UsageError
from tux.io.detect import Format, detect
from tux.io.edge_table import read_edge_table
from tux.io.field_values import field_values
from tux.io.input_files import Source, input_files
from tux.io.market import Market, read_market
from tux.io.mat import read_mat_edges
from tux.io.metis import Metis, read_metis
from tux.io.npz_edges import read_npz_edges
from tux.io.text import NO_ROW, OnBadRow


def _sized_graph(
    path: str | os.PathLike[str],
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    columns: str | None,
    against: Mapping[str, Ids] | None,
    *,
    metis: bool,
    both: bool,
) -> EdgeData:
    """The edges of a METIS or Matrix Market file; vertices without edges are vertices too. See
    `read_edges`.

    With `both` an undirected edge, or an entry off
    the diagonal of a symmetric Matrix Market one, becomes two, one in each direction.
    """
    if columns is not None:
        raise UsageError(
            f"{path} has no columns to name",
            do=f"leave --columns out: this is a {'METIS graph' if metis else 'matrix'}",
        )
    src, dst, values, sizes, undirected, sign = (
        _metis(read_metis(path)) if metis else _market(read_market(path))
    )
    if ends[0] == ends[1] and sizes[0] != sizes[1]:
        raise DataError(
            f"{path} is a {sizes[0]:,} x {sizes[1]:,} matrix: it has no edges from {ends[0]} to "
            f"{ends[1]}"
        )
    if undirected and ends[0] != ends[1]:
        what = "an undirected graph" if metis else "a symmetric matrix"
        raise DataError(
            f"{path} holds {what}, which has no edges from {ends[0]} to {ends[1]}",
            do="Its vertices are of one type.",
        )
    if fields and values is None:
        raise DataError(f"{path} has no {next(iter(fields))}: its edges are without numbers")
    if len(fields) > 1:
        raise DataError(f"{path} has one number an edge, but {', '.join(fields)} are needed")
    if not len(src):
        raise DataError(f"{path} holds no edge", do=NO_ROW)
    if not metis and not believed(max(sizes), len(src)):  # a METIS graph has a line for each vertex
        raise DataError(
            f"{path} is said to be {sizes[0]:,} x {sizes[1]:,}, with {len(src):,} entries",
            do="Correct the size line.",
        )
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
    return EdgeData.of(ends, src, dst, numbers, against=against, vertices=vertices)


def _metis(
    read: Metis,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, tuple[int, int], bool, int]:
    return read.low, read.high, read.weights, (read.n, read.n), True, 1


def _market(
    read: Market,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, tuple[int, int], bool, int]:
    return (
        read.row,
        read.column,
        read.values,
        (read.rows, read.columns),
        read.symmetric,
        -1 if read.skew else 1,
    )


Undirected = Literal["both", "once"]


def read_edges(
    path: Source,
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    *,
    columns: str | None = None,
    on_bad_row: OnBadRow = "stop",
    against: Mapping[str, Ids] | None = None,
    undirected: Undirected = "both",
    format: Format | None = None,
) -> EdgeData:
    """Read edges between vertices of the types `ends` from a file, or from all that `path` stands
    for (`tux.io.input_files`); `fields` maps the edge's data fields to their dtypes.

    `columns` names the columns of source, target and fields ("a,b,c" by header, or 1-based
    positions), instead of finding them. A column of ids is one of integers of 64 bits, with or
    without a sign, or else, if any value is not or is not written plainly ("007"), one of strings,
    without the blanks around them. With ids `against`, of other edges, vertices keep their indices,
    and `EdgeData.unseen` counts the new ones.

    A file that begins as Matrix Market does, or is called .graph or .metis, is read as that: its
    vertices are numbered from 1, and an edge without a direction becomes one in each ("both") or is
    read once, from the lower end or the row ("once"). A file of bags of columns (UCI docword,
    lda-c, libsvm) is recognised by its first lines: see `tux.io.bags`; of .mat see `tux.io.mat`, of
    .npz `tux.io.npz_edges`.
    `format` is the file's, if the caller has detected it already.

    Blank lines and lines that begin with # or % are passed over. A row of another width, without an
    id, or with a number missing or not finite is an error, or with `on_bad_row` "skip" left out and
    counted. A number of a matrix or a METIS graph that its field cannot hold is an error. Raises
    `DataError` with file and line, and `UsageError` for `columns` that can mean nothing.
    """
    path = input_files(path)
    format = detect(path) if format is None else format
    match format:
        case Format.MAT:  # `columns` names the matrix
            return read_mat_edges(path, ends, columns, fields, against)
        case Format.NPZ:
            return read_npz_edges(path, ends, fields, columns, against)
        case Format.METIS | Format.MARKET:
            return _sized_graph(
                path,
                ends,
                fields,
                columns,
                against,
                metis=format is Format.METIS,
                both=undirected == "both",
            )
    if (form := format.bags) is not None:
        from tux.io.bags import bag_edges

        return bag_edges(path, form, ends, fields, columns, against, on_bad_row)
    parquet = format is Format.PARQUET
    return read_edge_table(path, ends, fields, columns, on_bad_row, against, parquet=parquet)
