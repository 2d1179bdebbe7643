"""The streaming partitioners as published, in plain Python that scores every part for every edge.

Parts are numbered in the order in which ties are broken; the partitioners give them the names
``shuffled_parts(k, seed)``.
"""

from collections import Counter

import numpy as np

from tux.base.hashing import by_hash


def number_vertices(src, dst, bipartite):
    """Return edges as pairs of vertices. In a bipartite graph the targets follow the sources."""
    shift = max(src, default=-1) + 1 if bipartite else 0
    return [(int(u), int(v) + int(shift)) for u, v in zip(src, dst, strict=True)]


def degrees(edges):
    return Counter(v for edge in edges for v in edge)


def most_edges(m, k, cap):
    return m if cap is None else max(-(-m // k), int(cap * m / k))


class SlowParts:
    """The edges in each part, and the parts of each vertex."""

    def __init__(self, k):
        self.load, self.held = [0] * k, {}

    def holds(self, v, p):
        return p in self.held.get(v, ())

    def put(self, edge, p):
        self.load[p] += 1
        for v in edge:
            self.held.setdefault(v, set()).add(p)
        return p


def best_scored(parts, edge, degree, theta, lam, limit):
    """Return the part with the highest score; ties by load, then number. An edge's own degrees are
    the ones it is scored by.
    """
    u, v = edge
    high, low = max(parts.load), min(parts.load)
    share = degree[v] / (degree[u] + degree[v])

    def score(p):
        both, balance = (
            parts.holds(u, p) and parts.holds(v, p),
            lam / (1 + high - low) * (high - parts.load[p]),
        )
        ends = (
            2 + theta
            if both
            else 1 + theta * share
            if parts.holds(u, p)
            else 1 + theta * (1 - share)
            if parts.holds(v, p)
            else 0
        )
        return ends + balance

    return max(
        (p for p in range(len(parts.load)) if parts.load[p] < limit),
        key=lambda p: (score(p), -parts.load[p], -p),
    )


def hdrf(edges, k, cap=None, lam=1.0, exact=False, theta=1.0):
    parts, degree, out = SlowParts(k), degrees(edges) if exact else Counter(), []
    for edge in edges:
        if not exact:
            degree.update(edge)
        out.append(
            parts.put(
                edge, best_scored(parts, edge, degree, theta, lam, most_edges(len(edges), k, cap))
            )
        )
    return out


def greedy(edges, k, cap=None):
    return hdrf(edges, k, cap, theta=0.0)


def ebv(edges, k, cap=None):
    parts, degree, out = SlowParts(k), degrees(edges), [None] * len(edges)
    limit = most_edges(len(edges), k, cap)
    per_edge, per_vertex = k / max(len(edges), 1), k / max(len(degree), 1)
    for i in sorted(range(len(edges)), key=lambda i: degree[edges[i][0]] + degree[edges[i][1]]):
        vertices = Counter(p for held in parts.held.values() for p in held)
        cost = {
            p: parts.load[p] * per_edge + vertices[p] * per_vertex
            for p in range(k)
            if parts.load[p] < limit
        }
        missing = {p: sum(not parts.holds(v, p) for v in edges[i]) for p in cost}
        out[i] = parts.put(edges[i], min(cost, key=lambda p: (missing[p] + cost[p], cost[p], p)))
    return out


def cluster_vertices(edges, degree, k, passes):
    """Return the cluster of each vertex, and the volume of each cluster."""
    cluster, volume, most = {v: v for v in degree}, Counter(degree), 2 * len(edges) / k
    for u, v in edges * passes:
        a, b = cluster[u], cluster[v]
        if a != b and volume[a] <= most and volume[b] <= most:
            smaller, other = (u, v) if volume[a] - degree[u] <= volume[b] - degree[v] else (v, u)
            if volume[cluster[other]] + degree[smaller] <= most:
                volume[cluster[smaller]] -= degree[smaller]
                volume[cluster[other]] += degree[smaller]
                cluster[smaller] = cluster[other]
    return cluster, volume


def two_phase(edges, k, cap=1.05, scoring="hdrf", passes=1, lam=0.5, seed=0):
    parts, degree, limit = SlowParts(k), degrees(edges), most_edges(len(edges), k, cap)
    cluster, volume = cluster_vertices(edges, degree, k, passes)
    full, home = [0] * k, {}
    for c in sorted((c for c in volume if volume[c]), key=lambda c: (-volume[c], c)):
        home[c] = full.index(min(full))
        full[home[c]] += volume[c]
    home = {v: home[cluster[v]] for v in degree}
    out = [None] * len(edges)
    for i, (u, v) in enumerate(edges):
        if home[u] == home[v] and parts.load[home[u]] < limit:
            out[i] = parts.put((u, v), home[u])
    for i, edge in enumerate(edges):
        if out[i] is None:
            if scoring == "hdrf":
                out[i] = parts.put(edge, best_scored(parts, edge, degree, 1.0, lam, limit))
            else:
                out[i] = parts.put(
                    edge, best_linear(parts, edge, degree, home, cluster, volume, limit, seed)
                )
    return out


def best_linear(parts, edge, degree, home, cluster, volume, limit, seed):
    u, v = edge
    share, both = degree[v] / (degree[u] + degree[v]), volume[cluster[u]] + volume[cluster[v]]

    def score(p):
        of_u = (
            1 + share + (volume[cluster[u]] / both if home[u] == p else 0)
            if parts.holds(u, p)
            else 0
        )
        of_v = (
            2 - share + (volume[cluster[v]] / both if home[v] == p else 0)
            if parts.holds(v, p)
            else 0
        )
        return of_u + of_v

    if parts.load[home[u]] < limit or parts.load[home[v]] < limit:
        return max((p for p in (home[v], home[u]) if parts.load[p] < limit), key=score)
    last = int(by_hash(np.array([u if degree[u] >= degree[v] else v]), len(parts.load), seed)[0])
    return last if parts.load[last] < limit else parts.load.index(min(parts.load))
