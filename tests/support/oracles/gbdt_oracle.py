"""Boosted trees by their formulas, in plain numpy, on dense samples in which NaN is missing."""

import math

import numpy as np

from tux.apps.gbdt.bins import ends
from tux.arrays.edges import EdgeData

FIELDS = ("feature", "cut", "default_left", "weight", "gain")


def draw_samples(n=300, p=12, share=0.5, seed=0, values=0, *, numbers=False, classes=0):
    """Draw (x, y): sparse samples, with `values` distinct values if that is not 0, and labels that
    depend on them; of two classes, or the numbers of so many `classes`, or `numbers`.
    """
    rng = np.random.default_rng(seed)
    x = rng.integers(0, values, (n, p)) if values else rng.normal(size=(n, p))
    x = np.where(rng.random((n, p)) < share, x, np.nan).astype("f4")
    full = np.nan_to_num(x)
    score = full[:, 0] * full[:, 1] + np.isnan(x[:, 2]) + np.sin(2 * full[:, 3]) - 0.5
    if numbers:
        return x, (score + 0.1 * rng.normal(size=n)).astype("f4")
    if classes:
        each = np.stack([score, full[:, 0] - full[:, 1], *full[:, 2:classes].T], axis=1)
        return x, (each + rng.gumbel(size=each.shape) / 3).argmax(axis=1).astype("f4")
    return x, np.where(score + rng.logistic(size=n) / 3 > 0, 1.0, -1.0).astype("f4")


def edges_of(x, y, weight=None, train=None):
    """Return the entries as edges, behind those of training if they are given."""
    sample, feature = np.nonzero(~np.isnan(x))
    n, p = x.shape
    known = {"label": y, "weight": np.ones(n, "f4") if weight is None else weight.astype("f4")}
    against = None if train is None else {"feature": train.ids["feature"]}
    made = EdgeData.of(
        ("sample", "feature"),
        sample,
        feature,
        {"value": x[sample, feature]},
        vertices={"sample": np.arange(n), "feature": np.arange(p)},
        against=against,
    )
    if train is not None:
        made = made.behind("sample", train.ids["sample"])
        before = train.vertex_fields["sample"]
        known = {name: np.concatenate([before[name], known[name]]) for name in known}
    fields = {"sample": known}
    return EdgeData(made.ends, made.ids, made.src, made.dst, made.fields, vertex_fields=fields)


