"""Boosted trees that rank, as an estimator: `tux.apps.gbdt` with the loss lambdarank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tux.apps.gbdt.lambdas import MOST_GRADE, find_wrong_grades, mean_ndcg
from tux.arrays.edges import EdgeData
from tux.estimators.conventions import check_consistent_length, column_or_1d, validate_data
from tux.estimators.matrices import REALS, in_32_bits, weights
from tux.estimators.parameters import set_parameters
from tux.estimators.trees import BoostedTrees
from tux.io.samples.labels import SampleLabels
from tux.io.samples.memory import label_column
from tux.io.samples.queries import query_codes


class BoostedTreesRanker(BoostedTrees):
    """Gradient boosted trees that rank the samples of each query by their grades, which are whole
    numbers from 0 on, the largest for the best: LambdaMART, as LightGBM's `lambdarank` has it.

    `truncation`: each pair of samples that is compared has one among so many first ranks;
    `ndcg_at`: the ranks at which `score` looks. The other parameters and what is fitted are those
    of `BoostedTreesClassifier`.
    """

    def __init__(
        self,
        max_iter: int = 100,
        *,
        truncation: int = 30,
        ndcg_at: int = 10,
        learning_rate: float = 0.3,
        max_depth: int = 6,
        l2: float = 1.0,
        min_child_weight: float = 1.0,
        min_gain: float = 0.0,
        subsample: float = 1.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        monotonic_cst: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> BoostedTreesRanker:
        """Grow trees for samples `X` (n, features), dense or sparse, their grades `y` (n,), and
        what names their queries, `qid` (n,): numbers or words, which must be given. Samples of a
        query need not follow each other.
        """
        self._run = None
        return self.partial_fit(X, y, qid, sample_weight)

    def partial_fit(
        self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None
    ) -> BoostedTreesRanker:
        """Go on with new samples, given as for `fit`, of new queries: trees are added, as many as
        `tux run --from` adds. Without a model it is `fit`.
        """
        self._run = getattr(self, "_run", None)
        how: dict[str, Any] = {"accept_sparse": "csr", "dtype": REALS, "y_numeric": True}
        X, y = validate_data(self, X, y, reset=self._run is None, **how)
        weight = weights(sample_weight, X)
        self._grow_trees(self._loss(), in_32_bits(X), np.asarray(y), weight, query=_codes(qid, y))
        return self

    def _loss(self) -> dict[str, Any]:
        """Return the parameters of the program that say the loss."""
        return {"loss": "lambdarank"}

    def _edges(self, X: Any) -> EdgeData:
        """Return the entries of samples without labels and queries."""
        edges = super()._edges(X)
        known = edges.vertex_fields["sample"]
        known = {**known, "query": np.zeros(len(edges.ids["sample"]), np.int32)}
        return replace(edges, vertex_fields={"sample": known})

    def predict(self, X: Any) -> np.ndarray:
        """Return the score of each sample, (n,), the largest for the best; scores of different
        queries are not to be compared.
        """
        return np.asarray(self._scores(X), np.float64)

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Return the mean NDCG of queries at the first `ndcg_at` ranks; a query without a grade
        above 0 counts as 1.
        """
        grade = column_or_1d(y, dtype=np.float64)
        check_consistent_length(X, grade)
        if find_wrong_grades(grade).any():
            raise ValueError(f"grades are whole numbers from 0 to {MOST_GRADE}")
        query = _codes(qid, grade)
        order = np.lexsort((-self.predict(X), query))  # stable: of equal scores the first one first
        bounds = np.flatnonzero(np.diff(query[order], prepend=-1, append=-1))
        return mean_ndcg(bounds, grade[order], self.ndcg_at)


def _codes(qid: Any, y: np.ndarray) -> np.ndarray:
    """Return the queries of samples as numbers from 0, (n,) int32. ValueError if there are none."""
    if qid is None:
        raise ValueError("samples are ranked within queries: pass qid=, the query of each sample")
    column = label_column(qid, "queries")
    check_consistent_length(column, y)
    codes = query_codes(SampleLabels.of(column))
    if (codes < 0).any():
        at = int(np.flatnonzero(codes < 0)[0])
        raise ValueError(f"the query of sample {at} is missing: give a number or a word for each")
    return codes
