"""Bags of words from data in memory: a matrix of documents and words, texts, and documents that are
lists of words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tux.arrays import arrow
from tux.arrays.arrow import STRING, CodedColumn
from tux.base.errors import DataError, UsageError
from tux.io.bags.bags import BagData, bags_of, read_vocabulary
from tux.io.bags.documents import WordSequences, read_documents, read_sequences
from tux.io.bags.entries import BagOptions, BagSpec, Entries, check_entries, kinds_of
from tux.io.edges.memory import check_matrix
from tux.io.samples.matrix import arrays_of, matrix_rows
from tux.io.samples.memory import number_from_zero
from tux.io.source.text import BadRows, OnBadRow, quote_word
from tux.io.vertices.arrays import is_absent


def read_memory_bags(
    documents: Any,
    what: str,
    ends: tuple[str, str] = ("document", "word"),
    fields: Mapping[str, Any] | None = None,
    *,
    words: Any = None,
    **options: Any,
) -> BagData:
    """Read documents in memory as `tux.io.bags.bags.read_bags` reads those of files. They are a
    sparse matrix of scipy of counts (zeros are no entries), or of any finite numbers if the field
    holds floats; or a list whose entries are texts or lists of words. Documents have as ids their
    places from 0, bad ones counted.

    `words` names the columns of the matrix, in order or as a dict of their places; without it, and
    without a file `vocab`, words are the numbers of columns from 0. Words of lists are taken as
    they are; texts are cut into words as files of text are. Raises the errors of `read_bags`.
    """
    kinds, how = kinds_of(fields, "count", np.int32), BagOptions(**options)
    check_entries(what, "rows and columns", ends, kinds, how.against, how.unknown)
    field, dtype = next(iter(kinds.items()), ("count", np.dtype(np.float32)))
    bad = BadRows.of_memory(what, how.on_bad_row)
    named = isinstance(documents, list)
    if words is not None and (named or how.vocab is not None):
        raise UsageError(
            f"words are named twice, or beside {what}, which has words of its own",
            do="give the documents alone, or leave vocab out",
        )
    names = None if how.vocab is None else read_vocabulary(how.vocab)
    asked = BagSpec(what, *ends, field, dtype, 0, None, bad)
    if named:
        if _are_texts(documents):
            entries = read_documents(asked, how.stop, documents)
        else:
            entries = _count_lists(*_lists(documents, asked, how.stop), asked)
    else:
        _, columns = check_matrix(documents, what)
        names = _names(words, columns, what) if words is not None else names
        if names is not None and len(names) < columns:
            raise DataError(f"{len(names):,} words for {columns:,} columns", where=what)
        if how.stop is not None:
            raise UsageError(
                f"a stop list goes with text, but {what} has counts", do="leave it out"
            )
        counts = asked.dtype.kind != "f"
        rows = matrix_rows(arrays_of(documents), asked, int(documents.shape[0]), counts=counts)
        entries = rows.entries
    bags = bags_of(asked, entries, kinds, names, how, named=named)
    return bags._replace(edges=number_from_zero(bags.edges, ends[0]), rows=bags.rows - 1)


def _names(words: Any, columns: int, what: str) -> np.ndarray:
    """Return the words of the columns of a matrix, (columns,) StringDType, each once."""
    if isinstance(words, Mapping):
        pairs = sorted(words.items(), key=lambda pair: pair[1])
        if [place for _, place in pairs] != list(range(len(pairs))):
            raise DataError(
                "the places of words are not 0, 1, 2 and so on", do="Give each column a word."
            )
        words = [word for word, _ in pairs]
    array = np.asarray(words)
    if array.ndim != 1 or len(array) != columns:
        raise DataError(f"words of shape {array.shape} for {columns:,} columns", where=what)
    if array.dtype.kind not in "UTO":
        raise DataError(f"words are strings, not {array.dtype}", where=what)
    texts = [str(word) for word in array.tolist()]
    if len(set(texts)) < len(texts):
        twice = next(word for at, word in enumerate(texts) if word in texts[:at])
        raise DataError(f"{quote_word(twice)} is the word of two columns", where=what)
    return np.array(texts, STRING)


def read_memory_sequences(
    documents: Sequence[Any],
    what: str,
    ends: tuple[str, str],
    stop: Any,
    on_bad_row: OnBadRow,
) -> tuple[WordSequences, BadRows]:
    """Read documents as `read_memory_bags` does those of a list, and keep the order of their words.
    Bad ones are left out; returns also which they were.
    """
    bad = BadRows.of_memory(what, on_bad_row)
    asked = BagSpec(what, *ends, "", np.dtype(np.int32), 0, None, bad)
    if _are_texts(documents):
        return read_sequences(asked, stop, documents), bad
    return _lists(documents, asked, stop)[1], bad


def _are_texts(documents: Sequence[Any]) -> bool:
    """Return whether documents are texts, some of them perhaps missing."""
    return all(isinstance(each, str) or is_absent(each) for each in documents)


def _lists(documents: Sequence[Any], asked: BagSpec, stop: Any) -> tuple[np.ndarray, WordSequences]:
    """Read documents that are lists of words. Returns the numbers of the good ones, from 1, and
    their words.
    """
    if stop is not None:
        raise UsageError(
            f"a stop list goes with text, but {asked.path} has lists of words", do="leave it out"
        )
    good, lengths, flat = [], [0], list[str]()
    for number, document in enumerate(documents, 1):
        words = list(document) if isinstance(document, list | tuple | np.ndarray) else None
        if words is None or not all(isinstance(word, str) and word for word in words):
            asked.bad.note(number, "the document is no list of words")
            continue
        good.append(number)
        lengths.append(len(words))
        flat += words
    codes, values = arrow.encode(np.array(flat, STRING))
    return np.array(good, np.int64), WordSequences(codes, np.cumsum(lengths), values)


def _count_lists(rows: np.ndarray, read: WordSequences, asked: BagSpec) -> Entries:
    """Count the words of documents that are lists of words; `rows` are their numbers."""
    if not len(read.words):
        return Entries(rows, rows[:0], np.empty(0, np.int64), np.empty(0, asked.dtype))
    values = read.names
    keys = np.repeat(np.arange(len(rows)), np.diff(read.bounds)) * len(values) + read.words
    pairs, counts = np.unique(keys, return_counts=True)
    if asked.dtype.kind in "iub" and int(counts.max()) > asked.counts()[1]:
        raise DataError(
            f"a {asked.column} stands {int(counts.max()):,} times in a {asked.row}, beyond "
            f"{asked.dtype}",
            where=asked.path,
        )
    column = CodedColumn((pairs % len(values)).astype(np.int32), values)
    return Entries(rows, rows[pairs // len(values)], column, counts.astype(asked.dtype))
