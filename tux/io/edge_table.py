"""What a file of edges looks like: text cut by almost any separator, or Parquet; with or without
names; packed or not.

A row is one edge: the ids of its two ends and the edge's numbers, in columns found by name if there
is a header, else by position. Text is parsed in large blocks by all cores. Only a block that fails
is halved until the bad line is found, and only that small rest is judged line by line: a bad line
among millions is named without a slow path for the others.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from tux.arrays import arrow
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError, UsageError
from tux.io.cells import TextLayout, cells_of, is_row, lines_of, separator_of, split
from tux.io.dense_table import check_edges
from tux.io.text import ADVICE, EMPTY, NUMBER, SAMPLE, SMALL, WHOLE, Bad, OnBadRow, blocks

# Other names of columns, as letters and digits only.
USERS = {"user", "userid", "uid", "reviewer", "reviewerid", "customer", "customerid"}
THINGS = ("item", "movie", "film", "product", "book", "song", "track", "artist", "business")
ITEMS = {"iid", "asin", "isbn", *THINGS, *(f"{thing}id" for thing in THINGS)}
SIDES = (
    {"source", "sourceid", "src", "from", "fromid", "fromnode", "fromnodeid"},
    {"target", "targetid", "dst", "dest", "destination", "to", "toid", "tonode", "tonodeid"},
)
NUMBERS = {"rating", "score", "weight", "value", "stars", "overall"}
NEVER = re.compile(r".*(time|timestamp|date)|ts|index|")  # names never taken for a missing one

WORD = re.compile(r"[a-z]+")


def read_edge_table(
    path: str | os.PathLike[str],
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    columns: str | None,
    on_bad_row: OnBadRow,
    against: Mapping[str, Ids] | None,
) -> EdgeData:
    """The edges of a table, text or Parquet. See `tux.io.read.read_edges`."""
    wanted = Wanted(ends, {name: np.dtype(dtype) for name, dtype in fields.items()}, columns)
    bad = Bad(os.fspath(path), stop=on_bad_row == "stop")
    pieces, told = (parquet_pieces if arrow.is_parquet(path) else text_pieces)(bad, wanted)
    if pieces.rows == 0:
        raise DataError(
            f"{path} holds no edge"
            if not bad.count
            else f"no row of {path} is usable; the first: {bad.first}"
        )
    src, dst, *numbers = pieces.columns()
    values = dict(zip(fields, numbers, strict=True))
    return EdgeData.of(
        ends,
        src,
        dst,
        values,
        against=against,
        columns=told,
        skipped=bad.count,
        first_skipped=bad.first,
    )


# ---- which columns


class Wanted(NamedTuple):
    """What to look for in a file."""

    ends: tuple[str, str]
    fields: dict[str, np.dtype]
    columns: str | None

    @property
    def kinds(self) -> list[np.dtype | None]:
        """By wanted column, as in `arrow.Pieces`: None for ids."""
        return [None, None, *self.fields.values()]

    @property
    def labels(self) -> list[str]:
        """By wanted column, what messages call it."""
        source, target = self.ends
        return [
            *((source, target) if source != target else (f"source {source}", f"target {target}")),
            *self.fields,
        ]

    def given(self) -> list[str]:
        """The columns asked for by the caller, if any."""
        if self.columns is None:
            return []
        given = [name.strip() for name in self.columns.split(",")]
        if (
            len(given) != len(self.kinds)
            or len(set(given)) != len(given)
            or "0" in given
            or "" in given
        ):
            raise UsageError(
                f"columns {self.columns!r} do not say where to find {', '.join(self.labels)}",
                do=(
                    f"Give {len(self.kinds)} different names, or positions from 1, with commas "
                    "between them."
                ),
            )
        return given

    def names(self, at: int, *, alias: bool) -> set[str]:
        """Header names, plain, of wanted column `at`: its own, or others in use."""
        if at > 1:
            own = _plain(list(self.fields)[at - 2])
            return NUMBERS if alias and len(self.fields) == 1 else {own}
        own = _plain(self.ends[at])
        kin = set().union(*(family for family in (USERS, ITEMS) if own in family))
        return SIDES[at] | kin if alias else {own, own + "id"}


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _find(header: Sequence[str], wanted: Wanted, path: str) -> list[int]:
    """The 0-based places of the wanted columns under a header. Raises `DataError` for one that is
    not there.
    """
    asked = wanted.given()
    places = _asked_for(header, asked) if asked else _by_name(header, wanted, path)
    for at, name in enumerate(asked or wanted.labels):
        if at not in places:
            raise DataError(
                f"no column {name!r}" if asked else f"no column for {name}",
                where=path,
                do=f"It has {', '.join(header)}; name the right ones with --columns.",
            )
    if len(set(places.values())) < len(places):
        raise UsageError(f"columns {wanted.columns!r} name one column twice")
    return [places[at] for at in range(len(places))]


def _look(
    places: dict[int, int], plain: Sequence[str], count: int, names: Callable[[int], set[str]]
) -> None:
    """Give each of `count` wanted columns that has no place yet the first free one with one of its
    names.
    """
    for at in set(range(count)) - places.keys():
        for place, name in enumerate(plain):
            if name in names(at) and place not in places.values():
                places[at] = place
                break


def _asked_for(header: Sequence[str], asked: Sequence[str]) -> dict[int, int]:
    """The places of the columns that the caller names, by wanted column: by position, then by
    exact name, then by the letters and digits of the name.
    """
    places: dict[int, int] = {}
    for at, name in enumerate(asked):
        if name.isdecimal() and int(name) <= len(header):
            places[at] = int(name) - 1
        elif name in header:
            places[at] = header.index(name)
    plain = [_plain(name) for name in header]
    _look(
        places,
        plain,
        len(asked),
        lambda at: set() if asked[at].isdecimal() else {_plain(asked[at])},
    )
    return places


def _by_name(header: Sequence[str], wanted: Wanted, path: str) -> dict[int, int]:
    """The places of the wanted columns: by their own names, by other names in use, and then from
    the left.

    Where there are more columns than are missing, the left is trusted only if the columns found by
    name stand in order too, and none of those that would be left out has a telling word in its
    name; else this is a `DataError`.
    """
    plain, count = [_plain(name) for name in header], len(wanted.kinds)
    places: dict[int, int] = {}
    _look(places, plain, count, lambda at: wanted.names(at, alias=False))
    _look(places, plain, count, lambda at: wanted.names(at, alias=True))
    free = [
        place
        for place, name in enumerate(plain)
        if not NEVER.fullmatch(name) and place not in places.values()
    ]
    missing = [at for at in range(count) if at not in places]
    left_out = free[len(missing) :]
    telling = any(
        set(WORD.findall(header[place].lower())) & wanted.names(at, alias=True)
        for at in missing
        for place in left_out
    )
    if missing and left_out and (telling or any(at != place for at, place in places.items())):
        labels = " and ".join(wanted.labels[at] for at in missing)
        raise DataError(
            f"{labels} may be any of the columns {', '.join(header[place] for place in free)}",
            where=path,
            do=(
                f"It has {', '.join(header)}; say --columns {','.join(wanted.labels)} with its "
                "names in their places."
            ),
        )
    _look(places, plain, count, lambda at: {plain[place] for place in free})
    return places


def _told(names: Sequence[str], picks: Sequence[int], wanted: Wanted) -> str:
    """Which column was taken for what, in words; nothing where the caller has said it, or the
    names are the wanted ones.
    """
    if wanted.columns is not None:
        return ""
    pairs = [(label, names[place]) for label, place in zip(wanted.labels, picks, strict=True)]
    if all(_plain(name) == _plain(label) for label, name in pairs):
        return ""
    return ", ".join(f"{label} from {name}" for label, name in pairs)


# ---- the layout of text


def _layout(block: bytes, wanted: Wanted, path: str) -> TextLayout | None:
    """The layout that the first lines of text show; None if all are comments or blank."""
    if b"\0" in block:
        raise DataError(
            f"{path} is not a text file", do="Text in UTF-8, packed text and Parquet can be read."
        )
    rows = list(
        islice(((at, line) for at, line in enumerate(lines_of(block)) if is_row(line)), SAMPLE)
    )
    if not rows:
        return None
    given = wanted.given()
    needed = max([len(wanted.kinds), *(int(name) for name in given if name.isdecimal())])
    separator, width = separator_of([line for _, line in rows], needed)
    if width < needed:
        raise DataError(
            f"{width} column{'s' * (width > 1)}, but {needed} are needed "
            f"({', '.join(wanted.labels)})",
            where=f"{path}:{rows[0][0] + 1}",
        )
    layout = TextLayout(separator, width, list(range(len(wanted.kinds))), rows[0][0])
    table = [cells_of(line, separator) for _, line in rows]
    if any(not name.isdecimal() for name in given) or _titled(table, wanted):
        picks = _find(table[0], wanted, path)
        told = _told(table[0], picks, wanted)
        if not given:
            check_edges(table[1:], picks, path, named=True)
        return layout._replace(width=len(table[0]), picks=picks, skip=layout.skip + 1, told=told)
    if given:
        return layout._replace(picks=[int(name) - 1 for name in given])
    check_edges(table, layout.picks, path)
    if width > needed:
        return layout._replace(
            told=_told([f"column {place + 1}" for place in range(width)], layout.picks, wanted)
        )
    return layout


def _titled(table: list[list[str]], wanted: Wanted) -> bool:
    """Whether the first row is a header: no number in it, but two names in use, or columns of
    numbers below (the field, or both ends).
    """
    first, *rest = table
    names = set().union(
        *(
            wanted.names(at, alias=alias)
            for at in range(len(wanted.kinds))
            for alias in (False, True)
        )
    )
    below = [all(NUMBER.fullmatch(cell) for cell in column) for column in zip(*rest, strict=False)]
    known = sum(_plain(name) in names for name in first)
    return (
        bool(first)
        and not any(map(NUMBER.fullmatch, first))
        and (known > 1 or sum(below) > (0 if wanted.fields else 1))
    )


# ---- reading


def text_pieces(bad: Bad, wanted: Wanted) -> tuple[arrow.Pieces, str]:
    """The columns of a text file, and which these are."""
    pieces = arrow.Pieces(wanted.kinds)
    layout: TextLayout | None = None
    number = 1  # of the block's first line
    for block in blocks(bad.path):
        rows = block
        if layout is None:
            layout = _layout(block, wanted, bad.path)
            rows = b"".join(block.split(b"\n", layout.skip)[layout.skip :]) if layout else b""
        if layout is not None:
            _add(pieces, rows, number + block.count(b"\n") - rows.count(b"\n"), layout, wanted, bad)
        number += block.count(b"\n")
    return pieces, layout.told if layout else ""


def _add(
    pieces: arrow.Pieces, block: bytes, number: int, layout: TextLayout, wanted: Wanted, bad: Bad
) -> None:
    """Append the rows of a block of lines, the first of them line `number`; if it fails by
    halves, and a small one by its good lines.
    """
    text = layout.cut(block)
    if not text or text.isspace():
        return
    separator = "\x1f" if layout.separator == "::" else layout.separator
    try:
        table = arrow.parse_text(
            text, layout.width, layout.picks, wanted.kinds, separator, quotes=layout.quotes
        )
        lines = text.count(b"\n")
        if table.num_rows != lines and table.num_rows != lines - len(EMPTY.findall(text)):
            raise arrow.Unreadable("a quoted value runs over several lines")
        pieces.add(table)
    except arrow.Unreadable as error:
        half = block.find(b"\n", len(block) // 2) + 1
        if len(block) > SMALL and half < len(block):
            _add(pieces, block[:half], number, layout, wanted, bad)
            _add(pieces, block[half:], number + block.count(b"\n", 0, half), layout, wanted, bad)
            return
        good = _good_lines(block, number, layout, wanted, bad)
        if len(good) == len(block):
            raise DataError(
                f"cannot be read ({error})", where=f"{bad.path}:{number}", do=ADVICE
            ) from None
        _add(pieces, good, number, layout, wanted, bad)


def _good_lines(block: bytes, number: int, layout: TextLayout, wanted: Wanted, bad: Bad) -> bytes:
    """The lines that are rows as they should be; the others are noted as bad, unless blank or a
    comment.
    """
    good = []
    for at, line in enumerate(block[:-1].split(b"\n"), number):
        try:
            text = line.decode().removesuffix("\r")
            why = _fault(split(text, layout.separator), layout, wanted) if is_row(text) else ""
        except UnicodeDecodeError:
            text, why = "?", "the line is not UTF-8 text"
        except csv.Error:
            why = "a quote is not closed, or not followed by a separator"
        if why:
            bad.note(at, why)
        elif is_row(text):
            good.append(line + b"\n")
    return b"".join(good)


def _fault(cells: list[str], layout: TextLayout, wanted: Wanted) -> str:
    """What is wrong with a row, or nothing."""
    if len(cells) != layout.width:
        return f"{len(cells)} columns instead of {layout.width}"
    for place, kind, label in zip(layout.picks, wanted.kinds, wanted.labels, strict=True):
        cell = cells[place].strip()
        if not cell:
            return f"{label} is missing"
        if kind is None:
            continue
        if not (NUMBER if kind.kind == "f" else WHOLE).fullmatch(cell):
            return f"{label} is {cell!r}, not a {'' if kind.kind == 'f' else 'whole '}number"
        if kind.kind == "f" and not abs(float(cell)) <= float(np.finfo(kind).max):
            return f"{label} is {cell}, not finite"
        if kind.kind != "f" and not np.iinfo(kind).min <= int(cell) <= np.iinfo(kind).max:
            return f"{label} is {cell}, beyond {kind}"
    return ""


def parquet_pieces(bad: Bad, wanted: Wanted) -> tuple[arrow.Pieces, str]:
    """The columns of a Parquet file, and which these are."""
    pieces = arrow.Pieces(wanted.kinds)
    names = arrow.parquet_names(bad.path)
    picks = _find(names, wanted, bad.path)
    chosen = [names[place] for place in picks]
    for table, left_out in arrow.parquet_edges(bad.path, chosen, wanted.kinds):
        for row in left_out:
            bad.note(int(row), "a value is null, empty or not finite", "row ")
        pieces.add(table)
    return pieces, _told(names, picks, wanted)
