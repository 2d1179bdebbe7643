"""Columns of words of a table, and crosses: the values of two columns or more of a row together, as
one word of a column of its own. The cross of the columns `town` and `size` is called ``town:size``,
and the feature of a row with `Oslo` and `4` in them ``town:size=Oslo:4``.

A number is written in its shortest form, so that 4, 4.0 and 04 are one value; truth values are 1
and 0. A row in which one of the columns is missing has no word.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.arrow_values import to_numpy
from tux.base.errors import DataError, UsageError
from tux.io.samples.labels import plain_number

Crosses = tuple[tuple[str, ...], ...]
"""The names of the columns of each cross."""
SHOWN = 30  # names of columns in a message


class Words(NamedTuple):
    """A piece of a column of words: row i has ``texts[codes[i]]``, or none if the code is -1."""

    codes: np.ndarray  # (r,) int32
    texts: list[str]

    @classmethod
    def of(cls, column: Any) -> Words:
        """Make it of a dictionary array of strings of Arrow."""
        codes = to_numpy(column.indices)
        if codes.dtype.kind == "f":
            codes = np.where(np.isnan(codes), -1, codes)
        texts = [text or "" for text in column.dictionary.to_pylist()]
        return cls(codes.astype(np.int32, copy=False), texts)

    @classmethod
    def of_numbers(cls, numbers: np.ndarray, missing: np.ndarray | None) -> Words:
        """Make it of numbers (r,); `missing` (r,) bool are those that are not there."""
        values, codes = np.unique(numbers, return_inverse=True)
        codes = codes.astype(np.int32)
        if missing is not None:
            codes[missing] = -1
        return cls(codes, [*map(plain_number, values.tolist())])

    def mask_words(self) -> np.ndarray:
        """Return which rows have a word (r,) bool."""
        known: np.ndarray = np.array([*map(bool, self.texts), False])[self.codes]
        return known


class Cross(NamedTuple):
    """A cross: its name, and the places of its columns."""

    name: str
    places: list[int]


def join_crossed(texts: Sequence[str]) -> str:
    """Write the names or the values of columns as those of a cross, with colons between them. A
    text with a colon or a double quote in it stands in double quotes, as commas do in a table.
    """
    return ":".join(map(_quote_colons, texts))


def split_crossed(text: str) -> tuple[str, ...]:
    """Read the names of columns from what `join_crossed` writes. ValueError for quotes that do not
    end.
    """
    try:
        names = next(csv.reader([text], delimiter=":", strict=True), [])
    except csv.Error as error:
        raise ValueError(str(error)) from None
    return tuple(names)


def _quote_colons(text: str) -> str:
    if ":" not in text and '"' not in text:
        return text
    return '"' + text.replace('"', '""') + '"'


def list_columns(names: Sequence[str]) -> str:
    """Return a sentence, without its point, about the columns that a table has."""
    return f"It has {', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''}"


def find_crosses(
    names: Sequence[str], taken: Sequence[str], crosses: Crosses, path: str
) -> list[Cross]:
    """Return crosses of the columns of a table with these `names`; those `taken` are no features.
    Raises `DataError` for a column that is missing or no feature, and for two equal names.
    """
    found: dict[str, Cross] = {}
    for columns in crosses:
        called = join_crossed(columns)
        for name in columns:
            if name not in names:
                raise DataError(
                    f"no column {name!r}, which the cross {called} needs",
                    where=path,
                    do=f"{list_columns(names)}.",
                )
            if name in taken:
                raise DataError(
                    f"the cross {called} is to have column {name!r}, which is no feature",
                    where=path,
                    do="Cross columns of features, not of labels, weights or numbers of rows.",
                )
        if called in names or called in found:
            what = "a column" if called in names else "a cross"
            raise DataError(
                f"there is {what} called {called!r} already",
                where=path,
                do="Rename the column." if called in names else "Name each cross once.",
            )
        found[called] = Cross(called, [names.index(name) for name in columns])
    return [*found.values()]


def no_columns_to_cross(path: str, crosses: Crosses) -> UsageError:
    """Return the error about data whose columns have no names."""
    return UsageError(
        f"{path} has no columns with names, so none to cross",
        do=f"give a table with the columns {', '.join(crosses[0])}; or train without --cross",
    )


class JoinedWords(NamedTuple):
    """The words of k columns of r rows, as they are written in crosses, in one list of `texts`;
    `complete` (r,) bool are the rows in which all columns have one, n rows.
    """

    texts: list[str]
    codes: np.ndarray  # (k, n) int64
    complete: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[Words]) -> JoinedWords:
        """Make it of columns of the same rows."""
        complete = np.logical_and.reduce([column.mask_words() for column in columns])
        before = np.cumsum([0, *(len(column.texts) for column in columns[:-1])])
        codes = [
            column.codes[complete] + begin for column, begin in zip(columns, before, strict=True)
        ]
        texts = [_quote_colons(text) for column in columns for text in column.texts]
        return cls(texts, np.array(codes, np.int64), complete)

    def cross(self) -> Words:
        """Return the words that the columns have together."""
        codes, names = self.codes[0], self.texts
        for own in self.codes[1:]:
            pairs, codes = np.unique(codes * len(self.texts) + own, return_inverse=True)
            left, right = (part.tolist() for part in np.divmod(pairs, max(len(self.texts), 1)))
            names = [f"{names[a]}:{self.texts[b]}" for a, b in zip(left, right, strict=True)]
        crossed = np.full(len(self.complete), -1, np.int32)
        crossed[self.complete] = codes
        return Words(crossed, names)
