"""Files of edges whose vertex types are not named. They are read, and it is found whether they
join one type or two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tux.arrays import arrow
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.base.text import plural
from tux.io.edges.columns import ITEMS, USERS
from tux.io.edges.read import read_edges
from tux.io.formats.edge_formats import EDGE_FORMATS
from tux.io.formats.format import Format
from tux.io.samples.samples import read_samples
from tux.io.source.cells import cells_of, separator_of
from tux.io.source.first_lines import first_lines, rows_of
from tux.io.source.input_files import pieces_of
from tux.io.source.text import NUMERIC

NAMED_CLASSES = 5  # classes that are named
ONE, TWO, SAMPLED = ("vertex", "vertex"), ("source", "target"), ("sample", "feature")
# share of the ids between a side's least and largest that occur, if it has its own numbering
DENSE = 0.8
APART = 0.1  # of the larger of both sides' largest ids: by how much these differ then
DENSER, FARTHER = 0.9, 0.3  # the same for edges without numbers


class Sides(NamedTuple):
    """The ids of one vertex type (n,); and for each whether it is a source, and whether it is a
    target, of an edge, (n,) bool.
    """

    values: np.ndarray
    sources: np.ndarray
    targets: np.ndarray

    @staticmethod
    def of(edges: EdgeData) -> Sides:
        """Make the sides of edges at hand, whose ends are of one type."""
        ids = edges.ids[edges.ends[0]]
        sides = [np.zeros(len(ids), np.bool_) for _ in range(2)]
        sides[0][edges.src], sides[1][edges.dst] = True, True
        return Sides(ids.values, *sides)

    @property
    def both(self) -> int:
        """The number of ids that are sources and targets."""
        return int(np.count_nonzero(self.sources & self.targets))


class UntypedGraph(NamedTuple):
    """A graph of edges without numbers, an undirected one once; whether they join two types of
    vertices, and why tux decides so.

    Those of labelled samples have the numbers and the labels that `tux run` needs.
    """

    edges: EdgeData
    format: Format  # of the file
    bipartite: bool
    why: str  # nothing if the caller has said it
    unlabelled: str = ""  # why the labels of samples are left out

    @property
    def has_samples(self) -> bool:
        """True if the edges are those of labelled samples, which are not to be cut."""
        return self.edges.ends == SAMPLED


def read_graph(
    path: str | os.PathLike[str],
    format: Format,
    bipartite: bool | None = None,
    columns: str | None = None,
) -> UntypedGraph:
    """Read a graph from a file of some format; with `bipartite` None it is found whether there are
    two types of vertices. Raises the errors of `tux.io.edges.read.read_edges`.
    """
    why = ""
    if bipartite is None:
        bipartite, why = types_by_format(path, format, columns)
    # The number of each edge is read too: it tells whether the first line is a header.
    numbers = are_numbered(path, format, columns)
    fields = {"value": "f4"} if numbers else {}
    how: dict[str, Any] = {"columns": columns, "format": format}
    edges = read_edges(path, TWO if bipartite else ONE, fields, undirected="once", **how)
    if bipartite is None:
        bipartite, why = _types_by_shape(edges, numbers or has_numbers(path, format))
        if bipartite:
            edges = read_edges(path, TWO, fields, **how)
    return UntypedGraph(replace(edges, fields={}), format, bipartite, why)


def check_one_type(
    path: str | os.PathLike[str], format: Format, kind: str, sides: Sides, columns: str | None
) -> str:
    """Return why edges read as edges between vertices of one type, `kind`, seem to join two types,
    whose equal ids have become one vertex; else "".

    Raises `DataError` where the names of the columns say so.
    """
    if format in EDGE_FORMATS or format.bags is not None or not sides.both:
        return ""
    parquet = format is Format.PARQUET
    names = _column_names(path, format)
    numbers = len(names) > 2 if parquet else has_numbers(path, format)
    return two_types_reason(names, numbers, kind, sides, columns, os.fspath(path))


def two_types_reason(
    names: Sequence[str],
    numbers: bool,
    kind: str,
    sides: Sides,
    columns: str | None,
    where: str,
) -> str:
    """Do the work of `check_one_type` for a table, by the `names` of its columns; `numbers`:
    whether edges have some.
    """
    values, first, second = sides
    if not (both := sides.both):
        return ""
    plain = {re.sub(r"[\W_]", "", name).lower(): name for name in names}
    user, item = (
        next((name for key, name in plain.items() if key in family), "")
        for family in (USERS, ITEMS)
    )
    if user and item and columns is None:
        what = (
            f"columns {user!r} and {item!r} are of two types, but {both:,} ids, such as "
            f"{values[first & second][0]}, occur in both"
        )
        do = (
            f"Each would be one {kind}. Write them differently, as u1 and i1, or name the columns "
            "with --columns."
        )
        raise DataError(what, where=where, do=do)
    if (why := _numbering_reason(values, first, second, numbers)) is None:
        return ""
    return (
        f"{why}, as if these were two types; the {both:,} ids that occur on both have become one "
        f"{kind} each"
    )


def classes_in_words(classes: Sequence[str]) -> str:
    """Write classes in words: by their names if they are few; "" if there are none."""
    return " or ".join(classes) if len(classes) <= NAMED_CLASSES else f"by {len(classes):,} classes"


def read_samples_graph(
    path: str | os.PathLike[str],
    format: Format,
    *,
    asked: bool,
    **how: Any,
) -> UntypedGraph | None:
    """Read a file of samples with labels of two kinds, or of others if `how` says so, as a graph;
    None if it is not recognised as one, or cannot be used as such.

    With `asked`, it is one, to be read as `how` says (`label`, `weight`, `labels`, `numeric`,
    `multiclass`: see `tux.io.samples.samples.read_samples`), or an error. The vertex fields are
    `label` (n,) float32, -1 or +1, or places in the classes, or numbers, float64, and `weight` (n,)
    float32, if some are not 1.
    """
    if not asked and format is not Format.SVM:
        return None
    samples = read_samples(path, SAMPLED, require_labels=asked, format=format, **how)
    if not len(samples.label):
        return None
    known = {"label": samples.label} | (
        {"weight": samples.weight} if (samples.weight != 1).any() else {}
    )
    edges = replace(samples.edges, vertex_fields={SAMPLED[0]: known}, classes=samples.classes)
    what = classes_in_words(samples.classes) or "by numbers"
    return UntypedGraph(edges, format, True, f"they are samples, labelled {what}")


def read_for_program(
    path: str | os.PathLike[str], format: Format, bipartite: bool, columns: str | None = None
) -> EdgeData:
    """Read the edges again as a program reads them: the number of each, if there is one, as field
    `value`, and undirected ones both ways.

    `columns` of two names leave the number out, those of three name it.
    """
    fields = {"value": "f4"} if are_numbered(path, format, columns) else {}
    return read_edges(path, TWO if bipartite else ONE, fields, columns=columns, format=format)


def are_numbered(path: str | os.PathLike[str], format: Format, columns: str | None) -> bool:
    """Return whether edges have a number each, by the `columns` that are named, or the file."""
    return columns.count(",") > 1 if columns else has_numbers(path, format)


def has_numbers(path: str | os.PathLike[str], format: Format) -> bool:
    """Return whether the edges of a file seem to have a number each."""
    if format in EDGE_FORMATS or format is Format.PARQUET or format.bags is not None:
        try:
            read_edges(path, TWO if format.bags else ONE, {"value": "f4"}, format=format)
        except DataError:
            return False
        return True
    rows = first_rows(path, 2)
    wide = bool(rows) and all(len(cells) > 2 for cells in rows)
    return wide and NUMERIC.fullmatch(rows[-1][2]) is not None


def types_by_format(
    path: str | os.PathLike[str], format: Format, columns: str | None
) -> tuple[bool | None, str]:
    """Decide by the format or the names of the columns whether there are two types of vertices, and
    why; None, "" if they do not decide it.
    """
    if declared := EDGE_FORMATS.get(format):
        if declared.shape:
            rows, width = declared.shape(os.fspath(path), columns)
            return rows != width, f"it is a matrix of {rows:,} x {width:,}"
        return (False, declared.one_type) if declared.one_type else (None, "")
    if format.bags is not None:
        return True, f"it is a {format.bags} file"
    names = _column_names(path, format)
    known = [name for name in names if re.sub(r"[\W_]", "", name).lower() in USERS | ITEMS]
    return (True, f"it has a column {known[0]!r}") if known else (None, "")


def _column_names(path: str | os.PathLike[str], format: Format) -> list[str]:
    """Return the names of the columns of Parquet, or the cells of the first row of text."""
    if format is Format.PARQUET:
        return arrow.parquet_names(pieces_of(path)[0].path)
    return next(iter(first_rows(path, 1)), [])


def _types_by_shape(edges: EdgeData, numbers: bool) -> tuple[bool, str]:
    """Decide whether there are two types of vertices, and why: if no id stands on both sides, or if
    edges have numbers and each side counts its ids from end to end.
    """
    sides = Sides.of(edges)
    if not (both := sides.both):
        return True, "no id occurs on both sides"
    if numbers and (why := _numbering_reason(*sides, numbers)):
        return True, f"edges have numbers, and {why}"
    return False, f"{plural(both, 'id')} occur{'s' * (both == 1)} on both sides"


def _numbering_reason(
    values: np.ndarray, first: np.ndarray, second: np.ndarray, numbers: bool
) -> str | None:
    """Return why each side seems to count its ids by itself, from end to end, or None; edges
    without numbers must show that more clearly.
    """
    if values.dtype.kind != "i":
        return None
    one, other = np.sort(values[first]), np.sort(values[second])
    dense, apart = (DENSE, APART) if numbers else (DENSER, FARTHER)
    if not all(len(own) >= dense * (int(own[-1]) - int(own[0]) + 1) for own in (one, other)):
        return None
    if abs(int(one[-1]) - int(other[-1])) <= apart * max(one[-1], other[-1]):
        return None
    if not numbers and one[0] != other[0]:
        return None  # as in a tree whose vertices are numbered level by level
    return f"sides count their ids from {one[0]} to {one[-1]} and from {other[0]} to {other[-1]}"


def first_rows(path: str | os.PathLike[str], count: int) -> list[list[str]]:
    """Return the cells of the first rows of a text file, cut by the first separator that stands in
    each.
    """
    try:
        rows = rows_of(first_lines(path, count).text, count)
    except DataError:
        return []  # damaged, which reading it will tell
    return [[cell.strip(' "') for cell in _cells(row.line.strip(" "))] for row in rows]


def _cells(line: str) -> list[str]:
    return cells_of(line, separator_of([line], 2)[0])
