"""The steps of matrix factorization by SGD.

A vertex's step is step / sqrt(mean of G); G grows by its squared gradient |reg p - e q|^2 = reg^2
|p|^2 - 2 reg e p.q + e^2 |q|^2 over each of two groups of dimensions (Chin et al., PAKDD 2015): the
`warm` first ones start positive and the first epoch trains them alone. A bias is a group of its own
of one dimension, whose factor at the other end is always 1. A run that begins with a model keeps
G, so vertices with many ratings move little.
"""

import numpy as np

from tux import dot
from tux.apps.mf.biases import mean_of_biased


def choose_unit(tau, p):
    """Set the step, and the root of the unit: of the standard deviation, or of a fifth of the root
    mean square, as steps in a much smaller unit diverge.
    """
    tau.root = max(tau.square - tau.mean**2, tau.square / 25) ** 0.25 or 1.0
    set_step(tau, p)


def set_step(tau, p):
    """Set the step, in the ratings' units."""
    tau.step = p.learning_rate * tau.root


def begin(v, tau, p):
    """Draw factors from U(0, 1), in the ratings' units: the first group positive, the rest around
    zero; norms and G to match. Biases begin with 0.
    """
    for k in range(p.rank):
        v.f[k] = (v.f[k] if k < p.warm else 0.8 * (v.f[k] - 0.5)) * tau.root / np.sqrt(p.rank)
    v.G[0], v.G[1] = min(p.rank, p.warm) * tau.root**6, max(p.rank - p.warm, 1) * tau.root**6
    if p.biases.width:
        v.G[2] = tau.root**4  # errors and biases are in the unit, factors in its root
    renorm(v, p)


def begin_new(v, tau, p):
    """Draw factors of a vertex that the model with which a run begins does not know."""
    if v.G[0] == 0:
        begin(v, tau, p)


def renorm(v, p):
    """Compute the squared norms of the two groups anew: masters have folded the changes of several
    replicas.
    """
    v.norm[0] = dot(v.f, v.f, min(p.rank, p.warm))
    v.norm[1] = dot(v.f, v.f) - v.norm[0]


def advance(v, group, other, product, err, step, p):
    """Follow one group of v's dimensions through a step: its G and norm; neither changes if the
    step is 0. `other`: the other end's norm. Returns the step's factor.
    """
    norm, factor = v.norm[group], step / np.sqrt(v.G[group])
    slope = p.reg * norm - err * product
    square = p.reg * slope + err * (err * other - p.reg * product)
    v.G[group] += square if step > 0 else 0.0  # a choice, not a branch
    v.norm[group] = norm - factor * (slope + slope - factor * square)
    return factor


def move_bias(v, err, tau, p):
    """Make a step of v's bias."""
    if p.biases.width:
        bias = p.biases.of(v)
        slope, factor = p.reg * bias - err, np.float32(tau.step * tau.root) / np.sqrt(v.G[2])
        v.G[2] += slope * slope
        p.biases.put(v, bias - factor * slope)


def sgd(user, item, rating, tau, p):
    """Make one step on both ends of a rating."""
    first = min(p.rank, p.warm)
    active = first if tau.epoch == 0 else p.rank
    step, rest = tau.step * np.sqrt(first), tau.step * np.sqrt(active - first)
    product, warm = dot(user.f, item.f, active), dot(user.f, item.f, first)
    bu, bi = p.biases.of(user), p.biases.of(item)
    err = rating.value - np.float32(mean_of_biased(tau, p)) - bu - bi - product
    u0, u1, i0, i1 = user.norm[0], user.norm[1], item.norm[0], item.norm[1]
    tau.n, tau.sse = tau.n + 1, tau.sse + err * err
    tau.norms += u0 + u1 + i0 + i1 + bu * bu + bi * bi
    user_warm = advance(user, 0, i0, warm, err, step, p)
    user_rest = advance(user, 1, i1, product - warm, err, rest, p)
    item_warm = advance(item, 0, u0, warm, err, step, p)
    item_rest = advance(item, 1, u1, product - warm, err, rest, p)
    move_bias(user, err, tau, p)
    move_bias(item, err, tau, p)
    for k in range(active):
        # in 32 bits, as wide as the factors: vectors of 64-bit numbers hold half as many
        x, y, is_first = user.f[k], item.f[k], np.int32(k) < np.int32(first)
        user.f[k] = x - (user_warm if is_first else user_rest) * (p.reg * x - err * y)
        item.f[k] = y - (item_warm if is_first else item_rest) * (p.reg * y - err * x)


def rate(user, item, tau, p):
    """Return the predicted rating. Where either end was never rated, vectors add nothing: it is the
    mean, and what biases there are.
    """
    known = user.norm[0] > 0 and item.norm[0] > 0
    rest = dot(user.f, item.f) + mean_of_biased(tau, p) if known else tau.mean
    return np.float64(rest) + p.biases.of(user) + p.biases.of(item)
