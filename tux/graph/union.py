"""The union of edges of several types, as a partitioner sees them: edges of one graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.integers import index_dtype


class UnionShape(NamedTuple):
    """The union of edge types, of which the edges are not looked at. `types`: their vertex types.

    `sides`: the vertex types of the sources and of the targets, if every edge leads from one group
    of types to another; then sources and targets are numbered apart. Else it is empty: all vertices
    are of one kind. `turned`: for each edge type, whether its edges are reversed.
    """

    types: tuple[str, ...]
    sides: tuple[list[str], ...]
    turned: tuple[bool, ...]

    @staticmethod
    def of(ends: Sequence[tuple[str, str]], whole: str = "") -> UnionShape:
        """Return the shape of the union of edges between these `ends`. Where it has no sides, edges
        at the type that should stay `whole` are reversed so that it is their source.
        """
        types, sides = tuple(dict.fromkeys(end for pair in ends for end in pair)), two_sides(ends)
        sources = sides[0] if sides else [whole]
        targets = sides[1] if sides else [name for name in types if name != whole]
        turned = tuple(first in targets and second in sources for first, second in ends)
        return UnionShape(types, sides, turned)

    def first_numbers(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the number of the first vertex of each type, by the `counts` of their vertices."""
        first_of: dict[str, int] = {}
        for side in self.sides or (self.types,):
            first = 0
            for name in side:
                first_of[name], first = first, first + counts[name]
        return first_of


class Union(NamedTuple):
    """The edges of all types, one type after the other, between vertices that are numbered over
    all types: `src`, `dst` (m,). `sides`: see `UnionShape`.
    """

    src: np.ndarray
    dst: np.ndarray
    sides: tuple[list[str], ...]

    @staticmethod
    def of(data: EdgeData, whole: str = "") -> Union:
        """Make the union of `data` and the edges of other types beside them; `whole`: see
        `UnionShape.of`.
        """
        shape = UnionShape.of([each.ends for each in data.by_type.values()], whole)
        if not data.others:
            return Union(data.src, data.dst, shape.sides)
        first_of = shape.first_numbers({name: len(data.ids[name]) for name in shape.types})
        kind = index_dtype(max(first_of[name] + len(data.ids[name]) for name in shape.types))
        pairs = []
        for each, turned in zip(data.by_type.values(), shape.turned, strict=True):
            src, dst = (
                np.add(column, first_of[of], dtype=kind)
                for column, of in zip((each.src, each.dst), each.ends, strict=True)
            )
            pairs.append((dst, src) if turned else (src, dst))
        src, dst = (np.concatenate(column) for column in zip(*pairs, strict=True))
        return Union(src, dst, shape.sides)


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
