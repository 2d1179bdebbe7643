"""The plan that loaders get before they begin, and the share of the input with which each of them
begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tux.arrays.arrow import Column, ColumnPieces
from tux.arrays.pieced import ArrayPieces
from tux.base.errors import UsageError
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


@dataclass(frozen=True)
class LoadingPlan:
    """The plan that all loaders have: the types at the `ends`, `loaders` and `parts` in number, and
    how edges are cut.

    `bipartite`: a vertex as a source and the same as a target are two for the partitioner.
    `favourite`: the side that `bicut` keeps whole, "source", "target" or "auto".
    """

    ends: tuple[str, str]
    loaders: int
    parts: int
    partitioner: str
    seed: int = 0
    bipartite: bool = False
    favourite: str = "auto"

    @property
    def types(self) -> tuple[str, ...]:
        """The vertex types, each once."""
        return tuple(dict.fromkeys(self.ends))

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


@dataclass
class InputShare:
    """Rows of the input that follow each other: the columns of ids of both ends, and numbers, (m,)
    each. `vertices`: by type, further ids, of vertices that may have no edge.
    """

    src: Column | ColumnPieces
    dst: Column | ColumnPieces
    fields: Mapping[str, np.ndarray | ArrayPieces] = field(default_factory=dict)
    vertices: Mapping[str, Column] = field(default_factory=dict)
