"""A share of a table of vertices, as one of several processes reads it: its columns, then its good
rows, and the facts about them that all processes tell each other.

Whether a column holds whole numbers, other numbers or words, and how long its lists are, depends on
all shares. Where one process would refuse the table, or leave out a row that repeats an id, the
table must be read whole: its message is about all rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import STRING, CodedColumn, encode
from tux.arrays.ids import Ids
from tux.arrays.integers import LAST
from tux.base.errors import DataError, MustReadWhole
from tux.base.text import plural_noun
from tux.io.formats.detect import Format
from tux.io.source.input_files import Files
from tux.io.source.table_lines import LineCounts
from tux.io.source.text import BadRows, OnBadRow, Tell
from tux.io.vertices.arrays import Column
from tux.io.vertices.columns import WantedField
from tux.io.vertices.rows import EXACT, Columns, are_numbers
from tux.io.vertices.table import (
    check_categories,
    good_rows,
    read_column_share,
    read_text_columns,
)

SEVERAL = "several"
"""Stands for more than one type of numbers."""

MOST_IN_LIST = 1 << 16
"""The most numbers of a list, which another share has told, for which room is made in rows here."""

F8 = np.dtype(np.float64)
NUMBERS = {np.dtype(kind).str for kind in np.typecodes["AllInteger"] + np.typecodes["Float"] + "?"}
"""The types of numbers, as numpy writes them."""


class ColumnFacts(NamedTuple):
    """The facts about the entries of a column in a share: some are below 0, beyond int64, texts,
    or texts that are no numbers; and the `width` of the first list that has numbers. Where the type
    of the field is found from its column: some number is a `fraction`, or may be; and the `dtype`
    of numbers, "" if there is none, `SEVERAL` for more than one.
    """

    negative: bool = False
    large: bool = False
    texts: bool = False
    words: bool = False
    width: int = 0
    fraction: bool = False
    dtype: str = ""

    @staticmethod
    def of(column: Column, *, typed: bool) -> ColumnFacts:
        """Return the facts about a column, whose field is `typed` by a program or not."""
        values = column.values
        if isinstance(values, CodedColumn):
            texts = values.values.dtype.kind == "T" and bool(len(values.codes))
            words = texts and not are_numbers(map(str, values.values.tolist()))
            numbers = () if typed or words else [float(text or 0) for text in values.values]
            return ColumnFacts(texts=texts, words=words, fraction=_has_fraction(numbers))
        array = values if isinstance(values, np.ndarray) else values.values
        dtype = array.dtype.str if column.rows and not typed else ""
        if column.wide:
            return ColumnFacts(width=column.width, dtype=dtype)
        fraction = not typed and _has_fraction(array)
        whole = array.dtype.kind in "iu" and bool(len(array))
        negative, large = whole and int(array.min()) < 0, whole and int(array.max()) > LAST
        return ColumnFacts(negative, large, fraction=fraction, dtype=dtype)

    def beside(self, other: ColumnFacts) -> ColumnFacts:
        """Return the facts about these entries and those of a later share."""
        both = {self.dtype, other.dtype} - {""}
        return ColumnFacts(
            self.negative or other.negative,
            self.large or other.large,
            self.texts or other.texts,
            self.words or other.words,
            self.width or other.width,
            self.fraction or other.fraction,
            "".join(both) if len(both) < 2 else SEVERAL,
        )

    @property
    def fits(self) -> bool:
        """True if there may be such a column."""
        return self.width >= 0 and self.dtype in {"", SEVERAL, *NUMBERS}

    @property
    def as_texts(self) -> bool:
        """True if one process would read all entries as texts."""
        return self.texts or (self.negative and self.large)

    def type_of_field(self, *, wide: bool) -> np.dtype | None:
        """Return the type in which one process keeps the numbers of the column, which may be a
        vector or one `wide` number of it; None for words, and where there is no number.
        """
        if self.words or not (self.dtype or self.as_texts):
            return None
        given = F8 if self.as_texts else np.dtype(self.dtype)
        whole = given.kind == "f" and not wide and not self.fraction
        return np.dtype(np.int64) if whole else given


class VertexTableFacts(NamedTuple):
    """The facts about a share of a table: its `rows` that could be parsed, its columns by name, and
    counts of lines.
    """

    rows: int
    columns: dict[str, ColumnFacts]
    passed: LineCounts = LineCounts()

    def fits(self, own: VertexTableFacts) -> bool:
        """Return whether another share of the table of which a loader has its `own` may have these
        facts.
        """
        columns = self.columns.keys() == own.columns.keys()
        return columns and all(column.fits for column in self.columns.values())


class RowFacts(NamedTuple):
    """The facts about the rows of a share: how many are good and how many were skipped; of the
    first skipped one why, and in which step its fault was found; and the words of fields.
    """

    rows: int
    skipped: int
    first_step: int
    first_skipped: str
    words: dict[str, list[str]]

    def fits(self, own: RowFacts) -> bool:
        """Return whether another share of the table of which a loader has its `own` may have these
        facts.
        """
        return self.words.keys() == own.words.keys()


class VertexTableRead(NamedTuple):
    """The facts about a whole table: see the fields of `tux.io.vertices.table.VertexTable`."""

    rows: int
    skipped: int
    first_skipped: str
    columns: dict[str, str]
    notes: tuple[str, ...]
    words: dict[str, list[str]]


@dataclass
class TableShare:
    """A share of the table `kind` of vertices as it was read, and the facts about it."""

    kind: str
    read: Columns
    bad: BadRows
    points: bool
    facts: VertexTableFacts

    @property
    def fields(self) -> Collection[WantedField]:
        """The fields for which the table has columns."""
        return self.read.picked.fields.keys()

    def whole(self, why: str) -> MustReadWhole:
        """Return the error about a table that one process must read whole."""
        return read_whole(self.kind, why)

    def good_rows(self, facts: Sequence[VertexTableFacts], number: int) -> VertexShareRows:
        """Return the good rows of this share, number `number` of those with these `facts`. The
        columns are given up. Raise MustReadWhole where a row is bad and must not be, or repeats an
        id.
        """
        joined = dict(facts[0].columns)
        for each in facts[1:]:
            joined = {name: own.beside(each.columns[name]) for name, own in joined.items()}
        words = [name for name, own in joined.items() if own.words]
        if any(own.dtype == SEVERAL and not own.as_texts for own in joined.values()):
            raise self.whole("its numbers are of several types")
        if any(own.width > MOST_IN_LIST for own in joined.values()):
            raise self.whole("its lists are long")
        read = self._as_in_all(joined, 1 + sum(each.rows for each in facts[:number]))
        self.read = self.read._replace(columns={})
        try:
            good = good_rows(read, self.bad, self.kind, {}, words)
        except DataError:
            raise self.whole("some row is bad") from None
        if good.rows.repeated:
            raise self.whole("some row repeats an id")
        named = {name: [str(word) for word in own.tolist()] for name, own in good.words.items()}
        counts = self.bad.count, good.rows.first_step, self.bad.first
        told = RowFacts(len(good.rows.keep.nonzero()[0]), *counts, named)
        return VertexShareRows(good.ids, good.fields, told)

    def _as_in_all(self, joined: Mapping[str, ColumnFacts], first: int) -> Columns:
        """Return the columns as they are in the whole table; the first row has this number."""
        read, picked = self.read, self.read.picked
        columns, fields = dict(read.columns), {}
        for field, names in picked.fields.items():
            for name in names:
                if joined[name].as_texts:
                    columns[name] = _as_texts(columns[name])
            if field.width == 0 and columns[names[0]].wide:
                field = field._replace(width=joined[names[0]].width)
            if field.dtype is None:
                wide = field.width is not None
                types = [joined[name].type_of_field(wide=wide) for name in names]
                known = [each for each in types if each is not None]
                field = field._replace(dtype=np.result_type(*known) if known else None)
            fields[field] = names
        first = first if picked.ids is None else read.first
        return read._replace(picked=picked._replace(fields=fields), columns=columns, first=first)

    def join(self, facts: Sequence[VertexTableFacts], rows: Sequence[RowFacts]) -> VertexTableRead:
        """Return the facts about the whole table. Raise MustReadWhole if no row is good, or a field
        has too many words.
        """
        total = sum(each.rows for each in rows)
        if not total:
            raise self.whole("no row is usable")
        words = {
            name: [str(word) for word in Ids.over(_texts(rows, name))[0].values.tolist()]
            for name in rows[0].words
        }
        for field in self.read.picked.fields:
            if field.name in words:
                try:
                    check_categories(field, np.array(words[field.name], STRING), self.bad.path)
                except DataError:
                    raise self.whole("a field has too many words") from None
        skipped = [each for each in rows if each.skipped]
        first = min(skipped, key=lambda each: each.first_step).first_skipped if skipped else ""
        passed = LineCounts(*map(sum, zip(*(each.passed for each in facts), strict=True)))
        notes = (*self.read.notes, *passed.notes(self.kind), *self.read.doubt)
        count = sum(each.skipped for each in rows)
        return VertexTableRead(total, count, first, dict(self.read.taken), notes, words)


class VertexShareRows(NamedTuple):
    """The good rows of a share: their ids, their fields, and the facts about them. Words of fields
    have the numbers of those here.
    """

    ids: np.ndarray | CodedColumn
    fields: dict[str, np.ndarray]
    facts: RowFacts

    def renumber(self, words: Mapping[str, Sequence[str]]) -> None:
        """Give words their numbers among the `words` of all shares."""
        for name, own in self.facts.words.items():
            places = Ids(np.array(words[name], STRING)).encode(np.array(own, STRING))
            self.fields[name] = places[self.fields[name]]


def read_table_share(
    share: Files,
    whole: str,
    format: Format,
    kind: str,
    wanted: Sequence[WantedField] | None,
    *,
    on_bad_row: OnBadRow = "stop",
    points: bool = False,
    tell: Tell | None = None,
) -> TableShare:
    """Read a share of the `whole` table of vertices of a type, which shows the columns: text,
    Parquet or an array of numpy. See `tux.io.vertices.table.read_vertices`. `tell` is called with
    the amount read.

    Raises `DataError` for a row that cannot be parsed, and for columns that are missing.
    """
    bad = BadRows(share, stop=on_bad_row == "stop")
    if format is not Format.TEXT:
        read = read_column_share(kind, wanted, bad, points=points, whole=whole, format=format)
        if tell:
            tell(0, float(bool(share.pieces)))
    else:
        read = read_text_columns(kind, wanted, bad, points=points, whole=whole, tell=tell)
    columns = {
        name: ColumnFacts.of(read.columns[name], typed=field.dtype is not None)
        for field, names in read.picked.fields.items()
        for name in names
    }
    facts = VertexTableFacts(len(read.lines), columns, read.passed)
    return TableShare(kind, read, bad, points, facts)


def _has_fraction(numbers: Sequence[float] | np.ndarray) -> bool:
    """Return whether some number is not whole, or so large that it may not be."""
    values = np.asarray(numbers, np.float64)
    return not ((np.abs(values) < EXACT).all() and (values % 1 == 0).all())


def read_whole(kind: str, why: str) -> MustReadWhole:
    """Return the error about a table of vertices that one process must read whole."""
    return MustReadWhole(f"the table of {plural_noun(kind)} is read whole: {why}")


def _as_texts(column: Column) -> Column:
    """Return a column of whole numbers as one of texts; one of texts as it is."""
    values = column.values
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu":
        return column
    coded = encode(values)
    return column._replace(values=CodedColumn(coded.codes, coded.values.astype(STRING)))


def _texts(rows: Sequence[RowFacts], name: str) -> Collection[np.ndarray]:
    return [np.array(each.words[name], STRING) for each in rows]
