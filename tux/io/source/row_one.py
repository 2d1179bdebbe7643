"""The decision about the first row of a table: it has names of columns, or is a row as all others.

This is decided here alone, for tables of edges, of samples and of vertices.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from enum import Enum

import numpy as np

from tux.io.edges.columns import plain_name
from tux.io.source.text import NUMERIC

GAPS = ("", "NA", "N/A", "null", "NULL", "?", "None", "<NA>", "#N/A", "n/a")
"""Words for a missing number in text."""
MAX_EDGE_COLUMNS = 4  # columns that a table of edges may have at most where some names are numbers
DIGIT = re.compile(r"\d")
WHOLE = re.compile(r"\d{1,9}", re.ASCII)
PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")  # of a name: fromNode_id2
IN_USE = frozenset(
    """
    boss borrower callee caller coauthor employer employee exporter importer leader lender linked
    links loser manager mentee mentor seller winner
    actor age amount artist asset author authority begin book business buyer category child cited
    citing class classification community contact count country created customer date day depth
    dest destination destnode dist distance doc document domain donor dst edge email employee end
    entity event feature film followed followee follower following friend from gene gender group
    guest head host id index interaction item kind label left length link location member movie
    city town state region address phone mail
    name neighbor neighbour node nodes object org organization origin page paper parent partner
    patent person place player post predecessor predicate price product protein rank rating
    ratings receiver recipient ref reference rel relation relationship reply review reviewer right
    sample score sender sentiment session shop sign similarity site song source species spouse
    src start station status stop strength student subject subreddit successor supplier tag tail
    target term text time timestamp title to token topic track trustee truster tweet type u url
    user username users v value venue vertex vertices votes weight word x y year z zip
    """.split()
)
"""Words of names of columns that are in use."""
ALONE = frozenset("code id ids index key name no nr num number uid".split())
MORE = 1.2  # edges than vertices, if the number of rows is not known
YEARS = range(1900, 2101)
LITTLE = ALONE | frozenset("a b one two".split())
"""Words beside these in a name."""


class RowOne(Enum):
    """The kind of the first row."""

    NAMES = "names"
    ROW = "a row"
    UNSURE = "a row, but perhaps names"  # read as a row, and the user is told


def row_one(table: Sequence[Sequence[str]], known: Collection[str]) -> RowOne:
    """Decide what the first row of a table of edges is. `known` are names that the program looks
    for, as `tux.io.edges.columns.plain_name` writes them.

    It is one of names if it is that of a matrix (see `has_names`); or if it has no number and no
    missing value, and

    - a number stands in all other rows of some column, or of both where there are two, or
    - two of its cells are `known`, and not both stand in other rows, or
    - none of its cells stands in another row, and one of them is `known`, or two are names in use,
      and no ids with numbers, as u17 is where u3 stands below, or no other row is, or
    - none does, and two cells differ in a number or letter at their end alone, as node_1 and
      node_2, while no cell of another row begins so.
    """
    first = table[0]
    rest = [row for row in table[1:] if len(row) == len(first) and not _repeats(row, first)]
    if any(map(NUMERIC.fullmatch, first)):
        below = [any(cell == row[at] for row in rest) for at, cell in enumerate(first)]
        if len(first) > MAX_EDGE_COLUMNS and _of_matrix(first, below):
            return RowOne.NAMES
        own = len(first) < 3 and any(cell in row for row in rest for cell in first)
        counted = first[0] == "0" and not (own or all(map(_counts_up, rest)))
        counted = counted and may_be_names(table)
        return RowOne.UNSURE if counted else RowOne.ROW
    if _has_gap(first):
        return RowOne.ROW
    if _numbers_below([*zip(*rest, strict=True)]) > (len(first) < 3):
        return RowOne.NAMES
    others = {cell for row in rest for cell in row}
    named = [cell for cell in first if plain_name(cell) in known]
    if len(named) > 1 and not others.issuperset(named):
        return RowOne.NAMES
    if others.intersection(filter(None, first)):
        return RowOne.ROW
    forms = {_form(cell) for cell in others}
    ids = {cell for cell in first if DIGIT.search(cell) and (not rest or _form(cell) in forms)}
    named = [cell for cell in named if cell not in ids]
    used = sum(plain_name(cell) in known or is_in_use(cell) for cell in first if cell not in ids)
    if used > 1 or named or (rest and _differ_at_end(first, rest)):
        return RowOne.NAMES
    return RowOne.UNSURE if rest and not _has_same_form(first, rest) else RowOne.ROW


def has_names(table: Sequence[Sequence[str]], known: Collection[str]) -> bool:
    """Return whether the first row of a table of samples or of vertices is one of names.

    It is if one of the `known` names stands there, and not below. Else it is none if it has
    numbers, but for whole and ascending ones beside words, as the names of the columns of a matrix;
    or if a value is missing. If it has words alone, it is one if numbers stand below one of them,
    or less than half of them stand below themselves.
    """
    first, rest = table[0], [row for row in table[1:] if len(row) == len(table[0])]
    columns = [*zip(*rest, strict=True)] or [() for _ in first]
    below = [cell in column for cell, column in zip(first, columns, strict=True)]
    if any(
        plain_name(cell) in known and not again for cell, again in zip(first, below, strict=True)
    ):
        return True
    if any(map(NUMERIC.fullmatch, first)):
        return _of_matrix(first, below)
    if _has_gap(first):
        return False
    return _numbers_below(columns) > 0 or 2 * sum(below) < len(first)


def may_be_names(table: Sequence[Sequence[str]]) -> bool:
    """Return whether the numbers of the first row may be names of columns. They must count up by
    one, as the names that pandas gives to columns, or as years, and most of them must not stand in
    the same column again. Other rows must not all count up, unless the numbers are years or begin
    with 0.
    """
    first = table[0]
    rest = [row for row in table[1:] if len(row) == len(first)]
    columns = [*zip(*rest, strict=True)]
    if not rest or not _counts_up(first):
        return False
    if 2 * sum(cell in column for cell, column in zip(first, columns, strict=True)) >= len(first):
        return False
    return int(first[0]) in (0, *YEARS) or not all(map(_counts_up, rest))


def _counts_up(row: Sequence[str]) -> bool:
    """Return whether the cells of a row are whole numbers, each one more than the one before."""
    if len(row) < 2 or not all(map(WHOLE.fullmatch, row)):
        return False
    return [*map(int, row)] == [int(row[0]) + at for at in range(len(row))]


def has_sizes(table: Sequence[Sequence[str]], judged: int) -> bool:
    """Return whether the first row of a table of edges may be its sizes, as other programs write
    them: the numbers of vertices and of edges, or of edges and of vertices; those of both kinds of
    vertices and of edges; or those of vertices and of edges, and another number. The table has at
    most `judged` rows, as more are not looked at.
    """
    first, *rest = table
    if len(first) not in (2, 3) or not rest or any(len(row) != len(first) for row in rest):
        return False
    whole = [*first, *(cell for row in rest for cell in row[:2])]
    if not all(map(WHOLE.fullmatch, whole)):
        return False
    ends = np.array([row[:2] for row in rest], np.int64)
    most = ends.max(axis=0) + (ends == 0).any(axis=0)  # so many vertices at least
    both = int(ends.max()) + int((ends == 0).any())

    whole_table = len(table) < judged

    def edges(count: int) -> bool:
        return count == len(rest) if whole_table else count > max(len(rest), MORE * both)

    one, other, *last = map(int, first)
    if last and edges(*last) and (most <= (one, other)).all():
        return True
    swapped = whole_table and not last and edges(one) and both == other
    return swapped or edges(other) and both <= one


def is_in_use(name: str) -> bool:
    """Return whether all words of a name are usual in names of columns."""
    words = [word.lower() for word in PARTS.findall(name)]
    if not words or plain_name(name) != "".join(words):
        return False
    main = [word for word in words if not word.isdigit() and word not in LITTLE]
    return all(map(IN_USE.__contains__, main)) if main else not ALONE.isdisjoint(words)


def _repeats(row: Sequence[str], first: Sequence[str]) -> bool:
    """Return whether a row has the cells of the first one, in any order if they are several. Files
    that were put together repeat their names.
    """
    return list(row) == list(first) or (len(row) > 2 and sorted(row) == sorted(first))


def _has_gap(first: Sequence[str]) -> bool:
    """Return whether a value is missing in a row. Some names may be empty, but not all."""
    return any(cell in GAPS for cell in first if cell) or not any(first)


def _numbers_below(columns: Sequence[Sequence[str]]) -> int:
    """Count the columns in which all other rows have a number."""
    return sum(bool(column) and all(map(NUMERIC.fullmatch, column)) for column in columns)


def _of_matrix(first: Sequence[str], below: Sequence[bool]) -> bool:
    """Return whether the numbers of a row are names of columns: whole, ascending, and beside words
    that are usual names or empty, and do not stand in the same column again.
    """
    numbers = [int(cell) for cell in first if WHOLE.fullmatch(cell)]
    words = [at for at, cell in enumerate(first) if not NUMERIC.fullmatch(cell)]
    if len(numbers) + len(words) < len(first) or numbers != sorted(set(numbers)):
        return False
    used = any(not first[at] or is_in_use(first[at]) for at in words)
    return used and not any(below[at] for at in words)


def _differ_at_end(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether two names are one word with different ends, and no cell of the `rest` begins
    with that word.
    """
    stems = [re.sub(r"([_\W]?[ab]|(?<!\d)\d+)$", "", cell, flags=re.IGNORECASE) for cell in first]
    twice = {
        stem
        for stem, cell in zip(stems, first, strict=True)
        if len(stem) > 1 and stem != cell and stems.count(stem) > 1
    }
    return any(not any(cell.startswith(stem) for row in rest for cell in row) for stem in twice)


def _has_same_form(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether cells of the first row have the form of those below: letters and digits in the
    same places.
    """
    shapes = {_shape(cell) for row in rest for cell in row}
    return all(_shape(cell) in shapes and DIGIT.search(cell) for cell in first)


def _shape(cell: str) -> str:
    return _form(re.sub(r"[^\W\d_]+", "a", cell))


def _form(cell: str) -> str:
    """Replace each number in a cell by 9, so that u3 and u17 give the same."""
    return re.sub(r"\d+", "9", cell)
