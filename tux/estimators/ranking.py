"""Bayesian personalised ranking as an estimator: `tux.apps.bpr` on pairs in memory."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from tux.api.result import Run
from tux.apps.bpr import BPR, FeatureBPR
from tux.base.errors import UsageError
from tux.estimators.factors import PairModel, is_position
from tux.estimators.fitting import fit
from tux.estimators.parameters import make_program, set_parameters
from tux.estimators.tables import as_table, entries_of, features_of
from tux.inputs.by_type import check_shapes


class BayesianPersonalizedRanking(PairModel):
    """Vectors of users and items that rank what a user has before other items.

    The number of a pair is p.q + b, of a vector of the user, and a vector and a bias of the item.
    `loss`: "bpr" (Rendle et al. 2009), or "warp", which compares a pair with an item that is ranked
    too high (Weston et al. 2011), of up to `max_sampled` that are drawn. `n_components`: the length
    of the vectors; `learning_rate`: the step, with "warp" the first one; `reg`: the L2 penalty of a
    step; `feature_reg`: that on vectors of features, where there are some; `max_iter`: epochs.
    `n_jobs`: threads, None for all cores; the result does not depend on
    them.

    Pairs `X` are a table of users and items, or a scipy.sparse matrix of users by items, of which
    the stored entries are the pairs. What else a table has is not read. `y` is not read.

    Fitted: `user_ids_`, `user_factors_` (users, n_components) in their order, `item_ids_`,
    `item_factors_`, `item_biases_` (items,), `item_counts_` (items,) of their pairs, `n_iter_`,
    `history_`.
    """

    _guess = "the bias of the item"

    def __init__(
        self,
        n_components: int = 32,
        *,
        loss: str = "bpr",
        learning_rate: float = 0.05,
        reg: float = 0.01,
        max_sampled: int = 10,
        feature_reg: float = 1.0,
        max_iter: int = 30,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def fit(
        self, X: Any, y: Any = None, *, user_features: Any = None, item_features: Any = None
    ) -> Self:
        """Fit the vectors to pairs. Features of users or of items are a table of two columns, a
        user or an item and a feature that it has, or a scipy.sparse matrix of users or items by
        features whose entries are 0, or all the same. Vectors are pulled to what their features
        say, and users and items without pairs get what these say. Raises DataError for a table
        without the columns that are needed, and for a matrix of features with fewer rows than `X`
        has users or items.
        """
        named = {"user_features": user_features, "item_features": item_features}
        given = {name: each for name, each in named.items() if each is not None}
        if not given:
            return super().fit(X, y)
        program = make_program(self, FeatureBPR, rank="n_components")
        check_shapes(program, {"pair": X, **given})
        features = {name: features_of(name, each) for name, each in given.items()}
        self._keep(fit(self, program, {"pair": self._pairs(X, y), **features}))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go on with new pairs, as for ratings (`MatrixFactorization.partial_fit`). UsageError for
        a model with features, which cannot go on.
        """
        run = getattr(self, "_run", None)
        if run is not None and isinstance(run.program, FeatureBPR):
            raise UsageError("a model with features cannot go on", do="fit all data again")
        return super().partial_fit(X, y)

    def _program(self) -> BPR:
        return make_program(self, BPR, rank="n_components")

    def _pairs(self, X: Any, y: Any) -> Any:
        pairs = entries_of(as_table(X))
        return pairs[:2] if sparse.issparse(X) else pairs

    def _keep(self, fitted: Run) -> None:
        super()._keep(fitted)
        items = fitted.vertices["item"]
        self.item_biases_, self.item_counts_ = items["b"], items["n"]

    def _constant_of(self, user: np.ndarray, item: np.ndarray, known: np.ndarray) -> np.ndarray:
        there = is_position(item, self.item_ids_)
        return np.where(there, self.item_biases_[np.where(there, item, 0)], 0.0)

    def _columns(self) -> dict[str, dict[str, np.ndarray]]:
        return {"item": {"b": self.item_biases_, "n": self.item_counts_}}
