"""SHAP values of boosted trees: how much each feature of a sample moves its score.

A tree gives a feature its Shapley value in a game of the features. Those of a coalition S go as the
sample does; the others go both ways, by the shares of the cover (Lundberg et al., Nature Machine
Intelligence 2020, TreeSHAP, path-dependent). So a leaf of weight w, whose path splits by features
j, adds

    v(S) = w  prod_{j in S} o_j  prod_{j not in S} z_j

o_j is 1 if the sample goes along at all splits by j on the path, else 0; z_j is the product of the
shares of the cover there. By the formula of Owen (Management Science 1972), i gets of this leaf

    w (o_i - z_i)  int_0^1  prod_{j != i} q_j(t) dt,    q_j(t) = t o_j + (1 - t) z_j

The integrand is a polynomial of a degree below the depth, so Gauss's rule of depth / 2 points,
rounded up, is exact. Products are made from the root down, and sums over leaves from below (Yu et
al., Linear TreeSHAP, NeurIPS 2022). Where a path splits by a feature again, its q is replaced, and
the part of the q before is taken back for what lies below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tux.apps.gbdt.paths import ROOT, TreeNodes, TreePaths, find_paths, gauss_rule, mean_leaf
from tux.base.compiled import cached_njit
from tux.base.parallel import spread, threads
from tux.program.report import NewRows

BLOCK_NUMBERS, BLOCK_ROWS = 1 << 21, 1024
"""The most numbers, and rows, that a thread computes at a time."""
KINDS = {"cut": "f8", "default_left": "?", "weight": "f4", "cover": "f4"}


@cached_njit
def _add_sample(tree, paths, count, x, out):  # type: ignore[no-untyped-def]
    """Add what a tree gives the features (k,) of a sample with values `x`, NaN where it has none,
    to `out` (k,).
    """
    points = paths.leaves.shape[1]
    for at in range(count):
        above = paths.inner[at]
        value = x[tree.place[above]]
        left = tree.default_left[above] if np.isnan(value) else value < tree.cut[above]
        for node in (2 * above, 2 * above + 1):
            had = paths.along[paths.before[node]]
            paths.along[node] = had if left == (node % 2 == 0) else 0
            for k in range(points):
                factor = paths.down[node, had + paths.along[node], k]
                paths.leaves[node, k] = paths.leaves[above, k] * factor
    for at in range(count - 1, -1, -1):
        above = paths.inner[at]
        for node in (2 * above, 2 * above + 1):
            case = paths.along[paths.before[node]] + paths.along[node]
            for k in range(points):
                if tree.place[node] < 0:
                    paths.leaves[node, k] *= tree.weight[node]
                out[tree.place[above]] += paths.leaves[node, k] * paths.push[node, case, k]
        for k in range(points if above > ROOT else 0):
            paths.leaves[above, k] = paths.leaves[2 * above, k] + paths.leaves[2 * above + 1, k]


@cached_njit
def _add_trees(nodes, rule, paths, x, out):  # type: ignore[no-untyped-def]
    """Add what all trees give the features of samples with values `x` (n, k) to `out` (n, k).
    `paths` is room.
    """
    for t in range(len(nodes.place)):
        tree = TreeNodes(
            nodes.place[t], nodes.cut[t], nodes.default_left[t], nodes.weight[t], nodes.cover[t]
        )
        count = find_paths(tree, rule, paths)
        for row in range(len(x)):
            _add_sample(tree, paths, count, x[row], out[row])


class ExplainedTrees(NamedTuple):
    """Trees whose scores are explained by the features `used` (k,), their numbers in the model.
    `base`: the mean score, by the cover of leaves. `place` (features,): of each in `used`, or -1.
    """

    nodes: TreeNodes
    used: np.ndarray
    place: np.ndarray
    base: float

    @classmethod
    def of(
        cls, fields: dict[str, np.ndarray], features: int, chosen: slice = slice(None)
    ) -> ExplainedTrees:
        """Explain the `chosen` trees of some, whose `fields` are those of
        `tux.apps.gbdt.booster.trees`, in a model of so many `features`.
        """
        of = {name: np.array(fields[name][chosen], kind) for name, kind in KINDS.items()}
        feature = np.asarray(fields["feature"][chosen])
        used = np.unique(feature[feature >= 0])
        place = np.full(features + 1, -1, np.int32)  # the last one: of leaves
        place[used] = np.arange(len(used))
        nodes = TreeNodes(place[feature], **of)
        base, room = float(np.reshape(fields["base"], -1)[0]), np.empty(feature.shape[1])
        for tree in zip(*nodes, strict=True):
            base += mean_leaf(TreeNodes(*tree), room)
        return cls(nodes, used, place[:-1], base)

    def contributions(self, rows: NewRows) -> np.ndarray:
        """Return the contributions of `used` to the scores of rows, in log-odds for classes, and in
        the last column `base`: (n, k + 1) float64. Each row sums to its score.
        """
        n, k = len(rows.ids), len(self.used)
        x, out = np.full((n, k), np.nan), np.zeros((n, k + 1))
        row, place = np.repeat(np.arange(n), np.diff(rows.bounds)), self.place[rows.to]
        known = np.flatnonzero(place >= 0)[::-1]  # of equal entries, the first one counts
        x[row[known], place[known]] = rows.fields["value"][known]
        nodes = self.nodes.place.shape[1]
        rule = gauss_rule(nodes.bit_length() - 2)
        _add_trees(self.nodes, rule, TreePaths.empty(nodes, len(rule[0])), x, out)
        out[:, k] = self.base
        return out


def explain_scores(explained: Sequence[ExplainedTrees], rows: NewRows) -> Iterator[np.ndarray]:
    """Yield the contributions to the scores of rows, those of one class beside those of another:
    pieces (n, columns of all). Only a piece for each thread is in memory, and pieces do not depend
    on the number of threads.
    """

    def explain(block: NewRows) -> np.ndarray:
        return np.concatenate([each.contributions(block) for each in explained], axis=1)

    width = sum(len(each.used) + 1 for each in explained)
    step = min(max(BLOCK_NUMBERS // width, 1), BLOCK_ROWS)
    starts = range(0, len(rows.ids), step)
    for at in range(0, len(starts), threads()):
        blocks = [rows[lo : lo + step] for lo in starts[at : at + threads()]]
        yield from spread(explain, blocks)
