"""How well features foretell labels, and how well scores rank: for judging what has been learned without labels.

Node classification as Perozzi, Al-Rfou and Skiena do it (KDD 2014): one logistic regression for each label against the rest,

    minimise over w, b   (|w|^2 + b^2) / 2 + C sum_i log(1 + exp(-y_i (w.x_i + b))),    y_i = 1 with the label, -1 without,    C = 1

trained on a share of the vertices; each other one is given its k most likely labels, k being how many it has. F1 is taken over all
assignments (micro) and as the mean over labels (macro), of which one that nobody has and nobody is given counts 0.

The sum above has one minimum, so whichever solver finds it gives these scores: liblinear, as in the paper, does it for one label after
another; here Newton's method runs for all labels at once, each step solved by conjugate gradients (Lin, Weng and Keerthi, JMLR 2008).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tux.random import key, permutation

SHARES, SHUFFLES = (0.1, 0.5, 0.9), 10
EXACT = 1e-4  # how much of the gradient's length may be left, for a label that half of the vertices have (as in liblinear)
STEPS, TURNS, HALVINGS = 50, 100, 30
CELLS = 1 << 22  # vertices times labels that are solved for at a time


def f1_scores(
    features: np.ndarray, member: np.ndarray, shares: Sequence[float] = SHARES, shuffles: int = SHUFFLES, seed: int = 0
) -> dict[str, float]:
    """Micro and macro F1 at each share of training vertices, means over shuffles: ``{"micro_f1_10": .., "macro_f1_10": .., ..}``.

    `features` (n, d), `member` (n, L) bool. Vertices without a label are left out. A share that leaves nobody to train on, or to test,
    gives nothing. The same seed gives the same shuffles.
    """
    labelled = member.any(1)
    x, y = np.ascontiguousarray(features[labelled], np.float64), member[labelled]
    found: dict[str, float] = {}
    for share in shares:
        train = int(share * len(x))
        if 0 < train < len(x):
            rounds = [_round(x, y, permutation(key(seed, "shuffle", n), len(x)), train) for n in range(shuffles)]
            micro, macro = np.mean(rounds, axis=0)
            found |= {f"micro_f1_{100 * share:g}": float(micro), f"macro_f1_{100 * share:g}": float(macro)}
    return found


def _round(x: np.ndarray, y: np.ndarray, order: np.ndarray, train: int) -> tuple[float, float]:
    """Micro and macro F1 of one shuffle."""
    seen, asked = order[:train], order[train:]
    likely = decide(x[asked], *logistic(x[seen], y[seen]))
    share = y[seen].mean(0)
    likely[:, share == 0], likely[:, share == 1] = -np.inf, np.inf  # what nobody has, or everybody, is not fitted
    return f1(y[asked], most_likely(likely, y[asked].sum(1)))


def most_likely(scores: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Where the `count` (n,) highest scores of each row of (n, L) stand, as (n, L) bool; of equal ones the first."""
    rank = np.empty(scores.shape, np.int64)
    np.put_along_axis(rank, np.argsort(-scores, axis=1, kind="stable"), np.arange(scores.shape[1])[None, :], axis=1)
    return rank < count[:, None]


def f1(true: np.ndarray, given: np.ndarray) -> tuple[float, float]:
    """Micro and macro F1 of two (n, L) bool: 2 TP / (2 TP + FP + FN) of all, and the mean over labels, 0 where there is nothing."""
    hit, size = (true & given).sum(0), true.sum(0) + given.sum(0)
    each = np.divide(2 * hit, size, out=np.zeros(len(hit)), where=size > 0)
    return float(2 * hit.sum() / max(size.sum(), 1)), float(each.mean()) if len(each) else 0.0


def decide(x: np.ndarray, weights: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """How likely each label is, (n, L), as log-odds."""
    return np.asarray(x @ weights + offset)


def logistic(x: np.ndarray, y: np.ndarray, c: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Weights (d, L) and offsets (L,) of a logistic regression for each label, by `x` (n, d) float64 and `y` (n, L) bool."""
    x = np.column_stack([x, np.ones(len(x))])
    group = max(1, CELLS // max(len(x), 1))
    parts = [_newton(x, y[:, at : at + group], c) for at in range(0, y.shape[1], group)]
    weights = np.concatenate([np.zeros((x.shape[1], 0)), *parts], axis=1)
    return weights[:-1], weights[-1]


def _newton(x: np.ndarray, y: np.ndarray, c: float) -> np.ndarray:
    """The minima, (d, L). A label's step is halved until its sum gets less, and it is let alone once its gradient is short enough."""
    w = np.zeros((x.shape[1], y.shape[1]))
    sign = np.where(y, 1.0, -1.0)
    few = np.minimum(y.sum(0), len(y) - y.sum(0))
    margin, enough, going = np.zeros(y.shape), np.zeros(y.shape[1]), np.arange(y.shape[1])
    for step in range(STEPS):
        p = 0.5 - 0.5 * np.tanh(0.5 * margin[:, going])  # how likely the wrong answer is
        gradient = w[:, going] - c * (x.T @ (sign[:, going] * p))
        length = np.linalg.norm(gradient, axis=0)
        if step == 0:
            enough = EXACT * np.maximum(few, 1) / max(len(y), 1) * length
        on = length > enough[going]
        going, p, gradient = going[on], p[:, on], gradient[:, on]
        if not len(going):
            break
        move = _conjugate(x, c * p * (1 - p), gradient)
        ahead = sign[:, going] * (x @ move)
        before, slope = _sum(w[:, going], margin[:, going], c), (gradient * move).sum(0)
        scale = np.ones(len(going))
        for _ in range(HALVINGS):
            worse = _sum(w[:, going] + scale * move, margin[:, going] + scale * ahead, c) > before + 1e-4 * scale * slope + 1e-12 * before
            if not worse.any():
                break
            scale[worse] /= 2
        w[:, going] += scale * move
        margin[:, going] += scale * ahead
    return w


def _sum(w: np.ndarray, margin: np.ndarray, c: float) -> np.ndarray:
    """What is minimised, by label; `margin` is y (w.x + b)."""
    return np.asarray(0.5 * (w * w).sum(0) + c * (np.maximum(-margin, 0) + np.log1p(np.exp(-np.abs(margin)))).sum(0))


def _conjugate(x: np.ndarray, curve: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Newton's steps: (I + x' diag(curve) x) step = -gradient for each label, to a tenth of the gradient."""
    step, rest = np.zeros(gradient.shape), -gradient
    along, size = rest.copy(), (rest * rest).sum(0)
    enough = 0.01 * size
    for _ in range(TURNS):
        bent = along + x.T @ (curve * (x @ along))
        pace = np.where(size > enough, size / np.maximum((along * bent).sum(0), 1e-300), 0.0)
        step += pace * along
        rest -= pace * bent
        left = (rest * rest).sum(0)
        if not (left > enough).any():
            break
        along = rest + left / np.maximum(size, 1e-300) * along
        size = left
    return step


def auc(positive: np.ndarray, negative: np.ndarray) -> float:
    """How likely a positive's score is above a negative's, a tie counting half; of all pairs, exactly. NaN without any pair."""
    if not len(positive) or not len(negative):
        return float("nan")
    ordered = np.sort(negative)
    below, upto = (np.searchsorted(ordered, positive, side).sum(dtype=np.int64) for side in ("left", "right"))
    return float((int(below) + int(upto)) / (2 * len(positive) * len(negative)))
