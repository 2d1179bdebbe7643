"""The best split of each node, found feature by feature. All entries of a feature are on one
worker, so its histogram is a local array of one call, and only the best gain of each node travels.

With sums G, H of g and h over the samples of a node, and G_L, H_L over those that would go left:

    fit   = G^2 / (H + l2)
    gain  = fit of left + fit of right - fit of the node

Samples without an entry of the feature are missing: their sums are those of the node without those
of the entries. Each cut is tried with the missing on the right and on the left.

g and h are whole numbers, multiples of a unit. So sums are exact, and the trees are the same in
whatever order they are added up, on any number of workers and threads.
"""

from __future__ import annotations

import numpy as np

CODE = 512
"""A split as one number: feature * CODE + 2 * bin + whether the missing go left. Of equal gains the
smallest number wins.
"""


def offer(feature, edges, tau, p):
    """The best split that a feature has for each node of the level. A feature whose entries have
    too small a sum of h in all nodes rests until the next tree.
    """
    if feature.rests == tau.tree + 1 or feature.bins == 0:
        return
    nodes, bins = tau.nodes, feature.bins
    g, h = np.zeros((nodes + 1) * bins, np.int64), np.zeros((nodes + 1) * bins, np.int64)
    if bins == 1:
        for edge in edges:
            k = edge.sample.state[2]
            g[k] += edge.sample.state[0]
            h[k] += edge.sample.state[1]
    else:
        for edge in edges:
            k = edge.sample.state[2] * bins + edge.bin
            g[k] += edge.sample.state[0]
            h[k] += edge.sample.state[1]
    wanted, awake = max(tau.least_h, 1.0), False
    for node in range(nodes):
        of_g, of_h = 0, 0
        for b in range(node * bins, (node + 1) * bins):
            of_g += g[b]
            of_h += h[b]
        if of_h >= wanted:
            awake = True
            if tau.open[node]:
                search(node, bins, g, h, tau.g[node] - of_g, tau.h[node] - of_h, feature.id, tau, p)
    if not awake:
        feature.rests = tau.tree + 1


def search(node, bins, g, h, missing_g, missing_h, feature, tau, p):
    """Try each cut of a node: bins up to b go left."""
    left_g, left_h = 0, 0
    some = missing_g != 0 or missing_h != 0
    for b in range(bins):
        left_g += g[node * bins + b]
        left_h += h[node * bins + b]
        attempt(left_g, left_h, node, (feature * CODE) + 2 * b, tau, p)
        if some:
            code = feature * CODE + 2 * b + 1
            attempt(left_g + missing_g, left_h + missing_h, node, code, tau, p)


def attempt(left_g, left_h, node, code, tau, p):
    """Offer a split if both sides are heavy enough."""
    right_h = tau.h[node] - left_h
    least = max(tau.least_h, 1.0)
    if left_h < least or right_h < least:
        return
    of_left, of_right = left_g * tau.unit_g, (tau.g[node] - left_g) * tau.unit_g
    gain = of_left * of_left / (left_h * tau.unit_h + p.l2)
    gain += of_right * of_right / (right_h * tau.unit_h + p.l2)
    gain -= tau.fit[node]
    if gain > tau.least_gain:
        tau.best[node].add(gain, code)


def choose(tau):
    """The splits that have won."""
    tau.mask[:] = False
    for node in range(tau.nodes):
        best = tau.best[node]
        tau.feature_of[node], code = divmod(best.key, CODE) if best.key >= 0 else (-1, 0)
        tau.bin_of[node], tau.left[node] = code // 2, code % 2
        tau.gain_of[node] = best.value if best.key >= 0 else 0.0
        if best.key >= 0:
            tau.mask[tau.feature_of[node] % len(tau.mask)] = True


def move(feature, edges, tau):
    """Entries of a feature that has won tell their samples if they go another way than the missing
    do; and add up what they take along.
    """
    if not tau.mask[feature.id % len(tau.mask)]:
        return
    nodes = tau.nodes
    cut, found = np.full(nodes + 1, -1), False
    for node in range(nodes):
        if tau.feature_of[node] == feature.id:
            cut[node], found = tau.bin_of[node], True
    if not found:
        return
    g, h = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    low = np.full(nodes, -np.inf, np.float32)
    high = np.full(nodes, np.inf, np.float32)
    for edge in edges:
        node = edge.sample.state[2]
        if cut[node] >= 0:
            left = edge.bin <= cut[node]
            if left:
                low[node] = max(low[node], edge.value)
            else:
                high[node] = min(high[node], edge.value)
            if left != tau.left[node]:
                edge.sample.moved += 1
                g[node] += edge.sample.state[0]
                h[node] += edge.sample.state[1]
    for node in range(nodes):
        if cut[node] >= 0:
            tau.moved_g[node] += g[node]
            tau.moved_h[node] += h[node]
            tau.low[node] = max(tau.low[node], low[node])
            tau.high[node] = min(tau.high[node], high[node])


def settle(sample, tau):
    """A sample goes to a child of its node, if that has been split. The root is node 1, and node n
    has the children 2 n and 2 n + 1.
    """
    node = 1 if tau.nodes == 1 else sample.node
    at = node - tau.nodes
    if at >= 0 and tau.feature_of[at] >= 0:
        node = 2 * node + (1 if (sample.moved > 0) == tau.left[at] else 0)
    sample.node = node
