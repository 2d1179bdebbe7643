"""Sparse linear models of numbers as estimators: `tux.apps.blockpg` with the squared loss on the
rows of a matrix.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from tux.base.errors import UsageError
from tux.estimators.conventions import (
    RegressorMixin,
    check_is_fitted,
    safe_sparse_dot,
    validate_data,
)
from tux.estimators.fitting import epochs_of, history_of
from tux.estimators.linear import fit_sparse
from tux.estimators.matrices import REALS, MatrixEstimator, in_32_bits, samples, weights
from tux.estimators.parameters import set_parameters
from tux.inputs.deferred import DeferredEdges


class ElasticNet(RegressorMixin, MatrixEstimator):
    """Linear regression with an L1 and an L2 penalty, under which many weights are exactly 0.

        min  sum_i c_i (x_i.w + b - y_i)^2 / (2 sum_i c_i)
             + alpha l1_ratio sum_j |w_j| + alpha (1 - l1_ratio) / 2 sum_j w_j^2

    `alpha` and `l1_ratio` are those of scikit-learn's ``ElasticNet``: the loss is a mean.
    `fit_intercept`: whether there is a b, which is not penalised. `tol`: end when a full pass has
    changed the objective by a smaller share; `max_iter`: passes. `n_jobs`: threads, None for all
    cores; the result does not depend on them. Values of `X` and slopes are kept in 32 bits,
    and the numbers `y` in 64.

    Fitted: `coef_` (n_features_in_,), `intercept_`, `n_iter_` passes, `dual_gap_`, in the unit of
    the objective above, NaN where `alpha` is 0, as no gap is known without a penalty, `history_`.
    UsageError for a negative `alpha`, and for an `l1_ratio` outside 0 to 1.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        tol: float = 1e-7,
        max_iter: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the weights to samples `X` (n, features), dense or sparse, and their numbers `y`
        (n,).
        """
        _check_range("alpha", self.alpha, np.inf)
        _check_range("l1_ratio", self.l1_ratio, 1)
        how: dict[str, Any] = {"accept_sparse": "csr", "dtype": REALS, "y_numeric": True}
        X, y = validate_data(self, X, y, **how)
        X, weight = in_32_bits(X), weights(sample_weight, X)
        known: dict[str, np.ndarray] = {"label": np.asarray(y, np.float64)}
        known["weight"] = weight.astype(np.float32)
        whole, share = float(self.alpha) * float(weight.sum()), float(self.l1_ratio)
        chosen = {"loss": "squared", "l1": whole * share, "l2": whole * (1 - share)}
        fitted = fit_sparse(self, chosen, DeferredEdges((X,), partial(samples, X, known)))
        self.coef_ = np.array(fitted.vertices["feature"]["w"])
        self.intercept_ = float(fitted.context["b"][0])
        self.n_iter_ = epochs_of(fitted)
        self.history_ = history_of(fitted)
        gaps = self.history_.get("duality_gap", [np.nan])
        self.dual_gap_ = float(gaps[-1] / weight.sum())
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted number of each sample, (n,)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=REALS, reset=False)
        return np.asarray(safe_sparse_dot(X, self.coef_, dense_output=True) + self.intercept_)


def _check_range(name: str, value: float, most: float) -> None:
    """Raise UsageError for a parameter that is not a finite number from 0 to `most`."""
    if not (0 <= value <= most and np.isfinite(value)):
        raise UsageError(
            f"{name} = {value} is out of range",
            do=f"{name} must be at least 0" + (f" and at most {most}" if most < np.inf else ""),
        )


class Lasso(ElasticNet):
    """Linear regression with an L1 penalty: `ElasticNet` with the L1 ratio 1. `alpha` is that of
    scikit-learn's ``Lasso``; all else is as in `ElasticNet`.
    """

    l1_ratio = 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        tol: float = 1e-7,
        max_iter: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())
