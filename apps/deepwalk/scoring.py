"""The quality of an embedding of a graph's vertices: by labels that it has not seen, or by edges
that it has not.

Labels: node classification as in `tux.predict.node_classification`. Edges: links are held out
(`tux.graph.links`); two vertices are as likely to be joined as the dot product of their vectors is
large, and `link_auc` is the chance that a held-out edge is told from a pair that no edge joins.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tux.arrays.integers import distinct_integers
from tux.base.random import key, uniforms
from tux.graph.links import among, pair_keys
from tux.io.vertices.labels import VertexLabels
from tux.predict.node_classification import SHARES, SHUFFLES, auc, f1_scores

PIECE = 1 << 17  # pairs scored at a time
ROUNDS = 50  # of drawing pairs that no edge joins: a graph may have few


def apart(
    src: np.ndarray, dst: np.ndarray, n: int, count: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """`count` random pairs of different vertices that none of the edges joins; fewer if there
    seem to be next to none.
    """
    edges = distinct_integers(pair_keys(src, dst, n))
    chosen = [np.empty(0, np.int64)]
    stream, missing = key(seed, "apart"), count
    for turn in range(ROUNDS):
        if missing <= 0 or n < 2:
            break
        drawn = (uniforms(stream, np.arange(turn * count, turn * count + count), 2) * n).astype(
            np.int64
        )
        keys = pair_keys(drawn[:, 0], drawn[:, 1], n)
        keys = keys[(drawn[:, 0] != drawn[:, 1]) & ~among(keys, edges)][:missing]
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
