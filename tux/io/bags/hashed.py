"""Features hashed into 2^bits numbers, so that no list of their ids is kept (Weinberger, Dasgupta,
Langford, Smola and Attenberg, "Feature hashing for large scale multitask learning", ICML 2009):

    h = mix(FNV-1a of the id's text in UTF-8), 64 bits
    the feature is the lowest `bits` bits of h; its numbers change their sign if the highest is 1

FNV-1a: Fowler, Noll and Vo. mix: the finaliser of SplitMix64 (`tux.base.random`), as
FNV's own bits depend little on the last bytes. A number is hashed as it is written, in decimal
digits, so that it is the same feature whether it comes as a number or as a word. Numbers of a
sample's features that get the same number are added up; as signs differ, what they add to an inner
product is 0 on average.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.random import mix

BASIS, PRIME = 0xCBF29CE484222325, 0x100000001B3


@cached_njit
def _of_numbers(numbers, hashes):  # type: ignore[no-untyped-def]
    """Compute the FNV-1a hashes of uint64s, written in decimal digits."""
    digits, ten = np.empty(20, np.uint64), np.uint64(10)
    for k in range(len(numbers)):
        n, i = numbers[k], 20
        while True:
            i -= 1
            digits[i] = np.uint64(48) + n % ten
            n = n // ten
            if n == np.uint64(0):
                break
        h = np.uint64(BASIS)
        for at in range(i, 20):
            h = (h ^ digits[at]) * np.uint64(PRIME)
        hashes[k] = h


@cached_njit
def _of_words(text, before, bounds, codes, hashes):  # type: ignore[no-untyped-def]
    """Compute the FNV-1a hashes of the words of each row of `codes` (k, n), with colons between
    them and the bytes `before` them.
    """
    begun = np.uint64(BASIS)
    for at in range(len(before)):
        begun = (begun ^ np.uint64(before[at])) * np.uint64(PRIME)
    for k in range(len(hashes)):
        h = begun
        for column in range(len(codes)):
            if column:
                h = (h ^ np.uint64(58)) * np.uint64(PRIME)
            word = codes[column, k]
            for at in range(bounds[word], bounds[word + 1]):
                h = (h ^ np.uint64(text[at])) * np.uint64(PRIME)
        hashes[k] = h


def hash_numbers(numbers: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Hash ids that are whole numbers from 0. Returns their features (n,) int64 and signs (n,)
    float64.
    """
    hashes = np.empty(len(numbers), np.uint64)
    _of_numbers(numbers.astype(np.uint64, copy=False), hashes)
    return _split_hashes(hashes, bits)


def hash_words(
    words: Sequence[str], bits: int, before: str = "", codes: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Hash ids that are words, each with the text `before` it; or that consist of k words, those
    with the numbers `codes` (k, n) int64, with colons between them. Returns their features and
    signs, as `hash_numbers`.
    """
    encoded = [word.encode() for word in words]
    bounds = np.zeros(len(words) + 1, np.int64)
    np.cumsum([*map(len, encoded)], out=bounds[1:])
    if codes is None:
        codes = np.arange(len(words))[None]
    hashes = np.empty(codes.shape[1], np.uint64)
    text = np.frombuffer(b"".join(encoded), np.uint8)
    _of_words(text, np.frombuffer(before.encode(), np.uint8), bounds, codes, hashes)
    return _split_hashes(hashes, bits)


def _split_hashes(hashes: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    h = mix(hashes)
    feature = (h & np.uint64((1 << bits) - 1)).astype(np.int64)
    return feature, 1.0 - 2.0 * (h >> np.uint64(63)).astype(np.float64)


def collisions(count: int, row: str, column: str) -> tuple[str, ...]:
    """Return a sentence for the user about entries that were added up, none if there are none."""
    if not count:
        return ()
    what = f"{count:,} {'entries have' if count > 1 else 'entry has'} the number of another"
    return (f"{what} {column} of the same {row}, by their hashes; they are added up",)
