"""Linear classifiers of the rows of a matrix; one of them is sparse logistic regression, by
`tux.apps.blockpg`.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit, softmax

from tux.api.result import Run
from tux.apps.blockpg import BlockPG
from tux.estimators.conventions import (
    ConvergenceWarning,
    check_is_fitted,
    safe_sparse_dot,
    validate_data,
)
from tux.estimators.fitting import epochs_of, fit, history_of
from tux.estimators.matrices import REALS, MatrixClassifier, samples
from tux.estimators.parameters import make_program, set_parameters
from tux.inputs.deferred import DeferredEdges


class LinearClassifier(MatrixClassifier):
    """The common part of classifiers with a weight for each feature: predictions by `coef_`,
    `intercept_` and `classes_`.
    """

    coef_: Any
    intercept_: np.ndarray
    tol: float
    max_iter: int

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margins of samples: (n,) for two classes, else (n, classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=REALS, reset=False)
        margins = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return np.asarray(margins[:, 0] if len(self.classes_) == 2 else margins)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each sample, (n,)."""
        margins = self.decision_function(X)
        best = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (n, classes), in the order of `classes_`."""
        margins = self.decision_function(X)
        if margins.ndim == 1:
            return np.column_stack([expit(-margins), expit(margins)])
        return np.asarray(softmax(self._logs(margins), axis=1))

    def _logs(self, margins: np.ndarray) -> np.ndarray:
        """Return the logarithms of the probabilities of more than two classes, (n, classes), but
        for a term of each sample.
        """
        return margins

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))

    def sparsify(self) -> Self:
        """Hold `coef_` as a sparse matrix, which is smaller where most weights are 0."""
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Hold `coef_` as an array again."""
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()  # type: ignore[attr-defined]
        return self


class SparseLogisticRegression(LinearClassifier):
    """Logistic regression with an L1 penalty, under which most weights are exactly 0.

        min  sum_i c_i log(1 + exp(-y_i (x_i.w + b))) + l1 sum_j |w_j| + l2/2 sum_j w_j^2

    The loss is a sum over samples, so `l1` is 1/C of scikit-learn's
    ``LogisticRegression(penalty="l1")``. `fit_intercept`: whether there is a b, which is not
    penalised. `class_weight`: as there; c_i is the weight of sample i times that of its class.
    `tol`: end when a full pass has changed the objective by a smaller share; `max_iter`: passes.
    More than two classes are one against the rest each. `n_jobs`: threads, None for all cores; the
    result does not depend on them. Values and slopes are kept in 32 bits.

    Fitted: `coef_` (1 or classes, n_features_in_), `intercept_` (1 or classes,), `classes_`,
    `n_iter_` passes of each problem, `history_` of each.
    """

    def __init__(
        self,
        l1: float = 1.0,
        l2: float = 0.0,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-7,
        max_iter: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseLogisticRegression:
        """Fit the weights to samples `X` (n, features), dense or sparse, and their classes `y`
        (n,). ValueError unless samples of two classes have a weight.
        """
        X, y, weight = self._check_samples(X, y, sample_weight)
        fits = []
        for positive in self.classes_[1:] if len(self.classes_) == 2 else self.classes_:
            label = np.where(y == positive, 1, -1).astype(np.float32)
            of_samples = {"label": label, "weight": weight.astype(np.float32)}
            fits.append(fit_sparse(self, {}, DeferredEdges((X,), partial(samples, X, of_samples))))
        self.coef_ = np.stack([each.vertices["feature"]["w"] for each in fits])
        self.intercept_ = np.array([each.context["b"][0] for each in fits])
        self.n_iter_ = np.array([epochs_of(each) for each in fits], np.int32)
        self.history_ = [history_of(each) for each in fits]
        return self

    def _logs(self, margins: np.ndarray) -> np.ndarray:
        """Return the logarithms of the probabilities of one class against the rest: shares of their
        sum.
        """
        return np.asarray(log_expit(margins))


def fit_sparse(estimator: Any, chosen: dict[str, Any], edges: Any) -> Run:
    """Fit one problem of BlockPG, with the parameters of an estimator and those `chosen` besides;
    warn where the passes have not been enough.
    """
    fitted = fit(estimator, make_program(estimator, BlockPG, chosen), edges)
    change = history_of(fitted).get("change", np.array([np.inf]))[-1]
    if epochs_of(fitted) == estimator.max_iter and not change <= estimator.tol:
        warnings.warn(
            f"not converged after {estimator.max_iter} passes: raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    return fitted
