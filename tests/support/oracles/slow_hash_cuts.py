"""The hash-based and constrained cuts in plain Python, one edge or vertex at a time, every part
tried: what the fast ones must equal.
"""

import math
from collections import Counter

MASK = 2**64 - 1


def splitmix(v, seed):
    """Return the hash of v by SplitMix64's finaliser (Steele et al., OOPSLA 2014)."""
    z = (v * 0x9E3779B97F4A7C15 + seed * 0xBF58476D1CE4E5B9 + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def keep_within_limit(parts, k, cap):
    """Return parts of which none is over its limit. An edge that is too many goes to the first part
    that has room beside the edges that belong there.
    """
    if cap is None:
        return parts
    m = len(parts)
    limit = max(math.ceil(m / k), math.floor(cap * m / k))
    held, wanted, result = Counter(), Counter(parts), []
    room = {p: limit - min(wanted[p], limit) for p in range(k)}
    for p in parts:
        if held[p] < limit:
            held[p] += 1
        else:
            p = next(q for q in range(k) if room[q])
            room[p] -= 1
        result.append(p)
    return result


def least_loaded(pairs, k, allowed):
    """Assign each pair to the least loaded part of allowed(u) and allowed(v)."""
    load, parts = [0] * k, []
    for u, v in pairs:
        common = allowed(u) & allowed(v)
        parts.append(min(common, key=lambda p: (load[p], p)))
        load[parts[-1]] += 1
    return parts


def by_source(pairs, k, seed):
    return [splitmix(u, seed) % k for u, _ in pairs]


def by_target(pairs, k, seed):
    return [splitmix(v, seed) % k for _, v in pairs]


def columns(k):
    """Return the cells of each column of the grid."""
    rows = math.ceil(k / math.ceil(math.sqrt(k)))
    return [list(range(first, min(first + rows, k))) for first in range(0, k, rows)]


def grid(pairs, k, seed):
    column = {p: cells for cells in columns(k) for p in cells}
    parts = []
    for u, v in pairs:
        cells = column[splitmix(u, seed) % k]
        parts.append(cells[splitmix(v, seed) % len(cells)])
    return parts


def greedy_grid(pairs, k, seed):
    cells = columns(k)

    def allowed_parts(v):
        home = splitmix(v, seed) % k
        column = next(column for column in cells if home in column)
        row = column.index(home)
        return set(column) | {column[row] for column in cells if row < len(column)}

    return least_loaded(pairs, k, allowed_parts)


def pds(pairs, k, seed, cover):
    return least_loaded(pairs, k, lambda v: {(d + splitmix(v, seed)) % k for d in cover})


def dbh(pairs, k, seed):
    degree = Counter(v for pair in pairs for v in pair)
    return [splitmix(min(pair, key=lambda v: (degree[v], v)), seed) % k for pair in pairs]


def hybrid(pairs, k, seed, theta):
    degree = Counter(v for _, v in pairs)
    return [splitmix(v if degree[v] <= theta else u, seed) % k for u, v in pairs]


def ginger(pairs, k, seed, theta):
    degree = Counter(v for _, v in pairs)
    m, n = len(pairs), len({v for pair in pairs for v in pair})
    placed, balance = {}, [0.0] * k
    for v in sorted(v for v in degree if degree[v] <= theta):
        shared = Counter(placed[u] for u, w in pairs if w == v and u in placed)
        alpha = math.sqrt(k) * m / (n * math.sqrt(n))
        placed[v] = max(
            range(k), key=lambda p: (shared[p] - 1.5 * alpha * math.sqrt(balance[p]), -p)
        )
        balance[placed[v]] += 1 + degree[v] * (n / m)
    return [
        placed[v] if degree[v] <= theta else placed.get(u, splitmix(u, seed) % k) for u, v in pairs
    ]


def aweto(pairs, k, seed, favourite):
    whole, other = (0, 1) if favourite == "source" else (1, 0)
    sent, chosen = [0] * k, {}
    for v in sorted({pair[whole] for pair in pairs}):
        homes = Counter(splitmix(pair[other], seed) % k for pair in pairs if pair[whole] == v)
        own = splitmix(v, seed) % k
        chosen[v] = max(range(k), key=lambda p: (homes[p] - math.sqrt(sent[p]), p == own, -p))
        sent[chosen[v]] += homes.total()
    return [chosen[pair[whole]] for pair in pairs]
