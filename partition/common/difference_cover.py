"""Difference covers: small sets of residues modulo k such that every residue is the difference
of two of them.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from math import isqrt

_SEARCHED = 512
"""Up to this k the greedy search takes under 0.1 s and often finds fewer than the ruler; beyond,
it takes longer and hardly ever does.
"""


@lru_cache(maxsize=64)
def difference_cover(k: int) -> tuple[int, ...]:
    """Return residues D mod k, ascending, whose differences d - e mod k are all residues: any two
    translates of D have a member in common.

    k = p^2 + p + 1, p prime: a perfect difference set, |D| = p + 1 (Singer 1938). Else the smaller
    of a ruler's marks, |D| <= sqrt(1.5 k)
    + 6 (Colbourn & Ling, IPL 2000), and for small k the result of a greedy search. No set has fewer
      than sqrt(k - 3/4) + 1/2 members.
    """
    p = (isqrt(4 * k - 3) - 1) // 2
    if p * p + p + 1 == k and _is_prime(p):
        return _singer(p)
    ruler = _ruler(k)
    searched = _greedy(k) if k <= _SEARCHED else ruler
    return min(searched, ruler, key=len)


def _is_prime(p: int) -> bool:
    return p > 1 and all(p % q for q in range(2, isqrt(p) + 1))


def _singer(p: int) -> tuple[int, ...]:
    """Return a line of the projective plane over GF(p) as exponents of a root x of a cubic: those i
    with no x^2 in x^i, 0 <= i <= p^2 + p.

    Not every cubic will do (its root must generate all points), so they are tried in turn until the
    differences are perfect.
    """
    k = p * p + p + 1
    for b in range(p):
        for a in range(1, p):
            line, state = [], (0, 0, 1)  # the recurrence of x^3 = a + b x: its zeros are a line
            for i in range(k):
                if state[0] == 0:
                    line.append(i)
                    if len(line) > p + 1:
                        break
                state = (state[1], state[2], (a * state[0] + b * state[1]) % p)
            if len(line) == p + 1 and len({(d - e) % k for d in line for e in line}) == k:
                return tuple(line)
    raise AssertionError(f"no perfect difference set modulo {k}")


def _ruler(k: int) -> tuple[int, ...]:
    """Return the marks, modulo k, of the shortest ruler by Wichmann (1963) that measures every
    length up to k/2.

    With 6r + 4 marks it measures 1 to 12 r^2 + 18 r + 6.
    """
    r = 0
    while 24 * r * r + 36 * r + 13 < k:
        r += 1
    gaps = (
        [1] * r
        + [r + 1]
        + [2 * r + 1] * r
        + [4 * r + 3] * (2 * r + 1)
        + [2 * r + 2] * (r + 1)
        + [1] * r
    )
    return tuple(sorted({mark % k for mark in accumulate(gaps, initial=0)}))


def _greedy(k: int) -> tuple[int, ...]:
    """Add to {0}, again and again, the residue that adds most differences; the lowest of
    several.
    """
    chosen, missing = [0], set(range(1, k))
    while missing:
        new = max(
            range(k),
            key=lambda c: len({g for d in chosen for g in ((c - d) % k, (d - c) % k)} & missing),
        )
        missing -= {g for d in chosen for g in ((new - d) % k, (d - new) % k)}
        chosen.append(new)
    return tuple(sorted(chosen))
