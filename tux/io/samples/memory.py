"""Labelled samples from data in memory: a matrix and its labels, or a table with a column of
labels.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.edges import EdgeData
from tux.arrays.frames import Frame
from tux.arrays.given import check_unmasked
from tux.arrays.ids import Ids
from tux.base.errors import DataError, UsageError
from tux.base.text import plural
from tux.io.bags.entries import BagSpec, check_entries, kinds_of
from tux.io.edges.memory import check_matrix
from tux.io.samples.crossed import no_columns_to_cross
from tux.io.samples.faults import QUERY_RULES
from tux.io.samples.label_files import read_sample_labels
from tux.io.samples.labels import F4, SampleLabels, SampleRows
from tux.io.samples.matrix import arrays_of, matrix_rows
from tux.io.samples.options import SampleOptions
from tux.io.samples.parquet import read_frame_rows
from tux.io.samples.queries import query_codes
from tux.io.samples.samples import SampleData, samples_of, with_labels
from tux.io.source.places import MemoryRows, Places
from tux.io.source.text import BadRows
from tux.io.vertices.arrays import is_absent

LABELS = "the labels"
BESIDE = "Give them as the fourth part of the data: (X, y, None, qid)."
FRAME_RULE = f"{QUERY_RULES['table']} {BESIDE}"


def read_memory_samples(
    x: Any,
    what: str,
    ends: tuple[str, str] = ("sample", "feature"),
    fields: Mapping[str, Any] | None = None,
    *,
    y: Any = None,
    weights: Any = None,
    queries: Any = None,
    **options: Any,
) -> SampleData:
    """Read samples in memory as `tux.io.samples.samples.read_samples` reads those of files. `x` is
    a sparse matrix of scipy, an array (n, m), or a `Frame`; `what` is its name in messages.

    `y` (n,) are the labels, `weights` (n,) the weights of the samples, and `queries` (n,) what
    names their queries. Without them, a frame may have columns of these, and the file `labels` may
    have the labels. Samples have
    as ids their places from 0, bad ones counted. Raises the errors of `read_samples`, and
    `DataError` for columns that differ in length.
    """
    kinds, how = kinds_of(fields, "value", F4), SampleOptions(**options)
    check_entries(what, "samples and features", ends, kinds, how.against, how.unknown)
    framed = isinstance(x, Frame)
    _check(what, how, y, weights, framed=framed)
    field, dtype = next(iter(kinds.items()), ("value", F4))
    bad = BadRows.of_memory(what, how.on_bad_row)
    asked = BagSpec(what, *ends, field, dtype, 1, None, bad, how.hash_bits)
    apart, places = _separate_labels(y, how.labels)
    how = replace(how, apart=apart)
    if framed:
        rows = read_frame_rows(asked, how, x)
    else:
        rows = matrix_rows(arrays_of(x), asked, check_matrix(x, what)[0])
    rows = with_labels(rows, asked, how, places, "Give the matrix and its labels: (X, y).")
    if weights is not None:
        rows = _set_weights(rows, weights, asked)
    if queries is not None:
        rows = _set_queries(rows, queries, asked)
    found = samples_of(rows, asked, kinds, how, FRAME_RULE if framed else BESIDE)
    return found._replace(edges=number_from_zero(found.edges, ends[0]))


def number_from_zero(edges: EdgeData, kind: str) -> EdgeData:
    """Number the vertices of a type from 0, which were numbered from 1."""
    return replace(edges, ids={**edges.ids, kind: Ids(edges.ids[kind].values - 1)})


def _check(what: str, how: SampleOptions, y: Any, weights: Any, *, framed: bool) -> None:
    """Raise UsageError for arguments that do not go together."""
    if not framed and (how.label is not None or how.weight is not None):
        named = f"label {how.label!r}" if how.label is not None else f"weight {how.weight!r}"
        raise UsageError(
            f"{what} has no columns with names, so none for the {named}", do="leave it out"
        )
    if not framed and how.cross:
        raise no_columns_to_cross(what, how.cross)
    if y is not None and (how.label is not None or how.labels is not None):
        raise UsageError("labels are given twice: as y, and by another option", do="give them once")
    if weights is not None and how.weight is not None:
        raise UsageError("weights are given twice, once as a column", do="give them once")


def _separate_labels(
    y: Any, labels: str | os.PathLike[str] | None
) -> tuple[np.ndarray | None, Places]:
    """Return labels that are given apart from the samples, and their places."""
    if y is not None:
        return label_column(y), MemoryRows(LABELS)
    if labels is None:
        return None, Places("")
    return read_sample_labels(labels), Places(os.fspath(labels))


def label_column(y: Any, what: str = "labels") -> np.ndarray:
    """Convert labels, or `what` else names samples, of any library to one column of numbers,
    booleans or strings, (n,); "" for a missing one. Raises `DataError` for anything else.
    """
    check_unmasked(y)
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind == "O" and array.ndim == 1:
        texts = ["" if is_absent(each) else str(each) for each in array.tolist()]
        array = np.array(texts, STRING)
    elif array.dtype.kind == "U":
        array = array.astype(STRING)
    if array.ndim != 1 or array.dtype.kind not in "biufT":
        raise DataError(
            f"{what} are one column of numbers or words, not {array.dtype} of shape {array.shape}"
        )
    return array


def _set_weights(rows: SampleRows, weights: Any, asked: BagSpec) -> SampleRows:
    """Give rows their weights; `weights` has an entry for each row of the input, bad ones too."""
    check_unmasked(weights)
    array = np.asarray(weights)
    there = len(rows.entries.rows) + asked.bad.count
    if array.ndim != 1 or array.dtype.kind not in "biuf" or len(array) != there:
        raise DataError(
            f"weights of {array.dtype} and shape {array.shape} for {plural(there, asked.row)}",
            do=f"Give a number for each {asked.row}.",
        )
    good = (array >= 0) & (array <= float(np.finfo(np.float32).max))
    if not good.all():
        at = int(np.flatnonzero(~good)[0])
        raise DataError(
            f"the weight is {array[at]}, not a finite number from 0", where=f"the weights, row {at}"
        )
    return rows._replace(weight=array.astype(np.float32)[rows.entries.rows - 1])


def _set_queries(rows: SampleRows, queries: Any, asked: BagSpec) -> SampleRows:
    """Give rows their queries; `queries` has an entry for each row of the input, bad ones too."""
    if rows.query is not None:
        raise UsageError("queries are given twice, once as a column", do="give them once")
    codes = query_codes(SampleLabels.of(label_column(queries, "queries")))
    there = len(rows.entries.rows) + asked.bad.count
    if len(codes) != there:
        raise DataError(
            f"queries of {plural(len(codes), asked.row)} for {there:,}",
            do=f"Give the query of each {asked.row}.",
        )
    return rows._replace(query=codes[rows.entries.rows - 1])
