"""Latent Dirichlet allocation as a transformer: `tux.apps.lda` on a matrix of counts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from tux.api.result import Run
from tux.apps.lda import LDA
from tux.estimators.conventions import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    DataConversionWarning,
    TransformerMixin,
    check_is_fitted,
    check_non_negative,
    validate_data,
)
from tux.estimators.fitting import epochs_of, fit, history_of, matrix_edges, scores, starting_run
from tux.estimators.parameters import make_program, set_parameters

PIECE = 1 << 22  # numbers in a piece of the topics of entries: 16 MB


def _every_other_occurrence(counts: Any, row: np.ndarray) -> np.ndarray:
    """Return how many occurrences (nnz,) of each entry of `counts` (n, m), which is in CSR form,
    remain if a document keeps its first occurrence, its third, and so on. `row` (nnz,) is the
    document of each entry.
    """
    end = np.cumsum(counts.data, dtype=np.int64)
    begin = end - counts.data
    first = np.concatenate([[0], end])[counts.indptr[:-1]][row]  # occurrence of the document
    return (end - first + 1) // 2 - (begin - first + 1) // 2


class LatentDirichletAllocation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Topics of documents by Gibbs sampling: each document is a mixture of topics, and each topic a
    distribution of words.

    `n_components` topics; `doc_topic_prior` of each topic in a document and `topic_word_prior` of
    each word in a topic; with `optimise`, both are estimated anew every so many passes, and with
    `asymmetric` each topic gets a `doc_topic_prior` of its own. `max_iter`: passes over the
    occurrences. `sampler`: "sparse", "warp", or "auto" for the one that suits the corpus. `n_jobs`:
    threads, None for all cores; the result does not depend on them.

    Fitted: `components_` (n_components, n_features_in_), how often each topic has each word plus
    the prior, `doc_topic_prior_` (n_components,), `topic_word_prior_`, `n_iter_`, `history_`.
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float = 0.1,
        topic_word_prior: float = 0.01,
        optimise: int = 0,
        asymmetric: bool = False,
        sampler: str = "auto",
        max_iter: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> LatentDirichletAllocation:
        """Fit the topics to how often documents have words, `X` (documents, words), dense or
        sparse. Fractions are rounded, with a warning. ValueError where no word occurs.
        """
        return self._fit(self._counts(X, reset=True))

    def partial_fit(self, X: Any, y: Any = None) -> LatentDirichletAllocation:
        """Go on with new documents, given as for `fit`: their words are counted beside those of all
        documents before. Without a model it is `fit`;
        else the epochs are those of `tux run --from`, whatever `max_iter` is.
        """
        start = getattr(self, "_run", None)
        return self._fit(self._counts(X, reset=start is None), start)

    def _fit(self, counts: Any, start: Run | None = None) -> LatentDirichletAllocation:
        """Train on the counts, and keep plain arrays of the run, and the run, with which
        `partial_fit` begins.
        """
        if not counts.nnz:
            raise ValueError("no word occurs: X has no count of 1 or more")
        data = matrix_edges(("document", "word"), counts, count=counts.data)
        fitted = fit(self, self._program(), data, start=start)
        self._run = starting_run(fitted)
        self.topic_word_prior_ = float(fitted.context["beta"][0])
        self.doc_topic_prior_ = fitted.context["alpha"][0].astype(np.float64)
        self.components_ = fitted.vertices["word"]["n"].T + self.topic_word_prior_
        self.n_iter_, self.history_ = epochs_of(fitted), history_of(fitted)
        return self

    def _program(self) -> LDA:
        return make_program(
            self,
            LDA,
            topics="n_components",
            alpha="doc_topic_prior",
            beta="topic_word_prior",
        )

    def _counts(self, X: Any, *, reset: bool = False) -> Any:
        """Return `X` as a CSR matrix of whole numbers above 0, int32."""
        name = type(self).__name__
        X = validate_data(self, X, accept_sparse="csr", reset=reset)
        check_non_negative(X, name)
        matrix = sparse.csr_array(X, copy=True)
        matrix.sum_duplicates()
        whole = np.rint(matrix.data)
        if not np.array_equal(whole, matrix.data):
            warnings.warn(
                f"{name} counts whole occurrences: the fractions of X are rounded",
                DataConversionWarning,
                stacklevel=3,
            )
        if whole.max(initial=0) > np.iinfo(np.int32).max:
            raise ValueError(f"X has a count of {whole.max():g}, which is too large")
        matrix.data = whole.astype(np.int32)
        matrix.eliminate_zeros()
        return matrix

    def transform(self, X: Any) -> np.ndarray:
        """Return the topics of documents, (n, n_components); rows sum to 1. They are the most
        probable given the words that have occurred in training, by 30 steps of EM; a document
        without any has the prior.
        """
        check_is_fitted(self)
        theta = self._topics(self._counts(X))
        return theta if getattr(X, "dtype", None) == np.float32 else theta.astype(np.float64)

    def _topics(self, counts: Any) -> np.ndarray:
        """Return the topics of documents by their counts, float32."""
        of_words, smooth = self._of_words()
        fields = {
            "word": {"n": of_words, "seen": of_words.sum(axis=1)},
            "tau": {
                "n": of_words.sum(axis=0)[None],
                "alpha": self.doc_topic_prior_[None],
                "beta": np.array([self.topic_word_prior_]),
                "smooth": np.array([smooth]),
            },
        }
        edges = matrix_edges(("document", "word"), counts, count=counts.data)
        program = LDA(topics=of_words.shape[1])
        return scores(program, fields, edges, "document", self.n_jobs)

    def _of_words(self) -> tuple[np.ndarray, float]:
        """Return how often each word has each topic, (words, n_components) int32; and the prior of
        all words that occur.
        """
        of_words = np.rint(self.components_ - self.topic_word_prior_).astype(np.int32).T
        return of_words, np.count_nonzero(of_words.any(axis=1)) * self.topic_word_prior_

    def score(self, X: Any, y: Any = None) -> float:
        """Return the log-likelihood of every other word of each document, given topics that are
        inferred from the rest (document completion); higher is better. Words that training has not
        seen count nothing.
        """
        return self._completion(X)[0]

    def perplexity(self, X: Any) -> float:
        """Return exp of minus the mean of `score` by word; lower is better. NaN without any
        word.
        """
        likelihood, asked = self._completion(X)
        return float(np.exp(-likelihood / asked)) if asked else float("nan")

    def _completion(self, X: Any) -> tuple[float, int]:
        """Return the log-likelihood of every other occurrence of a known word, and how many these
        are.
        """
        check_is_fitted(self)
        counts = self._counts(X)
        of_words, smooth = self._of_words()
        unseen = of_words.sum(axis=1) == 0
        counts.data[unseen[counts.indices]] = 0
        counts.eliminate_zeros()
        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        given = _every_other_occurrence(counts, row)
        asked = counts.data - given
        entries = given.astype(np.int32), counts.indices, counts.indptr
        theta = self._topics(sparse.csr_array(entries, shape=counts.shape))
        share = 1 / (of_words.sum(axis=0) + smooth)
        likelihood, step = 0.0, max(1, PIECE // len(share))
        for at in range(0, len(row), step):
            piece = slice(at, at + step)
            phi = (of_words[counts.indices[piece]] + self.topic_word_prior_) * share
            chance = np.einsum("ij,ij->i", theta[row[piece]], phi)
            likelihood += float(asked[piece] @ np.log(chance))
        return likelihood, int(asked.sum())

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
