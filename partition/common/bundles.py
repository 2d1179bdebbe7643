"""Bundle moves: take a vertex out of a part by handing each of its edges there to another part that
holds it.

The bundle of (v, p) is v's edges in part p. An edge (v, t) of it is moved for nothing to a part q
that holds both v and t, and for one more replica to a q that holds v alone. Moved whole, the bundle
saves v's replica in p, and that of each t whose last edge in p it was:

    gain(v, p) = 1 + #{t: all its edges in p are of the bundle} - #{t: no part but p holds both v
        and t}

Moves that gain are rare after NE++; moves of gain 0 are many, and lead to others that gain, because
a vertex that is cut anyway can take each neighbour to the part that suits it. To pass small losses
too, the search is simulated annealing (Kirkpatrick et al., Science 1983): a move of gain -g is
accepted with probability exp(-g / T), T falling. Replicas at k = 128 against NE++, geometric mean
of six real graphs: bundles moved whole to one common part 0.990; this move, 60 sweeps, gains only
0.997, also gain 0 0.932; annealed, within the bound on work, 0.926 (better on four of the six
graphs than gain 0, worse on Epinions and Slashdot).

Of the parts that suit a neighbour the least loaded takes the edge, so the room that the bound
leaves above the mean is what the search lives on: it wants a start at 1.00 and a bound of some
hundredths more. Few large bundles can be moved, and none of over 32 edges is tried.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import hash_values
from tux.partition.common.adjacency import Adjacency
from tux.partition.common.ends import EdgeEnds, Progress
from tux.partition.common.inlined import inline_njit
from tux.partition.replicas import replicas

# edges of a bundle that every sweep tries, and that any tries; of c edges: OFTEN in c sweeps do
OFTEN, MAX_BUNDLE = 4, 32
SWEEPS, READS = 50, 22
HOT, COLD = 0.7, 0.1
_FAR = 1 << 40  # the load of a part that v is not in


class Holders(NamedTuple):
    """The parts of vertex v are ``part[first[v] : first[v] + size[v]]``, in any order, with its
    number of edges there.

    There is room for as many as v has edges, or k, so that memory is linear in the edges whatever
    k.
    """

    first: np.ndarray  # (n + 1,) int64
    part: np.ndarray  # (rooms,) int16
    edges: np.ndarray  # (rooms,) int32 or int64
    size: np.ndarray  # (n,) int32


def holders(edges: EdgeEnds, lists: Adjacency, parts: np.ndarray, k: int) -> Holders:
    """Return the holders of an assignment `parts` (m,), with room for more."""
    held = replicas(edges, parts, k)
    first = np.zeros(edges.vertices + 1, np.int64)
    np.cumsum(np.minimum(lists.degree, k), out=first[1:])
    size = held.counts.astype(np.int32)
    place = np.arange(len(held.part)) + np.repeat(first[:-1] - held.first[:-1], size)
    part, count = np.empty(int(first[-1]), np.int16), np.empty(int(first[-1]), held.edges.dtype)
    part[place], count[place] = held.part, held.edges
    return Holders(first, part, count, size)


@cached_njit
def _transpose(lists, free, entry):  # type: ignore[no-untyped-def]
    for v in range(len(free)):
        for j in range(lists.first[v], lists.first[v + 1]):
            t = lists.entry[j, 0]
            entry[free[t], 0], entry[free[t], 1] = v, lists.entry[j, 1]
            free[t] += 1


def by_neighbour(lists: Adjacency) -> Adjacency:
    """Return these lists (of all vertices) with each in the order of neighbours, so that repeated
    edges stand together.
    """
    entry = np.empty_like(lists.entry)
    _transpose(lists, lists.first[:-1].copy(), entry)
    return lists._replace(entry=entry)


@cached_njit
def _next(state):  # type: ignore[no-untyped-def]
    """Return the next state of a xorshift generator (Marsaglia, 2003), and a number above 0 and up
    to 1 from it.
    """
    state = state ^ (state << np.uint64(13))
    state = state ^ (state >> np.uint64(7))
    state = state ^ (state << np.uint64(17))
    return state, ((state >> np.uint64(11)) + 1.0) / 2.0**53


@cached_njit
def _shift(held, t, p, q):  # type: ignore[no-untyped-def]
    """Note that one edge of t goes from part p to q."""
    start = held.first[t]
    there, here = -1, -1
    for j in range(start, start + held.size[t]):
        if held.part[j] == p:
            there = j
        elif held.part[j] == q:
            here = j
    held.edges[there] -= 1
    if here < 0 and held.edges[there] == 0:
        held.part[there], held.edges[there] = q, 1
        return
    if here < 0:
        here = start + held.size[t]
        held.size[t] += 1
        held.part[here], held.edges[here] = q, 0
    held.edges[here] += 1
    if held.edges[there] == 0:
        held.size[t] -= 1
        end = start + held.size[t]
        held.part[there], held.edges[there] = held.part[end], held.edges[end]


@cached_njit
def _smallest(count, start, several):  # type: ignore[no-untyped-def]
    least = count[start]
    for j in range(start + 1, start + several):
        least = min(least, count[j])
    return least


@cached_njit
def _move(lists, held, parts, v, p, bundle, chosen):  # type: ignore[no-untyped-def]
    """Move the edges of v at the places `bundle` of its list from part p to `chosen`."""
    for i in range(len(bundle)):
        t, e = lists.entry[bundle[i], 0], lists.entry[bundle[i], 1]
        parts[e] = chosen[i]
        _shift(held, v, p, chosen[i])
        if t != v:
            _shift(held, t, p, chosen[i])


@cached_njit
def _gather(lists, held, parts, v, own, end, slot, bundle):  # type: ignore[no-untyped-def]
    """Write v's parts to `own`, their places there to `slot`, and v's edges grouped by them to
    `bundle`: bundle[end[s - 1] : end[s]] are those in own[s].
    """
    total, start = 0, held.first[v]
    for s in range(held.size[v]):
        own[s], end[s] = held.part[start + s], total
        slot[own[s]] = s
        total += held.edges[start + s]
    for j in range(lists.first[v], lists.first[v + 1]):
        s = slot[parts[lists.entry[j, 1]]]
        bundle[end[s]] = j
        end[s] += 1


@inline_njit
def _lowest_gain(share, once):  # type: ignore[no-untyped-def]
    """Return the lowest gain that is accepted, by a random `share` in (0, 1]; `once`: the
    probability exp(-1 / T) that a loss of 1 is, 0 at temperature 0.
    """
    if once == 0.0:
        return 1
    lowest, probability = 0, once
    while share <= probability:
        lowest -= 1
        probability *= once
    return lowest


@inline_njit
def _choose(lists, held, bundle, p, near, other, limit, lowest, chosen):  # type: ignore[no-untyped-def]
    """Choose for each edge of a bundle in part p the part to go to: of those that both ends are in
    the least loaded, else `other`; their loads in `near` grow.

    Stops when the gain falls below `lowest`. Returns the gain, the edges that have got a part, and
    the work done.
    """
    entry, first, part, count, size = lists.entry, held.first, held.part, held.edges, held.size
    gain, i, work = 1, 0, 0
    while i < len(bundle) and gain >= lowest:
        t, run = entry[bundle[i], 0], 1
        while i + run < len(bundle) and entry[bundle[i + run], 0] == t:
            run += 1
        best, best_load = -1, limit - run + 1
        for h in range(first[t], first[t] + size[t]):
            q = part[h]
            if near[q] < best_load:
                best, best_load = q, near[q]
            elif q == p and count[h] == run:  # a self-loop too, but alone it gains anyway
                gain += 1
        if best < 0:
            best = other
            gain -= 1 if near[other] + run <= limit else _FAR
        near[best] += run
        for j in range(i, i + run):
            chosen[j] = best
        i += run
        work += size[t]
    return gain, i, work


@inline_njit
def _least(own, several, near):  # type: ignore[no-untyped-def]
    """Return the first of `several` parts `own` with the least load in `near`."""
    least = own[0]
    for r in range(several):
        least = own[r] if near[own[r]] < near[least] else least
    return least


@cached_njit
def _sweep(lists, held, parts, load, limit, once, state):  # type: ignore[no-untyped-def]
    """Try bundles of all vertices once, in their order; return the work done, in reads of a list.
    `near`: loads of the parts open to v's edges. `once`: as `_lowest_gain` has it.
    """
    size, k = held.size, len(load)
    own, end, slot = np.empty(k, np.int16), np.empty(k, np.int64), np.empty(k, np.int32)
    near, grew = np.full(k, _FAR), np.zeros(k, np.bool_)
    all_edges, chosen = np.empty(lists.degree.max(), np.int64), np.empty(MAX_BUNDLE, np.int16)
    work = 0
    for v in range(len(size)):
        several = size[v]
        state, share = _next(state)
        longest = min(OFTEN / share, MAX_BUNDLE)
        if several < 2 or _smallest(held.edges, held.first[v], several) > longest:
            continue
        _gather(lists, held, parts, v, own, end, slot, all_edges)
        work += lists.degree[v] + 8 * several
        for s in range(several):
            near[own[s]], grew[own[s]] = load[own[s]], False
        for s in range(several):
            p, low = own[s], end[s - 1] if s else 0
            if end[s] - low > longest or grew[p]:  # one that grew in this visit is not known whole
                continue
            bundle = all_edges[low : end[s]]
            near[p] = _FAR
            other = _least(own, several, near)  # for a neighbour that is in none of v's parts
            state, share = _next(state)
            lowest = _lowest_gain(share, once)
            gain, done, reads = _choose(lists, held, bundle, p, near, other, limit, lowest, chosen)
            work += reads
            if gain >= lowest:
                _move(lists, held, parts, v, p, bundle, chosen)
                load[p] -= len(bundle)
                for i in range(done):
                    load[chosen[i]] += 1
                    grew[chosen[i]] = True
            else:
                near[p] = load[p]
                for i in range(done):
                    near[chosen[i]] -= 1
        for s in range(several):
            near[own[s]] = _FAR
    return work


class Annealing:
    """A search from an assignment `parts` (m,) int16, which it changes; no part that has `limit`
    edges or more grows.

    `lists` are of all vertices, by neighbour. Work is bounded by SWEEPS sweeps and by READS log2(k)
    reads of a list for each edge, whichever ends first; the temperature falls with the share of it
    that is done.
    """

    def __init__(
        self,
        edges: EdgeEnds,
        lists: Adjacency,
        parts: np.ndarray,
        k: int,
        limit: int,
        seed: int = 0,
    ) -> None:
        self.parts, self.done = parts, 0.0
        self._lists, self._limit, self._seed = lists, limit, seed
        self._held, self._load = holders(edges, lists, parts, k), np.bincount(parts, minlength=k)
        self._sweeps, self._spent, self._budget = 0, 0, READS * (k - 1).bit_length() * len(parts)

    @property
    def replicas(self) -> int:
        """The number of replicas of all vertices, now."""
        return int(self._held.size.sum())

    def run(self, share: float, progress: Progress = None) -> None:
        """Run until this share of the work is done; at 1, end with a sweep that takes gains
        only.
        """
        while self.done < share:
            self.sweep(HOT + (COLD - HOT) * self.done)
            self.done = min(
                1.0, max(self._sweeps / SWEEPS, self._spent / self._budget if self._budget else 1.0)
            )
            if progress:
                progress(self.done)
            if self.done >= 1:
                self.sweep(0.0)

    def sweep(self, temperature: float) -> None:
        """Try bundles of all vertices once; at temperature 0 only gains are taken."""
        state = hash_values(np.array([self._sweeps]), self._seed)[0] | np.uint64(1)
        once = math.exp(-1 / temperature) if temperature else 0.0
        work = _sweep(self._lists, self._held, self.parts, self._load, self._limit, once, state)
        self._sweeps += 1
        self._spent += work
