"""Topics by their words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.arrays.arrow import STRING
from tux.base.errors import UsageError
from tux.program.program import Program
from tux.program.returns import check_exports

TOPICS = "topics"
"""The format of `exports` that has the words of each topic."""


def check_topics(program: Program) -> None:
    """Raise UsageError for a program whose models have no topics."""
    if TOPICS not in check_exports(program):
        raise UsageError(
            f"{type(program).__name__} has no topics",
            do="topics are of models of documents, such as those of tux.LDA",
        )


def top_words(counts: np.ndarray, n: int) -> np.ndarray:
    """Return the `n` most frequent words of each topic, (n, K), or fewer if there are fewer words;
    of equal ones the first. `counts` (V, K).
    """
    return np.stack([_most(counts[:, k], n) for k in range(counts.shape[1])], axis=1)


def _most(counts: np.ndarray, n: int) -> np.ndarray:
    """Return the places of the n largest counts, largest first; only these are sorted."""
    least = np.partition(counts, -n)[-n] if len(counts) > n else 0
    (at,) = np.nonzero(counts >= least)
    return at[np.argsort(-counts[at], kind="stable")][:n]


def topics_of(
    words: np.ndarray, counts: np.ndarray, n: int, labels: np.ndarray | None = None
) -> dict[str, Any]:
    """Return the most frequent `words` (V,) of each topic by its `counts` (V, K), the largest topic
    first; of equal words the first. Words that a topic does not have are empty, with a share of 0.
    `labels` (K,) are those of the topics, if they have some.
    """
    if n < 1:
        raise UsageError(f"{n} words of each topic are asked for", do="ask for 1 at least")
    tokens = counts.sum(axis=0)
    order = np.argsort(-tokens, kind="stable")
    top = top_words(counts, n).T[order]
    often = counts[top, order[:, None]]
    shown = np.where(often > 0, np.asarray(words, object)[top], "")
    told = {} if labels is None else {"label": np.asarray(labels, object)[order].astype(STRING)}
    return {
        "topic": order,
        **told,
        "tokens": tokens[order],
        "words": shown.astype(STRING),
        "shares": often / np.maximum(tokens[order], 1)[:, None],
    }


def by_words(words: np.ndarray, counts: np.ndarray, n: int) -> dict[str, Any]:
    """Return what `topics_of` does without the shares, the words of a topic as one text."""
    found = topics_of(words, counts, n)
    texts = [" ".join(str(word) for word in row if word) for row in found["words"]]
    return {"words": texts, "tokens": found["tokens"], "topic": found["topic"]}