def derivatives(loss, y, m, alpha):
    """Return the derivatives (g, h) of each sample's loss, (n,); of each class's score, (n, K).
    `loss` may be a function of y and m that returns them.
    """
    if callable(loss):
        return loss(y, m)
    if loss == "quantile":
        return np.where(m >= y, 1 - alpha, -alpha), np.ones(len(y))
    if loss == "squared":
        return m - y, np.ones(len(y))
    if loss == "poisson":
        return np.exp(m) - y, np.exp(m + 0.7)
    if loss == "softmax":
        chance = np.exp(m - m.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        own = np.arange(m.shape[1]) == y[:, None]
        return chance - own, np.maximum(2 * chance * (1 - chance), 1e-16)
    chance = 1 / (1 + np.exp(-m))
    return chance - (y > 0), np.maximum(chance * (1 - chance), 1e-16)


def quantile_of(v, alpha):
    """Return the smallest of some numbers that is not below the share alpha of them."""
    return np.sort(v.astype("f4"))[math.ceil(alpha * len(v) * (1 - 1e-12)) - 1]


def first_score(loss, y, alpha):
    """Return the score before the first tree; 0 if the loss is a function."""
    if loss == "quantile":
        return quantile_of(y, alpha)
    mean = float(y.astype("f8").mean())
    if loss == "logistic":
        return math.log((1 + mean) / (1 - mean))
    if loss == "poisson":
        return math.log(mean)
    return 0.0 if loss == "softmax" or callable(loss) else mean


def units(v):
    """Return a power of two for whole numbers, and these."""
    unit = 2.0 ** (math.ceil(math.log2(np.abs(v).max())) - 29)
    return unit, np.floor(v / unit + 0.5).astype(np.int64)


def best_split(binned, last, g, h, scale, least_h, l2, bounds, directions):
    """Return (gain, -code, steps of both sides) of the best split of these samples, or None.
    `binned` (n, p), -1 missing; `last` (p,) bins of the features. `bounds`, of the steps of leaves:
    the weights before the learning rate, with the other sign. `directions` (p,) of features.
    """

    def fit(G, H):
        G, H = G * scale[0], H * scale[1] + l2
        step = min(max(G / H, bounds[0]), bounds[1])
        return 2 * step * G - step * step * H, step

    found = []
    for k in range(binned.shape[1]):
        b = binned[:, k]
        for cut in range(last[k] + 1):
            for left in (0, 1):
                goes = (b <= cut) & (b >= 0) | (b < 0) & bool(left)
                H = h[goes].sum(), h[~goes].sum()
                if min(H) < max(1, math.ceil(least_h / scale[1])):
                    continue
                sides = fit(g[goes].sum(), H[0]), fit(g[~goes].sum(), H[1])
                if cut < last[k] and directions[k] * (sides[0][1] - sides[1][1]) < 0:
                    continue
                gain = sides[0][0] + sides[1][0] - fit(g.sum(), h.sum())[0]
                found.append((gain, -(512 * k + 2 * cut + left), (sides[0][1], sides[1][1])))
    found = [each for each in found if each[0] > 1e-6]
    top = max(found, default=None)
    return max((e for e in found if e[0] >= top[0] * (1 - 1e-12)), key=lambda e: e[1], default=None)


def child_bounds(bounds, steps, direction):
    """Return the bounds of the steps below both children of a node, the left one first."""
    if direction == 0:
        return bounds, bounds
    middle, (low, high) = sum(steps) / 2, bounds
    if steps[0] > steps[1]:
        return (middle, high), (low, middle)
    return (low, middle), (middle, high)


def grow(
    x,
    y,
    loss="logistic",
    *,
    trees=3,
    depth=3,
    rate=0.3,
    l2=1.0,
    least_h=1.0,
    bins=255,
    scores=None,
    copies=1.0,
    alpha=0.5,
    directions=None,
):
    """Grow trees, behind others by which samples have `scores` if these are given; then each sample
    stands for the curvature of so many `copies`. `directions` (p,) of monotone features: 1, -1, or
    0. Return (fields by node, (trees, nodes); scores). Of the loss softmax, `trees` are those of a
    class, which take turns, and scores are (n, K).
    """
    binned = np.full(x.shape, -1)
    for k in range(x.shape[1]):
        there = ~np.isnan(x[:, k])
        if there.any():
            last = ends(np.sort(x[there, k]), bins)
            binned[there, k] = np.searchsorted(last, x[there, k])
    shape = (len(y), int(y.max()) + 1 if loss == "softmax" else 1)
    m = np.full(shape, float(np.float32(first_score(loss, y, alpha))))
    if scores is not None:
        m = scores.reshape(shape)
    out = {name: np.zeros((trees * shape[1], 2 ** (depth + 1)), "f4") for name in FIELDS}
    out["feature"][:] = -1
    for t in range(0, trees * shape[1], shape[1]):
        slopes, curves = derivatives(loss, y, m if shape[1] > 1 else m[:, 0], alpha)
        (unit_g, g), (unit_h, h) = units(slopes), units(copies * curves)
        g, h, m = g.reshape(shape), h.reshape(shape), m.copy()
        for k in range(shape[1]):
            row = {name: out[name][t + k] for name in FIELDS}
            kinds = g[:, k], h[:, k], (unit_g, unit_h)
            most = 0.7 if loss == "poisson" else np.inf
            ways = [0] * x.shape[1] if directions is None else directions
            node = grow_tree(row, x, binned, *kinds, depth, rate, l2, least_h, most, ways)
            if loss == "quantile":
                for leaf in np.unique(node):
                    found = quantile_of((y - m[:, k])[node == leaf], alpha)
                    row["weight"][leaf] = rate / copies * float(found)
            m[:, k] += row["weight"][node]
    return out, m if shape[1] > 1 else m[:, 0]


def grow_tree(row, x, binned, g, h, scale, depth, rate, l2, least_h, most, directions):
    """Fill a tree's fields by node; return the leaf of each sample."""
    node, bounds = np.ones(len(x), int), {1: (-most, most)}
    last = binned.max(axis=0)
    for n in range(1, 2 ** (depth + 1)):
        at = node == n
        G, H = g[at].sum() * scale[0], h[at].sum() * scale[1]
        row["weight"][n] = -rate * np.clip(G / (H + l2), *bounds[n]) if H > 0 else 0
        split = None
        if n < 2**depth and at.any():
            how = scale, least_h, l2, bounds[n], directions
            split = best_split(binned[at], last, g[at], h[at], *how)
        if split is None:
            continue
        k, code = divmod(-split[1], 512)
        bounds[2 * n], bounds[2 * n + 1] = child_bounds(bounds[n], split[2], directions[k])
        cut, left = code // 2, code % 2
        b, of = binned[at, k], x[at, k]
        goes = (b <= cut) & (b >= 0) | (b < 0) & bool(left)
        node[at] = np.where(goes, 2 * n, 2 * n + 1)
        low, high = of[(b >= 0) & (b <= cut)], of[b > cut]
        row["feature"][n], row["default_left"][n] = k, left
        row["gain"][n] = split[0]
        largest = np.finfo("f4").max
        if not len(high) or not len(low):
            row["cut"][n] = largest if not len(high) else -largest
        else:
            row["cut"][n] = low.max() / np.float32(2) + high.min() / np.float32(2)
    return node


def score_samples(fields, x, base, classes=1):
    """Compute the scores of samples by trees (fields by node), in double precision: (n,), or of
    `classes` whose trees take turns (n, classes).
    """
    m = np.full((len(x), classes), float(base))
    for t in range(len(fields["feature"])):
        node = np.ones(len(x), int)
        for _ in range(20):
            k = fields["feature"][t, node].astype(int)
            value = x[np.arange(len(x)), np.maximum(k, 0)]
            left = np.where(
                np.isnan(value),
                fields["default_left"][t, node] > 0,
                np.nan_to_num(value) < fields["cut"][t, node],
            )
            node = np.where(k >= 0, 2 * node + ~left, node)
        m[:, t % classes] += fields["weight"][t, node]
    return m if classes > 1 else m[:, 0]
