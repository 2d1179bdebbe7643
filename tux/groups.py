"""Groups of vertices that belong together, such as features of one kind, from a file: blocks of a mini-batch may be made of whole ones.

7 body          a pair on a line: a vertex and its group, in any form that edges have (`tux.formats`)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tux.edges import TOGETHER, EdgeData
from tux.errors import DataError
from tux.formats import OnBadRow, read_edges


def with_groups(
    edges: EdgeData, kind: str, path: str | os.PathLike[str], warn: Callable[[str], None], on_bad_row: OnBadRow = "stop"
) -> EdgeData:
    """The same edges, of which the vertices of type `kind` have the groups that a file names, as their field `TOGETHER`.

    Vertices that the file does not name are groups by themselves. Those that only the file has, and with `on_bad_row` "skip" bad rows,
    are left out; `warn` tells how many. Raises what `read_edges` does, and `DataError` if none is known or one is in two groups.
    """
    ids, name = edges.ids[kind], os.path.basename(path)
    read = read_edges(path, (kind, "group"), {}, against={kind: ids}, on_bad_row=on_bad_row)
    known = read.src < len(ids)
    vertex, group = read.src[known], read.dst[known]
    if not len(vertex):
        first = read.ids[kind].values[read.src[0]]
        raise DataError(f"no {kind} of {path} is one of the data", do=f"The first there is {first}; the data's first is {ids.values[0]}.")
    groups = read.ids["group"].values
    together = len(groups) + np.arange(len(ids))
    together[vertex] = group
    if (twice := np.flatnonzero(together[vertex] != group)).size:
        at = int(twice[0])
        both = f"{groups[group[at]]} and {groups[together[vertex[at]]]}"
        raise DataError(f"{kind} {ids.values[vertex[at]]} is in two groups, {both}", where=os.fspath(path), do="Leave it in one.")
    if read.skipped:
        warn(f"{read.skipped:,} bad row{'s' * (read.skipped > 1)} of {name} skipped; the first is {read.first_skipped}")
    if unknown := read.unseen[kind]:
        all_of_it = f"{unknown + len(np.unique(vertex)):,} {kind}s of {name}"
        warn(f"{unknown:,} of {all_of_it} {'is' if unknown == 1 else 'are'} not in the data: left out")
    fields = {**edges.vertex_fields.get(kind, {}), TOGETHER: together}
    return replace(edges, vertex_fields={**edges.vertex_fields, kind: fields})


def several(edges: EdgeData, kind: str) -> int:
    """How many groups of two vertices or more a type has."""
    together = edges.vertex_fields.get(kind, {}).get(TOGETHER)
    return 0 if together is None else int(np.count_nonzero(np.unique(together, return_counts=True)[1] > 1))
