"""NE++ in plain Python, from the rule in the head of partition/methods/ne.py: sets and searches for
everything. What the fast one must equal.
"""

import math


def slow_ne(src, dst, k, seed=0, cap=1.001, tau=100.0, n=None):
    """Return the part of each edge; vertices are the numbers below n, equal ones in `src` and `dst`
    the same vertex.
    """
    edges = list(zip(src, dst, strict=True))
    m, n = len(edges), n or max([*src, *dst], default=-1) + 1
    around = {v: [e for e in range(m) if v in edges[e]] for v in range(n)}
    mean = sum(map(len, around.values())) / max(sum(map(bool, around.values())), 1)
    high = {v for v in range(n) if len(around[v]) > tau * mean}
    both_high = [e for e in range(m) if high.issuperset(edges[e])]
    limit = max(math.ceil(m / k), math.floor(cap * m / k))
    part, core = {}, set()
    state = {"tried": 0, "unfinished": None, "filed": 0}
    for b in range(k - 1):
        grow(
            edges,
            around,
            part,
            b,
            limit - len(both_high) // k,
            core,
            high,
            state,
            mean,
            seed * 2_654_435_761 % max(n, 1),
        )
    for e in range(m):
        if e not in both_high:
            part.setdefault(e, k - 1)
    for e in both_high:
        part[e] = where_most_ends_are(edges, part, edges[e], k, limit)
    return [part[e] for e in range(m)]


def grow(edges, around, part, b, room, core, high, state, mean, start):
    marked, key, filed = set(), {}, {}

    def file(v, number):
        state["filed"] += 1
        key[v], filed[v] = number, state["filed"]

    def live(v):
        return [e for e in around[v] if e not in part]

    def members():
        return sum(p == b for p in part.values())

    def join(q):
        """Put into the part the edges of a vertex whose other ends are in it. Return whether there
        was room.
        """
        marked.add(q)
        fits = True
        for e in live(q):
            t = sum(edges[e]) - q
            if t in high or t in core or t in marked:
                if members() == room or not fits:
                    fits = False
                    continue
                part[e] = b
                if t in key:
                    file(t, key[t] - 1)
        return fits

    while members() < room:
        w = min(key, key=lambda v: (key[v], -filed[v]), default=None)
        if w is None:
            w = first_vertex(len(around), live, core | high, state, mean, start)
            if w is None:
                return
        key.pop(w, None)
        fits = w in marked or join(w)
        for e in live(w) if fits else []:
            q = sum(edges[e]) - w
            if fits and e not in part and q not in marked and q not in high:
                fits = join(q)
                file(q, len(live(q)))
        if not fits:
            state["unfinished"] = w
            return
        core.add(w)


def first_vertex(n, live, never, state, mean, start):
    if state["unfinished"] is not None:
        w, state["unfinished"] = state["unfinished"], None
        return w
    while state["tried"] < 2 * n:
        v, once = (state["tried"] + start) % n, state["tried"] < n
        if v not in never and live(v) and (not once or len(live(v)) <= mean):
            return v
        state["tried"] += 1
    return None


def where_most_ends_are(edges, part, ends, k, limit):
    load = [sum(p == q for p in part.values()) for q in range(k)]
    holds = {v: {p for e, p in part.items() if v in edges[e]} for v in ends}
    open_parts = [p for p in range(k) if load[p] < limit]
    return min(
        open_parts, key=lambda p: (-((p in holds[ends[0]]) + (p in holds[ends[1]])), load[p], p)
    )
