"""The numbers that `tux.partition.quality` and `masters` must give: sets and dictionaries, straight
from the definitions.
"""

import math
from collections import Counter


def holders(pairs, parts, bipartite):
    """Return by vertex, (type, number), the set of parts with an edge of it, and its edges."""
    where, edges = {}, Counter()
    for (u, v), p in zip(pairs, parts, strict=True):
        for vertex in {
            ("source" if bipartite else "vertex", u),
            ("target" if bipartite else "vertex", v),
        }:
            where.setdefault(vertex, set()).add(p)
            edges[vertex] += 1
    return where, edges


def balance(loads):
    """Return the largest over the mean."""
    return max(loads) * len(loads) / sum(loads) if sum(loads) else 1.0


def judge(pairs, parts, k, home, bipartite=False, row_bytes=None, syncs=None):
    """Return everything that Quality says of an assignment, by name. `home` maps vertices to their
    masters, `row_bytes` types to (up, down).
    """
    where, edges = holders(pairs, parts, bipartite)
    sent, received = [0] * k, [0] * k
    for vertex, held in where.items():
        up, down = row_bytes[vertex[0]]
        often = syncs[vertex[0]]
        for p in held - {home[vertex]}:
            sent[p] += up * often
            received[home[vertex]] += up * often
            sent[home[vertex]] += down * often
            received[p] += down * often
    loads = [list(parts).count(p) for p in range(k)]
    copies = {vertex: len(held) for vertex, held in where.items()}
    n = len(where)
    by_degree = {}
    for vertex, degree in edges.items():
        by_degree.setdefault(2 ** int(math.log2(degree)), []).append(copies[vertex])
    return {
        "vertices": n,
        "replication": sum(copies.values()) / n if n else 1.0,
        "bound": sum(math.ceil(d / max(loads)) for d in edges.values()) / n if n else 1.0,
        "edge_balance": balance(loads),
        "vertex_balance": balance([sum(p in held for held in where.values()) for p in range(k)]),
        "master_balance": balance([sum(home[vertex] == p for vertex in where) for p in range(k)]),
        "empty_parts": loads.count(0),
        "sent": tuple(sent),
        "received": tuple(received),
        "volume": sum(sent),
        "largest_volume": max(a + b for a, b in zip(sent, received, strict=True)),
        "by_degree": tuple(
            (low, len(found), sum(found) / len(found)) for low, found in sorted(by_degree.items())
        ),
        "histogram": tuple(sorted(Counter(copies.values()).items())),
        "cut": Counter(vertex[0] for vertex in where if copies[vertex] > 1),
    }
