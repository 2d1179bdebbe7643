"""The columns of a table of edges that hold the ends and the numbers of an edge."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from tux.base.errors import DataError, UsageError
from tux.base.text import plural_noun

# Other names of columns, as letters and digits only.
USERS = {"user", "userid", "uid", "reviewer", "reviewerid", "customer", "customerid"}
THINGS = ("item", "movie", "film", "product", "book", "song", "track", "artist", "business")
ITEMS = {"iid", "asin", "isbn", *THINGS, *(f"{thing}id" for thing in THINGS)}
SIDES = (
    {"source", "sourceid", "src", "from", "fromid", "fromnode", "fromnodeid"},
    {"target", "targetid", "dst", "dest", "destination", "to", "toid", "tonode", "tonodeid"},
)
FURTHER = (
    {"node1", "nodea", "vertex1", "id1", "u", "head", "subject", "citing", "follower", "start"}
    | {"sender", "parent", "origin", "predecessor", "protein1", "gene1", "person1", "user1"},
    {"node2", "nodeb", "vertex2", "id2", "v", "tail", "object", "cited", "followee", "end"}
    | {"receiver", "recipient", "child", "successor", "protein2", "gene2", "person2", "user2"},
)
"""More names of sides. They may be words of a graph too, so they do not tell a line of names."""
NUMBERS = {"rating", "score", "weight", "value", "stars", "overall"}
# names never taken for a missing one; the last of them pandas writes and reads for its index
GUESSED = (
    3  # columns of a table of which the first two are taken for the ends, whatever their names
)
NEVER = re.compile(r".*(time|timestamp|date)|ts|index||indexlevel\d+|unnamed\d+")

WORD = re.compile(r"[a-z]+")
SHOWN = 10  # names of columns that an error lists, at most
LEFT = 2  # columns of numbers without names that edges may have besides those that are taken
MATRIX = (
    "Give a matrix as its entries, a row for each, as pandas' melt and stack make them, and drop "
    "the rows of entries that are 0 or missing; or as a sparse matrix of scipy, in memory or as "
    ".npz, or in Matrix Market's format."
)

Bare = Literal["", "ones", "told", "members"]
"""The meaning of pairs without numbers: "", they are no edges, or nobody asks; "ones", edges whose
fields are 1. Of edges without fields, a number beside a pair is not read, but may say that the pair
is not there: "told", the user is told so; "members", it is an error.
"""

Numeric = Callable[[int], bool]
"""A function that returns whether the column at a place, from 0, holds numbers."""


class WantedColumns(NamedTuple):
    """The columns to look for in a file: the ends of edges, their fields, and the names that the
    caller has given. A field of None holds whole numbers or words, as ids are. `bare`: pairs
    without numbers.
    """

    ends: tuple[str, str]
    fields: Mapping[str, np.dtype | None]
    columns: str | None
    bare: Bare = ""

    def of_table(self, width: int) -> WantedColumns:
        """Return the columns to look for in a table of `width` columns: with "ones", the ends alone
        where it has no others, or the caller names two.
        """
        named = width if self.columns is None else self.columns.count(",") + 1
        return self._replace(fields={}) if self.bare == "ones" and named == 2 else self

    def ones_advice(self, name: str) -> str:
        """Return the advice about a field that is missing, for pairs that count once."""
        do = f"add a column {name} of ones"
        if self.bare == "ones":
            do = "name its two columns alone"
        return f"If each pair counts once, {do}."

    def ones_note(self) -> str:
        """Return a sentence for the user about fields that are 1."""
        return f"each row is a pair that counts once: {', '.join(self.fields)} is 1"

    @property
    def kinds(self) -> list[np.dtype | None]:
        """The kind of each wanted column, as in `arrow.Pieces`: None for ids."""
        return [None, None, *self.fields.values()]

    @property
    def labels(self) -> list[str]:
        """The name of each wanted column in messages."""
        source, target = self.ends
        return [
            *((source, target) if source != target else (f"source {source}", f"target {target}")),
            *self.fields,
        ]

    def caller_columns(self) -> list[str]:
        """Return the columns that the caller names, none if there are none. Raises UsageError if
        they do not fit the wanted ones.
        """
        if self.columns is None:
            return []
        asked = [name.strip() for name in self.columns.split(",")]
        if (
            len(asked) != len(self.kinds)
            or len(set(asked)) != len(asked)
            or "0" in asked
            or "" in asked
        ):
            raise UsageError(
                f"columns {self.columns!r} do not say where to find {', '.join(self.labels)}",
                do=(
                    f"Give {len(self.kinds)} different names, or positions from 1, with commas "
                    "between them."
                ),
            )
        return asked

    def names(self, at: int, *, alias: bool) -> set[str]:
        """Return the names in a header, as `plain_name` makes them, for wanted column `at`: its
        own, or, with `alias`, other usual ones.
        """
        if at > 1:
            own = plain_name(list(self.fields)[at - 2])
            return NUMBERS if alias and len(self.fields) == 1 else {own}
        own = plain_name(self.ends[at])
        kin = set().union(*(family for family in (USERS, ITEMS) if own in family))
        return SIDES[at] | kin if alias else {own, own + "id"}


def plain_name(name: str) -> str:
    """Return the letters and digits of a name, in small letters. Names are compared in this
    form.
    """
    return re.sub(r"[\W_]", "", name).lower()


def find_columns(
    header: Sequence[str], wanted: WantedColumns, path: str, numeric: Numeric, left: int = LEFT
) -> list[int]:
    """Find the 0-based places of the wanted columns in a header. Raises `DataError` for one that is
    missing, and for a table that seems to be a matrix, of which more than `left` columns of numbers
    would be left out.
    """
    asked = wanted.caller_columns()
    places = (
        _caller_places(header, asked) if asked else _by_name(header, wanted, path, numeric, left)
    )
    for at, name in enumerate(asked or wanted.labels):
        if at not in places:
            raise DataError(
                f"no column {name!r}" if asked else f"no column for {name}",
                where=path,
                do=f"It has {_list_names(header)}; name the right ones with --columns."
                + f" {wanted.ones_advice(name)}" * (at > 1 and not asked),
            )
    if len(set(places.values())) < len(places):
        raise UsageError(f"columns {wanted.columns!r} name one column twice")
    return [places[at] for at in range(len(places))]


def find_column(header: Sequence[str], name: str, path: str) -> int:
    """Find the 0-based place of the one column that the caller calls so, by its name or its
    position from 1. Raises `DataError` if it is missing.
    """
    places = _caller_places(header, [name])
    if not places:
        raise DataError(f"no column {name!r}", where=path, do=f"It has {_list_names(header)}.")
    return places[0]


def find_beside_index(
    names: Sequence[str],
    levels: int,
    wanted: WantedColumns,
    path: str,
    numeric: Numeric,
    left: int = LEFT,
) -> list[int]:
    """Find the places of the wanted columns in a table of pandas whose first `levels` names are
    those of its index. The levels are searched if the columns do not suffice: see `_needs_index`;
    for names that the caller gives, if no column has the name.

    Raises what `find_columns` does.
    """
    index, columns = list(range(levels)), list(range(levels, len(names)))
    if wanted.columns is not None:
        among = columns + index
    elif _needs_index([names[at] for at in index], [names[at] for at in columns], wanted):
        among = index + columns
    else:
        among = columns
    header = [names[at] for at in among]
    grouped = levels > 1 and among[:1] == [0]  # as no matrix is

    def has_numbers(at: int) -> bool:
        return not grouped and numeric(among[at])

    return [among[at] for at in find_columns(header, wanted, path, has_numbers, left)]


def _needs_index(levels: Sequence[str], columns: Sequence[str], wanted: WantedColumns) -> bool:
    """Return whether a wanted column has to be looked for in an index. This is so if no column has
    its name, and a level has. It is also so for an end without a name if there are several levels,
    as grouping makes them, if the columns are too few, or if they stand in another order, so that
    none of them can be taken from the left.
    """
    places = _match_names(columns, wanted)
    missing = set(range(len(wanted.kinds))) - places.keys()
    if not levels or not missing:
        return False
    called = set().union(
        *(wanted.names(at, alias=alias) for at in missing for alias in (False, True))
    )
    if called & set(map(plain_name, levels)):
        return True
    if not missing & {0, 1}:
        return False
    free = [name for name in columns if not NEVER.fullmatch(plain_name(name))]
    ordered = all(at == place for at, place in places.items())
    return len(levels) > 1 or len(free) < len(wanted.kinds) or not ordered


def _match_names(header: Sequence[str], wanted: WantedColumns) -> dict[int, int]:
    """Find the places of the wanted columns by their names: first by their own, then by other usual
    ones.
    """
    plain, places = [plain_name(name) for name in header], dict[int, int]()
    for alias in (False, True):
        _fill_places(places, plain, len(wanted.kinds), partial(wanted.names, alias=alias))
    sides = [*FURTHER, *(set[str]() for _ in wanted.fields)]
    if not {0, 1} & places.keys() and all(side.intersection(plain) for side in FURTHER):
        _fill_places(places, plain, len(sides), sides.__getitem__)
    return places


def _list_names(names: Sequence[str]) -> str:
    """Return the names of columns for a message; of many, the first ones and the number of
    others.
    """
    more = len(names) - SHOWN
    told = ", ".join(names[:SHOWN]) or "no column"
    return f"{told} and {more:,} more" if more > 0 else told


def _fill_places(
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


def _caller_places(header: Sequence[str], asked: Sequence[str]) -> dict[int, int]:
    """Find the places of the columns that the caller names, by wanted column: by position, then by
    exact name, then by the letters and digits of the name.
    """
    places: dict[int, int] = {}
    for at, name in enumerate(asked):
        if name.isdecimal() and int(name) <= len(header):
            places[at] = int(name) - 1
        elif name in header:
            places[at] = header.index(name)
    plain = [plain_name(name) for name in header]
    _fill_places(
        places,
        plain,
        len(asked),
        lambda at: set() if asked[at].isdecimal() else {plain_name(asked[at])},
    )
    return places


def refuse_guess(header: Sequence[str], wanted: WantedColumns, path: str) -> None:
    """Raise DataError if a table has more columns than ends and a number, none is called as an end,
    and the caller names none: any might be one.
    """
    if wanted.columns is None and len(header) > GUESSED and not _match_names(header, wanted):
        raise _unnamed_error(header, wanted, " and ".join(wanted.labels[:2]), header, path)


def _unnamed_error(
    header: Sequence[str], wanted: WantedColumns, labels: str, free: Sequence[str], path: str
) -> DataError:
    """Return the error about columns that may be any of the `free` ones."""
    return DataError(
        f"{labels} may be any of the columns {_list_names(free)}",
        where=path,
        do=(
            f"It has {_list_names(header)}; say --columns {','.join(wanted.labels)} with its "
            "names in their places."
        ),
    )


def _by_name(
    header: Sequence[str], wanted: WantedColumns, path: str, numeric: Numeric, left: int
) -> dict[int, int]:
    """Find the places of the wanted columns: by their own names, by other usual names, and then
    from the left.

    Where an end has no column of its name, and more columns of numbers would be left out than edges
    may have, these are the columns of a matrix; or where one end alone has one, and any would.

    Where there are more columns than are missing, the left is trusted only if the columns found by
    name stand in order too, and none of those that would be left out has a telling word in its
    name; else this is a `DataError`.
    """
    plain, count = [plain_name(name) for name in header], len(wanted.kinds)
    places = _match_names(header, wanted)
    free = [
        place
        for place, name in enumerate(plain)
        if not NEVER.fullmatch(name) and place not in places.values()
    ]
    missing = [at for at in range(count) if at not in places]
    left_out = free[len(missing) :]
    one_end = {0, 1} & places.keys() and len(missing) == count - 1 and count > 2
    if {0, 1} & set(missing) and sum(map(numeric, left_out)) > (0 if one_end else left):
        raise matrix_error(wanted, sum(map(numeric, free)), path, header)
    telling = any(
        set(WORD.findall(header[place].lower())) & wanted.names(at, alias=True)
        for at in missing
        for place in left_out
    )
    if missing and left_out and (telling or any(at != place for at, place in places.items())):
        labels = " and ".join(wanted.labels[at] for at in missing)
        raise _unnamed_error(header, wanted, labels, [header[place] for place in free], path)
    _fill_places(places, plain, count, lambda at: {plain[place] for place in free})
    return places


def matrix_error(
    wanted: WantedColumns, numbers: int, path: str, header: Sequence[str] = ()
) -> DataError:
    """Return the error about a table with `numbers` columns of numbers that seems to be a matrix,
    or a table of points.
    """
    what = "of which none is called as an end of edges" if header else "without names"
    seems = f"a matrix of {plural_noun(wanted.ends[0])} by {plural_noun(wanted.ends[1])}"
    has = f" It has {_list_names(header)}." if header else ""
    return DataError(
        f"{numbers:,} columns of numbers {what}: this seems to be {seems}, or points",
        where=path,
        do=f"{MATRIX}{has} A program with input = Points() reads points. If each row is an edge, "
        + (
            f"call its columns {' and '.join(wanted.labels)}, or give these alone."
            if wanted.bare == "members"  # --columns is of the first edge type
            else f"say --columns {','.join(wanted.labels)} with the names or positions of its "
            "columns in their places."
        ),
    )


def unused_notes(names: Sequence[str], picks: Sequence[int | None]) -> tuple[str, ...]:
    """Return a sentence about the columns that are not at the places `picks`; none if there are no
    such columns.
    """
    taken = set(picks)
    places = {0: ", the first", len(names) - 1: ", the last"}
    left = [
        name or f"one without a name{places.get(at, '')}"
        for at, name in enumerate(names)
        if at not in taken
    ]
    return (f"columns that are not used: {_list_names(left)}",) if left else ()


def columns_by_label(
    names: Sequence[str], picks: Sequence[int], wanted: WantedColumns
) -> dict[str, str]:
    """Return the name of the column that was taken for each wanted one, by label; nothing if the
    caller has given the names, or if all columns have the wanted names.
    """
    if wanted.columns is not None:
        return {}
    pairs = [(label, names[place]) for label, place in zip(wanted.labels, picks, strict=True)]
    if all(plain_name(name) == plain_name(label) for label, name in pairs):
        return {}
    return dict(pairs)
