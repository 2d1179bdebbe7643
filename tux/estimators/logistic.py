"""Logistic regression of two classes or more as a classifier: `tux.apps.linear` on the rows of a
matrix.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from tux.api.result import Run
from tux.apps.linear import Linear
from tux.base.text import join_class_names
from tux.estimators.conventions import ConvergenceWarning
from tux.estimators.fitting import epochs_of, fit, history_of, starting_run
from tux.estimators.linear import LinearClassifier
from tux.estimators.matrices import samples
from tux.estimators.parameters import make_program, set_parameters
from tux.inputs.deferred import DeferredEdges


class LogisticRegression(LinearClassifier):
    """Logistic regression with an L2 penalty, by L-BFGS; of more than two classes multinomial, by
    the loss softmax, as in scikit-learn.

        min  sum_i c_i (-log p_i(y_i)) + l2/2 |W|^2

    p_i(k) is proportional to exp(x_i.w_k + b_k); of two classes, w_0 and b_0 are 0. The loss is a
    sum over samples, so `l2` is 1/C of scikit-learn's ``LogisticRegression``. `fit_intercept`:
    whether there are b_k, which are not penalised. `class_weight`: as there; c_i is the weight of
    sample i times that of its class. `tol`: end when the gradient and the last change of the
    objective are smaller shares than this; `max_iter`: steps. `n_jobs`: threads, None for all
    cores; the result does not depend on them. Values are read in 32 bits.

    Fitted: `coef_` (1 or classes, n_features_in_), `intercept_` (1 or classes,), `classes_`,
    `n_iter_` (1,), `history_`.
    """

    def __init__(
        self,
        l2: float = 1.0,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticRegression:
        """Fit the weights to samples `X` (n, features), dense or sparse, and their classes `y`
        (n,). ValueError unless samples of two classes have a weight.
        """
        return self._fit(*self._check_samples(X, y, sample_weight))

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> LogisticRegression:
        """Go on with new samples of the same classes, given as for `fit`: each weight is tied to
        its value by the curvature of the losses before. Without a model it is `fit`, of all
        `classes` if they are given.
        """
        start = getattr(self, "_run", None)
        reset = start is None
        checked = self._check_samples(X, y, sample_weight, reset=reset, classes=classes)
        return self._fit(*checked, start)

    def _fit(
        self, X: Any, y: np.ndarray, weight: np.ndarray, start: Run | None = None
    ) -> LogisticRegression:
        """Train, and keep plain arrays of the run, and the run, with which `partial_fit` begins."""
        count, number = len(self.classes_), np.searchsorted(self.classes_, y)
        several = count > 2
        label = number if several else np.where(number, 1, -1)
        known = {"label": label.astype(np.float32), "weight": weight.astype(np.float32)}
        chosen = {"loss": "logistic"}
        if several:
            names = join_class_names([str(k) for k in range(count)])
            chosen = {"loss": "softmax", "classes": names}
        data = DeferredEdges((X,), partial(samples, X, known))
        fitted = fit(self, make_program(self, Linear, chosen), data, start=start)
        self._run = starting_run(fitted)
        self.coef_ = fitted.vertices["feature"]["w"].reshape(X.shape[1], -1).T.copy()
        self.intercept_ = fitted.context["b"].reshape(-1).copy()
        self.n_iter_ = np.array([epochs_of(fitted)], np.int32)
        self.history_ = history_of(fitted)
        if start is None:
            self._warn()
        return self

    def _warn(self) -> None:
        """Warn where the steps have not been enough."""
        last = max(self.history_[name][-1] for name in ("gradient", "change"))
        if self.n_iter_[0] == self.max_iter and not last <= self.tol:
            warnings.warn(
                f"not converged after {self.max_iter} steps: raise max_iter or tol, or scale X",
                ConvergenceWarning,
                stacklevel=3,
            )
