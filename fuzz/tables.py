"""Tables whose cells are changed, each read as text and from memory: the same data, or refused in
both forms.

An input is a table as JSON: names, and columns of numbers, words and null.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz.parser import Parser, from_file
from tux.arrays.edges import EdgeData
from tux.arrays.frames import frame_of
from tux.base.errors import DataError
from tux.io.edges.memory import read_frame
from tux.io.edges.read import read_edges
from tux.io.samples.memory import read_memory_samples
from tux.io.samples.samples import read_samples
from tux.io.samples.tables import EMPTY_COLUMN
from tux.io.source.row_one import GAPS
from tux.io.source.text import NUMBER
from tux.io.vertices.columns import WantedField
from tux.io.vertices.table import read_vertices

ENDS = ("user", "item")
WORDS = (
    *("NA", "null", "None", "?", "#rain", "%20", "# 1", "#", "%", "07a", "a b", "é", "x;y", "x,y"),
    *('say "hi"', '"', "two\nlines", "ta\tb", "=1+1", "sep=;", "::", "|", "user", "item", "label"),
    *("source", "target", "yes", "no", "-", "1e5x", "http://a.b/c#d", "<b>", "{", "--", "N/A"),
)
NAMES = (
    *("user", "item", "rating", "label", "x", "y", "note", "timestamp", "a b", "Unnamed: 0", "id"),
    *("source", "target", "word", "n", "weight", "price (EUR)", "score", "date", "u", "v", "2019x"),
)
TOLD = (
    *("of comments", "which are no ids", "holds numbers beyond", "that are whole numbers"),
    "an id as any other",
)
"""Words of notes: #1 above 2 is a comment of text, and .5 and NA are ids of text alone."""
MARK, COMMENT = re.compile("[#%]"), re.compile(r"[#%]+(\s|$)")
Cell = int | float | str | None
Table = dict[str, list[Cell]]

EDGES: Sequence[Table] = (
    {"user": [1, 2, 2, 3], "item": ["a", "b", "c", "a"], "rating": [1, 2.5, 3, 4]},
    {"item": [7, 8, 8], "when": [5, 5, 6], "user": ["x", "y", "x"], "rating": [1, 2, 3]},
    {"user": ["ann", "bob"], "item": ["u", "v"], "rating": [0.5, 1], "note": ["good", "so, so"]},
)
SAMPLES: Sequence[Table] = (
    {"a": [1, 0, 2.5, 3], "b": ["x", "y", "x", None], "label": [0, 1, 1, 0]},
    {"label": ["yes", "no", "no"], "n": [1, None, 3], "w": ["NA", "DE", "FR"]},
)
POINTS: Sequence[Table] = (
    {"x": [1, 2, 3], "y": [0.5, 0.25, 4]},
    {"id": ["p", "q", "r"], "a": [1, 2, 3], "b": [4, 5, 6], "note": ["s", "t", "u"]},
)


def change_table(rng: Random, samples: Sequence[bytes]) -> bytes:
    """Return a sample with some of its cells, names, columns and rows changed."""
    table: Table = json.loads(rng.choice(samples))
    for _ in range(rng.randint(0, 4)):
        name = rng.choice(list(table))
        row = rng.randrange(len(table[name]))
        match rng.randrange(8):
            case 0 | 1:
                table[name][row] = rng.choice(WORDS)
            case 2:
                table[name][row] = None
            case 3:
                table[name][row] = rng.choice((0, -1, 7, 0.1, 1e30, 2**40, 1700000000))
            case 4:
                table[name] = [rng.choice(WORDS) for _ in table[name]]
            case 5:
                table = {(rng.choice(NAMES) if key == name else key): table[key] for key in table}
            case 6:
                values: Sequence[Cell] = rng.choice((WORDS, range(9), (0.5, None, 2)))
                rows = len(table[name])
                table.setdefault(rng.choice(NAMES), [rng.choice(values) for _ in range(rows)])
            case 7:
                order = [rng.randrange(len(table[name])) for _ in range(rng.randint(2, 6))]
                table = {key: [table[key][at] for at in order] for key in table}
    names = list(table)
    rng.shuffle(names)
    return json.dumps({name: table[name] for name in names}).encode()


