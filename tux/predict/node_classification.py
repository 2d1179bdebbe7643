"""Measures of how well features predict labels, and how well scores rank. They judge models that
were trained without labels.

Node classification as Perozzi, Al-Rfou and Skiena do it (KDD 2014): one logistic regression for
each label against the rest,

    minimise over w, b   (|w|^2 + b^2) / 2 + C sum_i log(1 + exp(-y_i (w.x_i + b))), y_i = 1 with
                         the label, -1 without, C = 1

trained on a share of the vertices; each other one is given its k most likely labels, k being how
many it has. F1 is taken over all assignments (micro) and as the mean over labels (macro), of which
one that nobody has and nobody is given counts 0.

The sum above has one minimum, so whichever solver finds it gives these scores: liblinear, as in the
paper, does it for one label after another; here Newton's method runs for all labels at once, each
step solved by conjugate gradients (Lin, Weng and Keerthi, JMLR 2008). The features are first
rotated onto the axes of their Gram matrix, which changes neither the penalty nor the scores. In
these axes the Hessian is nearly diagonal, so its approximation I + C mean(p (1 - p)) diag(x'x) is a
good preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from tux.base.parallel import cores
from tux.base.random import key, permutation

SHARES, SHUFFLES = (0.1, 0.5, 0.9), 10
# how much of the gradient's length may be left, for a label that half of the vertices have (as in
# liblinear)
EXACT = 1e-4
STEPS, TURNS, HALVINGS = 50, 100, 30
CELLS = 1 << 22  # vertices times labels that are solved for at a time, by all threads
PIECE = 1 << 17  # vertices times labels of a piece that stays in a core's cache
COPIES = 1 << 28  # numbers in the copies of the features, one a thread


def f1_scores(
    features: np.ndarray,
    member: np.ndarray,
    shares: Sequence[float] = SHARES,
    shuffles: int = SHUFFLES,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> dict[str, float]:
    """Compute micro and macro F1 at each share of training vertices, means over shuffles:
    ``{"micro_f1_10": .., "macro_f1_10": .., ..}``.

    `features` (n, d), `member` (n, L) bool. Vertices without a label are left out. A share that
    leaves no vertex to train on or to test gives no scores. The same seed gives the same shuffles.
    `progress` is told the share of the work that is done, from 0 to 1. Shuffles run side by side on
    all cores.
    """
    labelled = member.any(1)
    x, _ = _rotate_to_gram(np.asarray(features[labelled], np.float64))
    y = member[labelled]
    sizes = {
        share: int(share * len(x)) for share in sorted(shares) if 0 < int(share * len(x)) < len(x)
    }
    threads = max(1, min(cores(), shuffles, COPIES // max(x.size, 1)))
    done, lock, stop = 0, Lock(), Event()

    def one(number: int) -> list[tuple[float, float]]:
        nonlocal done
        found, order, w = [], permutation(key(seed, "shuffle", number), len(x)), None
        ordered, labels = x[order], y[order]
        for train in sizes.values():  # each starts where the smaller share, a part of it, has ended
            w = _fit(ordered[:train], labels[:train], 1.0, w, CELLS // threads, stop)
            found.append(_test_f1(ordered[train:], labels[train:], w, labels[:train].mean(0)))
            with lock:
                done += train
                progress(done / (shuffles * sum(sizes.values())))
        return found

    # Products are small here: threads of the BLAS library would wait for one another most of the
    # time.
    with threadpool_limits(max(1, cores() // threads), "blas"), ThreadPoolExecutor(threads) as pool:
        try:
            rounds = list(pool.map(one, range(shuffles)))
        finally:
            stop.set()  # an interrupt does not wait for shuffles under way
            pool.shutdown(cancel_futures=True)
    by_share = dict(zip(sizes, np.mean(rounds, axis=0) if sizes else [], strict=True))
    kinds = ("micro", "macro")
    return {
        f"{kind}_f1_{100 * share:g}": float(by_share[share][k])
        for share in shares
        if share in sizes
        for k, kind in enumerate(kinds)
    }


def _test_f1(x: np.ndarray, y: np.ndarray, w: np.ndarray, share: np.ndarray) -> tuple[float, float]:
    """Compute micro and macro F1 of weights (d, L), where `share` (L,) of the training vertices had
    each label.
    """
    likely = x @ w
    # a label that no vertex has, or each, is not fitted
    likely[:, share == 0], likely[:, share == 1] = -np.inf, np.inf
    return f1(y, most_likely(likely, y.sum(1)))


def most_likely(scores: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Mark the `count` (n,) highest scores of each row of (n, L), as (n, L) bool; of equal ones the
    first.
    """
    rank = np.empty(scores.shape, np.int64)
    np.put_along_axis(
        rank,
        np.argsort(-scores, axis=1, kind="stable"),
        np.arange(scores.shape[1])[None, :],
        axis=1,
    )
    return rank < count[:, None]


