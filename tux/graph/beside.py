"""The cut of edges of several types by those of one type: a partitioner places these alone, and
each edge of another type follows its own ends (`tux.partition.beside`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from tux.arrays.edges import EdgeData
from tux.partition.beside import no_replicas, place_beside, replicas_by_side, with_homes
from tux.partition.replicas import Replicas


def cut_by_type(
    data: EdgeData,
    named: str,
    place: Callable[[np.ndarray, np.ndarray], np.ndarray],
    k: int,
    seed: int,
    whole: Collection[str] = (),
) -> np.ndarray:
    """Return a part (m,) int16 of k for each edge of all types, one type after the other: those of
    the type `named`, by its name in `EdgeData.by_type`, as ``place(src, dst)`` says, the others
    beside them. Edges at a vertex type that should stay `whole` go to the part of this end.
    """
    own = data.by_type[named]
    parts = place(own.src, own.dst)
    near, out = _replicas_by_type(data, own, parts, k, seed), []
    for name, each in data.by_type.items():
        keep = next((at for at, end in enumerate(each.ends) if end in whole), None)
        first, second = (near[end] for end in each.ends)
        out.append(
            parts if name == named else place_beside(each.src, each.dst, first, second, k, keep)
        )
    return np.concatenate(out)


def _replicas_by_type(
    data: EdgeData, own: EdgeData, parts: np.ndarray, k: int, seed: int
) -> dict[str, Replicas]:
    """Return the replicas of each vertex type under the `parts` of its `own` edges, with homes."""
    counts = {kind: len(data.ids[kind]) for kind in data.vertex_types}
    kinds = dict.fromkeys(own.ends)
    sides = tuple(counts[kind] for kind in kinds)
    held = {kind: no_replicas(count) for kind, count in counts.items()}
    held |= zip(kinds, replicas_by_side(own.src, own.dst, parts, k, sides), strict=True)
    return {kind: with_homes(each, k, seed) for kind, each in held.items()}


def first_edges(data: EdgeData, most: int | None) -> EdgeData:
    """Return the first edges of each type, at `most` so many; only their ends."""
    others = {name: first_edges(each, most) for name, each in data.others.items()}
    return replace(data, src=data.src[:most], dst=data.dst[:most], others=others)
