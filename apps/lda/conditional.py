"""The distribution of an occurrence's topic given all others, and how topics are drawn from it
(see `tux.apps.lda.lda`).
"""

from __future__ import annotations

import numpy as np

from tux.apps.lda.priors import scaled

GROUP = 32  # topics whose q are summed, so that drawing among all looks at sums first


def weight(word, k, tau):
    """q_k of a word."""
    return (np.float32(word.n[k]) + tau.beta) / (np.float32(tau.n[k]) + tau.smooth)


def weigh(word, q, sums, tau, p, lean=None):
    """All q_k of a word, and their sums by group; returns the sum of all.

    Where topics differ in alpha, sums are of lean_k q_k, alpha_k being the mean times `lean` (K,);
    None otherwise, which costs nothing.
    """
    for k in range(p.topics):
        q[k] = weight(word, k, tau)
    whole, full = np.float32(0), p.topics // GROUP
    for g in range(full):
        sums[g] = added(q, lean, g * GROUP, GROUP)
        whole += sums[g]
    if full < len(sums):
        sums[full] = added(q, lean, full * GROUP, p.topics - full * GROUP)
        whole += sums[full]
    return whole


def added(q, lean, first, n):
    """The sum of n q_k from `first` on. With a constant n it is vector code.

    It is gathered in a local variable: where sums are stored in the loop, its code, and so the
    rounding, depend on where the arrays lie in memory.
    """
    part = np.float32(0)
    for k in range(n):
        part += scaled(q[first + k], lean, first + k)
    return part


def draw(document, q, sums, whole, old, own, alpha, p, rng, lean=None):
    """A topic for an occurrence in a document. The list still counts its topic `old` (-1: none
    yet), of which q is `own`.
    """
    topics, times, size = document.topics, document.times, document.size
    listed = -own
    for i in range(size):
        listed += times[i] * q[topics[i]]
    u = np.float32(rng.uniform()) * (listed + alpha * whole)
    if u < listed:
        for i in range(size):
            u -= times[i] * q[topics[i]] - (own if topics[i] == old else np.float32(0))
            if u < 0:
                return np.int64(topics[i])
        return np.int64(topics[size - 1])
    u, g = (u - listed) / alpha, 0
    while g < len(sums) - 1 and u >= sums[g]:
        u -= sums[g]
        g += 1
    k = g * GROUP
    while k < min((g + 1) * GROUP, p.topics) - 1 and u >= scaled(q[k], lean, k):
        u, k = u - scaled(q[k], lean, k), k + 1
    return np.int64(k)


def count(word, q, sums, k, step, tau, lean=None):
    """`step` occurrences more of a word have topic k; returns by how much the sum of all has
    changed.
    """
    before = q[k]
    word.n[k] += step
    tau.n[k] += step
    q[k] = weight(word, k, tau)
    change = scaled(q[k] - before, lean, k)
    sums[k // GROUP] += change
    return change
