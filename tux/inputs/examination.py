"""The findings of ``tux check`` in a file, before anything is trained on it.

The file is read as a run would read it, but that bad rows are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError, TuxError
from tux.base.text import data_name, plural
from tux.inputs.edge_files import bare_pairs
from tux.inputs.load import load
from tux.inputs.origin import cut_folder
from tux.inputs.sizes import count_groups
from tux.inputs.untyped import ONE, classes_in_words, read_graph
from tux.io.edges.columns import Bare, WantedColumns
from tux.io.edges.layout import columns_in_text, edge_layout
from tux.io.formats.detect import Format, detect_format
from tux.io.samples.roles import USUAL
from tux.io.source.cells import BLANKS
from tux.io.source.first_lines import FirstLines, first_lines
from tux.io.source.input_files import Source, input_files
from tux.io.source.row_one import RowOne, has_names, row_one
from tux.io.source.table_lines import JUDGED, FirstRows, first_rows
from tux.options.options import Reading
from tux.program.input import Points, Samples
from tux.program.program import Program

SHOWN = 3  # ids of each type
MAX_CELL_LETTERS = 60  # characters of a cell
WIDEST = 12  # cells of a row
CUTS = {BLANKS: "blanks", "\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", "::": "::"}

Findings = Iterator[tuple[str, str]]
"""Names and sentences, in the order in which they are shown."""


def examine(data: Source, program: Program | None, reading: Reading) -> Findings:
    """Tell what the files of `data` hold, as `program` reads them; without one, as edges. Each
    finding comes as soon as it is known, so that it stands before the error that follows.

    Raises the errors of `tux.inputs.load.load`.
    """
    if cut_folder(data):
        raise DataError(f"{data} is a folder of tux partition", do="tux info tells what is in it.")
    source = input_files(data)
    format = detect_format(source)
    if format is Format.TEXT and reading.form is None:
        yield from _text(source, program, reading)
    else:
        yield "format", reading.form or format.value
    said: list[str] = []
    if program is None:
        edges = read_graph(source, format).edges
        said += [f"{data_name(data)}: {note}" for note in edges.notes]
    else:
        reading = replace(reading, on_bad_row="skip")
        edges = load(program, data, None, reading, warn=said.append).train
    yield from _edges(edges)
    start = f"{data_name(data)}: "
    notes = [text for text in said if text.startswith(start)]  # the others have been told
    yield from (("note", text.removeprefix(start)) for text in notes)


def _text(source: str, program: Program | None, reading: Reading) -> Findings:
    """Tell by which separator a table of text is cut, and its first two rows."""
    first = first_lines(source, JUDGED)
    if (seen := first_rows(first, 2)) is None:
        yield "format", "text without a row"
        return
    how = f" cut by {CUTS.get(seen.separator, repr(seen.separator))}" if seen.width > 1 else ""
    yield "format", f"text, {plural(seen.width, 'column')}{how}"
    for at, row in enumerate(seen.table[:2], 1):
        names = at == 1 and _has_header(first, seen, program, reading)
        cells = ", ".join(cell[:MAX_CELL_LETTERS] for cell in row[:WIDEST])
        more = ", ..." if len(row) > WIDEST else ""
        yield f"row {at}", f"{'names of columns: ' if names else ''}{cells}{more}"
    if program is not None and isinstance(program.input, Samples) and reading.labels is None:
        usual = (name for each in USUAL for name in seen.table[0] if name.lower() == each)
        if label := reading.label or next(usual, ""):
            yield "labels in", f"column {label}"


def _has_header(
    first: FirstLines, seen: FirstRows, program: Program | None, reading: Reading
) -> bool:
    """Return whether a program takes the first row as names of columns."""
    if program is not None and isinstance(program.input, Samples):
        return True
    if program is not None and isinstance(program.input, Points):
        kind = program.edge.ends[0]
        return has_names(seen.table, {"id", kind, f"{kind}id", *program.vertices[kind].fields})
    edge = None if program is None else program.edge
    given = {"value": "f4"} if seen.width > 2 else {}
    fields = {name: np.dtype(kind) for name, kind in (edge.columns if edge else given).items()}
    bare: Bare = "" if program is None else bare_pairs(program)
    wanted = WantedColumns(edge.ends if edge else ONE, fields, reading.columns, bare)
    try:
        layout = edge_layout(first, columns_in_text(first, wanted))
    except TuxError:
        return row_one(seen.table, ()) is RowOne.NAMES  # reading the file will tell the fault
    return layout is not None and bool(layout.title)


def _edges(edges: EdgeData) -> Findings:
    """Tell what was read: columns, ids, edges and their numbers, labels, bad rows."""
    if edges.columns:
        taken = ", ".join(f"{name} from {column}" for name, column in edges.columns.items())
        yield "columns", taken
    for name, ids in edges.ids.items():
        groups = count_groups(edges, name)
        more = f", of {plural(groups, 'group')}" if groups else ""
        yield f"{name} ids", f"{len(ids):,}: {_ids(ids)}{more}"
    if len(edges):
        repeated = edges.duplicates
        repeat = f"repeat{'s' * (repeated == 1)}"
        again = f", {repeated:,} of which {repeat} a pair" if repeated else ""
        yield "edges", f"{len(edges):,}{again}"
    for name, values in edges.fields.items():
        yield name, _numbers(values)
    for name, fields in edges.vertex_fields.items():
        for field, values in fields.items():
            if values.ndim > 1:
                yield f"{name}.{field}", f"{plural(values.shape[1], 'number')} each"
            elif (field != "label" or not edges.classes) and (field != "weight" or values.std()):
                yield f"{name}.{field}", _numbers(values)
    if edges.classes:
        yield "labels", classes_in_words(edges.classes)
    if edges.skipped:
        yield "bad rows", f"{edges.skipped:,}; the first is {edges.first_skipped}"


def _ids(ids: Ids) -> str:
    """Name the type of some ids, with examples."""
    values = ids.values
    kind = "strings" if values.dtype.kind == "T" else "whole numbers"
    shown = ", ".join(
        repr(str(x)) if kind == "strings" else str(x) for x in values[:SHOWN].tolist()
    )
    return f"{kind}, such as {shown}"


def _numbers(values: Any) -> str:
    """Write the range and the mean of a column of numbers."""
    array = np.asarray(values)
    if not len(array):
        return "none"
    low, high = array.min(), array.max()
    return f"{low:.8g} to {high:.8g}, mean {array.mean(dtype=np.float64):.6g}"