def f1(true: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """Compute micro and macro F1 of two (n, L) bool: 2 TP / (2 TP + FP + FN) of all, and the mean
    over labels, 0 where there is nothing.
    """
    hit, size = (true & predicted).sum(0), true.sum(0) + predicted.sum(0)
    each = np.divide(2 * hit, size, out=np.zeros(len(hit)), where=size > 0)
    return float(2 * hit.sum() / max(size.sum(), 1)), float(each.mean()) if len(each) else 0.0


def log_odds(x: np.ndarray, weights: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the log-odds of each label, (n, L)."""
    return np.asarray(x @ weights + offset)


def logistic(x: np.ndarray, y: np.ndarray, c: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Fit a logistic regression for each label, by `x` (n, d) float64 and `y` (n, L) bool. Returns
    weights (d, L) and offsets (L,).
    """
    axes, basis = _rotate_to_gram(x)
    weights = basis @ _fit(axes, y, c)
    return weights[:-1], weights[-1]


def _rotate_to_gram(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return `x` and a column of ones, (n, d + 1), in the axes of their Gram matrix; and these
    axes, the columns of (d + 1, d + 1).
    """
    x = np.column_stack([x, np.ones(len(x))])
    basis = np.linalg.eigh(x.T @ x)[1]
    return x @ basis, basis


def _fit(
    x: np.ndarray,
    y: np.ndarray,
    c: float,
    start: np.ndarray | None = None,
    cells: int = CELLS,
    stop: Event | None = None,
) -> np.ndarray:
    """Return the minima (d, L). The search begins at `start`. Labels are solved for in groups of
    `cells` over n.
    """
    start = np.zeros((x.shape[1], y.shape[1])) if start is None else start
    group = max(1, cells // max(len(x), 1))
    parts = [
        _newton(x, y[:, at : at + group], c, start[:, at : at + group], stop)
        for at in range(0, y.shape[1], group)
    ]
    return np.concatenate([np.zeros((x.shape[1], 0)), *parts], axis=1)


class _Point(NamedTuple):
    """The state of the search for some labels."""

    w: np.ndarray  # (d, l)
    margin: np.ndarray  # (n, l): y (w.x + b)
    value: np.ndarray  # (l,) the sum that is minimised
    gradient: np.ndarray  # (d, l)
    curve: np.ndarray  # (n, l): the second derivative by the margin


def _newton(
    x: np.ndarray, y: np.ndarray, c: float, start: np.ndarray, stop: Event | None
) -> np.ndarray:
    """Return the minima, (d, L). A label's step is halved until its sum gets less, and it is let
    alone once its gradient is short enough.
    """
    sign, going, solution = np.where(y, 1.0, -1.0), np.arange(y.shape[1]), start.copy()
    few = np.minimum(y.sum(0), len(y) - y.sum(0))
    enough = (
        EXACT * np.maximum(few, 1) / max(len(y), 1) * np.linalg.norm(c / 2 * (x.T @ sign), axis=0)
    )
    squares = (x * x).sum(0)[:, None]
    at = _point(x, sign, start, sign * (x @ start), c)
    for _ in range(STEPS):
        solution[:, going] = at.w
        on = np.linalg.norm(at.gradient, axis=0) > enough[going]
        if not on.any() or (stop and stop.is_set()):
            break
        if not on.all():
            going, sign, at = going[on], sign[:, on], _Point(*(array[..., on] for array in at))
        move = _conjugate_gradients(x, at.curve, at.gradient, 1 / (1 + at.curve.mean(0) * squares))
        ahead, slope, scale = sign * (x @ move), (at.gradient * move).sum(0), np.ones(len(going))
        for _ in range(HALVINGS):
            new = _point(x, sign, at.w + scale * move, at.margin + scale * ahead, c)
            worse = new.value > at.value + 1e-4 * scale * slope + 1e-12 * at.value
            if not worse.any():
                break
            scale[worse] /= 2
        at = new
    return solution


def _pieces(rows: int, labels: int) -> list[slice]:
    """Cut the rows of an array of so many rows and labels into slices."""
    piece = max(256, PIECE // max(labels, 1))
    return [slice(at, at + piece) for at in range(0, rows, piece)]


def _point(x: np.ndarray, sign: np.ndarray, w: np.ndarray, margin: np.ndarray, c: float) -> _Point:
    """Compute the sum, its gradient and its curvature at weights `w`, whose `margin` is known;
    piece by piece.
    """
    value, gradient, curve = 0.5 * (w * w).sum(0), w.copy(), np.empty(margin.shape)
    for piece in _pieces(*margin.shape):
        m = margin[piece]
        small = np.exp(-np.abs(m))
        value += c * (np.maximum(-m, 0) + np.log1p(small)).sum(0)
        wrong = np.where(m < 0, 1.0, small) / (1 + small)  # how likely the wrong answer is
        gradient -= c * (x[piece].T @ (sign[piece] * wrong))
        curve[piece] = c * wrong * (1 - wrong)
    return _Point(w, margin, value, gradient, curve)


def _conjugate_gradients(
    x: np.ndarray, curve: np.ndarray, gradient: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Solve for Newton's steps by conjugate gradients: (I + x' diag(curve) x) step = -gradient for
    each label, to a tenth of the gradient.

    `scale` (d, l): the inverse of the system's diagonal, nearly; the preconditioner.
    """
    step, rest = np.zeros(gradient.shape), -gradient
    enough = 0.01 * (rest * rest).sum(0)
    along = scale * rest
    size, going = (rest * along).sum(0), np.ones(len(enough), np.bool_)
    for _ in range(TURNS):
        bent = along.copy()
        for piece in _pieces(*curve.shape):
            bent += x[piece].T @ (curve[piece] * (x[piece] @ along))
        pace = np.where(going, size / np.maximum((along * bent).sum(0), 1e-300), 0.0)
        step += pace * along
        rest -= pace * bent
        going = (rest * rest).sum(0) > enough
        if not going.any():
            break
        scaled = scale * rest
        left = (rest * scaled).sum(0)
        along = scaled + left / np.maximum(size, 1e-300) * along
        size = left
    return step


def auc(positive: np.ndarray, negative: np.ndarray) -> float:
    """Return the probability that a positive's score is above a negative's, a tie counting half; of
    all pairs, exactly. NaN without any pair.
    """
    if not len(positive) or not len(negative):
        return float("nan")
    ordered = np.sort(negative)
    below, upto = (
        np.searchsorted(ordered, positive, side).sum(dtype=np.int64) for side in ("left", "right")
    )
    return float((int(below) + int(upto)) / (2 * len(positive) * len(negative)))
