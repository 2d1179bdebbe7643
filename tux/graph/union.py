"""The union of edges of several types, as a partitioner sees them: edges of one graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import MAX_VERTICES
from tux.base.errors import DataError


class Union(NamedTuple):
    """The edges of all types, one type after the other, between vertices that are numbered over
    all types: `src`, `dst` (m,).

    `sides`: the vertex types of the sources and of the targets, if every edge leads from one group
    of types to another; then sources and targets are numbered apart, and edges of some types may be
    reversed. Else it is empty: all vertices are of one kind, and edges at the type that should stay
    `whole` are reversed so that it is their source.
    """

    src: np.ndarray
    dst: np.ndarray
    sides: tuple[list[str], ...]

    @staticmethod
    def of(data: EdgeData, whole: str = "") -> Union:
        """Make the union of `data` and the edges of other types beside them. DataError for more
        vertices than int32 numbers.
        """
        ends = [each.ends for each in data.by_type.values()]
        sides = two_sides(ends)
        if not data.others:
            return Union(data.src, data.dst, sides)
        first_of: dict[str, int] = {}
        for side in sides or (data.vertex_types,):
            first = 0
            for name in side:
                first_of[name], first = first, first + len(data.ids[name])
            if first > MAX_VERTICES:
                raise DataError(
                    f"{' and '.join(side)} have {first:,} vertices together, and partitioners "
                    f"number at most {MAX_VERTICES:,}",
                    do="run it on one worker",
                )
        pairs = [
            (each.src + first_of[each.ends[0]], each.dst + first_of[each.ends[1]])
            for each in data.by_type.values()
        ]
        sources = sides[0] if sides else [whole]
        targets = sides[1] if sides else [name for name in data.vertex_types if name != whole]
        pairs = [
            (dst, src) if of[0] in targets and of[1] in sources else (src, dst)
            for (src, dst), of in zip(pairs, ends, strict=True)
        ]
        src, dst = (np.concatenate(column) for column in zip(*pairs, strict=True))
        return Union(src, dst, sides)


def two_sides(ends: Sequence[tuple[str, str]]) -> tuple[list[str], ...]:
    """Divide vertex types into two sides, so that every edge type of these `ends` joins one with
    the other: the side of the first source, and the other; () if that cannot be done.
    """
    side: dict[str, int] = {}
    left = [*ends]
    while left:
        # an edge type that joins those before it, else one that begins another component
        at = next((n for n, pair in enumerate(left) if side.keys() & {*pair}), 0)
        first, second = left.pop(at)
        if first not in side:
            side[first] = 1 - side[second] if second in side else 0
        if side.setdefault(second, 1 - side[first]) == side[first]:
            return ()
    return tuple([name for name, at in side.items() if at == each] for each in (0, 1))
