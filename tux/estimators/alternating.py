"""Alternating least squares as an estimator: `tux.apps.als` on ratings in memory."""

from __future__ import annotations

from typing import Any

from tux.apps.als import ALS
from tux.base.errors import UsageError
from tux.estimators.factors import FactorModel
from tux.estimators.parameters import make_program, set_parameters


class AlternatingLeastSquares(FactorModel):
    """Ratings as inner products of a vector of the user and one of the item, by least squares.

        min  sum over ratings  (r - p.q)^2 + reg (|p|^2 + |q|^2)

    `plain`: the penalty on a vertex is `reg`, whatever its number of ratings. `center`: the mean is
    subtracted from ratings. `biases`: the mean and a bias of each user and item are added to inner
    products, and biases are penalised as vectors are. `implicit`: numbers are counts, such as those
    of plays, that say how sure it is that the user likes the item (Hu, Koren and Volinsky 2008): a
    pair has the rating 1 with the confidence 1 + `alpha` r, all others have 0 with 1.
    `n_components`: the length of the vectors; `steps`: of conjugate gradients in a solution, 0 for
    Cholesky's method; `max_iter`: sweeps. `n_jobs`: threads, None for all cores; the result does
    not depend on them.

    Ratings `X`, their ids and `y` are those of `MatrixFactorization`.

    Fitted: `user_ids_`, `user_factors_` (users, n_components) in their order, `item_ids_`,
    `item_factors_`, `mean_` of the ratings (0 if they are implicit), `n_iter_`, `history_`; with
    biases, `user_biases_` and `item_biases_`, (n,) each.
    """

    _with_features = "FeatureALS"
    center: bool
    implicit: bool

    def __init__(
        self,
        n_components: int = 32,
        *,
        reg: float = 0.05,
        plain: bool = False,
        center: bool = False,
        biases: bool = False,
        implicit: bool = False,
        alpha: float = 1.0,
        steps: int = 3,
        max_iter: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def _program(self) -> ALS:
        return make_program(self, ALS, rank="n_components")

    def _offset(self) -> float:
        return float(self.mean_) if self.center or self.biases else 0.0

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R^2 of the predictions of ratings, given as for `fit`; at most 1, higher is
        better. UsageError if they are implicit, as predictions are no counts.
        """
        if self.implicit:
            raise UsageError(
                "R^2 judges ratings, and implicit=True predicts preferences",
                do="compare what recommend finds with pairs that were held out",
            )
        return super().score(X, y, sample_weight)
