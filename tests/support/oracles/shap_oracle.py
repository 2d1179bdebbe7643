"""SHAP values of trees by their definition: means over all subsets of the features."""

import math
from itertools import chain, combinations

import numpy as np


def mean_score(fields, tree, x, known, node=1):
    """Return the mean score of a tree where the features `known` go as the sample `x` does, and
    the others both ways, by the cover.
    """
    k = fields["feature"][tree, node]
    if k < 0:
        return float(fields["weight"][tree, node])
    left, right = (mean_score(fields, tree, x, known, child) for child in (2 * node, 2 * node + 1))
    if k in known:
        missing = np.isnan(x[k])
        goes = fields["default_left"][tree, node] if missing else x[k] < fields["cut"][tree, node]
        return left if goes else right
    share = float(fields["cover"][tree, 2 * node]) / float(fields["cover"][tree, node])
    return share * left + (1 - share) * right


def shap_values(fields, x, base):
    """Return the Shapley values of all features, and the mean score behind them: (n, p + 1)."""
    n, p = x.shape
    out, number = np.zeros((n, p + 1)), len(fields["feature"])
    out[:, p] = base + sum(mean_score(fields, t, x[0], ()) for t in range(number))
    for row, values in enumerate(x):
        for k in range(p):
            others = [each for each in range(p) if each != k]
            subsets = chain.from_iterable(combinations(others, size) for size in range(p))
            for subset in map(set, subsets):
                weight = math.factorial(len(subset)) * math.factorial(p - 1 - len(subset))
                for t in range(number):
                    gain = mean_score(fields, t, values, subset | {k})
                    gain -= mean_score(fields, t, values, subset)
                    out[row, k] += gain * weight / math.factorial(p)
    return out


def draw_trees(trees, depth, features, seed=0):
    """Draw trees, (trees, nodes) by field, of which some nodes are leaves before the last level.
    The first tree has one leaf. Features come again on a path.
    """
    rng = np.random.default_rng(seed)
    shape = trees, 2 ** (depth + 1)
    out = {"feature": np.full(shape, -1, np.int32), "cover": np.zeros(shape, "f4")}
    out |= {"cut": rng.normal(size=shape).astype("f4"), "default_left": rng.random(shape) < 0.5}
    out["weight"] = rng.normal(size=shape).astype("f4")
    for t in range(trees):
        out["cover"][t, 1] = 1024
        for node in range(1, 2**depth if t else 1):
            if out["cover"][t, node] and rng.random() < (1 if node == 1 else 0.8):
                out["feature"][t, node] = rng.integers(features)
                part = out["cover"][t, node] * rng.integers(1, 8) / 8
                out["cover"][t, 2 * node : 2 * node + 2] = part, out["cover"][t, node] - part
    return out
