"""Do the words of a topic occur in the same documents? Coherence by NPMI (Bouma, GSCL 2009; Lau,
Newman and Baldwin, EACL 2014).

For two words, D(i) and D(i, j) being how many of D documents have one, and both:

    NPMI = ln(D(i, j) D / (D(i) D(j))) / ln(D / D(i, j)),
        -1 where no document has both, 1 where all have

and a topic's is the mean over all pairs of its most frequent words. (Lau et al. count in windows of
a large corpus; here a window is a document of the training corpus.)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tux.arrays.integers import distinct_integers


def npmi(
    top: np.ndarray,
    used: np.ndarray,
    words: int,
    documents: int,
    edges: Iterable[tuple[np.ndarray, np.ndarray]],
) -> np.ndarray:
    """Return the coherence (K,) float64 of topics whose words are the columns of `top` (TOP, K),
    those where `used` (TOP, K); NaN of fewer than two.

    `edges`: pieces (documents (m,), words (m,)) of the corpus, as numbers below `documents` and
    `words`, in any order, repeated or not.
    """
    present, holds = _documents(np.unique(top[used]), words, documents, edges)
    places, marks, out = (
        np.empty(words, np.int64),
        np.zeros(documents, np.int64),
        np.full(top.shape[1], np.nan),
    )
    places[np.unique(top[used])] = np.arange(len(holds))
    for k in range(top.shape[1]):
        mine = [holds[at] for at in places[top[used[:, k], k]]]
        if len(mine) < 2 or not present:
            continue
        for bit, held in enumerate(mine):
            marks[held] |= 1 << bit  # `held` has no document twice
        either = distinct_integers(np.concatenate(mine))
        has = (marks[either, None] >> np.arange(len(mine)) & 1).astype(np.float64)
        marks[either] = 0
        out[k] = _mean(has.T @ has, present)
    return out


def _documents(
    chosen: np.ndarray, words: int, documents: int, edges: Iterable[tuple[np.ndarray, np.ndarray]]
) -> tuple[int, list[np.ndarray]]:
    """Return how many documents have a word, and for each of the `chosen` words the documents that
    have it, each once.
    """
    place, present = np.full(words, -1, np.int64), np.zeros(documents, np.bool_)
    place[chosen] = np.arange(len(chosen))
    keys = [np.empty(0, np.int64)]
    for document, word in edges:
        present[document] = True
        here = place[word]
        keys.append(distinct_integers(here[here >= 0] * documents + document[here >= 0]))
    pairs = distinct_integers(np.concatenate(keys))
    bounds = np.searchsorted(pairs, np.arange(len(chosen) + 1) * documents)
    return int(present.sum()), [
        pairs[lo:hi] % documents for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)
    ]


def _mean(both: np.ndarray, documents: int) -> float:
    """Return the mean NPMI of all pairs, `both` (n, n) being D(i, j), and D(i) on the diagonal."""
    i, j = np.triu_indices(len(both), 1)
    together, alone = both[i, j], np.diag(both)
    some = (together > 0) & (together < documents)
    out = np.where(together > 0, 1.0, -1.0)
    out[some] = np.log(together[some] * documents / (alone[i] * alone[j])[some]) / np.log(
        documents / together[some]
    )
    return float(out.mean())
