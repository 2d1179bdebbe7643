"""Users and items with features (`tux.apps.features`) in alternating least squares: the penalty is
on x less its prior c, so the right side b of A x = b has penalty times c more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tux import dot
from tux.apps.als import conjugate, normal
from tux.apps.als.edges import item_of, user_of
from tux.apps.als.normal import solve as solve_sides
from tux.apps.als.normal import solve_own
from tux.apps.als.quality import square
from tux.apps.als.steps import begin, penalty
from tux.apps.als.steps import solve as take_steps
from tux.apps.als.unknowns import put_unknowns, unknowns_of
from tux.apps.mf.described import number_of


class PriorSolver(NamedTuple):
    """The functions of `tux.apps.als.conjugate`, or of `tux.apps.als.normal`, with priors."""

    solve_user: Any
    solve_item: Any
    cut_item_stages: Any


def side_of(v, p):
    """Return what a vertex's prior adds to b."""
    b, weight = np.zeros(len(v.prior)), penalty(v.n, p)
    for k in range(len(b)):
        b[k] = weight * v.prior[k]
    return b


def step_user(user, edges, tau, p):
    """Move a user's factors, and its bias, towards the best ones by conjugate gradients."""
    x = unknowns_of(user, p)
    take_steps(edges, item_of, x, user.n, user.old, side_of(user, p), tau, p)
    put_unknowns(user, x, p)


def step_item(item, edges, tau, p):
    """Move the factors and the bias of an item that has all its edges likewise."""
    x = unknowns_of(item, p)
    take_steps(edges, user_of, x, item.n, item.old, side_of(item, p), tau, p)
    put_unknowns(item, x, p)


def set_direction(item, tau, p):
    """Set the first direction, of an item that is on several workers."""
    item.square = 0
    if not item.here or item.n <= item.old:
        return
    side = side_of(item, p)
    for k in range(len(item.r)):
        item.r[k] = item.got[k] + side[k]
    item.square = begin(unknowns_of(item, p), item.n, item.old, item.r, item.d, tau, p)


def cut_items_by_steps():
    """Return the stages of conjugate gradients of items that are on several workers."""
    return conjugate.cut_item_stages(set_direction)


def solve_user(user, edges, tau, p):
    """Find the best factors and the best bias of a user."""
    x = unknowns_of(user, p)
    solve_own(edges, item_of, x, user.n, user.old, side_of(user, p), tau, p)
    put_unknowns(user, x, p)


def solve_item(item, edges, tau, p):
    """Find the best factors and the best bias of an item that has all its edges."""
    x = unknowns_of(item, p)
    solve_own(edges, user_of, x, item.n, item.old, side_of(item, p), tau, p)
    put_unknowns(item, x, p)


def solve_gathered(item, tau, p):
    """Find the best factors and the best bias of an item that is on several workers."""
    if item.here:
        x, b = unknowns_of(item, p), side_of(item, p)
        for k in range(len(b)):
            b[k] += item.b[k]
        solve_sides(item.a.copy(), b, item.n, item.old, x, tau, p)
        put_unknowns(item, x, p)


def cut_items():
    """Return the stages of exact solutions of items that are on several workers."""
    return normal.cut_item_stages(solve_gathered)


BY_STEPS = PriorSolver(step_user, step_item, cut_items_by_steps)
EXACT = PriorSolver(solve_user, solve_item, cut_items)


def is_known(v):
    """Return whether ratings or features say something of a vertex: features that no rated vertex
    has do not, and leave all factors 0.
    """
    return v.n > 0 or dot(v.f, v.f) > 0


def rate(user, item, tau, p):
    """Return the predicted rating, or preference; as `tux.apps.als.quality.rate`, but that features
    say something of an end without ratings.
    """
    known = is_known(user) and is_known(item)
    rest = dot(user.f, item.f) + tau.offset if known else tau.mean
    return np.float64(rest) + p.biases.of(user) + p.biases.of(item)


def norm(v, tau, p):
    """Add a vertex's part to the objective: the square of what differs from its prior."""
    total = np.float64(0)
    for k in range(len(v.prior)):
        total += (number_of(v, k, p) - v.prior[k]) ** 2
    tau.norms += total if p.plain else v.n * total


def norm_and_square(v, tau, p):
    """Do the work of `norm` and of `tux.apps.als.quality.square`."""
    norm(v, tau, p)
    if p.implicit:
        square(v, tau, p)


def test(user, item, rating, tau, p):
    """Add up the squared error of a held-out rating."""
    tau.edges += 1
    tau.loss += (rating.value - rate(user, item, tau, p)) ** 2
