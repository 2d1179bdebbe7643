"""Files whose rows are bags of columns, as edges: documents and their words, samples and their
features.

Four forms, packed or not: "docword" (`tux.io.bags.docword`), "lda-c" and "svm"
(`tux.io.bags.bag_lines`), and "text" (`tux.io.bags.documents`). An entry of a row is an edge from
the row to the column, with its count or value; a row without entries is a vertex without edges.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.arrow import STRING, CodedColumn, Column
from tux.arrays.disk_columns import fill_column, kept_rows, row_slices
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.lookup import look_up
from tux.base.errors import DataError, UsageError
from tux.base.text import plural, plural_noun
from tux.io.bags.bag_lines import read_lines
from tux.io.bags.documents import read_documents
from tux.io.bags.docword import read_docword
from tux.io.bags.entries import BagOptions, BagSpec, Entries, check_entries, kinds_of
from tux.io.bags.numbering import Trained, renumber
from tux.io.edges.request import EdgeRequest
from tux.io.formats.detect import SAMPLES, detect_format
from tux.io.formats.foreign_kinds import check_documents
from tux.io.formats.format import Form, name_ending
from tux.io.source.cells import is_marked, lines_of
from tux.io.source.input_files import Source, input_files, pieces_of
from tux.io.source.precision import coarse_columns
from tux.io.source.row_one import is_in_use
from tux.io.source.text import (
    BadRows,
    blocks,
    doubt_of_row,
    quote_word,
    read_words,
)

TITLE = re.compile(r"[\w ]+")  # a row that may be the name of a column
COUNTS = re.compile(r"\d{1,18}", re.ASCII)  # the number of a line
AMOUNT = re.compile(r"[\d.,]+", re.ASCII)  # a number, and no word
LIGHT = "the weights of rows, as in label:weight, are left out"
LABELLED = "the first number of each row is left out, as its label"
FIRST: dict[Form, int] = {"docword": 1, "lda-c": 0, "svm": 1, "text": 0}


class BagData(NamedTuple):
    """The content of a file of bags; row i has the id ``rows[i]`` and the label ``labels[i]``."""

    edges: EdgeData
    rows: np.ndarray  # (n,) int64 ids, in the order of the file
    # (n,) float64, or StringDType if one is no number; None if there are none
    labels: np.ndarray | None
    unknown: int = 0  # entries left out, as their columns are unknown
    unknown_sum: float = 0.0  # the sum of their numbers: tokens out of the vocabulary


def read_bags(
    path: Source,
    ends: tuple[str, str] = ("document", "word"),
    fields: Mapping[str, Any] | None = None,
    **options: Any,
) -> BagData:
    """Read a file of bags, or all that `path` stands for (`tux.io.source.input_files`), as edges
    between the types `ends`; `fields` maps the edge's one data field, if any, to its dtype [count,
    i4]. `options` are those of `BagOptions`.

    `form` is found by `tux.io.formats.detect`, but for "text". Rows have as ids the document's
    number, or that of the row from 1 on, bad ones counted. Columns have as ids the numbers in the
    file, or the words of the file `vocab`, one a line: line n is word n of docword and svm, n - 1
    of lda-c. `first` is the lowest column that may stand in the file, if not 1, or 0 in lda-c and
    in svm without a vocabulary. With text, words that are not in `vocab` are left out, and those in
    the file `stop` too.

    With ids `against`, of other edges, vertices keep their indices, and `EdgeData.unseen` counts
    the new ones; the rows of another file are other rows, so give the ids of columns only. Columns
    unknown to these are new, or with `unknown` "skip" left out and counted.

    Counts are whole and at least 1. Values of svm files are any finite numbers, zeros are kept. The
    columns of a row may stand in any order; numbers of a column that stands there several times are
    added up. A blank line is a row without entries, but in docword and in svm files with labels it
    is passed over. A bad line is an error, or with `on_bad_row` "skip" left out and counted. Raises
    `DataError` with file and line, and `UsageError` for arguments that do not go together.
    """
    path, how, kinds = input_files(path), BagOptions(**options), kinds_of(fields, "count", np.int32)
    plan = plan_bags(path, ends, kinds, how)
    entries = _read_entries(plan.asked, plan.form, how.stop)
    return bags_of(plan.asked, entries, kinds, plan.words, how, named=plan.form == "text")


class BagPlan(NamedTuple):
    """The form of a file of bags, what to read of it, and the words of the vocabulary, if there is
    one.
    """

    form: Form
    asked: BagSpec
    words: np.ndarray | None


def plan_bags(
    path: str,
    ends: tuple[str, str],
    kinds: Mapping[str, np.dtype],
    how: BagOptions,
    share: str | None = None,
) -> BagPlan:
    """Return how to read a file of bags, of which `share` is a part, if that is to be read. Raises
    the errors of `read_bags` that are known without it.
    """
    form = _check_form(path, ends, kinds, how)
    words = None if how.vocab is None else read_vocabulary(how.vocab)
    bad = BadRows(path if share is None else share, stop=how.on_bad_row == "stop")
    lowest = FIRST[form] if how.first is None or form in ("docword", "text") else how.first
    if form == "svm" and how.vocab is None and how.first is None:
        lowest = 0  # as scikit-learn writes them
    field, dtype = next(iter(kinds.items()), ("count", np.dtype(np.float32)))
    most = None if words is None else len(words)
    vocab = "" if how.vocab is None else os.fspath(how.vocab)
    asked = BagSpec(bad.path, *ends, field, dtype, lowest, most, bad, vocab=vocab)
    return BagPlan(form, asked, words)


def bags_of(
    asked: BagSpec,
    entries: Entries,
    kinds: Mapping[str, np.dtype],
    words: np.ndarray | None,
    how: BagOptions,
    *,
    named: bool,
) -> BagData:
    """Make edges of entries; `words` are those of a vocabulary. If `named`, the columns are words
    already, and those that are not in the vocabulary are left out. See `read_bags`.
    """
    if not len(entries.rows):
        raise asked.bad.no_usable_row(asked.row)
    known = [how.against[asked.column]] if how.against and how.unknown == "skip" else []
    notes = left_out_notes(asked.path, entries)
    if words is not None or named:
        entries = entries._replace(numbering=None)
    elif how.against and asked.column in how.against:
        trained = Trained(how.against[asked.column], how.numbered, asked.column)
        column, told = renumber(entries.column, entries.numbering, trained, asked.path)
        entries = entries._replace(column=column, notes=(*entries.notes, *told))
    entries, column, left_out = _keep_known_columns(asked, entries, words, known, named=named)
    edges = edges_of(asked, entries, column, kinds, how.against, notes)
    return BagData(
        edges, entries.rows, entries.labels, len(left_out), float(left_out.sum(dtype=np.float64))
    )


def edges_of(
    asked: BagSpec,
    entries: Entries,
    column: Column,
    kinds: Mapping[str, np.dtype],
    against: Mapping[str, Ids] | None,
    notes: tuple[str, ...] = (),
) -> EdgeData:
    """Make an edge of each entry, from its row to its `column`. `notes` are told behind others."""
    return EdgeData.of(
        (asked.row, asked.column),
        entries.row,
        column,
        dict.fromkeys(kinds, entries.value),
        against=against,
        vertices={asked.row: entries.rows},
        notes=(*entries.notes, *coarse_columns(column, entries.value), *notes),
        numbered=str(entries.numbering or ""),
        rows=len(entries.rows),
        skipped=asked.bad.count,
        first_skipped=asked.bad.first,
    )


def left_out_notes(path: str, entries: Entries) -> tuple[str, ...]:
    """Return sentences about numbers of rows that are not used. That about labels is left out if
    the name of the file, such as a.svm, shows that there are labels.
    """
    labels = entries.labels is not None and name_ending(path) not in SAMPLES
    return (LABELLED,) * labels + (LIGHT,) * (entries.weights is not None)


def bag_edges(asked: EdgeRequest, form: Form) -> EdgeData:
    """Read the edges of a file of a form that was detected. See `tux.io.edges.read.read_edges` and
    `read_bags`.
    """
    asked.refuse_columns(f"a {form} file")
    if asked.against is not None and not set(asked.ends) <= asked.against.keys():
        raise DataError(
            f"{asked.path} is a {form} file, which has no column {asked.ends[1]}",
            do=f"Give a table with the columns {' and '.join(asked.ends)}.",
        )
    how = {"form": form, "on_bad_row": asked.on_bad_row, "numbered": asked.numbered}
    return read_held_out(asked.path, asked.ends, asked.fields, asked.against, **how)


def read_held_out(
    path: Source,
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    against: Mapping[str, Ids] | None,
    **how: Any,
) -> EdgeData:
    """Read the edges of a file of bags. With `against`, the ids of the training edges, columns keep
    their indices and rows are new vertices.
    """
    known = None if against is None else {ends[1]: against[ends[1]]}
    edges = read_bags(path, ends, fields, against=known, **how).edges
    return edges if against is None else edges.behind(ends[0], against[ends[0]])


def read_vocabulary(path: str | os.PathLike[str]) -> np.ndarray:
    """Read the words of a file, one a line, (n,) StringDType. Raises `DataError` for a blank line,
    a word that stands there twice, and a table.
    """
    words = read_words(path)
    if not words:
        raise DataError(f"{path} holds no word", do="A vocabulary is one word a line.")
    if _are_cells(words) or _are_cells(words[1:]):
        raise DataError(
            f"no line is a word alone; the first is {quote_word(words[0])}",
            where=f"{path}:1",
            do="A vocabulary is one word a line, without quotes, numbers and other columns.",
        )
    lines: dict[str, int] = {}
    for number, word in enumerate(words, 1):
        if not word:
            raise DataError(
                "a blank line in a vocabulary",
                where=f"{path}:{number}",
                do="Line n is to be word n.",
            )
        if (other := lines.setdefault(word, number)) != number:
            raise DataError(
                f"{word!r} is on line {other} too",
                where=f"{path}:{number}",
                do="Give each word of a vocabulary once.",
            )
    return np.array(words, STRING)


def _are_cells(lines: list[str]) -> bool:
    """Return whether lines of a vocabulary, two at least, are all rows of a table: words in quotes,
    or with a tab, with their numbers, with their counts, or with a separator at the end.
    """
    if len(lines) < 2:
        return False
    marks = (",", ";", "|", ":", *([" "] if len(lines) > 2 else []))
    return (
        all(len(line) > 1 and line[0] == line[-1] and line[0] in "'\"" for line in lines)
        or all("\t" in line for line in lines)
        or any(
            all(_is_numbered(line, number) for number, line in enumerate(lines, first))
            for first in (0, 1)
        )
        or any(all(_is_counted(line, mark) for line in lines) for mark in marks)
        or all(line.endswith((",", ";")) for line in lines)
    )


def _is_numbered(line: str, number: int) -> bool:
    """Return whether a line is its number and a word, such as "1. ape" or "1,ape"."""
    found = COUNTS.match(line)
    if found is None or int(found[0]) != number:
        return False
    behind = line[found.end() :]
    word = behind.lstrip(" ,;|:.")
    return bool(word) and word != behind and not AMOUNT.fullmatch(word)


def _is_counted(line: str, separator: str) -> bool:
    """Return whether a line is a word and a number, such as "ape,12"."""
    word, _, count = line.rpartition(separator)
    word, count = word.strip(), count.strip()
    return bool(word) and not AMOUNT.fullmatch(word) and bool(AMOUNT.fullmatch(count))


def _check_form(
    path: str, ends: tuple[str, str], kinds: Mapping[str, np.dtype], how: BagOptions
) -> Form:
    """Check the arguments, and return the form. Raises UsageError for arguments that do not go
    together, DataError if the form is not found.
    """
    if (form := how.form or detect_format(path).bags) is None:
        rule = (
            f"Say which form it has: {', '.join(FIRST)}. A table is read without a vocabulary and "
            "without stop words."
        )
        raise DataError(
            f"{path} is not recognised as a file whose rows are bags of {plural_noun(ends[1])}",
            do=rule,
        )
    if form not in FIRST:
        raise UsageError(f"there is no form {form!r}", do=f"name one of: {', '.join(FIRST)}")
    check_entries(path, "rows and columns", ends, kinds, how.against, how.unknown)
    if how.stop is not None and form != "text":
        raise UsageError(f"a stop list goes with text, but {path} is {form}", do="leave it out")
    return form


def _read_entries(asked: BagSpec, form: Form, stop: str | os.PathLike[str] | None) -> Entries:
    """Read the entries of a file."""
    if form == "docword":
        return read_docword(asked)
    if form != "text":
        return read_lines(asked, form)
    notes = check_text(asked.path, asked.row)
    entries = read_documents(asked, stop)
    return entries._replace(notes=(*entries.notes, *notes))


def check_text(path: str, row: str) -> tuple[str, ...]:
    """Return sentences about the first row of a text, if it may be the name of a column. Raises
    `DataError` for a file that is no plain text.
    """
    begun = next(blocks(path), b"")
    check_documents(pieces_of(path)[0].path, begun)
    note = _name_note(begun, row)
    return (note,) if note else ()


def _name_note(begun: bytes, row: str) -> str:
    """Return a sentence about the first row of a text that begins with `begun`, if the row may be
    the name of a column; else "".
    """
    lines = enumerate(map(str.strip, lines_of(begun)), 1)
    at, first = next(((at, line) for at, line in lines if line and not is_marked(line)), (0, ""))
    if not TITLE.fullmatch(first) or not is_in_use(first):
        return ""
    return doubt_of_row(at, first, row, "is a name")


def _keep_known_columns(
    asked: BagSpec, entries: Entries, words: np.ndarray | None, known: list[Ids], *, named: bool
) -> tuple[Entries, Column, np.ndarray]:
    """Replace the columns of entries by their ids, and return them as `known_entries` does. Raises
    `DataError` if nothing is left.
    """
    if named and words is not None:
        known = [*known, Ids(words)]
    column = columns_of(asked, entries.column, words, named=named)
    left, column, left_out = known_entries(entries, column, known)
    if not len(left.value):
        which = f"known {asked.column}" if len(left_out) else asked.column
        raise DataError(f"no {which} in {plural(len(entries.rows), asked.row)} of {asked.path}")
    return left, column, left_out


def columns_of(asked: BagSpec, column: Column, words: np.ndarray | None, *, named: bool) -> Column:
    """Return the ids of a column of entries: words if `named`, else numbers in a file, or with
    `words` those that these numbers stand for.
    """
    if words is not None and not named:
        numbers = np.asarray(column)
        codes = fill_column(len(numbers), np.int32, lambda rows: numbers[rows] - asked.first)
        column = CodedColumn(codes, words)
    return drop_unused_values(column)


def drop_unused_values(column: Column) -> Column:
    """Drop the values of a column that do not occur in its rows, so that vertices are made only of
    ids that occur.
    """
    if not isinstance(column, CodedColumn):
        return column
    there = np.zeros(len(column.values), np.bool_)
    for rows in row_slices(len(column.codes)):
        there[column.codes[rows]] = True
    if there.all():
        return column
    places = np.cumsum(there, dtype=np.int32) - np.int32(1)
    return CodedColumn(look_up(places, column.codes), column.values[there])


def known_entries(
    entries: Entries, column: Column, known: list[Ids]
) -> tuple[Entries, Column, np.ndarray]:
    """Drop the entries of unknown columns. Returns the other entries, their columns, and the
    numbers of the dropped entries.
    """
    left_out, m = entries.value[:0], len(entries.value)
    places = [ids.encode(column) for ids in known]
    lacks = fill_column(
        m if known else 0, np.bool_, lambda rows: np.minimum.reduce([at[rows] for at in places]) < 0
    )
    if not lacks.any():
        return entries, column, left_out
    left_out = kept_rows(entries.value, lacks)
    left = entries._replace(column=column).keep(np.logical_not(lacks, out=lacks))
    return left, drop_unused_values(left.column), left_out