def as_text(table: Table) -> str:
    """Return the table as the csv module writes it, but that first cells which are comments by
    `tux.io.source.table_lines` stand in quotes.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = [[*map(_cell_text, cells)] for cells in table.values()]
    comment = MARK if any(map(NUMBER.fullmatch, columns[0])) else COMMENT
    for first, *rest in [[*table], *zip(*columns, strict=True)]:
        if comment.match(first):
            out.write(f'"{first}"' + "," * bool(rest))
            writer.writerow(rest)
        else:
            writer.writerow([first, *rest])
    return out.getvalue()


def in_memory(table: Table) -> dict[str, list[Any]]:
    """Return the table with a type for each column, as pandas reads it from text: numbers, of which
    some may be missing, or words.
    """
    return {name: _parse_column(cells) for name, cells in table.items()}


def _cell_text(cell: Cell) -> str:
    return "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)


def _parse_column(cells: list[Cell]) -> list[Any]:
    """Return a column as numbers if all its cells are numbers, else as words."""
    written = [_cell_text(cell) for cell in cells]
    known = [cell for cell in written if cell not in GAPS]
    if all(map(NUMBER.fullmatch, known)) if known else EMPTY_COLUMN.issuperset(written):
        return [None if cell in GAPS else float(cell) for cell in written]
    return [None if cell is None else _cell_text(cell) for cell in cells]


def content_of(edges: EdgeData) -> tuple[object, Sequence[str]]:
    """Return ids, edges, numbers and labels, whatever the order and the type of ids; and notes."""
    ends = [
        [str(each) for each in edges.ids[end].decode(codes).tolist()]
        for end, codes in zip(edges.ends, (edges.src, edges.dst), strict=True)
    ]
    if edges.ends[0] == "sample":  # counted from 1 in files, from 0 in memory
        ends[0] = [str(code) for code in edges.src.tolist()]
    rows = sorted(zip(*ends, *(each.tolist() for each in edges.fields.values()), strict=True))
    known = {name: each.tolist() for name, each in edges.vertex_fields.get("sample", {}).items()}
    return (rows, known, edges.classes), edges.notes


def compare_forms(text: Callable[[Path], Any], memory: Callable[[Any], Any]) -> Any:
    """Return a reader that raises AssertionError if a table has another content in one form than in
    the other. `text` and `memory` return the content, and notes; if a note says what text alone can
    mean, they may differ.
    """

    def read(path: Path, content: bytes) -> object:
        table = json.loads(content)
        path.write_text(as_text(table), encoding="utf-8")
        found, notes = [], list[str]()
        for call in (lambda: text(path), lambda: memory(in_memory(table))):
            try:
                value, told = call()
                found.append(value)
                notes += told
            except DataError as error:
                found.append("refused")
                notes.append(error.what)
        if found[0] != found[1] and not any(word in note for note in notes for word in TOLD):
            raise AssertionError(f"text: {found[0]}\nmemory: {found[1]}\ntable: {table}")
        return found[0]

    return read


def _edges_in_memory(table: Any) -> tuple[object, Sequence[str]]:
    frame = frame_of(table)
    assert frame is not None
    return content_of(read_frame(frame, ENDS, {"rating": "f4"}))


def _points(source: Any) -> tuple[object, Sequence[str]]:
    wanted = [WantedField("x", np.dtype("f8"), 0)]
    table = read_vertices(source, "point", wanted, points=True)
    return np.asarray(table.fields["x"]).tolist(), table.notes


def _samples_in_memory(table: Any) -> tuple[object, Sequence[str]]:
    return content_of(read_memory_samples(frame_of(table), "the table").edges)


def parsers(folder: Path) -> dict[str, Parser]:
    """Return all parsers of this file by name; they write into `folder`."""

    def of(samples: Sequence[Table], text: Any, memory: Any) -> Parser:
        read = from_file(folder / "table.csv", compare_forms(text, memory))
        return Parser([json.dumps(each).encode() for each in samples], read, change_table, 0.34)

    return {
        "tables-edges": of(
            EDGES,
            lambda path: content_of(read_edges(path, ENDS, {"rating": "f4"})),
            _edges_in_memory,
        ),
        "tables-samples": of(
            SAMPLES, lambda path: content_of(read_samples(path).edges), _samples_in_memory
        ),
        "tables-points": of(POINTS, _points, _points),
    }
