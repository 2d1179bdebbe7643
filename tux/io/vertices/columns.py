"""The columns of a table of vertices that are the id and the fields, found by their names.

A table has one row a vertex. A field of one number is the column of its name. A vector ``x`` is a
column ``x`` of lists, or the columns ``x_0``, ``x_1`` and so on, as tux itself writes vectors to
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays.column_names import check_names_differ
from tux.base.errors import DataError
from tux.base.text import plural_noun

NUMBERED = re.compile(r"(.+)_(0|[1-9]\d*)")
SHOWN = 20  # names of columns in a message
INDEX = re.compile(r"|__index_level_\d+__|Unnamed: 0(\.\d+)*|rownames")
"""Names of the column of row numbers that pandas and R write."""


class WantedField(NamedTuple):
    """A data field of a vertex type, as a program declares it.

    `width`: the numbers of a vector, 0 for as many as the table has; None: one number. `parameter`:
    the parameter of the program that sets the width, if there is one. `optional`: the table may
    lack the field.
    """

    name: str
    dtype: np.dtype | None = None  # None: as the column is
    width: int | None = None
    parameter: str = ""
    optional: bool = False

    @property
    def holds_reals(self) -> bool:
        """True if it is a field of real numbers, which words cannot be."""
        return self.dtype is not None and self.dtype.kind == "f"


class PickedColumns(NamedTuple):
    """The columns of a table that are used: that of the ids (None: rows are numbered), and those of
    each field, several if a vector has a column for each number.
    """

    ids: str | None
    fields: dict[WantedField, list[str]]

    @property
    def columns(self) -> list[str]:
        """All columns that are used, that of the ids first."""
        own = [] if self.ids is None else [self.ids]
        return own + [name for columns in self.fields.values() for name in columns]


def pick_columns(
    names: Sequence[str],
    kind: str,
    wanted: Sequence[WantedField] | None,
    lists: Collection[str],
    where: str,
    *,
    points: bool = False,
    numeric: Callable[[str], bool] = lambda name: True,
    levels: Collection[str] = (),
) -> PickedColumns:
    """Find the columns of a table of vertices of the type `kind`. With `wanted` None, all columns
    are fields. `lists` are the columns of lists.

    The ids are the column `id`, or that with the name of the type, or else the first. With
    `points`, the first is not taken for them, so that rows may be numbered. Then the only vector,
    if no column has its name, consists of all other columns of numbers: those that are `numeric`,
    hold no lists, and are no index; `levels` are the columns of the index. Raises `DataError` for a
    missing column.
    """
    check_names_differ(names, where)
    if wanted is None:
        ids = _ids(names, kind, (), where)
        return PickedColumns(ids, _all_fields([name for name in names if name != ids], lists))
    fields: dict[WantedField, list[str]] = {}
    vectors = [field for field in wanted if field.width is not None]
    rest = vectors[0] if points and len(vectors) == 1 else None
    for field in wanted:
        single = field.name in names and field.name not in lists
        if field is rest and field.width != 1 and single and numeric(field.name):
            continue  # x beside y is a coordinate, not the whole vector
        if columns := _of_field(field, names, lists, kind, where):
            fields[field] = columns
    taken = {name for columns in fields.values() for name in columns}
    ids = _ids(names, kind, taken, where, first=not points)
    if rest is not None and rest not in fields:
        other = {*taken, ids, *lists, *levels}
        left = [
            name
            for name in names
            if name not in other and not INDEX.fullmatch(name) and numeric(name)
        ]
        fields[rest] = _check_width(rest, left, kind, where) if left else []
    for field in wanted:
        if not fields.get(field) and not field.optional:
            raise _missing(field, names, kind, where)
    return PickedColumns(ids, {field: columns for field, columns in fields.items() if columns})


def columns_by_field(picked: PickedColumns) -> dict[str, str]:
    """Return the names of the columns that were taken for each field, unless they are the name of
    the field.
    """
    named = {}
    for field, columns in picked.fields.items():
        if columns != [field.name] and columns != [
            f"{field.name}_{k}" for k in range(len(columns))
        ]:
            many = f"{len(columns)} columns, {columns[0]} to {columns[-1]}"
            named[field.name] = many if len(columns) > SHOWN else ", ".join(columns)
    return named


def usual_names(kind: str) -> tuple[str, ...]:
    """Return the names that the column of ids of vertices of a type may have."""
    return "id", kind, f"{kind}_id", f"{kind}id"


def find_usual_name(names: Collection[str], usual: Collection[str]) -> str:
    """Return the name of a column that is the first of the `usual` names, in any case of letters;
    "" if there is none.
    """
    for each in usual:
        for name in names:
            if name.lower() == each.lower():
                return name
    return ""


def _ids(
    names: Sequence[str], kind: str, taken: Collection[str], where: str, *, first: bool = True
) -> str | None:
    """Find the column of ids; None if no column has such a name and the `first` need not be it."""
    if name := find_usual_name([name for name in names if name not in taken], usual_names(kind)):
        return name
    if not first:
        return None
    if not names or names[0] in taken:
        raise DataError(
            f"no column of ids of {plural_noun(kind)}",
            where=where,
            do=f"Call it id, or {kind}, or let it be the first. {_columns_sentence(names)}",
        )
    return names[0]


def _all_fields(names: Sequence[str], lists: Collection[str]) -> dict[WantedField, list[str]]:
    """Make a field of each column, and one vector of numbered ones. Columns with names that no
    program can have are left out.
    """
    fields: dict[WantedField, list[str]] = {}
    grouped: set[str] = set()
    for name in names:
        numbered = NUMBERED.fullmatch(name)
        stem = numbered[1] if numbered else name
        if name in grouped or not stem.isidentifier() or not name.isidentifier():
            continue
        together = _vector_columns(stem, names) if numbered and stem not in names else []
        if name in together:
            grouped |= set(together)
            fields[WantedField(stem, width=len(together))] = together
        else:
            fields[WantedField(name, width=0 if name in lists else None)] = [name]
    return fields


def _vector_columns(stem: str, names: Sequence[str]) -> list[str]:
    """Return the names ``stem_0``, ``stem_1`` and so on, as far as there are such columns."""
    columns: list[str] = []
    while f"{stem}_{len(columns)}" in names:
        columns.append(f"{stem}_{len(columns)}")
    return columns


def _of_field(
    field: WantedField, names: Sequence[str], lists: Collection[str], kind: str, where: str
) -> list[str]:
    """Find the columns of one field by its name, none if there are none."""
    if field.name in names:
        single = field.name not in lists
        if field.width is None and not single:
            raise DataError(
                f"column {field.name!r} holds lists, but {kind}.{field.name} is one number",
                where=where,
                do=f'Declare its length, as in {field.name} = data("f4", 3), or convert it.',
            )
        if field.width is not None and single:
            return _check_width(field, [field.name], kind, where)
        return [field.name]
    if field.width is None:
        return []
    return _check_width(field, _vector_columns(field.name, names), kind, where)


def _check_width(field: WantedField, columns: list[str], kind: str, where: str) -> list[str]:
    """Return the columns of a vector. Raises DataError if their number is not the width that the
    program declares.
    """
    if columns and field.width and len(columns) != field.width:
        raise wrong_width(field, len(columns), kind, where)
    return columns


def wrong_width(field: WantedField, width: int, kind: str, where: str) -> DataError:
    """Return the error about a table whose vectors have another length than those of the
    program.
    """
    remedy = (
        f"Say --{field.parameter.replace('_', '-')} {width}, or give a table that fits."
        if field.parameter
        else f"Declare the field with {width}, or give a table that fits."
    )
    return DataError(
        f"the table has {width} number{'s' * (width != 1)} a {kind} for {field.name}, but "
        f"{kind}.{field.name} has {field.width}",
        where=where,
        do=remedy,
    )


def _missing(field: WantedField, names: Sequence[str], kind: str, where: str) -> DataError:
    """Return the error about a field for which the table has no column."""
    other = "" if field.width is None else f", nor {field.name}_0, {field.name}_1, ..."
    return DataError(
        f"no column {field.name!r}{other}, which {kind}.{field.name} is read from",
        where=where,
        do=f"{_columns_sentence(names)} Rename a column, or declare the field with a default.",
    )


def _columns_sentence(names: Sequence[str]) -> str:
    """Return a sentence with the names of the columns of a table."""
    more = ", ..." if len(names) > SHOWN else ""
    return f"The table has {', '.join(names[:SHOWN])}{more}."
