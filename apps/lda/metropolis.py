"""Metropolis-Hastings steps of all occurrences of a document, or of a word: accept what the other
side has proposed, and propose to it (see `tux.apps.lda.warplda`).
"""

from __future__ import annotations

import numpy as np

from tux.apps.lda.priors import place_unevenly, scale_by_alpha

# of an occurrence, side by side: its topic, the one proposed, the one that its word has counted
TOPIC, PROPOSED, COUNTED = 0, 1, 2


def walk(edges, bag, n, prior, tau, p, rng, lean=None, upto=None):
    """Walk over the occurrences of a document or word with counts `n`: accept the topic that is
    proposed to each, or not; then propose one to the other side.

    `bag`: the topics to propose, if these are not those of `edges`. A topic's prior is `prior`,
    times its `lean` (K,) if topics differ; `upto` (K,) are then the sums of `lean`. What is None
    costs nothing: such branches are compiled away.
    """
    size, prior, smooth = len(bag) or len(edges), np.float64(prior), tau.V * tau.beta
    whole, inverse = size + p.topics * prior, 1 / prior
    for edge in edges:
        # What x has before the point draws the proposal, what is behind it decides on the waiting
        # one. No branches: none is foreseeable.
        x = float(rng.uniform()) * whole
        y = x if x < size else (x - size) * inverse
        if upto is not None and x >= size:
            y = place_unevenly(y, lean, upto)
        k = np.int64(y)
        u, j = y - k, min(k, size - 1)
        copied = np.int64(bag[j] if len(bag) else edges[j].z[TOPIC])
        s, t = np.int64(edge.z[TOPIC]), np.int64(edge.z[PROPOSED])
        stay = (n[s] - 1 + scale_by_alpha(prior, lean, s)) * (tau.n[t] + smooth)
        move = (n[t] + scale_by_alpha(prior, lean, t)) * (tau.n[s] - 1 + smooth)
        if s != t and u * stay < move:
            n[s] -= 1
            n[t] += 1
            tau.n[s] -= 1
            tau.n[t] += 1
            edge.z[TOPIC] = t
        edge.z[PROPOSED] = copied if x < size else min(k, p.topics - 1)
