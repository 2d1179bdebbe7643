"""Links that are held out: a random share of the joined pairs of vertices, to judge a model by.

An edge in the other direction, or repeated, is held out with its pair; a loop is kept, and so is
for every vertex that is joined to another the first of its pairs in a random order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.integers import check_pairs, distinct_integers, index_dtype
from tux.base.errors import ProgramError
from tux.base.random import draws, key
from tux.program.base_program import BaseProgram
from tux.program.returns import call_hook

STREAM = key(0, "held out")
"""The key of the random order of pairs. It is the same for all seeds, so their models are judged by
the same links.
"""


class HeldOutLinks(NamedTuple):
    """The edges of a graph cut in two: which are `kept`, and the pairs held out, once each."""

    kept: np.ndarray  # (m,) bool
    src: np.ndarray  # (h,) int64, the lower end of each pair
    dst: np.ndarray  # (h,) int64, the other


def hold_out_links(src: np.ndarray, dst: np.ndarray, n: int, share: float) -> HeldOutLinks:
    """Hold out a random `share` of the joined pairs of n vertices, or fewer where vertices would
    lose all edges. `src` and `dst` (m,) are indices; the same pairs are held out in whatever order
    they are.
    """
    keys, loop = pair_keys(src, dst, n), src == dst
    pairs = distinct_integers(keys[~loop])
    draw = draw_pairs(np.arange(len(pairs)))
    ends = np.divmod(pairs, max(n, 1))
    first = np.full(n, np.iinfo(np.uint64).max)
    for end in ends:
        np.minimum.at(first, end, draw)
    free = np.flatnonzero((draw != first[ends[0]]) & (draw != first[ends[1]]))
    held = np.sort(pairs[free[np.argsort(draw[free])][: round(share * len(pairs))]])
    return HeldOutLinks(loop | ~among(keys, held), *np.divmod(held, max(n, 1)))


def split_links(edges: EdgeData, share: float) -> tuple[EdgeData, EdgeData]:
    """Return the edges without a `share` of their links, and the links held out, in all of whose
    fields is 1. Both keep all ids.
    """
    cut = hold_out_links(edges.src, edges.dst, len(edges.ids[edges.ends[0]]), share)
    fields = {name: column[cut.kept] for name, column in edges.fields.items()}
    train = replace(edges, src=edges.src[cut.kept], dst=edges.dst[cut.kept], fields=fields)
    return train, held_out_edges(train, cut.src, cut.dst)


def held_out_edges(train: EdgeData, src: np.ndarray, dst: np.ndarray) -> EdgeData:
    """Return held-out links (h,) as edges beside those of training."""
    fields = {name: np.ones(len(src), column.dtype) for name, column in train.fields.items()}
    kind = index_dtype(len(train.ids[train.ends[0]]))
    ends = src.astype(kind, copy=False), dst.astype(kind, copy=False)
    return replace(train, src=ends[0], dst=ends[1], fields=fields, others={})


def held_share(program: BaseProgram) -> float:
    """Return the share of the links that a program holds out. ProgramError where its edges join
    two types.
    """
    share = float(call_hook(program.input, "hold_out", program))
    if share and program.edge.ends[0] != program.edge.ends[1]:
        raise ProgramError(
            f"{type(program).__name__} holds out links of one type, but its edges join two",
            do="let hold_out return 0, and name a file of held-out edges with --test",
        )
    return share


def pair_keys(src: np.ndarray, dst: np.ndarray, n: int) -> np.ndarray:
    """Return one number for each pair of n vertices, whatever its direction. DataError where there
    are too many pairs.
    """
    check_pairs(n)
    return np.minimum(src, dst).astype(np.int64) * n + np.maximum(src, dst)


def draw_pairs(ranks: np.ndarray) -> np.ndarray:
    """Return the number (h,) uint64 by which pairs are put in the random order, from their ranks
    among all pairs.
    """
    return draws(STREAM, ranks)


def among(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return for each key whether it is among the `known`, which ascend."""
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    return np.asarray(known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys)
