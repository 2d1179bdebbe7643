"""The distribution of an occurrence's topic given all others, and how topics are drawn from it
(see `tux.apps.lda.lda`).
"""

from __future__ import annotations

import numpy as np

from tux.apps.lda.priors import scale_by_alpha

GROUP = 32  # topics whose q are summed, so that drawing among all looks at sums first


def make_room(p):
    """Return arrays for a word's q (K,), for their sums by group, and for the shares of a
    document's topics (K,). They are one allocation, as a word may occur only a few times.
    """
    groups = (p.topics + GROUP - 1) // GROUP
    both = np.empty(2 * p.topics + groups)
    return both[: p.topics], both[2 * p.topics :], both[p.topics : 2 * p.topics]


def weight(word, k, tau):
    """Return q_k of a word."""
    return (word.n[k] + tau.beta) / (tau.n[k] + tau.smooth)


def weigh(word, q, sums, tau, p, lean=None):
    """Write all q_k of a word, and their sums by group; return the sum of all.

    Where topics differ in alpha, sums are of lean_k q_k, alpha_k being the mean times `lean` (K,);
    None otherwise, which costs nothing.
    """
    for k in range(p.topics):
        q[k] = weight(word, k, tau)
    whole, full = 0.0, p.topics // GROUP
    for g in range(full):
        sums[g] = sum_part(q, lean, g * GROUP, GROUP)
        whole += sums[g]
    if full < len(sums):
        sums[full] = sum_part(q, lean, full * GROUP, p.topics - full * GROUP)
        whole += sums[full]
    return whole


def sum_part(q, lean, first, n):
    """Return the sum of the n numbers q_k from `first` on. With a constant n it is vector code.

    It is gathered in a local variable: where sums are stored in the loop, its code, and so the
    rounding, depend on where the arrays lie in memory.
    """
    part = 0.0
    for k in range(n):
        part += scale_by_alpha(q[first + k], lean, first + k)
    return part


def draw(document, q, sums, shares, whole, old, own, alpha, p, rng, lean=None):
    """Draw a topic for an occurrence in a document. Return it; its place in the document's list, -1
    where that is not known; and the place of the topic `old` that the occurrence has (-1: none
    yet), of which q is `own`. The list still counts it. `shares` (K,) is room.
    """
    topics, times, size = document.topics, document.times, document.size
    listed, place = -own, 0
    for i in range(size):
        share = times[i] * q[topics[i]]
        place = i if topics[i] == old else place
        shares[i] = share
        listed += share
    u = np.float32(rng.uniform()) * (listed + alpha * whole)
    if u < listed:
        shares[place] -= own
        for i in range(size):
            u -= shares[i]
            if u < 0:
                return np.int64(topics[i]), i, place
        return np.int64(topics[size - 1]), size - 1, place
    u, g = (u - listed) / alpha, 0
    while g < len(sums) - 1 and u >= sums[g]:
        u -= sums[g]
        g += 1
    k = g * GROUP
    while k < min((g + 1) * GROUP, p.topics) - 1 and u >= scale_by_alpha(q[k], lean, k):
        u, k = u - scale_by_alpha(q[k], lean, k), k + 1
    return np.int64(k), -1, place


def count(word, q, sums, k, step, tau, lean=None):
    """`step` occurrences more of a word have topic k; returns by how much the sum of all has
    changed.
    """
    before = q[k]
    word.n[k] += step
    tau.n[k] += step
    q[k] = weight(word, k, tau)
    change = scale_by_alpha(q[k] - before, lean, k)
    sums[k // GROUP] += change
    return change
