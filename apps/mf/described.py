"""Users and items with features (`tux.apps.features`) in matrix factorization by SGD.

The steps of an epoch pull a vector f to 0: of n ratings with the step size s, by (1 - s reg)^n,
about e^(-n s reg). After the epoch, 1 - e^(-n s reg) times the prior is added. So f rests where it
would if each step pulled it to the prior.
"""

import numpy as np

from tux.apps.features.regression import add_rest, keep_prior
from tux.apps.mf.sgd import renorm


def number_of(v, k, p):
    """Return an entry of a vector, or behind them the bias."""
    return v.f[k] if k < p.rank else p.biases.of(v)


def gather_user(user, user_feature, p):
    """Add to a feature what it does not explain of a user."""
    add_rest(user, user_feature, number_of, p)


def gather_item(item, item_feature, p):
    """Add to a feature what it does not explain of an item."""
    add_rest(item, item_feature, number_of, p)


def settle(v, p):
    """Set the prior of a vertex, which is the vector and the bias of one without ratings."""
    keep_prior(v)
    if v.pairs == 0:
        for k in range(p.rank):
            v.f[k] = v.prior[k]
        if p.biases.width:
            p.biases.put(v, v.prior[p.rank])


def share_of_pull(v, group, step, p):
    """Return the share by which the steps of an epoch have pulled numbers of a group to 0."""
    return 1 - np.exp(-v.pairs * p.reg * step / np.sqrt(v.G[group]))


def follow_prior(v, tau, p):
    """Pull a vertex with ratings to its prior, and compute its norms anew."""
    first = min(p.rank, p.warm)
    active = first if tau.epoch == 0 else p.rank
    warm = share_of_pull(v, 0, tau.step * np.sqrt(first), p)
    rest = share_of_pull(v, 1, tau.step * np.sqrt(active - first), p)
    if v.pairs > 0:
        for k in range(active):
            v.f[k] += (warm if k < first else rest) * v.prior[k]
        if p.biases.width:
            share = share_of_pull(v, 2, tau.step * tau.root, p)
            p.biases.put(v, p.biases.of(v) + share * v.prior[p.rank])
    renorm(v, p)
