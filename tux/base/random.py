"""Random numbers as a function of (seed, purpose, id, counter), never of worker or order.

The generator is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) used as a hash: the n-th number of
a stream is the mixed value of key + n * golden, so any number can be had without those before it.
Initial values therefore do not depend on how a graph is cut, and a run repeats whatever the number
of workers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_CHUNK = 1 << 18


def key(seed: int, *purpose: object) -> np.uint64:
    """Return a 64-bit key for one purpose, e.g. ``key(seed, "initial", "user", "p")``; equal
    arguments give equal keys on every machine.
    """
    text = "\x1f".join(str(part) for part in (seed, *purpose))
    return np.uint64(
        int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
    )


def mix(z: np.ndarray) -> np.ndarray:
    """Apply the finaliser of SplitMix64, element by element; `z` is uint64 and is not changed."""
    z = z ^ (z >> np.uint64(30))
    z *= _M1
    z ^= z >> np.uint64(27)
    z *= _M2
    return z ^ (z >> np.uint64(31))


def uniforms(stream: np.uint64, ids: np.ndarray, width: int) -> np.ndarray:
    """Return numbers in [0, 1), float64, shape (len(ids), width): entry (i, j) depends on `stream`,
    ids[i] and j alone.
    """
    with np.errstate(over="ignore"):
        base = mix(np.asarray(ids, np.uint64) * GOLDEN + stream)
        bits = mix(base[:, None] + GOLDEN * np.arange(1, width + 1, dtype=np.uint64))
    return (bits >> np.uint64(11)) * 2.0**-53


def draw_share(stream: np.uint64, ids: np.ndarray, share: float) -> np.ndarray:
    """Draw for each of the ids whether it is one of a random `share` of all, (n,) bool: each is
    with this probability.
    """
    return np.asarray(uniforms(stream, ids, 1)[:, 0] < share)


def permutation(stream: np.uint64, n: int) -> np.ndarray:
    """Draw a random order of 0..n-1, int64, by sorting one number per element (ties have
    probability n^2 / 2^64).
    """
    if n < 2:  # as of small blocks, where it would take longer than their edges
        return np.arange(n)
    return np.argsort(draws(stream, np.arange(n, dtype=np.uint64)), kind="stable")


def draws(stream: np.uint64, elements: np.ndarray) -> np.ndarray:
    """Return the number (n,) uint64 by which `permutation` sorts each of these elements; of equal
    ones the lower element comes first.
    """
    with np.errstate(over="ignore"):
        return mix(np.asarray(elements, np.uint64) * GOLDEN + stream)


@dataclass(frozen=True)
class Initialiser:
    """The initial values of a field: `law` ("constant", "uniform", "normal", "listed") with
    parameters `a`, `b`, and the `entries` that are listed.
    """

    law: str
    a: float
    b: float
    entries: tuple[tuple[int, int, float], ...] = ()  # (row, column, value), by row

    def fill(self, out: np.ndarray, stream: np.uint64, ids: np.ndarray) -> None:
        """Write the initial rows of the vertices `ids` (n,) into `out` (n, ...), a piece at a
        time to bound memory.
        """
        if self.law == "constant":
            out[...] = self.a
            return
        if self.law == "listed":
            self._list(out, ids)
            return
        width = int(np.prod(out.shape[1:], dtype=np.int64))
        rows = max(1, _CHUNK // max(width, 1))
        for lo in range(0, len(out), rows):
            part = self._draw(stream, ids[lo : lo + rows], width)
            out[lo : lo + rows] = part.reshape(-1, *out.shape[1:])

    def _list(self, out: np.ndarray, ids: np.ndarray) -> None:
        """Write the listed entries, and 0 for all others."""
        out[...] = 0
        rows, columns, values = (np.array(column) for column in zip(*self.entries, strict=True))
        flat = out.reshape(len(out), -1)
        for at in np.flatnonzero(np.isin(ids, rows)).tolist():
            here = slice(*np.searchsorted(rows, [ids[at], ids[at] + 1]))
            flat[at, columns[here]] = values[here]

    def _draw(self, stream: np.uint64, ids: np.ndarray, width: int) -> np.ndarray:
        if self.law == "uniform":
            return self.a + (self.b - self.a) * uniforms(stream, ids, width)
        u = uniforms(stream, ids, 2 * width)  # Box-Muller
        return self.a + self.b * np.sqrt(-2.0 * np.log1p(-u[:, :width])) * np.cos(
            2.0 * np.pi * u[:, width:]
        )

    def __call__(self, parameters: object) -> Initialiser:
        """Return itself: an initialiser may stand in place of a function of the parameters."""
        return self


def constant(x: float) -> Initialiser:
    """Initialise every entry as `x`."""
    return Initialiser("constant", x, 0.0)


def uniform(low: float = 0.0, high: float = 1.0) -> Initialiser:
    """Initialise entries with numbers drawn from [low, high)."""
    return Initialiser("uniform", low, high)


def normal(mean: float = 0.0, std: float = 1.0) -> Initialiser:
    """Initialise entries with numbers drawn from the normal distribution with this mean and
    standard deviation.
    """
    return Initialiser("normal", mean, std)


def listed_values(entries: Mapping[tuple[int, int], float]) -> Initialiser:
    """Initialise the entries of some vertices, by the vertex's number and the place in its row, and
    all others as 0.
    """
    if not entries:
        return constant(0)
    return Initialiser(
        "listed", 0.0, 0.0, tuple((row, at, entries[row, at]) for row, at in sorted(entries))
    )
