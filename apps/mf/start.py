"""Factors before the first epoch."""

import numpy as np

from tux import dot


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
    zero; norms and G to match.
    """
    for k in range(p.rank):
        v.f[k] = (v.f[k] if k < p.warm else 0.8 * (v.f[k] - 0.5)) * tau.root / np.sqrt(p.rank)
    v.G[0], v.G[1] = min(p.rank, p.warm) * tau.root**6, max(p.rank - p.warm, 1) * tau.root**6
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
