"""The format of a file, which is found once, by its name and its first bytes; callers match on it.

The first lines of text show if it holds bags of columns or a table of edges.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from itertools import islice

from tux.arrays import arrow
from tux.arrays.packed import PARQUET, ZIP, head_of, holds_arrays, is_packed, is_parquet
from tux.base.errors import DataError
from tux.io.edges.mat import is_mat
from tux.io.formats.edge_formats import EDGE_FORMATS
from tux.io.formats.foreign_kinds import Beginning, check_known
from tux.io.formats.format import FileStart, Format, name_ending
from tux.io.source.cells import MARK
from tux.io.source.input_files import pieces_of
from tux.io.source.piece_text import as_lines

HDF5 = b"\x89HDF"  # the first bytes of newer files of MATLAB
HEAD = 1 << 20  # bytes that are looked at
SAMPLE = 50  # lines likewise
SHARE = 0.75  # of these, that must be of the form: the others may be the bad ones
SAMPLES = (".svm", ".libsvm", ".svmlight", ".feat")
DIGITS = 18  # of a number of pairs, at most: int() refuses very many
BAG_COLUMNS = 4  # columns on every line: so many of this kind no table of edges has

SIZE = re.compile(rb"\s*\d+\s*", re.ASCII)
TRIPLE = re.compile(rb"\s*\d+\s+\d+\s+\S+\s*", re.ASCII)
PAIR = re.compile(rb"\d+:[^:]+", re.ASCII)
# the parts of a row of libsvm beside its label and pairs: a weight, and a query of ranking
WEIGHED = re.compile(rb"(?=[-+]|\d*\.)([-+]?[\d.]+):[\d.]+", re.ASCII)
QUERY = re.compile(rb"[ \t]qid:\d+(?=[ \t\r]|\Z)", re.ASCII)


def detect_format(path: str | os.PathLike[str]) -> Format:
    """Find out the format of a file: MATLAB, METIS and adjacency lists by its name, the others by
    its first bytes and lines.

    For `Files` it is the format of all of them; the first lines of the whole show if text holds
    bags. A damaged file may be of any format; reading it raises the error. Raises `DataError` if a
    file cannot be opened, or has lines before the banner of Matrix Market; if files are of several
    formats, or of one of which each file is a whole; and for a kind of file that is known and not
    read (`tux.io.formats.foreign_kinds`).
    """
    if len(pieces := pieces_of(path)) > 1:
        return _detect_all([piece.path for piece in pieces])
    path = pieces[0].path if pieces else path
    kind, head = _kind(path)
    if kind is not Format.TEXT:
        return kind
    return _by_lines(head[:HEAD], len(head) <= HEAD, name_ending(path) in SAMPLES)


def _detect_all(paths: list[str]) -> Format:
    """Find out the format of several files."""
    first, kind = paths[0], Format.TEXT
    heads: list[bytes] = []
    for path in paths:
        own, head = _kind(path)
        if own in EDGE_FORMATS:
            raise DataError(
                f"{path} is one of {len(paths):,} files, but {EDGE_FORMATS[own].alone}",
                do="Name one such file alone, or convert them to tables of edges.",
            )
        if path != first and own is not kind:
            names = {Format.PARQUET: "Parquet", Format.TEXT: "text"}
            raise DataError(
                f"{path} is {names[own]}, but {first} is {names[kind]}",
                do="All files of one input are of one format.",
            )
        if (
            own is Format.TEXT
            and heads
            and _has_docword_sizes(heads[0])
            and _has_docword_sizes(head)
        ):
            raise DataError(
                f"{path} begins with sizes of its own, as {first} does, so they are two docword "
                "files",
                do="Name one of them, or convert them to tables of edges.",
            )
        kind = own
        if sum(map(len, heads)) <= HEAD:
            heads.append(head)
    if kind is not Format.TEXT:
        return kind
    text = b"".join(head if head.endswith(b"\n") else head + b"\n" for head in heads if head)
    return _by_lines(text[:HEAD], len(text) <= HEAD, name_ending(first) in SAMPLES)


def _kind(path: str | os.PathLike[str]) -> tuple[Format, bytes]:
    """Find out the format of a file; it is TEXT for tables and bags, which only the first lines of
    all files can tell apart. Returns it, and the first bytes of text, unpacked. Raises DataError
    for a kind that is not read.
    """
    packed = head_of(path, HEAD + 1)
    if is_mat(path):
        if not packed.startswith((b"MATLAB", HDF5)):
            check_known(path, packed, "")
        return Format.MAT, b""
    if is_parquet(packed) or name_ending(path) == ".parquet" and packed.startswith(PARQUET):
        return Format.PARQUET, b""
    if not is_packed(packed) or packed.startswith(ZIP):
        check_known(path, packed, name_ending(path))
    if name_ending(path) == ".npz" or holds_arrays(path, packed):
        return Format.NPZ, b""
    head = packed
    if is_packed(packed):
        check_known(path, head := _read_packed_head(path), name_ending(path))
    head = as_lines(head, head).removeprefix(MARK)
    start = FileStart(os.fspath(path), name_ending(path), head, Beginning.of(head))
    kinds = (each.format for each in EDGE_FORMATS.values() if each.begins(start))
    return next(kinds, Format.TEXT), head


def _has_docword_sizes(head: bytes) -> bool:
    """Return whether lines begin as those of a docword file."""
    lines = [line for line in head.split(b"\n", 4)[:4] if line.strip()]
    return (
        len(lines) == 4
        and all(SIZE.fullmatch(line) for line in lines[:3])
        and TRIPLE.fullmatch(lines[3]) is not None
    )


def _by_lines(head: bytes, whole: bool, named: bool) -> Format:
    """Find out the format of bags from the first bytes `head` of a file; `whole` if these are all.
    TEXT for an ordinary table of edges, and for bytes that are no text. `named` if the name of the
    file ends as those of libsvm.

    A docword file begins with three lines of one number and goes on with three numbers a line. Most
    lines of the others are pairs ``column:number``, perhaps with a head before them. A table of
    edges might have a column or two of such pairs, so there must be different numbers of them on
    the lines, or four columns at least, or a name that ends in .svm, .libsvm, .svmlight or .feat.
    Lines of a head alone, which are rows of zeros, are looked beyond. The heads of lda-c are the
    numbers of pairs. Plain text is never recognised.
    """
    if b"\0" in head or is_parquet(head):
        return Format.TEXT
    lines = head.removeprefix(MARK).split(b"\n")
    lines = [line for line in (lines if whole or len(lines) == 1 else lines[:-1]) if line.strip()]
    if not named and len(lines) > 2 and all(SIZE.fullmatch(line) for line in lines[:3]):
        if _most([bool(TRIPLE.fullmatch(line)) for line in lines[3 : 3 + SAMPLE]]):
            return Format.DOCWORD
    if not named and b":" not in head:
        return Format.TEXT  # as a look at each line would find, too
    if not named and _is_cut(lines):
        return Format.TEXT
    words = (
        QUERY.sub(b"", line, count=1).split(b"#")[0].split()
        for line in lines
        if not line.lstrip().startswith(b"#")
    )
    rows = [*islice(words, SAMPLE)]
    if any(WEIGHED.fullmatch(row[0]) for row in rows if row):
        rows = [[row[0].split(b":")[0], *row[1:]] for row in rows if row]
    if all(map(_is_head_alone, rows)):
        rows += islice((row for row in words if not _is_head_alone(row)), SAMPLE)
    if not whole and len(lines) == 1:
        rows = [rows[0][:-1]] if rows else []  # cut in the middle of its last pair
    return _pairs(rows, named, cut=not whole and len(lines) == 1)


def _is_cut(lines: list[bytes]) -> bool:
    """Return whether most lines have equally many commas, semicolons or bars, so that a pair at
    their end is the time of day, as in 1,10,4,2020-01-01 10:00, or another cell of a table.
    """
    rows = [line for line in islice(lines, SAMPLE) if not line.lstrip().startswith(b"#")]
    for separator in (b",", b";", b"|"):
        times = Counter(line.count(separator) for line in rows)
        count, most = times.most_common(1)[0] if times else (0, 0)
        if count and most >= SHARE * len(rows):
            return True
    return False


def _is_head_alone(row: list[bytes]) -> bool:
    """Return whether a row of words is a head alone."""
    return len(row) == 1 and b":" not in row[0]


def _pairs(rows: list[list[bytes]], named: bool, cut: bool) -> Format:
    """Find out the form of rows of words; `named` if the name of the file ends as those of libsvm,
    `cut` if the only row goes on.
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
        [fit for row, fit in zip(rows, fits, strict=True) if not (fit and _is_head_alone(row))]
    ):
        return Format.TEXT
    if not named and (widths == {0} or len(widths) == 1 and min(widths) + headed < BAG_COLUMNS):
        return Format.TEXT
    return (
        Format.LDA_C
        if headed and not named and _most([_begins_with_count(row, bag, cut) for row, bag in good])
        else Format.SVM
    )


def _begins_with_count(row: list[bytes], bag: list[bytes], cut: bool) -> bool:
    """Return whether the head of a row is the number of its pairs, each with a whole number."""
    head = row[0]
    return (
        head.isdigit()
        and len(head) <= DIGITS
        and (int(head) == len(bag) or cut and int(head) > len(bag))
        and all(pair.split(b":")[1].isdigit() for pair in bag)
    )


def _most(fits: list[bool]) -> bool:
    return sum(fits) >= SHARE * len(fits)


def _read_packed_head(path: str | os.PathLike[str]) -> bytes:
    """Read the first bytes of a packed file, unpacked; b"" if it is damaged."""
    with arrow.open_stream(path) as stream:
        try:
            return bytes(stream.read(HEAD + 1))
        except OSError:
            return b""
