"""The random numbers of Python's `random.Random` in compiled code, to the same bits (Matsumoto and
Nishimura 1998). `draws` (625,) int64 has the 624 words of its state, and which is the next.
"""

from __future__ import annotations

from random import Random

import numpy as np

from tux.base.compiled import cached_njit

WORDS = 624


@cached_njit
def _twist(draws):  # type: ignore[no-untyped-def]
    for i in range(WORDS):
        mixed = (draws[i] & 0x80000000) | (draws[(i + 1) % WORDS] & 0x7FFFFFFF)
        draws[i] = draws[(i + 397) % WORDS] ^ (mixed >> 1) ^ (0x9908B0DF if mixed & 1 else 0)
    draws[WORDS] = 0


@cached_njit
def _draw_word(draws):  # type: ignore[no-untyped-def]
    if draws[WORDS] >= WORDS:
        _twist(draws)
    word = draws[draws[WORDS]]
    draws[WORDS] += 1
    word ^= word >> 11
    word ^= (word << 7) & 0x9D2C5680
    word ^= (word << 15) & 0xEFC60000
    return word ^ (word >> 18)


@cached_njit
def draw_below(draws, end):  # type: ignore[no-untyped-def]
    """Return an integer from 0 to end - 1 as `Random.choice` takes one; `end` is below 2^32."""
    bits = 0
    while end >> bits > 0:
        bits += 1
    while True:
        number = _draw_word(draws) >> (32 - bits)
        if number < end:
            return number


@cached_njit
def shuffle(draws, order):  # type: ignore[no-untyped-def]
    """Shuffle an array as `Random.shuffle` does."""
    for i in range(len(order) - 1, 0, -1):
        j = draw_below(draws, i + 1)
        order[i], order[j] = order[j], order[i]


def draws_of(seed: Random) -> np.ndarray:
    """Return the state of a generator.

    Raises NotImplementedError if it is not Python's own.
    """
    if type(seed) is not Random:
        raise NotImplementedError(f"seed is a {type(seed).__name__}, not a random.Random")
    return np.array(seed.getstate()[1], np.int64)


def give_back(seed: Random, draws: np.ndarray) -> None:
    """Let a generator go on where `draws` are."""
    version, _, rest = seed.getstate()
    seed.setstate((version, tuple(draws.tolist()), rest))
