"""The ranges of ids and positions that loaders own, while vertices are numbered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tux.parallel_load.algorithm.groups import Leads, NamedCounts, NamedIds

DEGREES = 1 << 31
"""A number that no degree reaches: they are int32."""


@dataclass
class Sizes:
    """The sizes of one type, which all loaders know: the first index (groups, n) of each loader's
    ids of each group, and how many vertices there are; the bounds (n + 1,) of their ranges of
    positions; and of either side of the union of all edges the vertices that have edges there, and
    one more than the largest index of these. `named`: of vertices in a file of groups.
    """

    starts: np.ndarray
    count: int
    positions: np.ndarray
    present: np.ndarray
    largest: np.ndarray
    named: NamedCounts = NamedCounts()


@dataclass
class IdRange:
    """The ids of one type that a loader owns: of each share, the place of each of its ids there;
    the degrees of all ids, the group of each (see `LoadingPlan.groups_of`), and its index; what a
    file says of groups of them, and where these lead them.
    """

    places: list[np.ndarray]
    degrees: list[np.ndarray]
    group: np.ndarray
    index: np.ndarray
    named: NamedIds | None = None
    leads: Leads | None = None
