"""The bases of estimators of ratings and of pairs: vectors of users and items, and what follows
from them.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tux.api.predicting import pairs_of
from tux.api.result import Run
from tux.api.table import Table
from tux.base.callers import warn_caller
from tux.base.errors import UsageError
from tux.estimators.conventions import (
    BaseEstimator,
    RegressorMixin,
    check_is_fitted,
    r2_score,
)
from tux.estimators.fitting import epochs_of, fit, history_of, ids_of, model_of, starting_run
from tux.estimators.tables import as_table, entries_of, pairs_with
from tux.inputs.deferred import DeferredEdges
from tux.inputs.load import load
from tux.inputs.wrapping import wrap_data
from tux.predict.predict import TrainedModel
from tux.program.program import Program

PIECE = 1 << 17  # pairs scored at a time


class PairModel(BaseEstimator):
    """A model whose numbers of pairs are inner products of two vectors, and what is added to them.
    A subclass says by which program they are found, and what pairs without a vector get.
    """

    biases = False  # of one that was pickled earlier, too

    _guess: str
    """What pairs of an unknown user or item get, for the warning that all do."""

    def _program(self) -> Program:
        """Return the program, with the estimator's parameters."""
        raise NotImplementedError

    def _pairs(self, X: Any, y: Any) -> Any:
        """Return pairs, with their numbers if there are any, as `tux.run` takes them."""
        raise NotImplementedError

    def _constant_of(self, user: np.ndarray, item: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return the numbers of pairs of positions without their inner products, which is all where
        not both are `known`.
        """
        raise NotImplementedError

    def _columns(self) -> dict[str, dict[str, np.ndarray]]:
        """Return the fields, by type, beside vectors that the program's predictions read."""
        raise NotImplementedError

    def _keep(self, fitted: Run) -> None:
        """Keep what a run has fitted."""
        self._run = starting_run(fitted)
        self.user_ids_, self.item_ids_ = ids_of(fitted, "user"), ids_of(fitted, "item")
        self.user_factors_ = fitted.vertices["user"]["f"]
        self.item_factors_ = fitted.vertices["item"]["f"]
        self.n_iter_, self.history_ = epochs_of(fitted), history_of(fitted)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the vectors to pairs. Raises DataError for a table without the columns that are
        needed, and for ratings that are not finite.
        """
        self._keep(fit(self, self._program(), self._pairs(X, y)))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go on with new pairs, given as for `fit`: the vectors of users and items that are known
        move by them, and new ones get vectors. Without a model it is `fit`; else the epochs are
        those of `tux run --from`, whatever `max_iter` is.
        """
        start = getattr(self, "_run", None)
        self._keep(fit(self, self._program(), self._pairs(X, y), start=start))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted number of each pair of a table of users and items, (n,) float64.
        Pairs of an unknown user or item get `mean_`, if the model has one, and the biases that are
        known; there is a warning if this is so of all pairs.
        """
        pairs = pairs_of(self._model()[1], entries_of(as_table(X)))
        known = (pairs.src < len(self.user_ids_)) & (pairs.dst < len(self.item_ids_))
        if len(pairs) and not known.any():
            warn_caller(
                f"no pair has a user and an item that training has seen, so each gets {self._guess}"
                ": are these columns the users, and then the items?"
            )
        return self._scores(pairs.src, pairs.dst)

    def _scores(self, user: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Return the predicted numbers of pairs of positions; -1, and positions beyond the model's,
        are unknown.
        """
        known = is_position(user, self.user_ids_) & is_position(item, self.item_ids_)
        out = self._constant_of(user, item, known)
        (there,) = np.nonzero(known)
        for at in range(0, len(there), PIECE):
            piece = there[at : at + PIECE]
            left, right = self.user_factors_[user[piece]], self.item_factors_[item[piece]]
            out[piece] += np.einsum("ij,ij->i", left, right)
        return out

    def recommend(self, users: Any, n: int = 10, *, exclude: Any = None, only: Any = None) -> Table:
        """Return the n items with the highest predicted numbers for each of some users, by their
        ids, None for all users, or new users as `fold_in` finds them: a table of `user`, `rank`
        from 1, `item` and `score`.

        `exclude`: pairs that are left out, such as those that training has seen, in any form that
        `fit` takes. `only`: ids of the items that may be recommended, None for all. DataError for a
        user or an item that is unknown.
        """
        exclude = None if exclude is None else entries_of(as_table(exclude))
        return self._model()[0].recommend(users, n, exclude=exclude, only=only)

    def fold_in(self, X: Any, y: Any = None, *, of: str = "user") -> Table:
        """Find the vectors of new users by their pairs with known items, or of new items
        (`of="item"`) by those with known users, given as for `fit`: a table of `user`, or `item`,
        and `f` (n, n_components), with biases also `bias`. `recommend` takes that of users in the
        place of users. Nothing that is fitted changes; users whom the model knows get vectors by
        these pairs alone. DataError if no pair is with one that is known, UsageError for items if
        the model finds no vectors of new ones.
        """
        fitted, model = self._model()
        pairs = wrap_data(model.program, self._pairs(X, y))
        return fitted.fold_in(load(model.program, pairs).train, of=of)

    def similar(self, items: Any, n: int = 10) -> Table:
        """Return the n other items whose vectors are the nearest to those of some items, by cosine:
        a table of `item`, `rank` from 1, `similar` and `cosine`. DataError for an item that is
        unknown.
        """
        return self._model()[0].similar(items, n, field="item.f")

    def _model(self) -> tuple[Run, TrainedModel]:
        """Return the fitted arrays as `tux.run` would return them."""
        check_is_fitted(self)
        more: dict[str, dict[str, np.ndarray]] = {"user": {}, "item": {}, "tau": {}}
        more |= self._columns()
        users = {"id": self.user_ids_, "f": self.user_factors_, **more["user"]}
        items = {"id": self.item_ids_, "f": self.item_factors_, **more["item"]}
        return model_of(self._program(), {"user": users, "item": items}, more["tau"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # rows are pairs of ids, not samples of numbers
        tags.input_tags.sparse = tags.input_tags.string = True
        tags.target_tags.required = False
        return tags


def is_position(at: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return which numbers are positions in `ids`."""
    return (at >= 0) & (at < len(ids))


class FactorModel(RegressorMixin, PairModel):
    """A model of ratings, perhaps with biases."""

    _guess = "the mean"
    _with_features = ""
    """The name of the program with features of users and items."""

    def fit(self, X: Any, y: Any = None, **others: Any) -> Self:
        """Fit the vectors to ratings. Raises DataError for a table without the columns that are
        needed, and for ratings that are not finite; UsageError for features of users and items.
        """
        for name in others:
            if name not in ("user_features", "item_features"):
                raise TypeError(f"fit() got an unexpected keyword argument {name!r}")
            raise UsageError(
                f"{type(self).__name__} has no {name}",
                do=f"tux.{self._with_features} has features: tux.run(tux.{self._with_features}(), "
                f'{{"rating": X, "{name}": ...}})',
            )
        return super().fit(X, y)

    def _offset(self) -> float:
        """Return the constant that is added to inner products."""
        return float(self.mean_) if self.biases else 0.0

    def _pairs(self, X: Any, y: Any) -> Any:
        if y is None:
            return entries_of(as_table(X))
        return DeferredEdges((X,), lambda: pairs_with(self._program(), X, y))

    def _constant_of(self, user: np.ndarray, item: np.ndarray, known: np.ndarray) -> np.ndarray:
        out = np.where(known, self._offset(), self.mean_)
        if self.biases:
            for at, own in ((user, self.user_biases_), (item, self.item_biases_)):
                there = is_position(at, own)
                out[there] += own[at[there]]
        return out

    def _columns(self) -> dict[str, dict[str, np.ndarray]]:
        tau = {"offset": np.array([self._offset()]), "mean": np.array([self.mean_])}
        if not self.biases:
            return {"tau": tau}
        own = {"user": self.user_biases_, "item": self.item_biases_}
        return {"tau": tau, **{kind: {"bias": values} for kind, values in own.items()}}

    def _keep(self, fitted: Run) -> None:
        super()._keep(fitted)
        self.mean_ = float(fitted.context["mean"][0])
        if self.biases:
            self.user_biases_ = fitted.vertices["user"]["bias"]
            self.item_biases_ = fitted.vertices["item"]["bias"]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R^2 of the predictions of ratings, given as for `fit`; at most 1, higher is
        better.
        """
        model = self._model()[1]
        edges = load(model.program, wrap_data(model.program, self._pairs(X, y))).train
        at = {kind: model.ids[kind].encode(ids.values) for kind, ids in edges.ids.items()}
        predicted = self._scores(at["user"][edges.src], at["item"][edges.dst])
        return float(r2_score(edges.fields["value"], predicted, sample_weight=sample_weight))
