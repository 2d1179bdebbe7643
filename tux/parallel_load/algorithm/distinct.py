"""The distinct ids of a share: its vertices by type, before their owners have numbered them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.ids import Ids
from tux.arrays.lookup import look_up
from tux.base.errors import MustReadWhole
from tux.graph.sorting import count_keys
from tux.parallel_load.algorithm.groups import GroupRows
from tux.parallel_load.algorithm.kinds import in_kind, kind_of, signs
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan

NONE = np.empty(0, np.int32)

Codes = dict[str, list[np.ndarray]]
"""By edge type, the vertices at both ends of each row, (m,) each, as places among the share's."""


@dataclass
class ShareVertices:
    """The vertices of one type in a share, ascending by id, and by `index` when they have one.
    `degrees`: edges at each end of the type (`LoadingPlan.ends_of`), in this share until the owners
    have answered, then in all. `signs` (ends, 3): see `tux.parallel_load.algorithm.kinds`. If there
    is a table of them, one more row of signs is that of its ids; `rows`: the vertex of each row of
    the table, as a place among these; `beside`: 1 for vertices that are in more than the table.
    `groups`: rows of the file of groups of this type.
    """

    values: np.ndarray
    degrees: list[np.ndarray]
    signs: np.ndarray
    index: np.ndarray
    position: np.ndarray
    rows: np.ndarray = field(default_factory=lambda: NONE)
    beside: np.ndarray = field(default_factory=lambda: NONE)
    groups: GroupRows | None = None

    def place(self, codes: Codes, plan: LoadingPlan, kind: str, places: np.ndarray) -> None:
        """Replace the vertices in the columns of `codes` by their `places` (n,) in a new order;
        this is the vertex type `kind`.
        """
        for end in plan.ends_of(kind):
            column = codes[end.edges][end.side]
            codes[end.edges][end.side] = look_up(places, column, column)
        if kind in plan.tables:
            self.rows = look_up(places, self.rows, self.rows)


def distinct_ids(plan: LoadingPlan, share: InputShare) -> tuple[dict[str, ShareVertices], Codes]:
    """Return the distinct ids of each type, and each row's place among them, in arrays that are
    nobody else's. A column of ids is given up when it is its turn.
    """
    codes: Codes = {name: [NONE, NONE] for name in plan.by_type}
    return {kind: _distinct_of_type(plan, share, kind, codes) for kind in plan.types}, codes


def _distinct_of_type(
    plan: LoadingPlan, share: InputShare, kind: str, codes: Codes
) -> ShareVertices:
    """Do `distinct_ids` for one type; the columns of its ends become part of `codes`."""
    ends, found = plan.ends_of(kind), []
    for end in ends:
        ids, codes[end.edges][end.side] = Ids.of(_take_column(share.by_type[end.edges], end.side))
        found.append(ids.values)
    if kind in share.vertices:
        found.append(Ids.of(share.vertices[kind])[0].values)
    told = np.array([signs(values) for values in found])
    told[0] |= told[len(ends) :].any(axis=0)
    local = ShareVertices(found[0], [], told[: len(ends)], NONE, NONE)
    if kind in plan.tables:
        found.append(_take_table(share, kind, local))
    local.values, places = _merge(found)
    for end, place in zip(ends, places, strict=False):
        column = codes[end.edges][end.side]
        codes[end.edges][end.side] = look_up(place, column, column)
    if kind in plan.tables:
        local.rows = look_up(places[-1], local.rows, local.rows)
        local.beside = np.zeros(len(local.values), np.int8)
        for place in places[:-1]:
            local.beside[place] = 1
    for column in (codes[end.edges][end.side] for end in ends):
        local.degrees.append(count_keys(column, len(local.values)).astype(np.int32))
    return local


def _merge(found: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the distinct ids of several arrays of distinct ids, and the places of each array."""
    filled = [values for values in found if len(values)]
    if len(filled) > 1:
        ids, places = Ids.over(found)
        return ids.values, places
    (only,) = filled or [found[0]]
    return only, [np.arange(len(values), dtype=np.int32) for values in found]


def _take_table(share: InputShare, kind: str, local: ShareVertices) -> np.ndarray:
    """Remove the ids of the rows of a table, and return them, each once, ascending; note their
    signs, and the place of each row among them.
    """
    table = share.tables[kind]
    ids, local.rows = Ids.of(table.ids)
    local.signs = np.vstack([local.signs, signs(ids.values)])
    share.tables[kind] = table._replace(ids=NONE)
    return ids.values


def _take_column(rows: InputShare, side: int) -> object:
    """Remove the ids at an end from the rows, and return them."""
    name = ("src", "dst")[side]
    column = getattr(rows, name)
    setattr(rows, name, NONE)
    return column


def common_kinds(plan: LoadingPlan, known: np.ndarray) -> dict[str, np.dtype]:
    """Return the kind of the ids of each vertex type, where each share (n, ends, 3) has told its
    signs: of all types, one after the other. MustReadWhole if edge types have texts and numbers
    for one vertex type: new ids of each edge type come in the order of their own kind, which
    ranges of ids of one kind do not show.
    """
    kinds, first = {}, 0
    for kind in plan.types:
        groups = plan.groups_of(kind)
        if kind in plan.tables:
            groups[-1] = [len(plan.ends_of(kind))]  # its signs are the last
            groups = groups[-1:] if plan.edgeless else groups
        own = known[:, first : first + len(plan.ends_of(kind)) + (kind in plan.tables)].astype(bool)
        first += own.shape[1]
        kinds[kind] = kind_of(own.reshape(-1, 3))
        if kinds[kind] == STRING and {kind_of(own[:, ends].reshape(-1, 3)) for ends in groups} != {
            STRING
        }:
            what = "edges of one type and texts in those of another"
            if kind in plan.tables:
                what = "edges and texts in the table, or texts and numbers"
            raise MustReadWhole(f"ids of {kind} are numbers in {what}, so all edges are read whole")
    return kinds


def convert_kind(
    plan: LoadingPlan, name: str, local: ShareVertices, kind: np.dtype, codes: Codes
) -> None:
    """Give the ids of the vertex type `name` their common kind, ascending again."""
    local.values, places = in_kind(local.values, kind)
    if places is None:
        return
    for counts in (*local.degrees, *([local.beside] if name in plan.tables else [])):
        counts[places] = counts.copy()
    local.place(codes, plan, name, places)


def sort_by_index(plan: LoadingPlan, name: str, local: ShareVertices, codes: Codes) -> None:
    """Put the vertices of the type `name` in the order of their indices: ids that are new in the
    edges of a later type follow all others.
    """
    if (local.index[1:] > local.index[:-1]).all():
        return
    order = np.argsort(local.index)
    local.index, local.position = local.index[order], local.position[order]
    local.degrees = [counts[order] for counts in local.degrees]
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    local.place(codes, plan, name, places)
