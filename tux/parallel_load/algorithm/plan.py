"""The plan that loaders get before they begin, and the share of the input with which each of them
begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from tux.arrays.arrow import Column, ColumnPieces
from tux.arrays.edges import TOGETHER
from tux.arrays.pieced import ArrayPieces
from tux.base.errors import UsageError
from tux.graph.union import UnionShape
from tux.partition import PARTITIONERS
from tux.partition.common.capacity import check_parts
from tux.partition.common.some_edges import BY_ENDS

IN_SHARES = (*BY_ENDS, "pds", "aweto")
"""The partitioners by which edges can be placed of which each loader sees a share."""


class ArrayKeeper(Protocol):
    """A function that takes what a loader need not hold any more, under the name of its file:
    arrays, and rows of numbers piece by piece.
    """

    def __call__(self, name: str, row: np.ndarray | ArrayPieces) -> None:
        """Take an array. Raise DiskError if it cannot be written."""

    def again(self, name: str) -> ArrayPieces:
        """Read a row of numbers that was kept under a name."""


class TypeEnd(NamedTuple):
    """An end of the edges of a type: the name of this edge type, and 0 or 1."""

    edges: str
    side: int


@dataclass(frozen=True)
class LoadingPlan:
    """The plan that all loaders have: the vertex types at the `ends` of edges, `loaders` and
    `parts` in number, and how edges are cut.

    `bipartite`: a vertex as a source and the same as a target are two for the partitioner.
    `favourite`: the side that `bicut` keeps whole, "source", "target" or "auto". `others`: the ends
    of other edge types, by name; `whole`: see `tux.graph.union.UnionShape`. `data`: the fields of
    vertices that come with the edges, by vertex type. `topology`: "directed" or "undirected", if
    neighbour lists of the edges of the first type are to be made. `early`: the rounds before all
    others, in which loaders of samples and bags tell what they have read. `held_share`: of the
    links of the first type that are held out. `tables`: the fields of vertices that come in tables
    of vertices. `edgeless`: all vertices are those of tables, and no edge is read. `alone`: the
    edge type whose edges the partitioner places alone, as one of two vertex types or of one, and
    the `whole_types` that edges beside them keep whole; the user has `told` both as one text.
    `grouped`: the vertex type of which a file names groups.
    """

    ends: tuple[str, str]
    loaders: int
    parts: int
    partitioner: str
    seed: int = 0
    bipartite: bool = False
    favourite: str = "auto"
    others: dict[str, tuple[str, str]] = field(default_factory=dict)
    whole: str = ""
    data: dict[str, list[str]] = field(default_factory=dict)
    topology: str = ""
    early: int = 0
    held_share: float = 0.0
    tables: dict[str, list[str]] = field(default_factory=dict)
    edgeless: bool = False
    alone: str | None = None
    whole_types: list[str] = field(default_factory=list)
    told: str = ""
    grouped: str = ""

    @property
    def method(self) -> str:
        """The partitioner, and the type whose edges it places alone, as the user has told them."""
        return self.told or self.partitioner

    @property
    def by_type(self) -> dict[str, tuple[str, str]]:
        """The ends of each edge type, by name; the first one is "", as in `EdgeData.by_type`."""
        return {"": self.ends, **self.others}

    @property
    def shape(self) -> UnionShape:
        """The shape of the union of all edges."""
        return UnionShape.of([*self.by_type.values()], self.whole)

    @property
    def types(self) -> tuple[str, ...]:
        """The vertex types, each once."""
        return self.shape.types

    def ends_of(self, kind: str) -> list[TypeEnd]:
        """List the ends of edges at which vertices of a type are."""
        pairs = self.by_type.items()
        return [TypeEnd(name, side) for name, of in pairs for side in (0, 1) if of[side] == kind]

    def groups_of(self, kind: str) -> list[list[int]]:
        """Group the ends of a vertex type, each by its place in `ends_of`, by edge type: a vertex
        counts to the first group in which it has an edge. If there is a table of them, the last
        group has no end: it is that of vertices which only the table has.
        """
        groups: dict[str, list[int]] = {}
        for at, end in enumerate(self.ends_of(kind)):
            groups.setdefault(end.edges, []).append(at)
        return [*groups.values(), *([[]] if kind in self.tables else [])]

    def data_of(self, kind: str) -> list[str]:
        """List the fields of the vertices of a type, those of tables last."""
        groups = [TOGETHER] if kind == self.grouped else []
        return [*self.data.get(kind, []), *self.tables.get(kind, []), *groups]

    def union_side(self, end: TypeEnd) -> int:
        """Return the side in the union of all edges at which an end is: 0 for sources."""
        return end.side ^ self.shape.turned[[*self.by_type].index(end.edges)]

    def union_degrees(
        self, kind: str, degrees: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges (n,) int64 that leave vertices of a type in the union of all edges, and
        those that end there, from the `degrees` (n,) at each of its ends.
        """
        leave, enter = np.zeros((2, len(degrees[0])), np.int64)
        for end, counts in zip(self.ends_of(kind), degrees, strict=True):
            side = enter if self.union_side(end) else leave
            side += counts
        return leave, enter

    def hosted_parts(self, loader: int) -> range:
        """Return the parts that a loader puts together."""
        bounds = [at * self.parts // self.loaders for at in (loader, loader + 1)]
        return range(*bounds)

    def check(self) -> None:
        """Raise UsageError for a partitioner that cannot place edges of which it sees only a
        share.
        """
        check_parts(self.parts)
        if self.partitioner not in PARTITIONERS:
            raise UsageError(
                f"there is no partitioner {self.partitioner}", do=f"use one of {_names()}"
            )
        if self.partitioner not in IN_SHARES:
            raise UsageError(
                f"{self.partitioner} needs to see all edges, so they cannot be loaded in shares",
                do=f"use one of {_names()}; or cut the graph in one process, by tux partition "
                "without --workers",
            )


def _names() -> str:
    return ", ".join(IN_SHARES)


class VertexTableRows(NamedTuple):
    """Rows of a table of vertices, each of another vertex: the column of their ids; their `fields`,
    by name, of equal types and shapes in all shares; and the value of each field where a vertex has
    no row, None if each must have one.
    """

    ids: Column
    fields: dict[str, np.ndarray]
    defaults: dict[str, float | None]


class GroupColumns(NamedTuple):
    """Rows of a file of groups: the columns of the ids of vertices, and of groups."""

    vertex: Column | ColumnPieces
    group: Column | ColumnPieces


@dataclass
class InputShare:
    """Rows of the input that follow each other: the columns of ids of both ends, and numbers, (m,)
    each. `vertices`: by type, further ids, of vertices that may have no edge. `others`: rows of
    other edge types, by name, which come after these.

    `data`: by type and field, data of the `vertices` of a type, in the order of their ids: those of
    the shares follow each other. `tables`: rows of tables of vertices, by type; `groups`: of the
    file of groups. `classes`, `numbered` and `categories`: what all shares have of
    `tux.arrays.edges.EdgeData`.
    """

    src: Column | ColumnPieces
    dst: Column | ColumnPieces
    fields: Mapping[str, np.ndarray | ArrayPieces] = field(default_factory=dict)
    vertices: Mapping[str, Column] = field(default_factory=dict)
    others: Mapping[str, InputShare] = field(default_factory=dict)
    data: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    tables: dict[str, VertexTableRows] = field(default_factory=dict)
    groups: GroupColumns | None = None
    classes: tuple[str, ...] = ()
    numbered: str = ""
    categories: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    @property
    def by_type(self) -> dict[str, InputShare]:
        """The rows of each edge type, by name, these first as ""."""
        return {"": self, **self.others}
