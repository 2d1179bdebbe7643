"""The best split of each node, found feature by feature. All entries of a feature are on one
worker, so its histogram is a local array of one call, and only the best gain of each node travels.

With sums G, H of g and h over the samples of a node, and G_L, H_L over those that would go left:

    fit   = G^2 / (H + l2)
    gain  = fit of left + fit of right - fit of the node

The fit is -2 times what the quadratic model of the losses says at the best weight of a leaf. Where
weights are bounded it is less (`rules.py`).

Samples without an entry of the feature are missing: their sums are those of the node without those
of the entries. Each cut is tried with the missing on the right and on the left.

g and h are whole numbers, multiples of a unit. So sums are exact, and the trees are the same in
whatever order they are added up, on any number of workers and threads.
"""

from __future__ import annotations

import numpy as np

FIRST_ASKED_ENTRIES = 32  # entries of a feature that is first asked whether it can split at all
WAYS, MANY = 4, 512
CODE = 512
"""A split as one number: feature * CODE + 2 * bin + whether the missing go left. Of equal gains the
smallest number wins.
"""


def offer(feature, edges, tau, p):
    """Offer the best split that a feature has for each node of the level. A feature whose entries
    have too small a sum of h in all nodes rests until the next tree.
    """
    if feature.rests <= tau.tree and feature.bins > 0:  # most rest, and this is a short function
        offer_best(feature, edges, tau, p)


def offer_best(feature, edges, tau, p):
    """Do the work of `offer` for a feature that does not rest."""
    nodes, bins = tau.nodes, feature.bins
    if nodes == 1 and len(edges) < FIRST_ASKED_ENTRIES and sum_of_h(edges) < tau.least_h:
        feature.rests = tau.tree + 1
        return
    sums = histograms(edges, nodes, bins)
    awake = False
    for node in range(nodes):
        g, h = 0, 0
        for b in range(node * bins, (node + 1) * bins):
            g += sums[2 * b]
            h += sums[2 * b + 1]
        if h >= tau.least_h:
            awake = True
            if tau.open[node]:
                missing = tau.sums[0, node] - g, tau.sums[1, node] - h
                search(node, bins, sums, missing, feature.id * CODE, tau, p)
    if not awake:
        feature.rests = tau.tree + 1


def histograms(edges, nodes, bins):
    """Return the sums of g and h, side by side, by node and bin; those of samples in leaves come
    last.
    """
    size, one, ways = 2 * (nodes + 1) * bins, np.uint64(1), WAYS
    if nodes == 1 or size > MANY or len(edges) < MANY:
        ways = 1
    sums = np.zeros(ways * size, np.int64)
    if bins == 1:
        for i in range(len(edges)):
            state = edges[i].sample.state
            g, h, k = state[0], state[1], np.uint64(2 * state[2] + (i & (ways - 1)) * size)
            sums[k] += g
            sums[k + one] += h
    else:
        for i in range(len(edges)):
            state = edges[i].sample.state
            g, h = state[0], state[1]
            k = np.uint64(2 * (state[2] * bins + edges[i].bin) + (i & (ways - 1)) * size)
            sums[k] += g
            sums[k + one] += h
    for way in range(1, ways):
        for k in range(size):
            sums[k] += sums[way * size + k]
    return sums


def sum_of_h(edges):
    """Return the sum of h of all entries."""
    h = 0
    for edge in edges:
        h += int(edge.sample.state[1])
    return h


def search(node, bins, sums, missing, code, tau, p):
    """Try each cut of a node: bins up to b go left. The last cut parts samples with an entry from
    those without one, which are in no order.
    """
    g, h = 0, 0
    some = missing[0] != 0 or missing[1] != 0
    direction = p.rule.direction(code // CODE, tau)
    for b in range(bins):
        at = 2 * (node * bins + b)
        g += sums[at]
        h += sums[at + 1]
        if b == bins - 1:
            direction = 0
        attempt(g, h, node, direction, code + 2 * b, tau, p)
        if some:
            attempt(g + missing[0], h + missing[1], node, direction, code + 2 * b + 1, tau, p)


def attempt(left_g, left_h, node, direction, code, tau, p):
    """Offer a split if both sides are heavy enough."""
    right_h = tau.sums[1, node] - left_h
    if left_h < tau.least_h or right_h < tau.least_h:
        return
    of_left, of_right = left_g * tau.unit_g, (tau.sums[0, node] - left_g) * tau.unit_g
    left, right = left_h * tau.unit_h + p.l2, right_h * tau.unit_h + p.l2
    fit = p.rule.fit((of_left, left), (of_right, right), node, direction, tau, p)
    gain = fit - tau.fit[node]
    if gain > tau.least_gain:
        tau.best[node].add(gain, code)
