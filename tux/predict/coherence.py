"""Do the words of a topic occur together? Measures of coherence, by the windows of a corpus that
have one word, and those that have two.

    npmi    Bouma (GSCL 2009); Lau, Newman and Baldwin (EACL 2014)
    c_v     Roeder, Both and Hinneburg (WSDM 2015)
    u_mass  Mimno, Wallach, Talley, Leenders and McCallum (EMNLP 2011)

A window is a document; or, for c_v where the order of words is known, `SLIDING` words of one that
stand together, each such run once. A document that has fewer is one window.

The numbers of c_v and u_mass are those of gensim's CoherenceModel. So its way of counting is
followed: as the window slides, it loses a word with that word's first occurrence, though another
one may still be inside, and has it again with the next that enters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from tux.arrays.integers import distinct_integers
from tux.base.compiled import cached_njit

SLIDING = 110  # words of a window of c_v
TINY = 1e-12  # what is added to a probability before its logarithm is taken


class Windows(NamedTuple):
    """The windows of a corpus, numbered from 0, that have each of some words. Those of the word in
    list i are from ``begins[j]`` up to ``ends[j]``, for j in ``bounds[i] : bounds[i + 1]``.
    """

    total: int  # of all windows
    lists: np.ndarray  # (V,) int64: the list of each word, -1 where it has none
    bounds: np.ndarray  # (lists + 1,) int64
    begins: np.ndarray  # (m,) int64, ascending in a list
    ends: np.ndarray  # (m,) int64

    def of_both(self, words: np.ndarray) -> np.ndarray:
        """Count the windows (n, n) float64 that have two of `words` (n,), and on the diagonal those
        that have one.
        """
        out = np.zeros((len(words), len(words)))
        _intersect(self.lists[words], self.bounds, self.begins, self.ends, out)
        return out


def document_windows(
    chosen: np.ndarray, words: int, documents: int, edges: Iterable[tuple[np.ndarray, np.ndarray]]
) -> Windows:
    """Return the documents, each a window, that have each of the `chosen` words.

    `edges`: pieces (documents (m,), words (m,)) of the corpus, as numbers below `documents` and
    `words`, in any order, repeated or not.
    """
    lists = _number(chosen, words)
    keys = [np.empty(0, np.int64)]
    for document, word in edges:
        here = lists[word]
        keys.append(distinct_integers(here[here >= 0] * documents + document[here >= 0]))
    pairs = distinct_integers(np.concatenate(keys))
    bounds = np.searchsorted(pairs, np.arange(len(chosen) + 1) * documents)
    begins = pairs % max(documents, 1)
    return Windows(documents, lists, bounds, begins, begins + 1)


def sliding_windows(
    chosen: np.ndarray, words: int, codes: np.ndarray, bounds: np.ndarray, size: int = SLIDING
) -> Windows:
    """Return the windows of `size` words that have each of the `chosen` ones.

    `codes` (m,): the words of the corpus in their order, as numbers below `words`, -1 for others;
    those of document d are ``codes[bounds[d] : bounds[d + 1]]``.
    """
    lists = _number(chosen, words)
    found = np.append(lists, -1)  # -1 as a code is the last place
    where = np.append(0, np.cumsum(_occurrences(codes, found, len(chosen))))
    begins, ends = np.empty(where[-1], np.int64), np.empty(where[-1], np.int64)
    total = _slide(codes, bounds, found, size, where, begins, ends)
    return Windows(int(total), lists, where, begins[: where[-1]], ends[: where[-1]])


def _number(chosen: np.ndarray, words: int) -> np.ndarray:
    """Return the place of each of `words` words among the `chosen` ones, -1 if it is none."""
    lists = np.full(words, -1, np.int64)
    lists[chosen] = np.arange(len(chosen))
    return lists


@cached_njit
def _occurrences(codes, lists, size):  # type: ignore[no-untyped-def]
    """Count how often the words of each list occur, (size,)."""
    out = np.zeros(size, np.int64)
    for code in codes:
        if lists[code] >= 0:
            out[lists[code]] += 1
    return out


@cached_njit
def _slide(codes, texts, lists, size, where, begins, ends):  # type: ignore[no-untyped-def]
    """Write the windows that have the words of each list, and into `where` (lists + 1,), which has
    the bounds of their occurrences, those of their windows. Returns the number of all windows.

    An occurrence enters as the last word of a window; that window has the list, and those behind it
    up to the one that the oldest occurrence inside begins.
    """
    places = np.empty(where[-1], np.int64)
    seen, oldest, count = where[:-1].copy(), where[:-1].copy(), where[:-1].copy()
    total = 0
    for text in range(len(texts) - 1):
        start = texts[text]
        last = max(texts[text + 1] - start - size, 0)  # the last window of the text
        for i in range(start, texts[text + 1]):
            k = lists[codes[i]]
            if k < 0:
                continue
            places[seen[k]] = i
            seen[k] += 1
            begin = max(i - size + 1, start)
            while places[oldest[k]] < begin:
                oldest[k] += 1
            low = total + begin - start
            high = total + min(places[oldest[k]] - start, last) + 1
            if count[k] > where[k] and low <= ends[count[k] - 1]:
                ends[count[k] - 1] = high
            else:
                begins[count[k]], ends[count[k]] = low, high
                count[k] += 1
        total += last + 1
    kept = 0
    for k in range(len(count)):
        first, where[k] = where[k], kept
        for at in range(first, count[k]):
            begins[kept], ends[kept] = begins[at], ends[at]
            kept += 1
    where[-1] = kept
    return total


@cached_njit
def _intersect(lists, bounds, begins, ends, out):  # type: ignore[no-untyped-def]
    """Count the windows that are in two lists, for all pairs of lists and each with itself."""
    for i in range(len(lists)):
        for j in range(i + 1):
            a, b = bounds[lists[i]], bounds[lists[j]]
            both = 0
            while a < bounds[lists[i] + 1] and b < bounds[lists[j] + 1]:
                both += max(min(ends[a], ends[b]) - max(begins[a], begins[b]), 0)
                if ends[a] < ends[b]:
                    a += 1
                else:
                    b += 1
            out[i, j] = out[j, i] = both


def npmi(both: np.ndarray, windows: int) -> float:
    """Return the mean over pairs of words of

        ln(p(i, j) / (p(i) p(j))) / -ln p(i, j),
            -1 where no window has both, 1 where all have

    p being shares of the windows. `both` (n, n): see `Windows.of_both`.
    """
    i, j = np.triu_indices(len(both), 1)
    together, alone = both[i, j], np.diag(both)
    some = (together > 0) & (together < windows)
    out = np.where(together > 0, 1.0, -1.0)
    out[some] = np.log(together[some] * windows / (alone[i] * alone[j])[some]) / np.log(
        windows / together[some]
    )
    return float(out.mean())


def c_v(both: np.ndarray, windows: int) -> float:
    """Return the mean over words of the cosine of a word's vector and the sum of all vectors. The
    vector of word i has for each word j of the topic, i too,

        ln((p(i, j) + e) / (p(i) p(j))) / -ln(p(i, j) + e),    e = `TINY`
    """
    shares = both / windows
    alone = np.diag(shares)
    vectors = np.log((shares + TINY) / np.outer(alone, alone)) / -np.log(shares + TINY)
    whole = vectors.sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    return float((vectors @ whole / lengths).mean())


def u_mass(both: np.ndarray, windows: int) -> float:
    """Return the mean over pairs of a word i and one before it, j, of ln((p(i, j) + e) / p(j)), e
    being `TINY`. (Mimno et al. add 1 to the count of documents, and take the sum of all pairs.)
    """
    i, j = np.tril_indices(len(both), -1)
    return float(np.log((both[i, j] / windows + TINY) / (both[j, j] / windows)).mean())


MEASURES: dict[str, Callable[[np.ndarray, int], float]] = {
    "c_v": c_v,
    "u_mass": u_mass,
    "npmi": npmi,
}
"""Each measure of a topic, by its name."""


def coherence(measure: str, top: np.ndarray, used: np.ndarray, windows: Windows) -> np.ndarray:
    """Return a measure (K,) float64 of topics whose words are the columns of `top` (TOP, K), those
    where `used` (TOP, K), the most frequent first. Words that no window has are left out; NaN of
    fewer than two.
    """
    out = np.full(top.shape[1], np.nan)
    for k in range(top.shape[1]):
        words = top[used[:, k], k]
        both = windows.of_both(words)
        there = np.flatnonzero(np.diag(both))
        if len(there) > 1:
            out[k] = MEASURES[measure](both[np.ix_(there, there)], windows.total)
    return out
