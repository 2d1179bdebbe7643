"""The direction -H g of L-BFGS as coefficients of the vectors that masters hold, which follow from
the inner products of these vectors alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.apps.linear.widths import put, wide
from tux.apps.linear.wolfe import SEARCHED
from tux.program.fields import master, total, value

SMALLEST = 2.0**-40  # s.y / (|s| |y|) of a pair that is kept


def is_chosen(p):
    """1 if L-BFGS is the solver, else 0."""
    return int(p.solver == "lbfgs")


def pairs(p):
    """How many vectors the pairs are: s at j, y at `memory` + j."""
    return 2 * p.memory * is_chosen(p)


def vectors(p):
    """The pairs and g."""
    return pairs(p) + is_chosen(p)


FEATURE: dict[str, Any] = {"past": master("f4", wide, pairs, kept=False)}
CONTEXT = {
    **SEARCHED,
    "products": value("f8", vectors, vectors, kept=False),
    "past": value("f8", pairs, wide, kept=False),  # what pairs and d have for the intercept, and g
    "d": value("f8", wide, kept=False),
    "g": value("f8", wide, kept=False),
    "coefficients": value("f8", vectors, kept=False),
    "fresh": total("f8", 3, vectors),
    **{name: total() for name in ("ww", "wd", "dd", "gd")},
    **{name: value("f8", kept=False) for name in ("step", "steepest")},
    "iteration": value("i8", kept=False),
}


def direct(tau, p):
    """The coefficients of d, by the two loops of L-BFGS on inner products."""
    n, made, products = p.memory, tau.iteration, tau.products
    at, g = (made - 1) % n, np.multiply(tau.slope_of_b, float(p.intercept))
    tau.past[at], tau.past[n + at] = tau.step * tau.d, g - tau.g
    put(tau, g=g)
    mine = np.concatenate([tau.past, g[None]])
    of_classes = mine.reshape(len(mine), -1)
    fresh = tau.fresh + of_classes[[at, n + at, -1]] @ of_classes.T
    for row, new in zip((at, n + at), fresh[:2], strict=True):
        products[row, : 2 * n] = products[: 2 * n, row] = new[: 2 * n]
    products[-1] = products[:, -1] = fresh[2]
    newest_first = [(at - back) % n for back in range(min(made, n))]
    tau.coefficients[:] = two_loops(products, newest_first)
    put(tau, d=tau.coefficients @ mine)
    tau.iteration = made + 1
    tau.steepest = max(tau.steepest, products[-1, -1])
    tau.gradient = np.sqrt(products[-1, -1] / tau.steepest) if tau.steepest > 0 else 0.0


def two_loops(products: np.ndarray, newest_first: list[int]) -> np.ndarray:
    """The coefficients of -H g in the vectors whose inner `products` (2 n + 1, 2 n + 1) are given,
    (2 n + 1,): s at j, y at n + j, g last. Pairs along which the gradient does not grow are left
    out.
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
