"""The report of a model of topics, whatever has sampled it: topics by their words, how well these
go together, and the arrays of pyLDAvis.
"""

from __future__ import annotations

import numpy as np

from tux.apps.lda.seeds import drawn_counts, labels_of
from tux.predict.coherence import coherence, document_windows
from tux.predict.topics import TOPICS, by_words, top_words
from tux.program.report import Model, Report

TOP = 10  # words that a topic is told by


class TopicReport(Report):
    """Topics by their words, their coherence, and what pyLDAvis draws."""

    def tables(self, program, model):
        """Return the topics by their words, and how well these go together, if the corpus is at
        hand.
        """
        counts, ids = drawn_counts(program, model.fields["word"]["n"]), model.ids
        topics = by_words(ids["word"], counts, TOP)
        top = top_words(counts, TOP)
        used = np.take_along_axis(counts, top, axis=0) > 0
        documents = len(ids.get("document", ()))
        windows = document_windows(np.unique(top[used]), len(counts), documents, model.edges)
        coherent = coherence("npmi", top, used, windows)
        if np.isfinite(coherent).any():
            topics["npmi"] = coherent.round(4)[topics["topic"]]
        if (labels := labels_of(program)) is not None:
            topics["label"] = labels[topics["topic"]]
        return {"topics": topics}

    def summary(self, program, tables, records):
        """Return the mean coherence of all topics that have two words."""
        coherent = np.asarray(tables["topics"].get("npmi", np.nan))
        return {"npmi": float(np.nanmean(coherent))} if np.isfinite(coherent).any() else {}

    def exports(self):
        """Return the forms of export: the arrays that pyLDAvis draws, and how often each topic has
        each word.
        """
        return {"pyldavis": pyldavis, TOPICS: topics}


def topics(program, model: Model) -> dict[str, np.ndarray]:
    """Return `word` (V,) and `n` (V, K), how often the topics have them in training; and, where
    topics have labels, these: `label` (K,).
    """
    labels = labels_of(program)
    found = {"word": model.ids["word"], "n": drawn_counts(program, model.fields["word"]["n"])}
    return found if labels is None else {**found, "label": labels}


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
        "term_frequency": drawn_counts(program, counts).sum(1),
    }


def shares(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return rows (n, k) of counts and a prior of each, (k,) or one of all, as shares of their
    sums.
    """
    smooth = counts + prior
    return np.asarray(smooth / smooth.sum(1, keepdims=True))
