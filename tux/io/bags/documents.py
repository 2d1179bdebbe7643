"""Plain text as bags of words: one document a line.

Words are what scikit-learn's CountVectorizer makes of a line, but for numbers: of the text in lower
case, runs of two or more letters, digits and underscores (of any alphabet), those of digits alone
left out. A compiled loop counts them by a table of all words so far.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.arrow import STRING, CodedColumn
from tux.arrays.disk_columns import store_column
from tux.base.compiled import cached_njit
from tux.base.errors import DataError
from tux.io.bags.entries import BagSpec, Entries, GatheredEntries
from tux.io.source.text import NOT_UTF_8, BadRows, Tell, text_blocks

LETTER, DIGIT = 1, 2  # kinds of characters of words; 0: the character ends a word
CHARACTERS = 0x110000
TEXTS = 10_000  # strings in memory that are counted at a time
SURROGATE = re.compile("[\ud800-\udfff]")
_START, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x9E3779B97F4A7C15)


class _Words(NamedTuple):
    """All words so far, by number: an open table of their hashes, and their characters one after
    the other.
    """

    slots: np.ndarray  # (a power of 2,) int32: word, or -1; at least half of them are free
    hashes: np.ndarray  # (room,) uint64
    starts: np.ndarray  # (room + 1,) int64, into `letters`
    letters: np.ndarray  # (.,) uint32
    seen: np.ndarray  # (room,) int64: the last entry of each word

    @classmethod
    def room(cls, words: int, letters: int) -> _Words:
        """Make an empty table with room for `words` words, a power of two, and `letters`
        characters.
        """
        return cls(
            np.full(2 * words, -1, np.int32),
            np.empty(words, np.uint64),
            np.zeros(words + 1, np.int64),
            np.empty(letters, np.uint32),
            np.empty(words, np.int64),
        )


class _WordCounts(NamedTuple):
    """The entries of lines: those of line i are ``bounds[i] : bounds[i + 1]``."""

    words: np.ndarray  # (m,) int32
    counts: np.ndarray  # (m,) int32
    bounds: np.ndarray  # (lines + 1,) int64


@cached_njit
def _fill(slots, hashes):  # type: ignore[no-untyped-def]
    """Enter words by their hashes into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for word in range(len(hashes)):
        at = hashes[word] & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = word


@cached_njit
def _find(text, begin, end, value, words, size):  # type: ignore[no-untyped-def]
    """Find the word text[begin:end] with hash `value`, and return its number. A new word gets the
    number `size`; -1 if there is no room for it.
    """
    mask = np.uint64(len(words.slots) - 1)
    at = value & mask
    word = words.slots[at]
    while word >= 0:
        start = words.starts[word]
        if words.hashes[word] == value and words.starts[word + 1] - start == end - begin:
            k = 0
            while k < end - begin and words.letters[start + k] == text[begin + k]:
                k += 1
            if k == end - begin:
                return word
        at = (at + np.uint64(1)) & mask
        word = words.slots[at]
    start = words.starts[size] if size < len(words.hashes) else np.int64(0)
    if size == len(words.hashes) or start + end - begin > len(words.letters):
        return np.int32(-1)
    for k in range(end - begin):
        words.letters[start + k] = text[begin + k]
    words.hashes[size], words.starts[size + 1], words.seen[size], words.slots[at] = (
        value,
        start + end - begin,
        -1,
        size,
    )
    return np.int32(size)


@cached_njit
def _cut(text, kind, words, size, stops, out, bounds, at):  # type: ignore[no-untyped-def]
    """Cut lines of characters into words: write their numbers into `out`, in their order, and how
    many there are up to the end of line i into ``bounds[i + 1]``. `at` says where to begin, and is
    changed: place in the text, line, word.

    Words below `stops` are passed over. Returns the number of words that are known; if `at` is not
    at the end, there is no room for the next one.
    """
    i, line, count = at
    while i < len(text):
        while text[i] != 10:
            if kind[text[i]] == 0:
                i += 1
                continue
            begin, letters, value = i, 0, _START
            while kind[text[i]] != 0:
                letters += kind[text[i]] == 1
                value = (value ^ np.uint64(text[i])) * _PRIME
                i += 1
            if i - begin < 2 or letters == 0:
                continue
            word = _find(text, begin, i, value ^ (value >> np.uint64(32)), words, size)
            if word < 0:
                at[0], at[1], at[2] = begin, line, count
                return size
            size = max(size, word + 1)
            if word >= stops:
                out[count] = word
                count += 1
        i += 1
        line += 1
        bounds[line] = count
    at[0] = i
    return size


