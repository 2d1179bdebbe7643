"""Tables of ratings and of edges as `tux.run` takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from tux.arrays.edges import EdgeData
from tux.arrays.given import check_unmasked
from tux.base.errors import DataError
from tux.estimators.conventions import check_consistent_length
from tux.inputs.memory import MemoryData, read_memory_pairs
from tux.inputs.wrapping import wrap_data
from tux.io.edges.bare_pairs import held_entries
from tux.options.python_words import in_python
from tux.program.program import Program

WIDEST = 4
"""Columns of an array that can be a table: two ids, a number, and a time that is passed over."""


FINITE = "give a finite number for each pair"


def as_table(data: Any) -> Any:
    """Return the data unchanged. DataError for an array of other dimensions, and for one that is
    wide as a matrix is, of which the first columns would be taken for ids.
    """
    check_unmasked(data)
    if isinstance(data, np.ndarray) and data.dtype.names is None:
        if data.ndim != 2 or data.shape[1] > WIDEST:
            raise DataError(
                f"an array of shape {data.shape} is no table",
                do="give rows of two ids and so on; or, of a matrix, scipy.sparse.csr_array(X)",
            )
    return data


def entries_of(matrix: Any) -> Any:
    """Return a sparse matrix as columns of its entries: rows and columns without any are not there.
    Other data stay as they are.
    """
    if not sparse.issparse(matrix):
        return matrix
    entries = matrix.tocoo()
    return entries.row, entries.col, entries.data


def features_of(name: str, given: Any) -> Any:
    """Return the argument `name`, features of users or items, as `tux.run` takes them: a sparse
    matrix as columns of its entries that are not 0. DataError for a dense matrix, and for entries
    that say more than that a feature is there.
    """
    end = name.removesuffix("_features")
    if sparse.issparse(given):
        entries = given.tocoo()
        there = held_entries(entries.data, (end, f"{end}_feature"), name)
        if not there.any():
            raise DataError(f"{name} has no entry", do="leave it out, or give some")
        return entries.row[there], entries.col[there]
    check_unmasked(given)
    plain = isinstance(given, np.ndarray) and given.dtype.names is None
    if plain and (given.ndim != 2 or given.shape[1] != 2):
        raise DataError(
            f"{name} is an array of shape {given.shape}, no table of two columns",
            do=f"give a row of {end} and feature for each; or, of a matrix, "
            f"scipy.sparse.csr_array(X)",
        )
    return given


def pairs_with(program: Program, pairs: Any, numbers: Any) -> EdgeData:
    """Return a table of pairs, and the number of each, as the edges of a program that have one
    field.
    """
    with in_python():
        given = wrap_data(program, entries_of(as_table(pairs)))
        edges = read_memory_pairs(
            given if isinstance(given, MemoryData) else MemoryData((given,)), program, {}, None
        )
    ((name, dtype),) = program.edge.columns.items()
    check_unmasked(numbers)
    values = np.asarray(numbers)
    check_consistent_length(edges.src, values)
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        what = f"y has shape {values.shape}" if values.ndim != 1 else f"y holds {_kind(values)}"
        raise DataError(f"{what}, not a number for each pair", do=FINITE)
    if len(wrong := np.flatnonzero(~np.isfinite(values))):
        at = int(wrong[0])
        raise DataError(f"y has {values[at]}, not a finite number", where=f"row {at}", do=FINITE)
    return replace(edges, fields={name: values.astype(dtype)})


def _kind(values: np.ndarray) -> str:
    """Return the type of an array without numbers, in words."""
    return "text" if all(isinstance(each, str) for each in values[:1]) else str(values.dtype)
