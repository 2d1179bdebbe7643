"""Boosted trees as estimators: `tux.apps.gbdt` on the rows of a matrix."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tux.api.result import Run
from tux.apps.gbdt import GBDT
from tux.apps.gbdt.shap import ExplainedTrees
from tux.arrays.edges import EdgeData
from tux.estimators.conventions import (
    RegressorMixin,
    check_is_fitted,
    validate_data,
)
from tux.estimators.fitting import fit, history_of, scores, starting_run
from tux.estimators.matrices import (
    REALS,
    MatrixClassifier,
    MatrixEstimator,
    in_32_bits,
    samples,
    weights,
)
from tux.estimators.parameters import make_program, set_parameters
from tux.inputs.deferred import DeferredEdges
from tux.predict.row_exports import rows_of_edges

FOREST = "feature", "cut", "default_left", "weight", "cover"
"""Fields of the context by which scores are computed and explained: a row for each tree, with its
nodes.
"""


class BoostedTrees(MatrixEstimator):
    """The common part of classifiers and regressors by boosted trees."""

    n_features_in_: int
    max_depth: int
    _runs: list[Run] | None

    def __init__(
        self,
        max_iter: int = 100,
        *,
        learning_rate: float = 0.3,
        max_depth: int = 6,
        l2: float = 1.0,
        min_child_weight: float = 1.0,
        min_gain: float = 0.0,
        subsample: float = 1.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def _grow_trees(
        self, loss: str, X: Any, label: np.ndarray, weight: np.ndarray, start: Run | None
    ) -> Run:
        """Train the trees of one problem, behind those of the run `start` if there is one."""
        program = make_program(self, GBDT, {"loss": loss}, colsample_bytree="max_features")
        there = np.flatnonzero(weight)  # others would have bins of their values
        X, label, weight = X[there], label[there], weight[there]
        known = {"label": label.astype(np.float32), "weight": weight.astype(np.float32)}
        return fit(self, program, DeferredEdges((X,), partial(samples, X, known)), start=start)

    def _keep(self, fits: list[Run]) -> None:
        """Keep plain arrays of the trees of all problems, and the runs, with which `partial_fit`
        begins.
        """
        self.trees_ = [_forest(each, self.max_depth) for each in fits]
        gains = np.sum([_gains(each, self.n_features_in_) for each in fits], axis=0)
        self.feature_importances_ = gains / max(gains.sum(), np.finfo(float).tiny)
        self.n_iter_ = np.array([each["tree"][0] for each in self.trees_], np.int32)
        self._runs = [starting_run(each) for each in fits]

    def contributions(self, X: Any) -> np.ndarray:
        """Return the SHAP values of samples `X` (n, features): what each feature adds to the
        score, and in the last column the mean score. (n, features + 1) float64, or (n, classes,
        features + 1) for more than two classes. Each row sums to the score, in log-odds for
        classes. See `tux.apps.gbdt.shap` for the formulas.
        """
        edges, n = self._edges(X), self.n_features_in_
        rows = rows_of_edges(edges, "sample", edges.ids["sample"].values)
        out = np.zeros((len(rows.ids), len(self.trees_), n + 1))
        for k, each in enumerate(self.trees_):
            explained = ExplainedTrees.of(each, n)
            columns = np.append(explained.used, n)
            out[:, k, columns] = np.concatenate([*explained.contributions(rows)])
        return out[:, 0] if len(self.trees_) == 1 else out

    def _edges(self, X: Any) -> EdgeData:
        """Return the entries of samples without labels."""
        check_is_fitted(self)
        X = in_32_bits(validate_data(self, X, accept_sparse="csr", dtype=REALS, reset=False))
        unknown = {"label": np.zeros(X.shape[0], np.float32)}
        unknown["weight"] = np.ones(X.shape[0], np.float32)
        return samples(X, unknown)

    def _scores(self, X: Any, *, loss: str) -> np.ndarray:
        """Return the scores of samples by the trees of each problem, (n, problems) float64."""
        edges = self._edges(X)
        out = []
        for each in self.trees_:
            trees, nodes = each["feature"].shape
            program = GBDT(loss=loss, max_iter=trees, max_depth=nodes.bit_length() - 2)
            out.append(scores(program, {"tau": each}, edges, "sample", self.n_jobs))
        return np.stack(out, axis=1).astype(np.float64)


class BoostedTreesClassifier(MatrixClassifier, BoostedTrees):
    """Gradient boosted trees for classes, with splits by histograms, as XGBoost's `hist` has them.

    `max_iter`: trees; `learning_rate`: the share of each; `max_depth`: levels of splits; `l2`: the
    penalty on weights of leaves; `min_child_weight`: the smallest sum of second derivatives in a
    leaf; `min_gain`: what a split must gain; `subsample` and `max_features`: the shares of samples
    and features that a tree sees; `max_bins`: of a feature. `class_weight`: as in scikit-learn.
    More than two classes are one against the rest each. `n_jobs`: threads, None for all cores; the
    result does not depend on them. Values are read in 32 bits. Zeros, of dense matrices too, are
    missing: at each split they go the way that fits better.

    Fitted: `classes_`, `n_iter_` trees of each problem, `feature_importances_` (n_features_in_,),
    shares of the gains of all splits, `history_` of each problem, `trees_`.
    """

    def __init__(
        self,
        max_iter: int = 100,
        *,
        learning_rate: float = 0.3,
        max_depth: int = 6,
        l2: float = 1.0,
        min_child_weight: float = 1.0,
        min_gain: float = 0.0,
        subsample: float = 1.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BoostedTreesClassifier:
        """Grow trees for samples `X` (n, features), dense or sparse, and their classes `y` (n,).
        ValueError unless samples of two classes have a weight.
        """
        self._runs = None
        return self.partial_fit(X, y, sample_weight=sample_weight)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> BoostedTreesClassifier:
        """Go on with new samples of the same classes, given as for `fit`: trees are added, as many
        as `tux run --from` adds. Without a model it is `fit`, of all `classes` if they are given.
        """
        starts = getattr(self, "_runs", None)
        reset = starts is None
        X, y, weight = self._check_samples(X, y, sample_weight, reset=reset, classes=classes)
        positives = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        fits = [
            self._grow_trees("logistic", X, np.where(y == positive, 1, -1), weight, start)
            for positive, start in zip(positives, starts or [None] * len(positives), strict=True)
        ]
        self._keep(fits)
        self.history_ = [history_of(each) for each in fits]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (n, classes), in the order of `classes_`. Those of
        one class against the rest are divided by their sum.
        """
        chances = self._scores(X, loss="logistic")
        if len(self.classes_) == 2:
            return np.column_stack([1 - chances, chances])
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each sample, (n,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


class BoostedTreesRegressor(RegressorMixin, BoostedTrees):
    """Gradient boosted trees for numbers, by the squared error. The parameters and what is fitted
    are those of `BoostedTreesClassifier`; `history_` is that of the only problem.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BoostedTreesRegressor:
        """Grow trees for samples `X` (n, features), dense or sparse, and their numbers `y` (n,)."""
        self._runs = None
        return self.partial_fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> BoostedTreesRegressor:
        """Go on with new samples, given as for `fit`: trees are added, as many as `tux run --from`
        adds. Without a model it is `fit`.
        """
        starts = getattr(self, "_runs", None)
        how: dict[str, Any] = {"accept_sparse": "csr", "dtype": REALS, "y_numeric": True}
        X, y = validate_data(self, X, y, reset=starts is None, **how)
        X, y, weight = in_32_bits(X), np.asarray(y), weights(sample_weight, X)
        fits = [self._grow_trees("squared", X, y, weight, starts[0] if starts else None)]
        self._keep(fits)
        self.history_ = history_of(fits[0])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted number of each sample, (n,)."""
        return np.asarray(self._scores(X, loss="squared")[:, 0])


def _forest(fitted: Run, depth: int) -> dict[str, np.ndarray]:
    """Return the trees of a run, and the score before the first one."""
    trees, width = int(fitted.context["tree"][0]), 2 ** (depth + 1)
    nodes = {name: fitted.context[name].reshape(-1, width)[:trees].copy() for name in FOREST}
    return nodes | {name: fitted.context[name].copy() for name in ("base", "tree")}


def _gains(fitted: Run, features: int) -> np.ndarray:
    """Return the sum of the gains of each feature's splits, (features,)."""
    feature, gain = (fitted.context[name].reshape(-1) for name in ("feature", "gain"))
    there = feature >= 0
    return np.bincount(feature[there], gain[there].astype(np.float64), minlength=features)
