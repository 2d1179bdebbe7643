"""The quality of an embedding of a graph's vertices: by labels that it has not seen, or by edges
that it has not.

Labels: node classification as in `tux.predict.node_classification`. Edges: a share of them is held
out; two vertices are as likely to be joined as the dot product of their vectors is large, and
`link_auc` is the chance that a held-out edge is told from a pair that no edge joins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tux.base.random import key, permutation, uniforms
from tux.io.vertices.labels import VertexLabels
from tux.predict.node_classification import SHARES, SHUFFLES, auc, f1_scores

PIECE = 1 << 17  # pairs scored at a time
ROUNDS = 50  # of drawing pairs that no edge joins: a graph may have few


class HeldOutEdges(NamedTuple):
    """A graph's edges cut in two. An edge in the other direction, or repeated, goes with the
    edge; a self-loop is kept.
    """

    kept: np.ndarray  # (m,) bool: which edges to train on
    src: np.ndarray  # (h,) int64, the lower end of each pair held out, once each
    dst: np.ndarray  # (h,) int64, the other


def hold_out(
    src: np.ndarray, dst: np.ndarray, n: int, seed: int = 0, share: float = 0.1, spare: bool = True
) -> HeldOutEdges:
    """Hold out a random `share` of the joined pairs of n vertices, edges being (m,) indices; the
    same by seed, in whatever order they are.

    With `spare`, every vertex that is joined to another keeps an edge to some other, so fewer may
    be held out.
    """
    keys, loop = _keys(src, dst, n), src == dst
    pairs = _distinct(keys[~loop])
    pairs = pairs[permutation(key(seed, "held out"), len(pairs))]
    free = np.ones(len(pairs), np.bool_)
    if spare:
        first = np.full(n, len(pairs))
        for end in np.divmod(pairs, n):
            np.minimum.at(first, end, np.arange(len(pairs)))
        free[first[first < len(pairs)]] = False
    held = np.sort(pairs[free][: round(share * len(pairs))])
    return HeldOutEdges(loop | ~_among(keys, held), *np.divmod(held, max(n, 1)))


def apart(
    src: np.ndarray, dst: np.ndarray, n: int, count: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """`count` random pairs of different vertices that none of the edges joins; fewer if there
    seem to be next to none.
    """
    edges = _distinct(_keys(src, dst, n))
    chosen = [np.empty(0, np.int64)]
    stream, missing = key(seed, "apart"), count
    for turn in range(ROUNDS):
        if missing <= 0 or n < 2:
            break
        drawn = (uniforms(stream, np.arange(turn * count, turn * count + count), 2) * n).astype(
            np.int64
        )
        keys = _keys(drawn[:, 0], drawn[:, 1], n)
        keys = keys[(drawn[:, 0] != drawn[:, 1]) & ~_among(keys, edges)][:missing]
        chosen.append(keys)
        missing -= len(keys)
    low, high = np.divmod(np.concatenate(chosen), max(n, 1))
    return low, high


def score_embedding(
    embedding: np.ndarray,
    labels: VertexLabels | None,
    held_out: tuple[np.ndarray, np.ndarray] | None,
    edges: tuple[np.ndarray, np.ndarray],
    seed: int = 0,
    shares: tuple[float, ...] = SHARES,
    shuffles: int = SHUFFLES,
    progress: Callable[[float], None] = lambda share: None,
) -> dict[str, float]:
    """Return micro and macro F1 if `labels` are given, and `link_auc` if pairs `held_out` are.

    `embedding` (n, d); `edges` those trained on, (m,) indices of both ends, as are those held out.
    `progress` as in `f1_scores`.
    """
    scores = (
        f1_scores(embedding, labels.member, shares, shuffles, seed, progress)
        if labels is not None
        else {}
    )
    if held_out is not None and len(held_out[0]):
        src, dst = (np.concatenate([end, held]) for end, held in zip(edges, held_out, strict=True))
        others = apart(src, dst, len(embedding), len(held_out[0]), seed)
        chance = auc(dots(embedding, *held_out), dots(embedding, *others))
        scores |= {"link_auc": chance} if np.isfinite(chance) else {}
    return scores


def dots(embedding: np.ndarray, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return the dot product of each pair's vectors, (len(src),) float64."""
    out = np.empty(len(src))
    for at in range(0, len(src), PIECE):
        piece = slice(at, at + PIECE)
        out[piece] = np.einsum(
            "ij,ij->i", embedding[src[piece]], embedding[dst[piece]], dtype=np.float64
        )
    return out


def _keys(src: np.ndarray, dst: np.ndarray, n: int) -> np.ndarray:
    """Return one number for each pair, whatever its direction."""
    return np.minimum(src, dst).astype(np.int64) * n + np.maximum(src, dst)


def _distinct(keys: np.ndarray) -> np.ndarray:
    """Return each key once, ascending. (numpy.unique has become a hash table, and takes twenty
    times as long for millions.)
    """
    keys = np.sort(keys)
    return keys[np.diff(keys, prepend=-1) != 0]


def _among(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return for each key whether it is among the `known`, which ascend."""
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    return np.asarray(known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys)
