"""A share of bags of columns, as one of several processes reads it: its rows, and the facts about
them that all processes tell each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import Column
from tux.arrays.disk_columns import store_column
from tux.arrays.ids import Ids, is_plausible_size
from tux.base.errors import MustReadWhole
from tux.base.text import plural_noun
from tux.io.bags.bag_lines import LineFacts, begin_lines, read_share_lines
from tux.io.bags.bags import check_text, columns_of, known_entries, left_out_notes, plan_bags
from tux.io.bags.documents import read_share_documents
from tux.io.bags.docword import HEAD_LINES, DocwordHead, begin_docword, read_share_docword
from tux.io.bags.entries import BagOptions, BagSpec, Entries
from tux.io.bags.numbering import ColumnNumbering
from tux.io.formats.format import Form
from tux.io.source.input_files import Files, pieces_of
from tux.io.source.precision import large_columns
from tux.io.source.text import FIRST, BadRows, Tell, line_blocks


class BagFacts(NamedTuple):
    """The facts about a share of bags. `numbered`: the lines that a row has its number from, also
    bad ones; `rows`: those that could be parsed; `entries`: of known columns; `filled`: lines of a
    docword file that are not blank. `large`: some numbers may lose digits in 32 bits.
    """

    numbered: int
    rows: int
    entries: int
    lines: LineFacts | None = None
    filled: int = 0
    large: bool = False


@dataclass
class BagShare:
    """The rows of a share, with numbers from 1 here; those of a docword file are the documents
    of its `head`. `column`: of each entry. `notes`: sentences that are known without other shares.
    """

    asked: BagSpec
    form: Form
    entries: Entries
    column: Column
    facts: BagFacts
    head: DocwordHead | None = None
    notes: tuple[str, ...] = ()
    named: bool = False


class _BagsRead(NamedTuple):
    """The entries of a share, and what is known of them, as in `BagShare`."""

    entries: Entries
    facts: BagFacts
    head: DocwordHead | None = None
    notes: tuple[str, ...] = ()


def read_bag_share(
    share: Files,
    whole: str,
    ends: tuple[str, str],
    fields: Mapping[str, np.dtype],
    how: BagOptions,
    tell: Tell | None = None,
) -> BagShare:
    """Read a share of the bags of the `whole` input, whose beginning shows the form of the rows:
    see `tux.io.bags.bags.read_bags`. `tell` is called with the amount read.

    Raises `DataError` for a bad row, and MustReadWhole where an error needs all rows.
    """
    plan = plan_bags(whole, ends, fields, how, share)
    asked, named = plan.asked, plan.form == "text"
    if plan.form == "docword":
        read = _docword(asked, whole, tell)
    elif named:
        read = _text(asked, whole, how.stop, tell)
    else:
        read = _lines(asked, whole, plan.form, tell)
    column = columns_of(asked, read.entries.column, plan.words, named=named)
    known = [Ids(plan.words)] if named and plan.words is not None else []
    entries, column, _ = known_entries(read.entries, column, known)
    codes = column if isinstance(column, np.ndarray) else column.codes
    large = bool(large_columns(codes, entries.value))
    facts = read.facts._replace(entries=len(entries.value), large=large)
    read = read._replace(facts=facts, notes=(*read.notes, *left_out_notes(asked.path, entries)))
    named = named or plan.words is not None
    return BagShare(asked, plan.form, entries, column, *read[1:], named)


def _docword(asked: BagSpec, whole: str, tell: Tell | None) -> _BagsRead:
    """Read a share of a docword file."""
    head = begin_docword(asked._replace(path=whole, bad=BadRows(whole, asked.bad.stop)))
    pieces, (begin, *more) = pieces_of(asked.path), pieces_of(whole)
    if more and next(line_blocks(begin, FIRST), b"").count(b"\n") < HEAD_LINES:
        raise must_read_whole(asked, "the header is in several files")
    first = bool(pieces) and (pieces[0].path, pieces[0].begin) == (begin.path, 0)
    entries, filled = read_share_docword(asked, head, tell, first=first)
    return _BagsRead(entries, BagFacts(0, len(entries.row), 0, filled=filled), head)


def _text(
    asked: BagSpec, whole: str, stop: str | os.PathLike[str] | None, tell: Tell | None
) -> _BagsRead:
    """Read a share of plain text."""
    notes = check_text(whole, asked.row)
    read = read_share_documents(asked, stop, tell)
    if read.beyond(asked):
        raise must_read_whole(asked, f"a {asked.column} is there too often")
    entries = read.entries._replace(value=store_column(read.entries.value, asked.dtype))
    return _BagsRead(entries, BagFacts(read.rows, len(entries.rows), 0), notes=notes)


def _lines(asked: BagSpec, whole: str, form: Form, tell: Tell | None) -> _BagsRead:
    """Read a share of lines of pairs."""
    rules = begin_lines(asked._replace(path=whole), form)
    entries, lines, numbered = read_share_lines(asked, form, rules, tell)
    return _BagsRead(entries, BagFacts(numbered, len(entries.rows), 0, lines))


def must_read_whole(asked: BagSpec, why: str) -> MustReadWhole:
    """Return the error about bags that one process must read whole."""
    return MustReadWhole(f"all {plural_noun(asked.row)} are read whole: {why}")


@dataclass(frozen=True)
class JoinedBags:
    """The facts about `each` share of bags, in their order; `own` is one of the shares."""

    each: Sequence[BagFacts]
    own: BagShare

    def check(self) -> None:
        """Raise MustReadWhole for an error or a doubt that only the whole shows."""
        asked, head = self.own.asked, self.own.head
        rows = sum(facts.rows for facts in self.each)
        if not (rows if head is None else head.documents):
            raise must_read_whole(asked, "none is usable")
        if head is not None and sum(facts.filled for facts in self.each) != head.lines:
            raise must_read_whole(asked, "the header tells another number of lines")
        if head is not None and not is_plausible_size(head.documents, rows):
            raise must_read_whole(asked, f"the header tells of many {plural_noun(asked.row)}")
        if not any(facts.entries for facts in self.each):
            raise must_read_whole(asked, f"there is no {asked.column}")
        if any(facts.large for facts in self.each):
            raise must_read_whole(asked, f"large numbers of {asked.field} may lose digits")

    def rows_of(self, share: int) -> np.ndarray:
        """Return the ids of the rows of a share (n,), which is this one."""
        if (head := self.own.head) is None:
            return self.own.entries.rows + self.rows_before(share)
        bounds = [head.documents * at // len(self.each) + 1 for at in (share, share + 1)]
        return np.arange(*bounds)

    def rows_before(self, share: int) -> int:
        """Count the rows that have numbers before a share."""
        return sum(facts.numbered for facts in self.each[:share])

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user."""
        told = self._lines.notes(self.own.asked) if self._of_lines else ()
        return (*told, *self.own.notes)

    @property
    def numbered(self) -> str:
        """The text that tells how columns are numbered: `tux.arrays.edges.EdgeData.numbered`."""
        if self.own.named:
            return ""
        if self._of_lines:
            return str(self._lines.numbering(self.own.asked, self.own.form))
        return str(ColumnNumbering("docword", 1))

    @property
    def _of_lines(self) -> bool:
        return self.own.facts.lines is not None

    @property
    def _lines(self) -> LineFacts:
        """The facts about all lines of pairs."""
        return LineFacts.join([facts.lines or LineFacts() for facts in self.each])
