"""Matrix factorization as an estimator: `tux.apps.mf` on ratings in memory."""

from __future__ import annotations

from typing import Any

from tux.apps.mf import MF
from tux.estimators.factors import FactorModel
from tux.estimators.parameters import make_program, set_parameters


class MatrixFactorization(FactorModel):
    """Ratings as inner products of a vector of the user and one of the item.

        min  sum over ratings  (r - p.q)^2 + reg (|p|^2 + |q|^2)

    by SGD with falling steps. `biases`: the mean and a bias of each user and item are added to the
    products, and biases are penalised like vectors. `n_components`: the length of the vectors;
    `max_iter`: epochs; `learning_rate`: the first step, whose former name is `step`; `warm`:
    dimensions that the first epoch trains alone. `n_jobs`: threads, None for all cores; the result
    does not depend on them.

    Ratings `X` are a table of user, item and rating, or what else `tux.run` takes; a scipy.sparse
    matrix of users by items, of which the stored entries are ratings; or, with `y`, a table of
    pairs and the ratings `y`. A table is a DataFrame, an Arrow table, a dictionary or a tuple of
    columns, or an array or list of rows. Ids are whole numbers, text or dates, and come back in the
    type that they had.

    Fitted: `user_ids_`, `user_factors_` (users, n_components) in their order, `item_ids_`,
    `item_factors_`, `mean_` of the ratings, `n_iter_`, `history_`; with biases, `user_biases_` and
    `item_biases_`, (n,) each.
    """

    _with_features = "FeatureMF"

    def __init__(
        self,
        n_components: int = 32,
        *,
        reg: float = 0.05,
        learning_rate: float = 0.1,
        warm: int = 4,
        biases: bool = False,
        max_iter: int = 20,
        random_state: Any = None,
        n_jobs: int | None = None,
        step: float | None = None,
    ) -> None:
        set_parameters(self, locals())

    def _program(self) -> MF:
        return make_program(self, MF, rank="n_components")