@cached_njit
def _tally(cut, bounds, seen, done, counts, ends):  # type: ignore[no-untyped-def]
    """Count the words `cut` of lines: each is moved to where it comes first among the distinct ones
    of its line, and `counts` and `ends`, as `bounds`, are of these. `done` entries came before.
    Returns how many entries there are.
    """
    count = 0
    for line in range(len(bounds) - 1):
        first = count
        for i in range(bounds[line], bounds[line + 1]):
            word = cut[i]
            last = seen[word] - done
            if last >= first:
                counts[last] += 1
            else:
                seen[word], cut[count], counts[count] = done + count, word, 1
                count += 1
        ends[line + 1] = count
    return count


class _Counter:
    """A counter of words, which numbers them as they come and passes over those in the file
    `stop`.
    """

    def __init__(self, stop: str | os.PathLike[str] | None) -> None:
        self.words = _Words.room(1024, 8192)
        self.size, self.stops, self.done = 0, 0, 0
        self.kind = np.zeros(CHARACTERS, np.uint8)
        self.known = np.zeros(CHARACTERS, np.bool_)
        for block in text_blocks(stop) if stop is not None else ():
            self.cut(_text(block, BadRows(str(stop), stop=True), 1)[0])
        self.stops = self.size

    def cut(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Cut some lines into words: their numbers (m,) int32, in their order, and the bounds of
        lines (lines + 1,).
        """
        characters = np.frombuffer(text.lower().encode("utf-32-le"), np.uint32)
        self._learn(characters)
        # a word has two characters at least, and something ends it
        out = np.empty(len(characters) // 3 + 1, np.int32)
        bounds, at = np.zeros(text.count("\n") + 1, np.int64), np.zeros(3, np.int64)
        while True:
            self.size = int(
                _cut(characters, self.kind, self.words, self.size, self.stops, out, bounds, at)
            )
            if at[0] == len(characters):
                return out[: bounds[-1]], bounds
            self._grow()

    def count(self, text: str) -> _WordCounts:
        """Count the words of some lines, and return the entries."""
        words, bounds = self.cut(text)
        counts, ends = np.empty(len(words), np.int32), np.zeros(len(bounds), np.int64)
        entries = int(_tally(words, bounds, self.words.seen, self.done, counts, ends))
        self.done += entries
        return _WordCounts(words[:entries], counts[:entries], ends)

    def _grow(self) -> None:
        """Make room for twice as many words, or twice as many letters."""
        old, size = self.words, self.size
        full = size == len(old.hashes)
        self.words = _Words.room(len(old.hashes) << full, len(old.letters) << (not full))
        for array, before in zip(self.words[1:], old[1:], strict=True):
            array[: len(before)] = before
        _fill(self.words.slots, self.words.hashes[:size])

    def _learn(self, characters: np.ndarray) -> None:
        """Note the kinds of characters that have not come before."""
        present = np.zeros(CHARACTERS, np.bool_)
        present[characters] = True
        for code in np.flatnonzero(present & ~self.known).tolist():
            character = chr(code)
            self.kind[code] = (
                DIGIT
                if character.isdigit()
                else LETTER
                if character.isalnum() or character == "_"
                else 0
            )
            self.known[code] = True

    def names(self) -> np.ndarray:
        """Return the words by number, StringDType."""
        starts = self.words.starts[: self.size + 1]
        text = self.words.letters[: starts[-1]].tobytes().decode("utf-32-le")
        return np.array(
            [
                text[begin:end]
                for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
            ],
            STRING,
        )


def read_documents(
    asked: BagSpec,
    stop: str | os.PathLike[str] | None = None,
    texts: Sequence[Any] | None = None,
) -> Entries:
    """Read text, a document a line; lines are numbered from 1, and a blank one is a document
    without words. See `tux.io.bags.bags.read_bags`. With `texts`, count these strings in memory
    instead; each is a document, of any number of lines.

    `stop` names a file of words to pass over, cut into words as the text is.
    """
    read = _count_lines(asked, stop, _of_file(asked) if texts is None else _of_memory(texts, asked))
    if not read.rows:
        raise DataError(f"{asked.path} is empty", do="Give a file with a document on each line.")
    if most := read.beyond(asked):
        raise DataError(
            f"a {asked.column} stands {most:,} times in a {asked.row}, beyond {asked.dtype}",
            where=asked.path,
        )
    return read.entries._replace(value=store_column(read.entries.value, asked.dtype))


class DocumentsRead(NamedTuple):
    """The documents of some lines, of which there are `rows`, bad ones too. Counts are int32."""

    entries: Entries
    rows: int

    def beyond(self, asked: BagSpec) -> int:
        """Return the largest count, if it is too large for its field; else 0."""
        counts = self.entries.value
        most = int(counts.max(initial=0)) if asked.dtype.kind in "iub" else 0
        return most if most > asked.counts()[1] else 0


def read_share_documents(
    asked: BagSpec, stop: str | os.PathLike[str] | None, tell: Tell | None
) -> DocumentsRead:
    """Read a share of the lines of a text; they are numbered from 1 here. See `read_documents`.
    `tell` is called with the amount read.
    """
    return _count_lines(asked, stop, _of_file(asked, tell))


class WordSequences(NamedTuple):
    """The words of documents in their order; those of document i are ``words[bounds[i] : bounds[i +
    1]]``, numbers into `names`.
    """

    words: np.ndarray  # (m,) int32
    bounds: np.ndarray  # (documents + 1,) int64
    names: np.ndarray  # (words,) StringDType


def read_sequences(
    asked: BagSpec,
    stop: str | os.PathLike[str] | None = None,
    texts: Sequence[Any] | None = None,
) -> WordSequences:
    """Read text as `read_documents` does, and keep the order of its words. Bad lines are left
    out.
    """
    counter, words, lengths = _Counter(stop), [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    for text, good in _of_file(asked) if texts is None else _of_memory(texts, asked):
        cut, bounds = counter.cut(text)
        words.append(cut.copy())
        lengths.append(np.diff(bounds)[good])
    return WordSequences(np.concatenate(words), np.cumsum(np.concatenate(lengths)), counter.names())


def _count_lines(
    asked: BagSpec,
    stop: str | os.PathLike[str] | None,
    blocks: Iterable[tuple[str, np.ndarray]],
) -> DocumentsRead:
    """Count the words of lines in blocks, each with a mask of its good lines."""
    counter = _Counter(stop)
    gathered, number = GatheredEntries(np.dtype(np.int32)), 1
    for text, good in blocks:
        counted = counter.count(text)
        gathered.add(
            np.flatnonzero(good) + number,
            np.diff(counted.bounds)[good],
            counted.words,
            counted.counts,
        )
        number += len(good)
    entries = gathered.whole()
    column = CodedColumn(np.asarray(entries.column), counter.names())
    return DocumentsRead(entries._replace(column=column), number - 1)


def _text(block: bytes, bad: BadRows, number: int) -> tuple[str, np.ndarray]:
    """Decode lines, the first of them line `number`. Lines that are not UTF-8 are noted as bad and
    made blank. Returns the text, and a mask of the good lines.
    """
    good = np.ones(block.count(b"\n"), np.bool_)
    try:
        return block.decode(), good
    except UnicodeDecodeError:
        lines = block.split(b"\n")
        for at, line in enumerate(lines):
            try:
                line.decode()
            except UnicodeDecodeError:
                bad.note(number + at, NOT_UTF_8)
                lines[at], good[at] = b"", False
        return b"\n".join(lines).decode(), good


def _of_file(asked: BagSpec, tell: Tell | None = None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the lines of a file in blocks, each with a mask of its good lines."""
    number, size = 1, 0
    for block in text_blocks(asked.path, asked.bad.places):
        text, good = _text(block, asked.bad, number)
        number, size = number + len(good), size + len(block)
        yield text, good
        if tell:
            tell(size, asked.bad.places.pieces - 1)


def _of_memory(texts: Sequence[Any], asked: BagSpec) -> Iterator[tuple[str, np.ndarray]]:
    """Yield strings as lines in blocks, each with a mask of the good ones. A string is bad if it is
    missing, or cannot be written as UTF-8.
    """
    for begin in range(0, len(texts), TEXTS):
        lines = [
            text.replace("\n", " ") if isinstance(text, str) else None
            for text in texts[begin : begin + TEXTS]
        ]
        good = np.ones(len(lines), np.bool_)
        for at, line in enumerate(lines):
            why = "the text is missing" if line is None else ""
            if line is not None and SURROGATE.search(line):
                why = "the text holds half of a surrogate pair"
            if why:
                asked.bad.note(begin + at + 1, why)
                lines[at], good[at] = "", False
        yield "".join(f"{line}\n" for line in lines), good
