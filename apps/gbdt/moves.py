"""The splits that have won, and how samples go to the children. Only samples that go another way
than those without an entry are told; with them go their sums.
"""

from __future__ import annotations

import numpy as np

from tux.apps.gbdt.splits import CODE

MASK = 1023
MAX_FLOAT32 = float(np.finfo(np.float32).max)


def choose(tau):
    """Choose the splits that have won."""
    n = tau.nodes
    keys = tau.best.keys[:n]
    split, left = keys >= 0, keys % 2
    feature = np.where(split, keys // CODE, -1)
    tau.feature_of[:n], tau.bin_of[:n], tau.left[:n] = feature, keys % CODE // 2, left
    tau.mask[:] = False
    tau.mask[feature[split] & MASK] = True
    same = np.arange(n, 2 * n)
    default, other = 2 * same + 1 - left, 2 * same + left
    tau.child[: 2 * n : 2] = np.where(split, default, same)
    tau.child[1 : 2 * n : 2] = np.where(split, other, same)
    level = slice(n, 2 * n)
    tau.feature[tau.tree, level], tau.default_left[tau.tree, level] = feature, split * left
    tau.gain[tau.tree, level] = np.where(split, np.minimum(tau.best.values[:n], MAX_FLOAT32), 0)


def move_samples(feature, edges, tau):
    """Mark the samples of a feature that has won if they go another way than those without an
    entry; add up the sums that go with them.
    """
    if tau.mask[feature.id & MASK]:
        move_winners(feature, edges, tau)


def move_winners(feature, edges, tau):
    """Do the work of `move_samples` for a feature that may have won."""
    nodes = tau.nodes
    cut, found = np.full(nodes + 1, -1), False
    for node in range(nodes):
        if tau.feature_of[node] == feature.id:
            cut[node], found = tau.bin_of[node], True
    if not found:
        return
    sums, single = np.zeros((2, nodes), np.int64), feature.bins == 1
    low = np.full(nodes, -np.inf)
    high = np.full(nodes, np.inf)
    for edge in edges:
        node = edge.sample.state[2]
        if cut[node] >= 0:
            left = single or edge.bin <= cut[node]
            if left:
                low[node] = max(low[node], edge.value)
            else:
                high[node] = min(high[node], edge.value)
            if left != tau.left[node]:
                edge.sample.moved += 1
                sums[0, node] += edge.sample.state[0]
                sums[1, node] += edge.sample.state[1]
    for node in range(nodes):
        if cut[node] >= 0:
            tau.moved[0, node] += sums[0, node]
            tau.moved[1, node] += sums[1, node]
            tau.low[node] = max(tau.low[node], low[node])
            tau.high[node] = min(tau.high[node], high[node])


def settle(sample, tau):
    """Move a sample to a child of its node, if that has been split. The root is node 1, and node n
    has the children 2 n and 2 n + 1.
    """
    node = 1 if tau.nodes == 1 else sample.node
    at = node - tau.nodes
    sample.node = tau.child[2 * at + (sample.moved > 0)] if at >= 0 else node
