"""The steps of the two losses, each on a pair and another item, which the user does not have.

With x the score of the user and the item less that of the user and the other item, p, q, o their
vectors, b, c the biases of the items, and a step s:

    bpr:   z = 1 / (1 + e^x)                 p += s (z (q - o) - reg p)
                                             q += s (z p - reg q)      b += s (z - reg b)
                                             o -= s (z p + reg o)      c -= s (z + reg c)

which goes along the gradient of ln sigmoid(x) - reg/2 (|p|^2 + |q|^2 + |o|^2 + b^2 + c^2) (Rendle,
Freudenthaler, Gantner and Schmidt-Thieme, UAI 2009). With features, vectors are pulled to what
these say of them instead of 0: reg times ``rest(v, k)`` is subtracted.

    warp:  items are drawn, each equally likely, until the user does not have one and x < 1. After n
           draws, of N items,

               z = ln(max(1, floor((N - 1) / n)))

           is about the logarithm of the item's rank (Weston, Bengio and Usunier, IJCAI 2011). Each
           number has a step of its own, s / sqrt(1 + sum of the squares of z times its slope), as
           in LightFM (Kula 2015).

A vertex makes its `share` of a step (`tux.apps.bpr.pairs`): 1 unless the run begins with a model.
"""

import numpy as np

from tux import dot
from tux.apps.bpr.pairs import has_item
from tux.apps.features.regression import beside_prior

MOST_WEIGHT = 10.0
"""The largest z of `warp`."""


def beside_zero(v, k):
    """Return the k-th entry of a vector."""
    return v.f[k]


def bpr(user, item, others, tau, p, rng):
    """Compare a pair with one drawn item, unless the user has it."""
    draw_one(user, item, others, beside_zero, tau, p, rng)


def bpr_to_prior(user, item, others, tau, p, rng):
    """Make the step of `bpr`, pulling vectors to their priors."""
    draw_one(user, item, others, beside_prior, tau, p, rng)


def draw_one(user, item, others, rest, tau, p, rng):
    """Compare a pair with one drawn item, unless the user has it."""
    if len(others) == 0:
        return
    other = others[rng.below(len(others))].item
    if not has_item(user, other):
        compare(user, item, other, rest, tau, p)


def bpr_among_all(user, item, vertices, tau, p, rng):
    """Compare a pair with one drawn item, each equally likely, where a run begins with a model: its
    new pairs may all be of one user.
    """
    other = vertices[rng.below(len(vertices))].item
    if not has_item(user, other):
        compare(user, item, other, beside_zero, tau, p)


def compare(user, item, other, rest, tau, p):
    """Make the step of `bpr`."""
    x = item.b - other.b
    for k in range(p.rank):
        x += user.f[k] * (item.f[k] - other.f[k])
    tau.n += 1
    tau.wrong += 1 if x <= 0 else 0
    move_apart(user, item, other, rest, p.learning_rate / (1 + np.exp(x)), p)


def move_apart(user, item, other, rest, step, p):
    """Move a pair and the other item by a step along the gradient of x, and by the penalty."""
    shrink, shares = p.learning_rate * p.reg, (user.share, item.share, other.share)
    item.b += shares[1] * (step - shrink * item.b)
    other.b -= shares[2] * (step + shrink * other.b)
    for k in range(p.rank):
        u, q, o = user.f[k], item.f[k], other.f[k]
        user.f[k] = u + shares[0] * (step * (q - o) - shrink * rest(user, k))
        item.f[k] = q + shares[1] * (step * u - shrink * rest(item, k))
        other.f[k] = o - shares[2] * (step * u + shrink * rest(other, k))


def warp(user, item, vertices, tau, p, rng):
    """Compare a pair with the first drawn item that the user does not have and that is not ranked
    below it by a margin of 1.
    """
    draw_first(user, item, vertices, beside_zero, tau, p, rng)


def warp_to_prior(user, item, vertices, tau, p, rng):
    """Make the step of `warp`, pulling vectors to their priors."""
    draw_first(user, item, vertices, beside_prior, tau, p, rng)


def draw_first(user, item, vertices, rest, tau, p, rng):
    """Draw items for a pair, and make the step of `warp` for the first that is to be compared."""
    tau.n += 1
    least = dot(user.f, item.f) + item.b - 1
    for draw in range(p.max_sampled):
        other = vertices[rng.below(len(vertices))].item
        if dot(user.f, other.f) + other.b > least and not has_item(user, other):
            tau.wrong += 1
            descend(user, item, other, weigh(draw + 1, tau), rest, p)
            return


def weigh(draws, tau):
    """Return z of a pair, by the number of draws."""
    return np.float32(min(MOST_WEIGHT, np.log(max(1.0, (tau.items - 1) // draws))))


def descend(user, item, other, z, rest, p):
    """Make the step of `warp`. The slopes of the user come first: the items' vectors change."""
    slopes = np.empty(p.rank)
    for k in range(p.rank):
        slopes[k] = item.f[k] - other.f[k]
    follow(item, user.f, z, rest, p)
    follow(other, user.f, -z, rest, p)
    follow(user, slopes, z, rest, p)
    follow_bias(item, z, p)
    follow_bias(other, -z, p)


def follow(v, slopes, z, rest, p):
    """Move a vector along z times its slopes. A loop for each row, as the compiler makes vector
    code of few rows alone.
    """
    rate = v.share * p.learning_rate
    for k in range(p.rank):
        g = z * slopes[k]
        v.f[k] += rate / np.sqrt(v.G[k]) * (g - p.reg * rest(v, k))
        v.G[k] += g * g


def follow_bias(item, z, p):
    """Move a bias along z."""
    rate = item.share * p.learning_rate
    item.b += rate / np.sqrt(item.G[p.rank]) * (z - p.reg * item.b)
    item.G[p.rank] += z * z
