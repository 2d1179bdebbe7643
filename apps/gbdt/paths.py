"""Paths through one tree for SHAP values: what lies above each node, as tables that all samples
share. `tux.apps.gbdt.shap` has the formulas.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit

ROOT = 1
SMALLEST_SHARE = 1e-30  # so that no factor is 0


class TreeNodes(NamedTuple):
    """The nodes of one tree, (nodes,), or of several, (trees, nodes): see
    `tux.apps.gbdt.booster.trees`. `place`: of the feature among those that are used; -1 in a leaf.
    """

    place: np.ndarray  # int32
    cut: np.ndarray  # float32
    default_left: np.ndarray  # bool
    weight: np.ndarray  # float32
    cover: np.ndarray  # float32


class TreePaths(NamedTuple):
    """Tables of one tree by node, and room for one sample.

    `down` and `push` have a row for each case: the sample goes along neither at the splits by the
    feature of the node's own nor above; above alone; at all of them.
    """

    inner: np.ndarray  # (nodes,) the nodes that are split, parents first
    before: np.ndarray  # (nodes,) the next node above behind a split by the same feature, or ROOT
    share: np.ndarray  # (nodes,) z
    down: np.ndarray  # (nodes, 3, points) q, divided by that of `before`
    push: np.ndarray  # (nodes, 3, points) (o - z) / q, less that of `before`; times Gauss's weights
    along: np.ndarray  # (nodes,) o of the sample
    leaves: np.ndarray  # (nodes, points) products of the sample, and then sums of those of leaves

    @classmethod
    def empty(cls, nodes: int, points: int) -> TreePaths:
        """Return room for the tables of a tree."""
        inner, before, along = (np.zeros(nodes, np.int64) for _ in range(3))
        down, push = (np.zeros((nodes, 3, points)) for _ in range(2))
        return cls(inner, before, np.zeros(nodes), down, push, along, np.ones((nodes, points)))


def gauss_rule(depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the points and weights (k,) of Gauss's rule on 0 to 1, exact for all polynomials of a
    degree below `depth`.
    """
    points, weights = np.polynomial.legendre.leggauss((depth + 1) // 2)
    return (1 + points) / 2, weights / 2


@cached_njit
def _cover_share(tree, node):  # type: ignore[no-untyped-def]
    """Return the share of the cover of its parent that a node has."""
    whole = tree.cover[node >> 1]
    return max(tree.cover[node] / whole, SMALLEST_SHARE) if whole > 0 else 0.5


@cached_njit
def mean_leaf(tree, value):  # type: ignore[no-untyped-def]
    """Return the mean weight of the leaves, by their cover. `value` (nodes,) float64 is room."""
    for node in range(len(value) - 1, 0, -1):
        value[node] = tree.weight[node]
        if tree.place[node] >= 0:
            left, right = 2 * node, 2 * node + 1
            value[node] = value[left] * _cover_share(tree, left)
            value[node] += value[right] * _cover_share(tree, right)
    return value[ROOT]


@cached_njit
def _tabulate(tree, node, rule, paths):  # type: ignore[no-untyped-def]
    """Fill the tables of a node below the root."""
    before = node >> 1
    while before > ROOT and tree.place[before >> 1] != tree.place[node >> 1]:
        before >>= 1
    above = paths.share[before]
    z = above * _cover_share(tree, node)
    paths.before[node], paths.share[node] = before, z
    for case in range(3):
        o, o_above = case // 2, (case + 1) // 2
        for k, t in enumerate(rule[0]):
            q, q_above = t * o + (1 - t) * z, t * o_above + (1 - t) * above
            paths.down[node, case, k] = q / q_above
            paths.push[node, case, k] = rule[1][k] * ((o - z) / q - (o_above - above) / q_above)


@cached_njit
def find_paths(tree, rule, paths):  # type: ignore[no-untyped-def]
    """Fill the tables of a tree; return how many of its nodes are split."""
    paths.share[ROOT], paths.along[ROOT], paths.inner[0] = 1, 1, ROOT
    count, at = int(tree.place[ROOT] >= 0), 0
    while at < count:
        for node in (2 * paths.inner[at], 2 * paths.inner[at] + 1):
            _tabulate(tree, node, rule, paths)
            if tree.place[node] >= 0:
                paths.inner[count] = node
                count += 1
        at += 1
    return count
