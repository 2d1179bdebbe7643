"""The direction -H g of L-BFGS as coefficients of the vectors that masters hold, which follow from
the inner products of these vectors alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.apps.linear.widths import set_fields, weight_shape
from tux.apps.linear.wolfe import SEARCHED
from tux.program.fields import master, total, value

SMALLEST = 2.0**-40  # s.y / (|s| |y|) of a pair that is kept


def is_chosen(p):
    """Return 1 if L-BFGS is the solver, else 0."""
    return int(p.solver == "lbfgs")


def pair_vectors(p):
    """Return how many vectors the pairs are: s at j, y at `pairs` + j."""
    return 2 * p.pairs * is_chosen(p)


def vectors(p):
    """Return how many vectors there are: the pairs and g."""
    return pair_vectors(p) + is_chosen(p)


FEATURE: dict[str, Any] = {"past": master("f4", weight_shape, pair_vectors, kept=False)}
CONTEXT = {
    **SEARCHED,
    "products": value("f8", vectors, vectors, kept=False),
    "past": value(
        "f8", pair_vectors, weight_shape, kept=False
    ),  # what pairs and d have for the intercept, and g
    "d": value("f8", weight_shape, kept=False),
    "g": value("f8", weight_shape, kept=False),
    "coefficients": value("f8", vectors, kept=False),
    "fresh": total("f8", pair_vectors),  # g . v of the pairs' vectors v
    **{name: total() for name in ("ss", "yy", "gg", "ww", "wd", "dd", "gd")},
    **{name: value("f8", kept=False) for name in ("step", "steepest")},
    "iteration": value("i8", kept=False),
}


def set_coefficients(tau, p):
    """Set the coefficients of d, by the two loops of L-BFGS on inner products."""
    n, made = p.pairs, tau.iteration
    at, g = (made - 1) % n, np.multiply(tau.slope_of_b, float(p.fit_intercept and not tau.tied))
    s, y = tau.past[at], tau.past[n + at] = tau.step * tau.d, g - tau.g
    set_fields(tau, g=g)
    mine = np.concatenate([tau.past, g[None]])
    of_s, of_y = np.sum(s * s), np.sum(y * y)
    own = (mine * g).reshape(len(mine), -1).sum(axis=1)
    fresh = np.append(tau.fresh, tau.gg) + own
    renew(tau.products, at, fresh, tau.step * tau.slope0, tau.ss + of_s, tau.yy + of_y)
    if tau.lowered:  # the gradients of this pair are those of two objectives
        tau.products[at, n + at], tau.lowered = 0.0, False
    newest_first = [(at - back) % n for back in range(min(made, n))]
    tau.coefficients[:] = two_loops(tau.products, newest_first)
    set_fields(tau, d=tau.coefficients @ mine)
    tau.iteration = made + 1
    tau.steepest = max(tau.steepest, fresh[-1])
    tau.gradient = np.sqrt(fresh[-1] / tau.steepest) if tau.steepest > 0 else 0.0


def renew(products, at, fresh, gs, ss, yy):
    """Put a new pair s, y and a new gradient g into the inner `products` of `two_loops`.

    `at`: the place of the pair. `fresh` (2 n + 1,): the products with g; `gs`: that of s with the
    gradient before; `ss`, `yy`: those of s and y with themselves. As y is the difference of the two
    gradients, its products are differences too. Those of s with older y are not needed.
    """
    of_s, of_y = at, len(products) // 2 + at
    along = fresh - products[-1]
    along[of_s], along[of_y], along[-1] = fresh[of_s] - gs, yy, 0.0
    products[of_s] = products[:, of_s] = 0.0
    products[of_y] = products[:, of_y] = along
    products[of_s, of_s] = ss
    products[-1] = products[:, -1] = fresh


def two_loops(products: np.ndarray, newest_first: list[int]) -> np.ndarray:
    """Return the coefficients of -H g in the vectors whose inner `products` (2 n + 1, 2 n + 1) are
    given, (2 n + 1,): s at j, y at n + j, g last. Those of two different s, and of an s with an
    older y, are not read. Pairs along which the gradient does not grow are left out.
    """
    n = len(products) // 2
    of = np.zeros(2 * n + 1)
    of[-1] = -1
    curved = [
        j
        for j in newest_first
        if products[j, n + j] > SMALLEST * np.sqrt(products[j, j] * products[n + j, n + j])
    ]
    alpha = {}
    for j in curved:
        alpha[j] = products[j] @ of / products[j, n + j]
        of[n + j] -= alpha[j]
    if curved:
        j = curved[0]
        of *= products[j, n + j] / products[n + j, n + j]
    elif products[-1, -1] > 0:
        of /= np.sqrt(products[-1, -1])  # the first step has length 1
    for j in reversed(curved):
        of[j] += alpha[j] - products[n + j] @ of / products[j, n + j]
    return of
