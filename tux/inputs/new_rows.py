"""Vertices that training has not seen, and for which a model is to predict: the rows of a file, as
edges to the vertices that the model knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.piped import STANDARD
from tux.base.errors import UsageError
from tux.base.text import plural_noun
from tux.inputs.edge_files import bare_pairs
from tux.inputs.memory import (
    MemoryData,
    documents_of,
    is_matrix,
    read_memory_edges,
)
from tux.inputs.memory import (
    read_bags as held_bags,
)
from tux.inputs.memory import (
    read_samples as held_samples,
)
from tux.inputs.samples import NAMED, check_hashed, sample_options
from tux.io.bags.bags import read_bags
from tux.io.edges.read import read_edges
from tux.io.formats.detect import Format, detect_format
from tux.io.formats.edge_formats import EDGE_FORMATS
from tux.io.samples.samples import read_samples
from tux.io.source.first_lines import first_lines, rows_of
from tux.io.source.input_files import input_files
from tux.options.options import Reading
from tux.options.python_words import in_python
from tux.program.input import Bags, Samples
from tux.program.program import Program


class RowTypes(NamedTuple):
    """The type of new vertices, and the `other` type, whose vertices the model knows. Where
    edges join two vertices of the `other` type, `kind` is no end of them before they are read.
    """

    kind: str
    other: str
    known: Ids
    numbered: str = ""  # of training: see `tux.arrays.edges.EdgeData.numbered`

    @property
    def against(self) -> dict[str, Ids]:
        """The known vertices by type, as readers take them."""
        return {self.other: self.known}


def read_rows(
    data: Any, program: Program, types: RowTypes, options: Mapping[str, Any], reading: Reading
) -> tuple[EdgeData, int, int]:
    """Read the edges between new vertices, in the order of the data, and known ones. Returns also
    how many entries were left out, as the model does not know their columns, and how many there
    were in all.

    `options` are those of the training run: see `training_options`. Raises the errors of reading.
    """
    if isinstance(data, EdgeData):
        return _rows_of_edges(data, program, types)
    if isinstance(data, MemoryData):
        with in_python():
            return _rows_in_memory(data, program, types, options, reading)
    data = input_files(data)
    format = detect_format(data)
    reading = training_options(options, data, format, reading, program)
    read = _read_samples if isinstance(program.input, Samples) else _read_edges
    return read(data, format, program, types, reading)


def _rows_in_memory(
    data: MemoryData,
    program: Program,
    types: RowTypes,
    options: Mapping[str, Any],
    reading: Reading,
) -> tuple[EdgeData, int, int]:
    """Read the rows of data in memory, as `read_rows` reads those of a file."""
    kind, other, known, _ = types
    against = types.against
    if isinstance(program.input, Samples):
        before = {name: options[name] for name in NAMED[1:-1] if options.get(name)}
        if not (is_matrix(data.first) or isinstance(data.first, np.ndarray)):
            reading = replace(reading, **before | reading.given_options())
        samples = held_samples(
            data,
            program,
            against,
            reading,
            None,
            numbered=types.numbered,
            unknown="skip",
            require_labels=False,
        )
        return samples.edges, samples.unknown, samples.unknown + len(samples.edges)
    documents = documents_of(data) if isinstance(program.input, Bags) else None
    if documents is None or kind != program.edge.ends[0]:
        table = read_memory_edges(data, program, against, reading, types.numbered)
        numbered = is_matrix(data.first)
        return _keep_known(table, program, types, numbered=numbered)
    named = isinstance(documents, list) or len(data.parts) > 1 or reading.vocab is not None
    if not named and known.values.dtype == STRING:
        raise UsageError(
            f"the {plural_noun(other)} of the model have names, those of {data.what} have numbers",
            do="give the matrix and its words: (matrix, words)",
        )
    how = {"against": against, "numbered": types.numbered, "unknown": "skip"}
    bags = held_bags(data, documents, program, None, reading, **how)
    unknown = int(bags.unknown_sum if program.edge.repeats else bags.unknown)
    rows = _reorder(bags.edges, kind, bags.edges.ids[kind].encode(bags.rows))
    return rows, unknown, unknown + _entries(bags.edges, program)


def _is_table(data: Any, format: Format, program: Program) -> bool:
    """Return whether a file is a table of edges by its format, or by a first line that names both
    ends.
    """
    if format is Format.PARQUET or _has_numbered_rows(format):
        return True
    first = next((row.line for row in rows_of(first_lines(data, 1).text, 1)), "")
    return set(program.edge.ends) <= set(re.split(r"\W+", first.lower()))


def _has_numbered_rows(format: Format) -> bool:
    """Return whether a file holds a matrix, whose rows are known by their numbers."""
    return format in EDGE_FORMATS and EDGE_FORMATS[format].shape is not None


def training_options(
    options: Mapping[str, Any], data: Any, format: Format, reading: Reading, program: Program
) -> Reading:
    """Return the options of reading a file: the given ones, else those with which the files of
    training were read, where the file is of their kind.

    The form of training is not taken for a file that is detected as one of another form; only
    lda-c and libsvm look alike.
    """
    samples = isinstance(program.input, Samples)
    names = NAMED[:-1] if samples else ("form", "vocab", "stop")
    before: dict[str, Any] = {
        name: options[name] for name in names if options.get(name) not in (None, STANDARD)
    }
    bare = format is Format.NPZ  # there are no columns with names, and no lines
    table = not samples and _is_table(data, format, program)
    detected = None if table else format.bags
    if not samples and table:
        before = {}
    elif detected is not None and {detected, before.get("form")} != {"lda-c", "svm"}:
        before.pop("form", None)
    form = reading.form or before.get("form") or detected
    if bare or samples and form == "svm":
        kept = ("cross",) if bare else ("form", "cross")  # without columns, crosses are refused
        before = {name: value for name, value in before.items() if name in kept}
    if form != "text":
        before.pop("stop", None)
    return replace(reading, **before | reading.given_options())


def _read_samples(
    data: Any, format: Format, program: Program, types: RowTypes, reading: Reading
) -> tuple[EdgeData, int, int]:
    """Read samples, which need no labels."""
    samples = read_samples(
        data,
        program.edge.ends,
        program.edge.columns,
        against=types.against,
        numbered=types.numbered,
        unknown="skip",
        require_labels=False,
        format=format,
        **sample_options(program, reading),
    )
    return samples.edges, samples.unknown, samples.unknown + len(samples.edges)


def _read_edges(
    data: Any, format: Format, program: Program, types: RowTypes, reading: Reading
) -> tuple[EdgeData, int, int]:
    """Read the edges of known columns to rows in the order of the file. Returns also how many
    entries (of repeated edges: repetitions) were left out, and how many there were in all.
    """
    kind, other, known, numbered = types
    ends, columns = program.edge.ends, program.edge.columns
    bags = {name: getattr(reading, name) for name in ("form", "vocab", "stop")}
    form = reading.form or format.bags
    if form is None and all(value is None for value in bags.values()):
        table = read_edges(
            data,
            ends,
            columns,
            columns=reading.columns,
            on_bad_row=reading.on_bad_row,
            against=types.against,
            numbered=numbered,
            format=format,
            bare=bare_pairs(program),
        )
        return _keep_known(table, program, types, numbered=_has_numbered_rows(format))
    if ends[0] != kind:
        raise UsageError(
            f"the rows of {data} are {plural_noun(other)}, but the model predicts for a {kind}",
            do=f"give a table of {plural_noun(kind)}",
        )
    if reading.columns is not None:
        raise UsageError(
            f"{data} has no columns to name", do=f"leave --columns out: this is a {form} file"
        )
    if form != "text" and bags["vocab"] is None and known.values.dtype == STRING:
        raise UsageError(
            f"the {plural_noun(other)} of the model have names, those of {data} have numbers",
            do="name the file of names with --vocab",
        )
    documents = read_bags(
        data,
        ends,
        columns,
        against=types.against,
        numbered=numbered,
        unknown="skip",
        on_bad_row=reading.on_bad_row,
        **bags | {"form": form},
    )
    unknown = int(documents.unknown_sum if program.edge.repeats else documents.unknown)
    edges = documents.edges
    return (
        _reorder(edges, kind, edges.ids[kind].encode(documents.rows)),
        unknown,
        unknown + _entries(edges, program),
    )


def _keep_known(
    table: EdgeData, program: Program, types: RowTypes, *, numbered: bool
) -> tuple[EdgeData, int, int]:
    """Leave out a table's edges of unknown columns. Rows are in the order in which they come first;
    `numbered` ones by their numbers.
    """
    kind, other, known, _ = types
    if kind not in table.ends:
        return _keep_joining(table, program, types)
    ends = dict(zip(table.ends, (table.src, table.dst), strict=True))
    _, first = np.unique(ends[kind], return_index=True)
    keep = ends[other] < len(known)
    fields = {name: column[keep] for name, column in table.fields.items()}
    kept = replace(
        table,
        src=table.src[keep],
        dst=table.dst[keep],
        fields=fields,
        ids={**table.ids, other: known},
        unseen={},
    )
    total, left = _entries(table, program), _entries(kept, program)
    order = np.arange(len(table.ids[kind])) if numbered else np.argsort(first, kind="stable")
    return _reorder(kept, kind, order), total - left, total


def _keep_joining(table: EdgeData, program: Program, types: RowTypes) -> tuple[EdgeData, int, int]:
    """Leave out a table's edges of one type that do not join a new vertex and a known one. Those
    left lead from new ones, in the order in which these come first, to known ones.
    """
    kind, other, known, _ = types
    ends = np.stack([table.src, table.dst], axis=1).astype(np.int64) - len(known)
    keep = (ends >= 0).sum(axis=1) == 1
    kept = replace(
        table,
        ends=(kind, other),
        src=ends[keep].max(axis=1),
        dst=ends[keep].min(axis=1) + len(known),
        fields={name: column[keep] for name, column in table.fields.items()},
        ids={kind: Ids(table.ids[other].values[len(known) :]), other: known},
        id_types={each: table.id_types[other] for each in (kind, other) if other in table.id_types},
        unseen={},
        vertex_fields={},
    )
    places = np.full(len(kept.ids[kind]), ends.size)
    np.minimum.at(places, ends[ends >= 0], np.flatnonzero(ends >= 0))
    total, left = _entries(table, program), _entries(kept, program)
    return _reorder(kept, kind, np.argsort(places, kind="stable")), total - left, total


def _rows_of_edges(edges: EdgeData, program: Program, types: RowTypes) -> tuple[EdgeData, int, int]:
    """Return edges that are in memory as rows, in the order of their ids."""
    check_hashed(program, "edges in memory")
    found = edges.against(types.against)
    own = {name: fields for name, fields in found.vertex_fields.items() if name == types.kind}
    found = replace(found, vertex_fields=own)
    return _keep_known(found, program, types, numbered=True)


def _entries(edges: EdgeData, program: Program) -> int:
    return int(edges.fields[program.edge.repeats].sum()) if program.edge.repeats else len(edges)


def _reorder(edges: EdgeData, kind: str, order: np.ndarray) -> EdgeData:
    """Renumber the vertices of a type, in the `order` given by their indices so far."""
    now = np.empty(len(order), np.int32)
    now[order] = np.arange(len(order), dtype=np.int32)
    at = dict(zip(("src", "dst"), edges.ends, strict=True))
    moved: dict[str, Any] = {end: now[getattr(edges, end)] for end, of in at.items() if of == kind}
    return replace(edges, ids={**edges.ids, kind: Ids(edges.ids[kind].values[order])}, **moved)
