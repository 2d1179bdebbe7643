"""Which files hold bags of columns rather than a table of edges, by their first lines."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import Literal

from tux.arrays import arrow
from tux.arrays.packed import ENDINGS
from tux.io.cells import MARK

Form = Literal["docword", "lda-c", "svm", "text"]
HEAD = 1 << 20  # bytes that are looked at
SAMPLE = 50  # lines likewise
SHARE = 0.75  # of these, that must be of the form: the others may be the bad ones
SAMPLES = (".svm", ".libsvm", ".svmlight", ".feat")
WIDE = 4  # columns on every line: so many of this kind no table of edges has

SIZE = re.compile(rb"\s*\d+\s*", re.ASCII)
TRIPLE = re.compile(rb"\s*\d+\s+\d+\s+\S+\s*", re.ASCII)
PAIR = re.compile(rb"\d+:[^:]+", re.ASCII)


def recognised(path: str | os.PathLike[str]) -> Form | None:
    """ "docword", "lda-c" or "svm" if the file begins as such a file does; None of an ordinary
    table of edges.

    A docword file begins with three lines of one number and goes on with three numbers a line. Most
    lines of the others are pairs ``column:number``, perhaps with a head before them. A table of
    edges might have a column or two of such pairs, so there must be different numbers of them on
    the lines, or four columns at least, or a name that ends in .svm, .libsvm, .svmlight or .feat.
    Lines of a head alone, which are rows of zeros, are looked beyond. The heads of lda-c are the
    numbers of pairs. Plain text is never recognised. Raises `DataError` if the file cannot be
    opened.
    """
    head, whole = _head(path)
    if b"\0" in head or head.startswith(b"PAR1"):
        return None
    lines = head.removeprefix(MARK).split(b"\n")
    lines = [line for line in (lines if whole or len(lines) == 1 else lines[:-1]) if line.strip()]
    named = ending(path) in SAMPLES
    if not named and len(lines) > 2 and all(SIZE.fullmatch(line) for line in lines[:3]):
        if _most([bool(TRIPLE.fullmatch(line)) for line in lines[3 : 3 + SAMPLE]]):
            return "docword"
    words = (line.split(b"#")[0].split() for line in lines if not line.lstrip().startswith(b"#"))
    rows = [*islice(words, SAMPLE)]
    if all(map(_bare, rows)):
        rows += islice((row for row in words if not _bare(row)), SAMPLE)
    if not whole and len(lines) == 1:
        rows = [rows[0][:-1]] if rows else []  # cut in the middle of its last pair
    return _pairs(rows, named, cut=not whole and len(lines) == 1)


def _bare(row: list[bytes]) -> bool:
    """Whether a row of words is a head alone."""
    return len(row) == 1 and b":" not in row[0]


def _pairs(rows: list[list[bytes]], named: bool, cut: bool) -> Form | None:
    """The form of rows of words; `named` if the file's name says libsvm, `cut` if the only row
    goes on.
    """
    rows = [row for row in rows if row]
    headed = bool(rows) and b":" not in rows[0][0]
    bags = [row[headed:] for row in rows]
    fits = [
        all(map(PAIR.fullmatch, bag)) and headed == (b":" not in row[0])
        for row, bag in zip(rows, bags, strict=True)
    ]
    good = [(row, bag) for row, bag, fit in zip(rows, bags, fits, strict=True) if fit]
    widths = {len(bag) for _, bag in good}
    if not good or not _most(
        [fit for row, fit in zip(rows, fits, strict=True) if not (fit and _bare(row))]
    ):
        return None
    if not named and (widths == {0} or len(widths) == 1 and min(widths) + headed < WIDE):
        return None
    return (
        "lda-c"
        if headed and not named and _most([_counted(row, bag, cut) for row, bag in good])
        else "svm"
    )


def _counted(row: list[bytes], bag: list[bytes], cut: bool) -> bool:
    """Whether the head of a row is the number of its pairs, each with a whole number."""
    head = row[0]
    return (
        head.isdigit()
        and (int(head) == len(bag) or cut and int(head) > len(bag))
        and all(pair.split(b":")[1].isdigit() for pair in bag)
    )


def _most(fits: list[bool]) -> bool:
    return sum(fits) >= SHARE * len(fits)


def _head(path: str | os.PathLike[str]) -> tuple[bytes, bool]:
    """The first bytes of a file, unpacked, and whether they are all of it; nothing of a damaged
    one, which reading it will tell.
    """
    with arrow.open_stream(path) as stream:
        try:
            head = bytes(stream.read(HEAD + 1))
            return head[:HEAD], len(head) <= HEAD
        except OSError:
            return b"", True


def ending(path: str | os.PathLike[str]) -> str:
    """How a file's name ends, in small letters, without that of its packing: ".svm" of
    train.SVM.gz.
    """
    name = os.fspath(path).lower()
    name = name.removesuffix(next((end for end in ENDINGS if name.endswith(end)), ""))
    return os.path.splitext(name)[1]
