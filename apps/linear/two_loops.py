"""The direction -H g of L-BFGS as coefficients of the vectors that masters hold, which follow from
the inner products of these vectors alone.
"""

from __future__ import annotations

import numpy as np

from tux.apps.linear.wolfe import SEARCHED
from tux.program.fields import total, value

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


CONTEXT = {
    **SEARCHED,
    "products": value("f8", vectors, vectors, kept=False),
    "past": value("f8", pairs, kept=False),  # what the pairs and d have for the intercept, and g
    "d": value("f8", kept=False),
    "g": value("f8", kept=False),
    "coefficients": value("f8", vectors, kept=False),
    "fresh": total("f8", 3, vectors),
    **{name: total() for name in ("ww", "wd", "dd", "gd")},
    **{name: value("f8", kept=False) for name in ("step", "steepest")},
    "iteration": value("i8", kept=False),
}


def direct(tau, p):
    """The coefficients of d, by the two loops of L-BFGS on inner products."""
    n, made, products = p.memory, tau.iteration, tau.products
    at, last = (made - 1) % n, tau.g
    tau.g = tau.slope_of_b if p.intercept else 0.0
    tau.past[at], tau.past[n + at] = tau.step * tau.d, tau.g - last
    mine = np.append(tau.past, tau.g)
    fresh = tau.fresh + np.outer((tau.past[at], tau.past[n + at], tau.g), mine)
    for row, new in zip((at, n + at), fresh[:2], strict=True):
        products[row, : 2 * n] = products[: 2 * n, row] = new[: 2 * n]
    products[-1] = products[:, -1] = fresh[2]
    newest_first = [(at - back) % n for back in range(min(made, n))]
    tau.coefficients[:] = two_loops(products, newest_first)
    tau.d, tau.iteration = float(mine @ tau.coefficients), made + 1
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
