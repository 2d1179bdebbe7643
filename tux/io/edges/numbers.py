"""The numbers of vertices in matrices and graphs, which begin at 1 in some forms of edges and at 0
in others: row 1 of a Matrix Market file is row 0 of the matrix that scipy's `mmread` makes of it.

A model knows its vertices by the numbers of the form that it was trained on. Edges of another form
are renumbered where it is sure which vertex is which, and refused where it is not, as columns are
(`tux.io.bags.numbering`). Ids of tables are names, and are taken as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.base.text import plural, plural_noun
from tux.io.bags.numbering import ColumnNumbering, doubt_of_numbers
from tux.io.edges.request import EdgeRequest


class NumberedEnds(NamedTuple):
    """The sources and targets of edges as numbers (m,), and the form in which they are `given`;
    `sizes`: the numbers of vertices of both ends.
    """

    given: ColumnNumbering
    src: np.ndarray
    dst: np.ndarray
    sizes: tuple[int, int]


class _NumberedType(NamedTuple):
    """A vertex type of such edges: the least number with an edge, how many vertices there are, and,
    in training, their ids and the first number, None where nothing says it.
    """

    kind: str
    least: int
    size: int
    ids: np.ndarray
    first: int | None

    @property
    def last(self) -> int:
        """The largest number of training."""
        return int(self.ids.max(initial=0))


def numbered_edges(
    asked: EdgeRequest,
    ends: NumberedEnds,
    numbers: Mapping[str, np.ndarray],
    notes: Sequence[str] = (),
    **counts: Any,
) -> EdgeData:
    """Make edges whose vertices are numbered in the numbers of training. All vertices are there,
    those without an edge too. Raises `DataError` where it is not sure which vertex is which.
    """
    given, types = ends.given, _types_of(asked, ends)
    steps = {each.kind: each.first - given.first for each in types if each.first is not None}
    moved = {kind: step for kind, step in steps.items() if step}
    if moved:
        _check_sure(asked, given, [each for each in types if each.kind in moved])
        notes = [*notes, *_sentences(asked, given, moved)]
    doubted = [each.kind for each in types if each.first is None and _seems_other(each, given)]
    if doubted:
        notes = [*notes, doubt_of_numbers(_nouns(doubted), 1 - given.first, given)]
    src, dst = (
        column if kind not in moved else column.astype(np.int64) + moved[kind]
        for kind, column in zip(asked.ends, (ends.src, ends.dst), strict=True)
    )
    firsts = (given.first + moved.get(kind, 0) for kind in asked.ends)
    vertices = {
        kind: np.arange(first, first + size)
        for kind, first, size in zip(asked.ends, firsts, ends.sizes, strict=True)
    }
    return EdgeData.of(
        asked.ends,
        src,
        dst,
        numbers,
        against=asked.against,
        vertices=vertices,
        numbered=str(given),
        notes=(*notes,),
        **counts,
    )


def _types_of(asked: EdgeRequest, ends: NumberedEnds) -> list[_NumberedType]:
    """List the vertex types that training knows by numbers."""
    known, found = ColumnNumbering.parse(asked.numbered), []
    against = asked.against or {}
    for kind in dict.fromkeys(asked.ends):
        if kind not in against or against[kind].values.dtype.kind not in "iu":
            continue
        sides = [side for side, end in enumerate(asked.ends) if end == kind]
        least = min(int((ends.src, ends.dst)[side].min()) for side in sides)
        first = known and (known.first if sides[0] else known.first_row)
        found.append(_NumberedType(kind, least, ends.sizes[sides[0]], against[kind].values, first))
    return found


def _check_sure(asked: EdgeRequest, given: ColumnNumbering, types: Sequence[_NumberedType]) -> None:
    """Raise DataError where the numbers may be those of training, for all that is known: those of a
    matrix whose first row and column are empty, and whose sizes are others than training had.
    """
    for each in types:
        if each.least == given.first or each.size == each.last + 1 - (each.first or 0):
            return
    kind, _, size, _, first = types[0]
    count, side = types[0].last + 1 - (first or 0), asked.ends.index(kind)
    word = "vertex" if asked.ends[0] == asked.ends[1] else ("row", "column")[side]
    other = "j + 1" if (first or 0) > given.first else "j - 1"
    raise DataError(
        f"{word} {given.first} is empty, and there are {plural(size, word)} for {count:,} "
        f"{plural_noun(kind)}: {word} j may be {kind} j or {other} of training",
        where=asked.path,
        do=f"Give edges in the form of training, {ColumnNumbering.parse(asked.numbered)}; or make "
        "the matrix as large as that of training.",
    )


def _sentences(asked: EdgeRequest, given: ColumnNumbering, moved: Mapping[str, int]) -> list[str]:
    """Return a sentence for each step by which the numbers of vertex types are moved."""
    known = ColumnNumbering.parse(asked.numbered)
    assert known is not None  # else nothing is moved
    said = []
    for step in dict.fromkeys(moved.values()):
        nouns = _nouns([kind for kind, own in moved.items() if own == step])
        j, k = ("j", "j + 1") if step > 0 else ("j + 1", "j")
        said.append(
            f"{nouns} are numbered from {given.first + step} in training ({known.form}) and from "
            f"{given.first} here ({given.form}): number {j} is number {k} of training"
        )
    return said


def _nouns(kinds: Sequence[str]) -> str:
    return " and ".join(map(plural_noun, kinds))


def _seems_other(each: _NumberedType, given: ColumnNumbering) -> bool:
    """Return whether the ids of training, whole numbers of which no form is known, seem to begin
    otherwise than those that are `given`.
    """
    has_zero = bool((each.ids == 0).any())
    if given.first:
        return has_zero
    return not has_zero and (each.least == 0 or each.size == each.last)


def tell_other_numbers(
    edges: EdgeData, against: Mapping[str, Ids] | None, numbered: str
) -> EdgeData:
    """Add to edges whose ids are names a sentence about vertex types that seem to be `numbered`
    otherwise than in training: they have a number 0 where training counts from 1, or one more than
    the last of training, and no 0, where training counts from 0.
    """
    known = ColumnNumbering.parse(numbered)
    if known is None or edges.numbered:
        return edges
    notes = []
    for kind in dict.fromkeys(edges.ends):
        before, now = (against or {}).get(kind), edges.ids[kind].values
        if before is None or "T" in (before.values.dtype.kind, now.dtype.kind):
            continue
        first = known.first_row if kind == edges.ends[0] else known.first
        if _has_other_numbers(edges, kind, before, first):
            notes.append(
                f"{plural_noun(kind)} are numbered from {first} in training ({known.form}), and "
                f"seem to be from {1 - first} here: if so, each is taken for its neighbour"
            )
    return replace(edges, notes=(*edges.notes, *notes)) if notes else edges


def _has_other_numbers(edges: EdgeData, kind: str, known: Ids, first: int) -> bool:
    """Return whether ids of a type that training does not have show another first number."""
    new = edges.ids[kind].values[len(known) :]
    if first:
        return bool((new == 0).any())
    last, zero = int(known.values.max(initial=0)), np.flatnonzero(known.values == 0)
    sides = zip(edges.ends, (edges.src, edges.dst), strict=True)
    used = any(np.isin(codes, zero).any() for end, codes in sides if end == kind)
    return bool((new == last + 1).any()) and not used
