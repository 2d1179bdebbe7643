"""Skip-gram with negative sampling (Mikolov et al., NIPS 2013), a walk being a sentence: as a UDF
of `Generate`.

For a centre with row u and each vertex within `reach` steps of it, reach uniform in 1..window, and
for `negatives` others, with rows v:

    g = a (label - sigma(u v)),    new += g v,    v += g u,    at the end u = new

The step a falls linearly. Negatives come from a pool that each walk brings, drawn by the 3/4th
power of how often walks come by (about: neighbours, or their weights); a centre takes a stretch of
it that begins anywhere.
"""

from __future__ import annotations

import numpy as np

from tux.base.alias import fill_aliases

LAST = 1e-4  # the step at the end
AT_ONCE = 4  # rows multiplied in one loop, so that the centre's is read once for all
TURNS = 8  # of a new vertex with each of its walks, where the run begins with a model


def products(u, edges, at, n, out, first):
    """Compute out[first + k] = u . edges[at[k]].node.c for k < n; `at` and `out` have room up to
    the next multiple of AT_ONCE.
    """
    for k in range(n, (n + AT_ONCE - 1) // AT_ONCE * AT_ONCE):
        at[k] = at[0]
    for k in range(0, n, AT_ONCE):
        a, b = edges[at[k]].node.c, edges[at[k + 1]].node.c
        c, d = edges[at[k + 2]].node.c, edges[at[k + 3]].node.c
        w = x = y = z = 0.0
        for j in range(len(u)):
            w += u[j] * a[j]
            x += u[j] * b[j]
            y += u[j] * c[j]
            z += u[j] * d[j]
        out[first + k], out[first + k + 1], out[first + k + 2], out[first + k + 3] = w, x, y, z


def sigmoids(x, n):
    """Replace x[:n] by 1/2 + tanh(x/2) / 2, computed by Lambert's continued fraction, to 2e-5; no
    call, so that the loop is vector code.
    """
    for k in range(n):
        y = min(max(0.5 * x[k], -4.97), 4.97)
        s = y * y
        above = y * (135135.0 + s * (17325.0 + s * (378.0 + s)))
        below = 135135.0 + s * (62370.0 + s * (3150.0 + s * 28.0))
        x[k] = 0.5 + 0.5 * above / below


def change(u, new, edges, at, n, g, first):
    """Compute new += g v and v += g u for the rows v of edges[at[:n]], whose g stand from `first`
    on.
    """
    for k in range(n):
        v, x = edges[at[k]].node.c, g[first + k]
        for j in range(len(u)):
            y = v[j]
            new[j] += x * y
            v[j] = y + x * u[j]


def centre(u, path, near, m, noise, far, n, a, g, new):
    """Train one centre: m contexts path[near], n negatives noise[far]. All products come first,
    then all changes.
    """
    room = (m + AT_ONCE - 1) // AT_ONCE * AT_ONCE
    products(u, path, near, m, g, 0)
    products(u, noise, far, n, g, room)
    sigmoids(g, room + n)
    for k in range(m):
        g[k] = a * (1.0 - g[k])
    for k in range(room, room + n):
        g[k] *= -a
    for j in range(len(u)):
        new[j] = u[j]
    change(u, new, path, near, m, g, 0)
    change(u, new, noise, far, n, g, room)
    for j in range(len(u)):
        u[j] = new[j]


def learn(path, noise, p, rng, progress, share):
    """Train every vertex of a walk as centre, in its order; where the run begins with a model, the
    first alone, which is new, in several turns: the u of others stay. Where masters take a `share`
    of changes, these are made so much larger.
    """
    a = (p.learning_rate + (LAST - p.learning_rate) * progress) / share
    near = np.empty(2 * p.window + AT_ONCE, np.int32)
    far = np.empty(2 * p.window * p.negatives + AT_ONCE, np.int32)
    g, new = np.empty(len(near) + len(far)), np.empty(p.dimensions)
    turns = min(len(path), 1) * TURNS if p.known > 0 else len(path)
    for turn in range(turns):
        i = 0 if p.known > 0 else turn
        reach, m, n = 1 + rng.below(p.window), 0, 0
        for j in range(max(0, i - reach), min(len(path), i + reach + 1)):
            if j != i:
                near[m] = j
                m += 1
        j = rng.below(len(noise))
        while n < m * p.negatives:
            far[n] = j
            n, j = n + 1, j + 1 if j + 1 < len(noise) else 0
        if m > 0:
            centre(path[i].node.u, path, near, m, noise, far, n, a, g, new)


def fill(noise, topology, rng):
    """Draw a pool of negatives, from Walker's table."""
    for k in range(len(noise)):
        i = rng.below(len(topology.keep))
        noise[k] = i if rng.uniform() < topology.keep[i] else topology.other[i]


def table(topology):
    """Return Walker's table of how often each vertex is a negative, which `fill` reads."""
    n, m = len(topology.bounds) - 1, len(topology.ends)
    each = None
    if len(topology.sums):
        each = np.diff(topology.sums, prepend=0.0)
        firsts = topology.bounds[:-1][np.diff(topology.bounds) > 0]
        each[firsts] = topology.sums[firsts]
        each *= m / each.sum()
    come = np.bincount(topology.ends, weights=each, minlength=n) + 1.0
    keep, other = np.empty((1, n), np.float32), np.empty((1, n), topology.ends.dtype)
    fill_aliases(come[None] ** 0.75, keep, other)
    return {"keep": keep[0], "other": other[0]}
