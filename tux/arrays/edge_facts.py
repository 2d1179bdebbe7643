"""The facts about edges by which a program is suited to them: they are known without the edges,
where loaders have read these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.pieced import ArrayPieces


class NumberFacts(NamedTuple):
    """The facts about a data field of edges: its `least` number, the first row that has it, from 0,
    and the ends of this edge, by index; the `total` of whole numbers, 0 of others.
    """

    least: int | float
    row: int
    src: int
    dst: int
    total: int


class LeastNumber:
    """The least number of a row of numbers that comes in pieces: `least`, its first place `at`, and
    the `total` of whole numbers. None before there is a number.
    """

    def __init__(self) -> None:
        self.least: int | float | None = None
        self.at, self.total, self._rows = 0, 0, 0

    def add(self, piece: np.ndarray) -> None:
        """Add the next numbers (m,)."""
        if len(piece):
            at = int(piece.argmin())
            least = piece[at].item()
            if self.least is None or least < self.least:
                self.least, self.at = least, self._rows + at
        if piece.dtype.kind in "iu":
            self.total += int(piece.sum(dtype=np.int64))
        self._rows += len(piece)

    def watch(self, row: np.ndarray | ArrayPieces) -> np.ndarray | ArrayPieces:
        """Return the same numbers; they are added here, in pieces, as they are gone through."""
        if isinstance(row, np.ndarray):
            self.add(row)
            return row
        return replace(row, pieces=map(self._pass, row.pieces))

    def _pass(self, piece: np.ndarray) -> np.ndarray:
        self.add(piece)
        return piece

    def facts(self, src: Callable[[int], int], dst: Callable[[int], int]) -> NumberFacts | None:
        """Return the facts about all numbers; None if there is none. `src` and `dst` give the ends
        of the edge of a row.
        """
        if self.least is None:
            return None
        return NumberFacts(self.least, self.at, src(self.at), dst(self.at), self.total)


@dataclass(frozen=True, eq=False)
class EdgeFacts:
    """The facts about the edges of a run: how many there are, ``len(facts)``, the types of their
    `ends`, and of vertices the `ids` by type, with ``len(facts.ids["user"])`` of them.

    `all_ids`: the same with those of held-out edges behind them. `classes`: the labels of the
    classes of samples. `vertex_fields`: data of vertices, by type and
    name, an entry for each. `context`: the fields of the context of the model with which the run
    begins, as it holds them, None where it has no such field; none without a model. `number` tells
    of data fields of edges.
    """

    ends: tuple[str, str]
    count: int
    ids: Mapping[str, Ids]
    classes: tuple[str, ...] = ()
    vertex_fields: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    context: Mapping[str, np.ndarray | None] = field(default_factory=dict)
    held_out: Mapping[str, Ids] = field(default_factory=dict, repr=False)
    _columns: EdgeData | None = field(default=None, repr=False)
    _known: Mapping[str, NumberFacts] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        edges: EdgeData,
        count: int | None = None,
        known: Mapping[str, NumberFacts] = MappingProxyType({}),
    ) -> EdgeFacts:
        """Return the facts about edges; where these are elsewhere, `count` of them, with `known`
        facts about their fields.
        """
        own = len(edges) if count is None else count
        about = edges.ids, edges.classes, edges.vertex_fields
        columns = edges if count is None else None
        return cls(edges.ends, own, *about, _columns=columns, _known=known)

    def __len__(self) -> int:
        return self.count

    @property
    def all_ids(self) -> Mapping[str, Ids]:
        """The ids of vertices by type, those that only held-out edges have behind the others."""
        return {**self.ids, **self.held_out}

    def number(self, name: str) -> NumberFacts | None:
        """Return the facts about a data field of edges, or the column that `repeats` names: its
        `least` number, the `row` that has it, the ends `src` and `dst` of this edge, and, of whole
        numbers, their `total`. None where there is no edge, no such field, or where the edges lie
        in a partitioned folder.
        """
        edges = self._columns
        if edges is None or name not in edges.fields:
            return self._known.get(name)
        found = LeastNumber()
        found.add(edges.fields[name])
        return found.facts(edges.src.item, edges.dst.item)

    def ids_of_ends(self, found: NumberFacts) -> tuple[str, str]:
        """Return the ids of both ends of the edge that `number` has found."""
        ends = zip(self.ends, (found.src, found.dst), strict=True)
        src, dst = (str(self.ids[end].decode(np.array([at]))[0]) for end, at in ends)
        return src, dst


def join_numbers(
    shares: Iterable[tuple[int, Mapping[str, NumberFacts]]],
) -> dict[str, NumberFacts]:
    """Join the facts about fields of shares of rows that follow each other: the rows of each share,
    and its facts.
    """
    joined: dict[str, NumberFacts] = {}
    before = 0
    for rows, own in shares:
        for name, each in own.items():
            moved = each._replace(row=before + each.row)
            known = joined.get(name, moved)
            least = moved if moved.least < known.least else known
            total = each.total + (known.total if name in joined else 0)
            joined[name] = least._replace(total=total)
        before += rows
    return joined
