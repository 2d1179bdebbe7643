"""Data of a run that are in memory: tables of pandas, polars, DuckDB and pyarrow, columns of numpy,
sparse matrices of scipy, graphs of networkx, texts and lists of words.

The meaning of an object depends on the program's input: `docs/data-in.md` has the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.frames import frame_of, has_arrow, object_name
from tux.arrays.ids import Ids
from tux.base.errors import DataError, UsageError
from tux.inputs.edge_files import bare_pairs
from tux.inputs.queries import is_ranked
from tux.inputs.samples import (
    check_reading,
    classes_of,
    explain_unknown_labels,
    sample_options,
    samples_to_edges,
)
from tux.io.bags.bags import BagData
from tux.io.bags.memory import read_memory_bags
from tux.io.edges.memory import read_frame, read_matrix_edges, read_network
from tux.io.edges.numbers import tell_other_numbers
from tux.io.samples.memory import read_memory_samples
from tux.io.samples.samples import SampleData
from tux.options.options import Reading
from tux.options.python_words import in_python
from tux.program.input import Bags, Points, Samples
from tux.program.program import Program

TABLES = (
    "a DataFrame of pandas or polars, a table of pyarrow, a relation of DuckDB, or columns by name"
)
ONE_COLUMN = 'If a column holds texts, give that column: df["text"].'
COLLECTING = {"polars": "collect()", "pyspark": "toPandas()", "dask": "compute()"}
"""The methods that bring tables into memory, by their library."""


@dataclass(frozen=True)
class MemoryData:
    """Data in memory that are no `EdgeData` yet. `parts`: the object, or the objects of a tuple of
    several: a matrix and its labels, a matrix and its words.
    """

    parts: tuple[Any, ...]

    @property
    def first(self) -> Any:
        """The object itself, or the first one."""
        return self.parts[0]

    @property
    def what(self) -> str:
        """The name of the object in messages."""
        return object_name(self.first)


def is_matrix(data: Any) -> bool:
    """Return whether an object is a sparse matrix of scipy."""
    return hasattr(data, "tocoo") and hasattr(data, "shape")


def _is_table(data: Any) -> bool:
    """Return whether an object is a table with columns of its own names."""
    return hasattr(data, "columns") or hasattr(data, "column_names")


def is_network(data: Any) -> bool:
    """Return whether an object is a graph of networkx."""
    return all(hasattr(data, name) for name in ("nodes", "edges", "is_directed"))


def read_memory(
    data: MemoryData,
    program: Program,
    train: EdgeData | None,
    reading: Reading,
    known: Mapping[str, Ids] | None = None,
) -> EdgeData:
    """Read the edges that data in memory are for a program; with training edges `train`, whose ids
    come first, or `known` ids of edges of other types.

    Raises `DataError` for an object that such a program does not read, or with the column or the
    row (from 0) that is wrong, and `UsageError` for options that have no use.
    """
    with in_python():
        match program.input:
            case Samples():
                return _samples(data, program, train, reading)
            case Bags() if (documents := documents_of(data)) is not None:
                bags = read_bags(data, documents, program, train, reading).edges
                kind = program.edge.ends[0]
                return bags if train is None else bags.behind(kind, train.ids[kind])
        _check_options(program, reading)
        known = train.ids if train is not None else known
        numbered = "" if train is None else train.numbered
        try:
            return read_memory_edges(data, program, known, reading, numbered)
        except DataError as error:
            if (
                isinstance(program.input, Bags)
                and reading.columns is None
                and _is_table(data.first)
            ):
                error.do = f"{error.do} {ONE_COLUMN}"
            raise


def read_memory_edges(
    data: MemoryData,
    program: Program,
    known: Mapping[str, Ids] | None,
    reading: Reading,
    numbered: str = "",
) -> EdgeData:
    """Read the edges of a table, a matrix or a network; `known` ids come first, and `numbered` is
    theirs (see `EdgeData.numbered`).
    """
    edges = _read_edges(data, program, known, reading, numbered)
    return tell_other_numbers(edges, known, numbered)


def _read_edges(
    data: MemoryData,
    program: Program,
    known: Mapping[str, Ids] | None,
    reading: Reading,
    numbered: str,
) -> EdgeData:
    """Do `read_memory_edges`, whatever ids show of their numbers."""
    given, ends, fields = data.first, program.edge.ends, program.edge.columns
    skip = reading.on_bad_row
    if is_network(given) or is_matrix(given):
        if reading.columns is not None:
            raise UsageError(f"{data.what} has no columns to name", do="leave columns out")
        if is_matrix(given):
            how: dict[str, Any] = {"against": known, "numbered": numbered}
            how["members"] = bare_pairs(program) == "members"
            return read_matrix_edges(given, ends, fields, data.what, on_bad_row=skip, **how)
        return read_network(given, ends, fields, data.what, against=known)
    if isinstance(given, np.ndarray) and reading.columns is None:
        _check_array(given, program)
    if isinstance(given, tuple) and any(map(is_matrix, given)):
        raise DataError(
            f"{object_name(next(filter(is_matrix, given)))} is no column of a table",
            do="Give the matrix alone, or a tuple of columns.",
        )
    frame = frame_of(given)
    if frame is None:
        raise unreadable_error(data, program)
    return read_frame(
        frame,
        ends,
        fields,
        columns=reading.columns,
        on_bad_row=skip,
        against=known,
        bare=bare_pairs(program),
    )


def _check_array(array: np.ndarray, program: Program) -> None:
    """Raise DataError for an array (n, width) that seems to be a dense matrix, rather than
    columns.
    """
    if array.ndim != 2 or array.shape[1] <= (needed := 2 + len(program.edge.columns)):
        return
    square = array.shape[0] == array.shape[1] and len(set(program.edge.ends)) == 1
    if square or isinstance(program.input, Bags):
        raise DataError(
            f"an array of shape {array.shape} has more than {needed} columns: it may be a matrix",
            do="Give a matrix as scipy.sparse.csr_array(X), or only the columns that are needed.",
        )


def read_memory_pairs(
    data: MemoryData,
    program: Program,
    known: Mapping[str, Ids],
    columns: str | None,
    trained: Sequence[str] = (),
    numbered: str = "",
) -> EdgeData:
    """Read the two ends of the edges of a table, a matrix or a network, without their numbers:
    pairs to be scored. Columns with the names that were `trained` on are taken first. `numbered`:
    see `read_memory_edges`.
    """
    edges = _read_pairs(data, program, known, columns, trained, numbered)
    return tell_other_numbers(edges, known, numbered)


def _read_pairs(
    data: MemoryData,
    program: Program,
    known: Mapping[str, Ids],
    columns: str | None,
    trained: Sequence[str],
    numbered: str,
) -> EdgeData:
    """Do `read_memory_pairs`, whatever ids show of their numbers."""
    given, ends = data.first, program.edge.ends
    if is_matrix(given):
        return read_matrix_edges(given, ends, {}, data.what, against=known, numbered=numbered)
    if is_network(given):
        return read_network(given, ends, {}, data.what, against=known)
    frame = frame_of(given)
    if frame is None:
        raise unreadable_error(data, program)
    if columns is None and trained and set(trained) <= set(frame.names):
        columns = ",".join(trained)
    return read_frame(frame, ends, {}, columns=columns, against=known)


def _check_options(program: Program, reading: Reading) -> None:
    """Raise UsageError for options of reading documents or samples, where there are none."""
    names = ("form", "vocab", "stop", "label", "weight", "query", "cross")
    if named := [name for name in names if getattr(reading, name) is not None]:
        raise UsageError(
            f"{type(program).__name__} reads edges from these data, for which {named[0]}= has no "
            "use",
            do="leave it out",
        )


def unreadable_error(data: MemoryData, program: Program) -> DataError:
    """Return the error about an object that a program cannot read."""
    kinds = {
        Samples: "a matrix and its labels, (X, y), or a table with a column of labels",
        Bags: f"texts, lists of words, a sparse matrix of counts, or {TABLES}",
        Points: f"an array with a row for each, or {TABLES}",
    }
    given = type(program.input)
    words = next((text for kind, text in kinds.items() if issubclass(given, kind)), "")
    words = words or f"{TABLES}, a sparse matrix of scipy, or a graph of networkx"
    ndim = getattr(data.first, "ndim", None)
    shape = f" of {ndim} dimension{'s' * (ndim != 1)}" if isinstance(ndim, int) else ""
    collect = COLLECTING.get(type(data.first).__module__.split(".")[0])
    return DataError(
        f"{data.what}{shape} is nothing that {type(program).__name__} reads",
        do=f"Collect it: data.{collect}." if collect else f"Give names of files, {words}.",
    )


# ---- samples


def _samples(
    data: MemoryData, program: Program, train: EdgeData | None, reading: Reading
) -> EdgeData:
    check_reading(program, reading)
    classes = classes_of(program, train)
    with explain_unknown_labels(reading.labels or data.what, classes, train, program):
        known, numbered = (None, "") if train is None else (train.ids, train.numbered)
        samples = read_samples(data, program, known, reading, classes, numbered=numbered)
    return samples_to_edges(samples, program, train)


def read_samples(
    data: MemoryData,
    program: Program,
    known: Mapping[str, Ids] | None,
    reading: Reading,
    classes: Any,
    **how: Any,
) -> SampleData:
    """Read samples: a matrix and its labels, or a table. See
    `tux.io.samples.memory.read_memory_samples`.
    """
    x, *rest = data.parts
    x = np.asarray(x) if isinstance(x, list) else x
    if len(rest) > (3 if is_ranked(program) else 2):
        raise DataError(
            f"{len(data.parts)} parts of samples",
            do="Give (X, y), or (X, y, weights) with a number for each sample.",
        )
    if reading.form:
        raise UsageError("form= is of files, and these data are in memory", do="leave it out")
    dense = isinstance(x, np.ndarray) and x.dtype.names is None
    frame = None if dense or is_matrix(x) else frame_of(x, index=False)
    if frame is not None and not frame.titled or dense and x.ndim != 2 or is_network(x):
        raise unreadable_error(data, program)
    if frame is None and not dense and not is_matrix(x):
        raise unreadable_error(data, program)
    return read_memory_samples(
        x if frame is None else frame,
        data.what,
        program.edge.ends,
        program.edge.columns,
        y=rest[0] if rest else None,
        weights=rest[1] if len(rest) > 1 else None,
        queries=rest[2] if len(rest) > 2 else None,
        against=known,
        classes=classes,
        **sample_options(program, reading),
        **how,
    )


# ---- documents


def documents_of(data: MemoryData) -> Any:
    """Return a sparse matrix, or documents as a list of texts or of lists of words; None if data
    are none of these, but perhaps a table.
    """
    given = data.first
    if is_matrix(given):
        return given
    if isinstance(given, Mapping) or isinstance(given, tuple) and not _are_documents(given):
        return None
    if isinstance(given, list | tuple):
        return list(given)
    if is_network(given) or getattr(given, "ndim", 1) != 1:
        return None
    if isinstance(given, np.ndarray):
        return given.tolist() if given.dtype.kind in "UTO" else None
    return _column(given)


def _are_documents(given: tuple[Any, ...]) -> bool:
    """Return whether a tuple holds documents, rather than columns of a table."""
    return all(isinstance(each, str) or isinstance(each, list | tuple) for each in given) and not (
        len(given) == 3 and len({len(each) for each in given}) == 1
    )


def _column(given: Any) -> list[Any] | None:
    """Return the entries of a column of pandas, polars or pyarrow; None of a table."""
    if _is_table(given):
        return None
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(given, name):
            return list(getattr(given, name)())
    return None


def read_bags(
    data: MemoryData,
    documents: Any,
    program: Program,
    train: EdgeData | None,
    reading: Reading,
    **how: Any,
) -> BagData:
    """Read documents of a matrix, with its words beside it, or of a list. See
    `tux.io.bags.memory.read_memory_bags`.
    """
    what = check_document_reading(data, documents, reading)
    ends = program.edge.ends
    known = {} if train is None else {ends[1]: train.ids[ends[1]]}
    numbered = "" if train is None else train.numbered
    return read_memory_bags(
        documents,
        what,
        ends,
        program.edge.columns,
        words=data.parts[1] if len(data.parts) > 1 else None,
        vocab=reading.vocab,
        stop=reading.stop,
        on_bad_row=reading.on_bad_row,
        **{"against": known or None, "numbered": numbered, **how},
    )


def check_document_reading(data: MemoryData, documents: Any, reading: Reading) -> str:
    """Check that options of reading go with documents in memory. Returns the name of these in
    messages. Raises UsageError, and DataError for more than a matrix and its words.
    """
    if reading.columns is not None:
        raise UsageError(f"{data.what} has no columns to name", do="leave columns out")
    if reading.form not in (None, "text"):
        raise UsageError("form= is of files, and these data are in memory", do="leave it out")
    if len(data.parts) > 2:
        raise DataError(f"{len(data.parts)} parts of documents", do="Give a matrix and its words.")
    return "the list of documents" if isinstance(documents, list) else data.what


# ---- points


def points_table(data: MemoryData, program: Program) -> Any:
    """Return points in memory as a table that `tux.io.vertices.table.read_vertices` reads."""
    given = data.first
    given = np.asarray(given) if isinstance(given, list) else given
    if isinstance(given, np.ndarray) and given.dtype.names is None:
        if given.ndim != 2:
            raise unreadable_error(data, program)
        return {"": given}
    table = isinstance(given, Mapping | np.ndarray) or has_arrow(given) or hasattr(given, "iloc")
    if not table or is_matrix(given) or is_network(given):
        raise unreadable_error(data, program)
    return given
