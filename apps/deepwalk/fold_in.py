"""Vectors of vertices that training has not seen, from those of their neighbours, which stay.

A walk from a new vertex goes to a neighbour, and on from there as one of the neighbour's own walks.
So what a new vertex w finds within the window is, but for one step, what its neighbours v find, and
the objective of skip-gram is, with N(w) the neighbours and a_v the weights of the edges to them,

    L_w(u) ~ sum over v in N(w) of a_v L_v(u) / sum of a_v.

Each L_v is largest at the vector u_v that training has found. Where it falls alike for all v, L_w
is largest at the mean of the u_v, by a_v. What is missing is the first step, which finds the
neighbours themselves. So skip-gram with negative sampling goes on from the mean, with the
neighbours' rows c_v, and c_x of vertices x that are drawn, as they are: with label 1 for v and 0
for x, in each pass for each neighbour,

    g = s a_v / sum of a_v (label - sigma(u c)),    u += g c
"""

from __future__ import annotations

import numpy as np

from tux import dot

PASSES, STEP = 20, 0.1
"""Passes over the neighbours, and the step s. Twice the sum of all steps changes micro F1 on PPI by
less than from one seed to another.
"""


def find(edges, vertices, out, p, rng):
    """Write the vector of a new vertex."""
    find_vector(edges, weigh_alike, vertices, out, p, rng)


def find_by_weight(edges, vertices, out, p, rng):
    """Write the vector of a new vertex, whose edges have weights."""
    find_vector(edges, weight_of, vertices, out, p, rng)


def weigh_alike(edge):
    """Return the weight of an edge that has none."""
    return 1.0


def weight_of(edge):
    """Return the weight of an edge."""
    return edge.weight


def find_vector(edges, weigh, vertices, out, p, rng):
    """Write the mean of the neighbours' vectors, and go on from there; zeros without edges."""
    whole = 0.0
    for edge in edges:
        whole += weigh(edge)
        for k in range(p.dimensions):
            out[k] += weigh(edge) * edge.node.u[k]
    if whole <= 0:
        return
    for k in range(p.dimensions):
        out[k] /= whole
    for _ in range(PASSES):
        for edge in edges:
            step = STEP * weigh(edge) / whole
            follow(out, edge.node.c, 1.0, step)
            for _ in range(p.negatives):
                follow(out, vertices[rng.below(len(vertices))].node.c, 0.0, step)


def follow(u, c, label, step):
    """Move u along the gradient that a row c with this label has."""
    g = step * (label - 1 / (1 + np.exp(-dot(u, c))))
    for k in range(len(u)):
        u[k] += g * c[k]
