"""Boosted trees as estimators: `tux.apps.gbdt` on the rows of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from tux.api.result import Run
from tux.apps.gbdt import GBDT
from tux.apps.gbdt.context import trees_of_epoch
from tux.apps.gbdt.losses import LOSSES
from tux.apps.gbdt.shap import ExplainedTrees, explain_scores
from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.base.text import join_class_names
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
    n_jobs: int | None
    _run: Run | None
    _chosen: dict[str, Any]

    def _grow_trees(
        self,
        chosen: dict[str, Any],
        X: Any,
        label: np.ndarray,
        weight: np.ndarray,
        **more: np.ndarray,
    ) -> None:
        """Train the trees of a program with the parameters `chosen`, behind those that there are,
        and keep plain arrays of all, and the run, with which `partial_fit` begins. `more`: further
        fields of samples, (n,).
        """
        given = {**chosen, "monotone": self._directions()}
        names = {"colsample_bytree": "max_features", "monotone": "monotonic_cst"}
        program = make_program(self, GBDT, given, **names)
        # samples that do not count would have bins of their values, but queries have ranks for them
        there = np.arange(len(weight)) if more else np.flatnonzero(weight)
        X, label, weight = X[there], label[there], weight[there]
        known: dict[str, np.ndarray] = {"label": label.astype(np.float64)}
        known["weight"] = weight.astype(np.float32)
        known |= {name: values[there] for name, values in more.items()}
        data = DeferredEdges((X,), partial(samples, X, known, np.float64))
        fitted = fit(self, program, data, start=self._run)
        self.trees_ = _forest(fitted, self.max_depth)
        gains = _gains(fitted, self.n_features_in_)
        self.feature_importances_ = gains / max(gains.sum(), np.finfo(float).tiny)
        self.n_iter_ = np.array([self.trees_["tree"][0] // trees_of_epoch(program)], np.int32)
        self.history_ = history_of(fitted)
        self._run, self._chosen = starting_run(fitted), chosen

    def _directions(self) -> str:
        """Return the directions of features as the text that the program reads. ValueError for
        other numbers than 1, -1 and 0, and for features that X does not have.
        """
        given = getattr(self, "monotonic_cst", None)  # one that was pickled earlier has none
        if given is None:
            return ""
        if isinstance(given, Mapping):
            names = [*getattr(self, "feature_names_in_", ())]
            if unknown := [name for name in given if name not in names]:
                raise ValueError(
                    f"monotonic_cst names {unknown[0]!r}, and X has no column of this name"
                )
            given = [given.get(name, 0) for name in names]
        directions = np.asarray(given)
        if directions.shape != (self.n_features_in_,):
            raise ValueError(
                f"monotonic_cst has the shape {directions.shape}, and X has {self.n_features_in_} "
                "features: give a direction for each, or a dict by the names of columns"
            )
        if not np.isin(directions, (-1, 0, 1)).all():
            raise ValueError("monotonic_cst has other directions than 1, -1 and 0")
        return ",".join(f"{k}:{int(directions[k])}" for k in np.flatnonzero(directions))

    def contributions(self, X: Any) -> np.ndarray:
        """Return the SHAP values of samples `X` (n, features): what each feature adds to the
        score, and in the last column the mean score. (n, features + 1) float64, or (n, classes,
        features + 1) for more than two classes. Each row sums to the score, in log-odds for
        classes. See `tux.apps.gbdt.shap` for the formulas.
        """
        edges, n = self._edges(X), self.n_features_in_
        rows = rows_of_edges(edges, "sample", edges.ids["sample"].values)
        classes = len(self.trees_["feature"]) // int(self.n_iter_[0])
        explained = [
            ExplainedTrees.of(self.trees_, n, slice(k, None, classes)) for k in range(classes)
        ]
        found = np.concatenate([*explain_scores(explained, rows)])
        out, first = np.zeros((len(found), classes, n + 1)), 0
        for k, each in enumerate(explained):
            columns = np.append(each.used, n)
            out[:, k, columns] = found[:, first : first + len(columns)]
            first += len(columns)
        return out[:, 0] if classes == 1 else out

    def _edges(self, X: Any) -> EdgeData:
        """Return the entries of samples without labels."""
        check_is_fitted(self)
        X = in_32_bits(validate_data(self, X, accept_sparse="csr", dtype=REALS, reset=False))
        unknown = {"label": np.zeros(X.shape[0], np.float32)}
        unknown["weight"] = np.ones(X.shape[0], np.float32)
        return samples(X, unknown, np.float64)

    def _scores(self, X: Any) -> np.ndarray:
        """Return what the program that was fitted predicts by the trees, (n,) or (n, classes)."""
        edges = self._edges(X)
        depth = self.trees_["feature"].shape[1].bit_length() - 2
        shape = {"max_iter": int(self.n_iter_[0]), "max_depth": depth}
        program = GBDT(**(getattr(self, "_chosen", None) or self._loss()), **shape)
        return scores(program, {"tau": self.trees_}, edges, "sample", self.n_jobs)


class BoostedTreesClassifier(MatrixClassifier, BoostedTrees):
    """Gradient boosted trees for classes, with splits by histograms, as XGBoost's `hist` has them.

    `max_iter`: trees; `learning_rate`: the share of each; `max_depth`: levels of splits; `l2`: the
    penalty on weights of leaves; `min_child_weight`: the smallest sum of second derivatives in a
    leaf; `min_gain`: what a split must gain; `subsample` and `max_features`: the shares of samples
    and features that a tree sees; `max_bins`: of a feature. `monotonic_cst`: 1 for a feature with
    which the score may only rise, -1 for one with which it may only fall, 0 for others: an array
    (n_features,), or a dict by the names of columns. `class_weight`: as in scikit-learn. More than
    two classes are fitted together, by the loss softmax, and each of the `max_iter` epochs grows a
    tree for each class. `n_jobs`: threads, None for all cores; the result does not depend on them.
    Zeros, of dense matrices too, are missing: at each split they go the way that fits better.

    Fitted: `classes_`, `n_iter_` (1,), `feature_importances_` (n_features_in_,), shares of the
    gains of all splits, `history_`, `trees_`.
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
        monotonic_cst: Any = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BoostedTreesClassifier:
        """Grow trees for samples `X` (n, features), dense or sparse, and their classes `y` (n,).
        ValueError unless samples of two classes have a weight.
        """
        self._run = None
        return self.partial_fit(X, y, sample_weight=sample_weight)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> BoostedTreesClassifier:
        """Go on with new samples of the same classes, given as for `fit`: trees are added, as many
        as `tux run --from` adds. Without a model it is `fit`, of all `classes` if they are given.
        """
        self._run = getattr(self, "_run", None)
        reset = self._run is None
        X, y, weight = self._check_samples(X, y, sample_weight, reset=reset, classes=classes)
        label = np.searchsorted(self.classes_, y)
        if len(self.classes_) == 2:
            label = 2 * label - 1
        self._grow_trees(self._loss(), X, label, weight)
        return self

    def _loss(self) -> dict[str, str]:
        """Return the parameters of the program that depend on the classes."""
        if len(self.classes_) == 2:
            return {"loss": "logistic"}
        names = join_class_names([str(k) for k in range(len(self.classes_))])
        return {"loss": "softmax", "classes": names}

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (n, classes), in the order of `classes_`."""
        check_is_fitted(self)
        chances = self._scores(X).astype(np.float64)
        return np.column_stack([1 - chances, chances]) if chances.ndim == 1 else chances

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each sample, (n,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


class BoostedTreesRegressor(RegressorMixin, BoostedTrees):
    """Gradient boosted trees for numbers. `loss`: "squared", half the squared error; "poisson", for
    counts or other numbers from 0 on, whose predictions are positive; or "quantile", by which the
    share `quantile` of the numbers lies below predictions. The other parameters and what is fitted
    are those of `BoostedTreesClassifier`.
    """

    def __init__(
        self,
        max_iter: int = 100,
        *,
        loss: str = "squared",
        quantile: float = 0.5,
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BoostedTreesRegressor:
        """Grow trees for samples `X` (n, features), dense or sparse, and their numbers `y` (n,)."""
        self._run = None
        return self.partial_fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> BoostedTreesRegressor:
        """Go on with new samples, given as for `fit`: trees are added, as many as `tux run --from`
        adds. Without a model it is `fit`.
        """
        self._run = getattr(self, "_run", None)
        how: dict[str, Any] = {"accept_sparse": "csr", "dtype": REALS, "y_numeric": True}
        X, y = validate_data(self, X, y, reset=self._run is None, **how)
        self._grow_trees(self._loss(), in_32_bits(X), np.asarray(y), weights(sample_weight, X))
        return self

    def _loss(self) -> dict[str, str]:
        """Return the parameters of the program that say the loss. UsageError for one of classes."""
        if self.loss in LOSSES and LOSSES[self.loss].of_classes:
            numbers = [name for name, loss in LOSSES.items() if not loss.of_classes]
            raise UsageError(
                f"the loss {self.loss} is for classes", do=f"choose one of: {', '.join(numbers)}"
            )
        return {"loss": self.loss}

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted number of each sample, (n,)."""
        return np.asarray(self._scores(X), np.float64)


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
