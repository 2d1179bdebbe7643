"""Labels of samples in a file of their own, which has one for each sample: text, one a line, or an
array of numpy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.npy import read_npy, read_npy_rows
from tux.base.errors import DataError
from tux.io.source.text import read_words, word_pieces

QUOTED = re.compile(r'"([^"]|"")*"')
DIGITS = 8  # of a digest that are compared


class LabelFile(NamedTuple):
    """The facts about a file of labels that a process needs to read a range of them: how many there
    are (`size`), the `first`, whether double quotes are around all of them, and a digest.
    """

    path: str
    size: int
    first: str
    quoted: bool
    digest: str

    def read_range(self, begin: int, end: int) -> np.ndarray:
        """Read the labels from number `begin`, counted from 0, to `end`, exclusive, as
        `read_sample_labels` reads all. Raises `DataError` if the file has fewer labels now.
        """
        if _is_npy(self.path):
            labels = _convert_fixed_strings(read_npy_rows(self.path, begin, end))
        else:
            words = [word for piece in word_pieces(self.path, begin, end) for word in piece]
            labels = np.array(_without_quotes(words) if self.quoted else words, STRING)
        if len(labels) < end - begin:
            raise DataError(f"{self.path} was changed while it was read")
        return labels


def read_sample_labels(path: str | os.PathLike[str]) -> np.ndarray:
    """Read the labels of a text file, one a line, packed or not, or of a .npy file: numbers,
    booleans or StringDType, (n,). Double quotes are left out if they are around all of them. Raises
    `DataError` if it is neither.
    """
    if _is_npy(path):
        return _convert_fixed_strings(_read_column(path))
    words = read_words(path)
    if words and all(map(QUOTED.fullmatch, words)):  # as in tables
        words = _without_quotes(words)
    return np.array(words, STRING)


def examine_labels(path: str | os.PathLike[str]) -> LabelFile:
    """Read a file of labels from its beginning to its end, and return the facts about it. No more
    than a piece of a text is in memory. Raises the errors of `read_sample_labels`.
    """
    name, digest = os.fspath(path), blake2b(digest_size=16)
    if _is_npy(name):
        column = _read_column(name)
        digest.update(column.tobytes())
        first = str(column[0]) if len(column) else ""
        return LabelFile(name, len(column), first, False, digest.hexdigest()[:DIGITS])
    lines, count, first, quoted = 0, 0, "", True
    for words in word_pieces(name):
        digest.update("\n".join([*words, ""]).encode())
        last = next((at for at in reversed(range(len(words))) if words[at]), -1)
        if last >= 0:
            first = first if lines else words[0]
            whole = lines == count  # else there are blank lines before
            quoted = quoted and whole and all(map(QUOTED.fullmatch, words[: last + 1]))
            count = lines + last + 1
        lines += len(words)
    quoted = quoted and count > 0
    first = _without_quotes([first])[0] if quoted else first
    return LabelFile(name, count, first, quoted, digest.hexdigest()[:DIGITS])


def _is_npy(path: str | os.PathLike[str]) -> bool:
    return os.fspath(path).endswith(".npy")


def _read_column(path: str | os.PathLike[str]) -> np.ndarray:
    """Read the labels of a .npy file. Raises `DataError` for another array than a column of
    them.
    """
    array = read_npy(path)
    if array.ndim != 1 or array.dtype.kind == "c":
        raise DataError(
            f"labels are one column of numbers or words, not {array.dtype} of shape {array.shape}",
            where=str(path),
        )
    return array


def _convert_fixed_strings(array: np.ndarray) -> np.ndarray:
    """Convert strings of fixed length to StringDType."""
    return array.astype(STRING) if array.dtype.kind in "SU" else array


def _without_quotes(words: Sequence[str]) -> list[str]:
    """Return the content of words in double quotes."""
    return [word[1:-1].replace('""', '"').strip() for word in words]
