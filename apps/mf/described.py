"""Users and items with features (`tux.apps.features`) in matrix factorization by SGD: each step
pulls both ends to their priors instead of 0.
"""

import numpy as np

from tux.apps.features.regression import add_rest, keep_prior
from tux.apps.mf.sgd import renorm, sgd


def number_of(v, k, p):
    """Return an entry of a vector, or behind them the bias."""
    return v.f[k] if k < p.rank else p.biases.of(v)


def gather_user(user, user_feature, p):
    """Add to a feature what it does not explain of a user."""
    add_rest(user, user_feature, number_of, p)


def gather_item(item, item_feature, p):
    """Add to a feature what it does not explain of an item."""
    add_rest(item, item_feature, number_of, p)


def settle_factors(v, p):
    """Set the prior of a vertex, which is the vector and the bias of one without ratings."""
    keep_prior(v)
    if v.pairs == 0:
        for k in range(p.rank):
            v.f[k] = v.prior[k]
        if p.biases.width:
            p.biases.put(v, v.prior[p.rank])


def settle(v, p):
    """Set the prior of a vertex, and the norms of one without ratings."""
    settle_factors(v, p)
    renorm(v, p)


def sgd_to_prior(user, item, rating, tau, p):
    """Make one step on both ends of a rating, with the penalty on what differs from priors."""
    sgd(user, item, rating, tau, p)
    pull_to_prior(user, tau, p)
    pull_to_prior(item, tau, p)


def pull_to_prior(v, tau, p):
    """Make the part of a step that has the prior: reg times the step size times it."""
    first = min(p.rank, p.warm)
    active = first if tau.epoch == 0 else p.rank
    warm = p.reg * tau.step * np.sqrt(first) / np.sqrt(v.G[0])
    rest = p.reg * tau.step * np.sqrt(active - first) / np.sqrt(v.G[1])
    for k in range(active):
        x, move = v.f[k], (warm if k < first else rest) * v.prior[k]
        v.f[k] = x + move
        v.norm[0 if k < first else 1] += (x + x + move) * move
    if p.biases.width:
        share = p.reg * tau.step * tau.root / np.sqrt(v.G[2])
        p.biases.put(v, p.biases.of(v) + share * v.prior[p.rank])
