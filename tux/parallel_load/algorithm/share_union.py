"""The vertices of a share as partitioners number them: those of all edges of all types as one graph
(`tux.graph.union`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tux.arrays.ids import MAX_VERTICES
from tux.base.errors import DataError, MustReadWhole
from tux.parallel_load.algorithm.distinct import Codes
from tux.parallel_load.algorithm.numbering import NumberedShare
from tux.parallel_load.algorithm.plan import LoadingPlan, TypeEnd
from tux.partition.common.some_edges import SomeVertices
from tux.partition.methods.bicut import larger_side

Vertices = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The columns of `SomeVertices`: number, degree, and the edges that run into each."""

Rows = list[tuple[np.ndarray, np.ndarray]]
"""Sources and targets (m,) of the edges of each type, as places among the vertices of a union."""


@dataclass(frozen=True)
class ShareUnion:
    """The union of the edges of a share. `vertices`: those of the share; where sources and targets
    are numbered apart, targets come after the sources. `places`: by side, the place of the first
    vertex of each type among them. `totals`: one more than the largest number of a source, and of a
    target, of all edges.
    """

    plan: LoadingPlan
    vertices: SomeVertices
    places: tuple[dict[str, int], dict[str, int]]
    totals: tuple[int, int]

    @staticmethod
    def of(plan: LoadingPlan, share: NumberedShare, edges: int) -> ShareUnion:
        """Make the union of a share of so many `edges`. Raise MustReadWhole where one process would
        number the vertices otherwise, and DataError for a share of too many vertices.
        """
        first_of = plan.shape.first_numbers({name: share.sizes[name].count for name in plan.types})
        totals = _totals(plan, share, first_of, edges)
        pieces, places, count = [], [dict[str, int]() for _ in range(2)], 0
        for side, kinds in enumerate(_types_by_side(plan) if plan.bipartite else [plan.types]):
            for name in kinds:
                begin = first_of[name] + side * totals[0]
                pieces.append(_vertices_of_type(plan, share, name, side, begin))
                places[side][name], count = count, count + len(pieces[-1][0])
        if count > MAX_VERTICES:
            raise DataError(
                f"{count:,} different vertices in a share; at most {MAX_VERTICES:,} can be held",
                do="use more workers",
            )
        vertices = _join_vertices(pieces, _favourite(plan, share))
        return ShareUnion(plan, vertices, (places[0], places[1] or places[0]), totals)

    def shift(self, codes: Codes, sign: int) -> None:
        """Make places among the vertices of the union of the places among those of each type, in
        place; with `sign` -1 undo it.
        """
        for name, ends in self.plan.by_type.items():
            for side, kind in enumerate(ends):
                first = self.places[self.plan.union_side(TypeEnd(name, side))][kind]
                if first:
                    column = codes[name][side]
                    np.add(column, sign * first, out=column)

    def edges(self, codes: Codes) -> Rows:
        """Return the edges of each type, whose `codes` are places among the vertices of the
        union.
        """
        rows = (codes[name] for name in self.plan.by_type)
        return [
            (second, first) if turned else (first, second)
            for (first, second), turned in zip(rows, self.plan.shape.turned, strict=True)
        ]

    def numbers_of(self, side: int) -> range:
        """Return the numbers of the vertices of a side, 0 for sources."""
        first = self.totals[0] if self.plan.bipartite and side else 0
        return range(first, first + self.totals[side])


def _types_by_side(plan: LoadingPlan) -> list[list[str]]:
    """List the vertex types that can be sources in the union, and those that can be targets."""
    return [*plan.shape.sides] or [[*plan.types], [*plan.types]]


def _totals(
    plan: LoadingPlan, share: NumberedShare, first_of: Mapping[str, int], edges: int
) -> tuple[int, int]:
    """Return the totals of a union of so many `edges`: see `ShareUnion`."""
    sources, targets = (
        max((first_of[name] + most for name, most in largest.items() if most), default=0)
        for largest in (
            {name: int(share.sizes[name].largest[side]) for name in plan.types} for side in (0, 1)
        )
    )
    if max(sources, targets) > 8 * edges + 1024:
        # one process numbers the vertices of edges anew then: see `tux.partition.common.ends.ends`
        raise MustReadWhole(
            f"{max(sources, targets):,} vertices with {edges:,} edges are numbered by one process"
        )
    return sources, targets


def _vertices_of_type(
    plan: LoadingPlan, share: NumberedShare, kind: str, side: int, first: int
) -> Vertices:
    """Return the columns of `SomeVertices` for a vertex type, numbered from `first` on: as vertices
    of this `side`, if sources and targets are apart.
    """
    own = share.types[kind]
    leave, enter = plan.union_degrees(kind, own.degrees)
    if plan.bipartite:
        (leave if side else enter)[:] = 0
    return own.index.astype(np.int64) + first, leave + enter, enter


def _join_vertices(pieces: Sequence[Vertices], favourite: str) -> SomeVertices:
    """Join the vertices of several types, which follow each other."""
    number, degree, into = (np.concatenate(each) for each in zip(*pieces, strict=True))
    return SomeVertices(number, degree, into, favourite)


def _favourite(plan: LoadingPlan, share: NumberedShare) -> str:
    """Return the side that is to be kept whole."""
    if plan.favourite != "auto":
        return plan.favourite
    present = np.sum([share.sizes[name].present for name in plan.types], axis=0)
    return larger_side(int(present[0]), int(present[1]))
