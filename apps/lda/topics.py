"""What a model of topics tells, whatever has sampled it: topics by their words, topics of
documents, old and new, held-out perplexity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.apps.lda.coherence import npmi
from tux.apps.lda.fold_in import complete, infer, perplexity
from tux.apps.lda.likelihood import by_words, suited, top_words
from tux.apps.lda.priors import optimised
from tux.program.fields import Field, mirror
from tux.program.program import Program
from tux.stages import Exchange, GlobalSync, Score


def listed(dtype: str) -> Field:
    """A list of which the document's `size` says how long it is, kept as part of the model."""
    return mirror(dtype, "edges", kept=True, length="size")


class Topics(Program):
    """A program whose words count topics in `n`, and whose documents list theirs in `topics` and
    `times`.
    """

    suited = suited
    optimised = optimised

    def completed(self):
        """Stages that judge held-out documents: `test_perplexity`, of the context's totals
        `told` and `asked`.
        """
        return [Exchange(complete, over="document", held_out=True), GlobalSync(perplexity)]

    def predict(self):
        """Topics of new documents, (n, topics)."""
        return Score(infer, over="document", width="topics", name="topic")

    def tables(self, fields, ids, edges=()):
        """Topics by their words, and how well these go together, if the corpus is at hand."""
        counts = fields["word"]["n"]
        told = by_words(counts, ids["word"])
        top = top_words(counts)
        used = np.take_along_axis(counts, top, axis=0) > 0
        coherent = npmi(top, used, len(ids["word"]), len(ids.get("document", ())), edges)
        if np.isfinite(coherent).any():
            told["npmi"] = coherent.round(4)[told["topic"]]
        return {"topics": told}

    def summary(self, tables, records):
        """The mean coherence of all topics that have two words."""
        coherent = np.asarray(tables["topics"].get("npmi", np.nan))
        return {"npmi": float(np.nanmean(coherent))} if np.isfinite(coherent).any() else {}

    def exports(self):
        """What pyLDAvis draws."""
        return {"pyldavis": pyldavis}


def pyldavis(
    fields: dict[str, Any], ids: dict[str, Any], parameters: dict[str, Any]
) -> dict[str, np.ndarray]:
    """The arguments of pyLDAvis.prepare: V words, D documents, K topics.

    `topic_term_dists` (K, V) and `doc_topic_dists` (D, K) float64, the means given all topics
    drawn, whose rows sum to 1; `doc_lengths` (D,), `vocab` (V,) text, `term_frequency` (V,). A
    document without words has all topics alike.
    """
    counts, listed, times = (
        fields["word"]["n"],
        fields["document"]["topics"],
        fields["document"]["times"],
    )
    lengths = np.zeros((len(listed), parameters["topics"]))
    lengths[np.repeat(np.arange(len(listed)), listed.counts), listed.values] = times.values
    return {
        "topic_term_dists": shares(counts.T, fields["tau"]["beta"][0]),
        "doc_topic_dists": shares(lengths, fields["tau"]["alpha"][0]),
        "doc_lengths": lengths.sum(1).astype(np.int64),
        "vocab": np.array([str(word) for word in ids["word"]]),
        "term_frequency": counts.sum(1),
    }


def shares(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Rows (n, k) of counts and a prior of each, (k,) or one of all, as shares of their sums."""
    smooth = counts + prior
    return np.asarray(smooth / smooth.sum(1, keepdims=True))
