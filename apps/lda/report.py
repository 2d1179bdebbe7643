"""The report of a model of topics, whatever has sampled it: topics by their words, how well these
go together, and the arrays of pyLDAvis.
"""

from __future__ import annotations

import numpy as np

from tux.apps.lda.coherence import npmi
from tux.program.report import Model, Report

TOP = 10  # words that a topic is told by


class TopicReport(Report):
    """Topics by their words, their coherence, and what pyLDAvis draws."""

    def tables(self, program, model):
        """Return the topics by their words, and how well these go together, if the corpus is at
        hand.
        """
        counts, ids = model.fields["word"]["n"], model.ids
        topics = by_words(counts, ids["word"])
        top = top_words(counts)
        used = np.take_along_axis(counts, top, axis=0) > 0
        coherent = npmi(top, used, len(ids["word"]), len(ids.get("document", ())), model.edges)
        if np.isfinite(coherent).any():
            topics["npmi"] = coherent.round(4)[topics["topic"]]
        return {"topics": topics}

    def summary(self, program, tables, records):
        """Return the mean coherence of all topics that have two words."""
        coherent = np.asarray(tables["topics"].get("npmi", np.nan))
        return {"npmi": float(np.nanmean(coherent))} if np.isfinite(coherent).any() else {}

    def exports(self):
        """Return the forms of export: the arrays that pyLDAvis draws, and how often each topic has
        each word.
        """
        return {"pyldavis": pyldavis, "topics": topics}


def top_words(counts):
    """Return the most frequent words of each topic, (TOP, K), or fewer if there are fewer words; of
    equal ones the first. `counts` (V, K).
    """
    return np.stack([_most(counts[:, k]) for k in range(counts.shape[1])], axis=1)


def _most(counts):
    """Return the places of the TOP largest counts, largest first; only these are sorted."""
    least = np.sort(np.partition(counts, -TOP)[-TOP:])[0] if len(counts) > TOP else 0
    (at,) = np.nonzero(counts >= least)
    return at[np.argsort(-counts[at], kind="stable")][:TOP]


def by_words(counts, words):
    """Return the topics of `counts` (V, K), largest first: their most frequent `words` (V,), their
    tokens and their numbers.
    """
    tokens, top = counts.sum(axis=0), top_words(counts)
    order = np.argsort(-tokens, kind="stable")
    most = [" ".join(str(words[w]) for w in top[:, k] if counts[w, k]) for k in order]
    return {"words": most, "tokens": tokens[order], "topic": order}


def topics(program, model: Model) -> dict[str, np.ndarray]:
    """Return `word` (V,) and `n` (V, K), how often the topics have them in training."""
    return {"word": model.ids["word"], "n": model.fields["word"]["n"]}


def pyldavis(program, model: Model) -> dict[str, np.ndarray]:
    """Return the arguments of pyLDAvis.prepare: V words, D documents, K topics.

    `topic_term_dists` (K, V) and `doc_topic_dists` (D, K) float64, the means given all topics
    drawn, whose rows sum to 1; `doc_lengths` (D,), `vocab` (V,) text, `term_frequency` (V,). A
    document without words has all topics alike.
    """
    fields = model.fields
    counts, listed, times = (
        fields["word"]["n"],
        fields["document"]["topics"],
        fields["document"]["times"],
    )
    lengths = np.zeros((len(listed), program.topics))
    lengths[np.repeat(np.arange(len(listed)), listed.counts), listed.values] = times.values
    return {
        "topic_term_dists": shares(counts.T, fields["tau"]["beta"][0]),
        "doc_topic_dists": shares(lengths, fields["tau"]["alpha"][0]),
        "doc_lengths": lengths.sum(1).astype(np.int64),
        "vocab": np.array([str(word) for word in model.ids["word"]]),
        "term_frequency": counts.sum(1),
    }


def shares(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return rows (n, k) of counts and a prior of each, (k,) or one of all, as shares of their
    sums.
    """
    smooth = counts + prior
    return np.asarray(smooth / smooth.sum(1, keepdims=True))
