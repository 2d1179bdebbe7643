"""Labels of vertices, several for one vertex perhaps, by which a model that was trained without
them is judged.

0 8             a pair on a line: an id and one of its labels, cut by tabs, commas, semicolons or
                blanks; or
34 62 107       a file called .cmty: line k holds the ids of label k; or
group (n x L)   a file called .mat: an entry where row i, the vertex of id i, has label k
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import STRING, WRITTEN
from tux.arrays.ids import Ids
from tux.arrays.strings import distinct_values
from tux.base.errors import DataError
from tux.io.edges.columns import plain_name
from tux.io.edges.mat import read_mat_labels
from tux.io.formats.detect import Format, detect_format
from tux.io.source.cells import cells_of
from tux.io.source.first_lines import first_lines
from tux.io.source.row_one import RowOne, row_one
from tux.io.source.table_lines import JUDGED, TableLines, first_rows
from tux.io.source.text import CONVERT, NOT_UTF_8, WHOLE, blocks

MAX_LABELS_OF_ALL = 1 << 32  # vertices times labels
# of a header
KINDS = frozenset(("label", "labels", "class", "group", "community"))
NAMES = KINDS | {"node", "nodeid", "vertex", "id", "user"}


class VertexLabels(NamedTuple):
    """The labels of vertices."""

    member: np.ndarray  # (n, L) bool, by index of the vertex
    names: np.ndarray  # (L,) int64 if all are whole numbers, else StringDType; each once, ascending
    unknown: int  # different ids of the file that are not among those given
    moved: bool = False  # row i of a matrix, from 0, is vertex i + 1


def check_vertex_labels(path: str | os.PathLike[str]) -> None:
    """Raise DataError if a file has no labels, of whatever vertices, or cannot be read."""
    if not len(
        read_mat_labels(path)[0] if detect_format(path) is Format.MAT else list(_rows(path))
    ):
        raise DataError(f"{path} holds no label")


def read_vertex_labels(path: str | os.PathLike[str], ids: Ids) -> VertexLabels:
    """Read the labels in a file, packed or not, of the vertices that `ids` has.

    Labels of a `.cmty` file are its line numbers, from 1, of a `.mat` file the columns, from 0.
    Row i of a matrix is vertex i, or vertex i + 1 if the ids are 1 to its number of rows, as those
    of METIS are. Blank lines and comments (`tux.io.source.table_lines`) are passed over. Raises
    `DataError`, with file and line, for a line that is no pair, and if none of the ids is known.
    """
    if detect_format(path) is Format.MAT:
        vertices, kinds, count = read_mat_labels(path)
        moved = _are_from_one(ids, count)
        vertices = vertices + moved
    else:
        moved = False
        rows = list(_rows(path))
        vertices, kinds = (_column([row[at] for row in rows]) for at in range(2))
    if not len(vertices):
        raise DataError(f"{path} holds no label")
    names, label = distinct_values(kinds)
    if len(ids) * len(names) > MAX_LABELS_OF_ALL:
        raise DataError(
            f"{path} has {len(names):,} different labels, too many for {len(ids):,} vertices",
            do="Is the label's column second?",
        )
    index = ids.encode(vertices)
    known = index >= 0
    if not known.any():
        raise DataError(
            f"no id of {path} is one of the graph",
            do=f"The first there is {vertices[0]}; the graph's first is {ids.values[0]}.",
        )
    member = np.zeros((len(ids), len(names)), np.bool_)
    member[index[known], label[known]] = True
    return VertexLabels(member, names, len(np.unique(vertices[~known])), moved)


def _are_from_one(ids: Ids, count: int) -> bool:
    """Return whether ids are the whole numbers from 1 to `count`."""
    values = ids.values
    if values.dtype.kind not in "iu" or len(values) != count:
        return False
    return int(values.min(initial=count)) == 1 and int(values.max(initial=1)) == count


def _column(words: list[str]) -> np.ndarray:
    """Convert words to int64 if all of them are whole numbers as this library would write them,
    else to strings.
    """
    if all(
        len(word) < 19 and WHOLE.fullmatch(word) and str(int(word)) == word for word in set(words)
    ):
        return np.array([int(word) for word in words], np.int64)
    return np.array(words, STRING)


def _rows(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Yield id and label of each assignment, as written."""
    name = Path(path)
    inner = name.with_suffix("") if name.suffix.lower() in WRITTEN else name
    if ".cmty" in (suffix.lower() for suffix in inner.suffixes):
        members = (
            (number, line)
            for number, line in _texts(path, blocks(os.fspath(path)))
            if not line.startswith("#")
        )
        for number, line in members:
            yield from ((word, str(number)) for word in line.split())
        return
    if (seen := first_rows(first_lines(path, JUDGED), 2)) is None:
        return
    titled = row_one(seen.table, NAMES) is RowOne.NAMES
    swapped = titled and plain_name(seen.table[0][0]) in KINDS
    lines = TableLines(seen.layout([0, 1])._replace(width=2))
    for number, line in _texts(path, lines.of_file(blocks(os.fspath(path)))):
        cells = cells_of(line, seen.separator)
        if len(cells) != 2 or not all(cells):
            what = (
                f"{len(cells)} columns instead of an id and a label"
                if len(cells) != 2
                else "an id or a label is missing"
            )
            raise DataError(
                what,
                where=f"{path}:{number}",
                do="Put a tab between id and label if they hold blanks.",
            )
        if not titled:
            yield (cells[1], cells[0]) if swapped else (cells[0], cells[1])
        titled = False


def _texts(path: str | os.PathLike[str], texts: Iterator[bytes]) -> Iterator[tuple[int, str]]:
    """Yield the lines of text that are not blank, with their numbers."""
    number = 0
    for block in texts:
        if b"\0" in block:
            raise DataError(
                f"{path} is not a text file",
                do="Labels are read from text and from MATLAB's .mat.",
            )
        for line in block.split(b"\n")[:-1]:
            number += 1
            try:
                text = line.decode().strip("\r\n ")
            except UnicodeDecodeError:
                raise DataError(NOT_UTF_8, where=f"{path}:{number}", do=CONVERT) from None
            if text.strip():
                yield number, text
