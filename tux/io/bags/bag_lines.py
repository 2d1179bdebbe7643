"""Rows as lines of ``column:number`` pairs: libsvm's format of samples, and lda-c's of documents.

    [label[:weight]] [qid:query] column:number column:number ...  # comment
                                             libsvm, SVMlight: columns from 1, or 0 if it occurs;
                                             numbers are any
    N column:number column:number ...  lda-c: N pairs, columns from 0, numbers are counts

(Chang and Lin: LIBSVM, README; Joachims: SVMlight; Blei: lda-c, readme.) Columns of a row stand in
any order; they are sorted, and the numbers of a column that stands in a row several times are added
up. The queries of ranking are passed over unless they are asked for. A compiled loop
(`tux.io.bags.pair_lines`) parses a block of lines and marks the bad ones; their faults are found
line by line (`tux.io.bags.pair_faults`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import STRING
from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.io.bags.entries import BagSpec, Entries, GatheredEntries, repetitions, sum_entries
from tux.io.bags.hashed import collisions, hash_numbers
from tux.io.bags.numbering import ColumnNumbering
from tux.io.bags.pair_faults import line_fault
from tux.io.bags.pair_lines import (
    BAD,
    COUNT,
    LABEL,
    NOTHING,
    PASSED,
    ROW,
    WEIGHTED,
    PairArrays,
    Rules,
    parse_block,
)
from tux.io.source.text import NUMBER, Tell, note_bad_lines, text_blocks

HEAD = re.compile(rb"[-+]?[\d.]+(e[-+]?\d+)?:.*", re.IGNORECASE)  # a number, and another one
LOOKED_AT = 200  # lines, to tell whether rows have labels with weights
MIN_ROWS_OF_LABEL = 4  # rows of each label, to be sure of it
MANY, SHARE = 0.25, 0.75  # of the rows


class LineFacts(NamedTuple):
    """The facts about lines of pairs which the user should know: how many entries repeat the column
    of another one, whether a column 0 or queries occur, and whether rows begin with weights.
    """

    repeated: int = 0
    has_zero: bool = False
    has_queries: bool = False
    weighted: bool = False

    @staticmethod
    def join(each: Sequence[LineFacts]) -> LineFacts:
        """Return the facts about several pieces of text together."""
        repeated, *flags = zip(*each, strict=True)
        return LineFacts(sum(repeated), *map(any, flags))

    def notes(self, asked: BagSpec) -> tuple[str, ...]:
        """Return sentences for the user."""
        told = (collisions if asked.bits else repetitions)(self.repeated, asked.row, asked.column)
        if self.has_zero:
            told += (
                f"{plural_noun(asked.column)} are numbered from 0, as {asked.column} 0 occurs",
            )
        if self.has_queries and not asked.ranked:
            told += ("qid, the query of each row, is left out: rows are not ranked",)
        if self.weighted:
            told += ("each row begins with its label and its weight, as label:weight",)
        return told

    def numbering(self, asked: BagSpec, form: str) -> ColumnNumbering:
        """Return how the columns are numbered."""
        if form == "lda-c":
            return ColumnNumbering("lda-c", asked.first)
        return ColumnNumbering("libsvm", int(not self.has_zero))


def read_lines(asked: BagSpec, form: str) -> Entries:
    """Read a file of form "svm" or "lda-c"; rows are numbered from 1, and bad ones keep their
    numbers. See `tux.io.bags.bags.read_bags`.
    """
    rules: Rules | None = None
    begun = b""  # lines before the first that shows whether there are labels
    lines = _Lines(asked, form)
    for block in text_blocks(asked.path, asked.bad.places):
        if rules is None:
            begun = block = begun + block
            if (rules := _rules(begun, asked, form)) is None:
                continue
        lines.add(block, rules)
    if rules is None:
        raise _no_row(asked, begun)
    entries, facts = lines.whole(rules)
    return entries._replace(notes=facts.notes(asked), numbering=facts.numbering(asked, form))


def begin_lines(asked: BagSpec, form: str) -> Rules:
    """Return the rules for the lines of a file, which is read only until they are known. Raises
    `DataError` if it has no row.
    """
    begun = b""
    for block in text_blocks(asked.path):
        begun += block
        if (rules := _rules(begun, asked, form)) is not None:
            return rules
    raise _no_row(asked, begun)


class LinesRead(NamedTuple):
    """The rows of some lines, and the facts about them; rows of all lines of a share, also of bad
    ones, have numbers, `rows` in all.
    """

    entries: Entries
    facts: LineFacts
    rows: int


def read_share_lines(asked: BagSpec, form: str, rules: Rules, tell: Tell | None) -> LinesRead:
    """Read a share of the lines of a file, whose `rules` are those of the whole (`begin_lines`);
    rows are numbered from 1 here. `tell` is called with the amount read.
    """
    lines, size = _Lines(asked, form), 0
    for block in text_blocks(asked.path, asked.bad.places):
        lines.add(block, rules)
        size += len(block)
        if tell:
            tell(size, asked.bad.places.pieces - 1)
    return LinesRead(*lines.whole(rules), lines.rows)


def _no_row(asked: BagSpec, begun: bytes) -> DataError:
    """Return the error about a file without rows, of which `begun` is all."""
    return DataError(
        f"{asked.path} is empty" if not begun.strip() else f"{asked.path} holds no {asked.row}",
        do=f"Give a file with a {asked.row} on each line.",
    )


class _Lines:
    """The rows of the lines so far."""

    def __init__(self, asked: BagSpec, form: str) -> None:
        self.asked, self.form = asked, form
        self.gathered, self.labels = GatheredEntries(asked.dtype), _Labels()
        self.weights = [np.empty(0, np.float32)]
        self.queries = [np.empty(0, np.int64)]
        self.has_zero = self.has_queries = False
        self.number, self.rows, self.repeated = 1, 0, 0

    def add(self, block: bytes, rules: Rules) -> None:
        """Append a block of lines."""
        asked = self.asked
        parsed, entries = parse_block(block, rules)
        if self.form == "svm":
            self.has_zero |= bool((parsed.column[:entries] == 0).any())
            self.has_queries |= b"qid:" in block
        if asked.bits:
            _hash(parsed, entries, asked.bits)
        lengths, columns, values, more = _sort_entries(parsed, entries, rules)
        self.repeated += more
        if (parsed.state == BAD).any():
            note_bad_lines(
                asked.bad,
                np.flatnonzero(parsed.state == BAD),
                block,
                self.number,
                lambda line: line_fault(line, rules, asked),
            )
        good = parsed.state == ROW
        if asked.ranked:
            self.queries.append(parsed.query[good])
        ids = (np.cumsum(parsed.state != PASSED) + self.rows)[good]
        self.gathered.add(ids, lengths[good], columns, values)
        if rules.head in (LABEL, WEIGHTED):
            self.labels.add(block, parsed.label[good], parsed.label_at[good])
            self.weights.append(parsed.weight[good].astype(np.float32))
        self.rows += int(np.count_nonzero(parsed.state))
        self.number += len(parsed.state)

    def whole(self, rules: Rules) -> tuple[Entries, LineFacts]:
        """Return all rows, and the facts about them."""
        weighted = rules.head == WEIGHTED
        labels = self.labels.whole() if rules.head in (LABEL, WEIGHTED) else None
        entries = self.gathered.whole(labels)
        facts = LineFacts(self.repeated, self.has_zero, self.has_queries, weighted)
        weights = np.concatenate(self.weights) if weighted else None
        queries = np.concatenate(self.queries) if self.asked.ranked else None
        return entries._replace(weights=weights, queries=queries), facts


def _rules(lines: bytes, asked: BagSpec, form: str) -> Rules | None:
    """Return the rules for the lines of a file, from its first line that is neither blank nor a
    comment; None if there is none.
    """
    if form == "lda-c":
        return (
            Rules(
                COUNT,
                np.uint64(asked.first),
                np.uint64(asked.last),
                False,
                True,
                *map(float, asked.counts()),
            )
            if lines.strip()
            else None
        )
    first = re.search(rb"^[ \t\r]*([^\s#]+)", lines, re.MULTILINE)
    if first is None:
        return None
    return Rules(
        _head_kind(lines) if b":" in first[1] else LABEL,
        np.uint64(asked.first),
        np.uint64(asked.last),
        True,
        asked.dtype.kind != "f",
        *map(float, asked.reals()),
    )


def _head_kind(lines: bytes) -> int:
    """Find out the beginning of the rows from lines of which the first begins with
    ``number:number``: WEIGHTED if they begin with a label and its weight, NOTHING if with the first
    of their pairs.

    They are labels if many are no columns (-1, 0.5), or if few kinds of them do not precede the
    next column though all others do.
    """
    rows = [line.split(b"#")[0].split() for line in lines.split(b"\n", LOOKED_AT)[:LOOKED_AT]]
    rows = [row[:1] + [word for word in row[1:] if word[:4] != b"qid:"] for row in rows if row]
    good = [row for row in rows if HEAD.fullmatch(row[0])]
    if len(good) < SHARE * len(rows):
        return NOTHING
    rows, heads = good, [row[0].split(b":")[0] for row in good]
    if sum(not head.isdigit() for head in heads) >= MANY * len(heads):
        return WEIGHTED
    columns = [[word.split(b":")[0] for word in row] for row in rows]
    if not all(word.isdigit() and len(word) < 16 for row in columns for word in row):
        return NOTHING
    numbers = [[int(word) for word in row] for row in columns]
    ascending = all(one < other for row in numbers for one, other in pairwise(row[1:]))
    behind = any(len(row) > 1 and row[0] >= row[1] for row in numbers)
    few = len(rows) >= MIN_ROWS_OF_LABEL and len(set(heads)) <= max(
        2, len(rows) // MIN_ROWS_OF_LABEL
    )
    return WEIGHTED if ascending and behind and few else NOTHING


def _hash(parsed: PairArrays, entries: int, bits: int) -> None:
    """Replace the columns by their hashes, and multiply the values by the signs of the hashes."""
    column, value = parsed.column[:entries], parsed.value[:entries]
    column[:], signs = hash_numbers(column, bits)
    value *= signs


def _sort_entries(
    parsed: PairArrays, entries: int, rules: Rules
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Sort the entries of each line by column, and add up those of one column. Returns the number
    of entries of each line, their columns and values, and the number of entries that were
    repetitions.

    A line in which a sum is out of range is marked as bad, and its entries are left out.
    """
    column, value, lengths = parsed.column[:entries], parsed.value[:entries], np.diff(parsed.bounds)
    falls = column[1:] <= column[:-1]
    inner = parsed.bounds[1:-1]
    falls[inner[(inner > 0) & (inner < entries)] - 1] = False  # another line begins
    if not falls.any():
        return lengths, column, value, 0
    line = np.repeat(np.arange(len(lengths)), lengths)
    line, column, value = sum_entries(line, column, value)
    wrong = line[~((rules.least <= value) & (value <= rules.most))]
    parsed.state[wrong] = BAD
    good = parsed.state[line] == ROW
    lengths = np.bincount(line[good], minlength=len(lengths))
    return lengths, column[good], value[good], entries - len(line)


class _Labels:
    """Labels that arrive block by block: numbers as long as all are; else strings, a number
    among them written plainly.
    """

    def __init__(self) -> None:
        self.numbers: list[np.ndarray] = [np.empty(0)]
        self.words: dict[int, str] = {}  # by place, those that are no numbers
        self.count = 0

    def add(self, block: bytes, label: np.ndarray, at: np.ndarray) -> None:
        """Append the labels of a block's rows."""
        for row in np.flatnonzero(np.isnan(label)).tolist():
            word = block[at[row, 0] : at[row, 1]].decode()
            if NUMBER.fullmatch(word) and np.isfinite(float(word)):
                label[row] = float(word)
            else:
                self.words[self.count + row] = word
        self.numbers.append(label)
        self.count += len(label)

    def whole(self) -> np.ndarray:
        """Return all labels, float64 or StringDType."""
        numbers = np.concatenate(self.numbers)
        if not self.words:
            return numbers
        return np.array(
            [self.words.get(at) or f"{number:.17g}" for at, number in enumerate(numbers.tolist())],
            STRING,
        )
