"""DeepWalk as an estimator: `tux.apps.deepwalk` on a graph in memory.

It is called after what it makes, as scikit-learn's SpectralEmbedding is: `tux.DeepWalk` is the
program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.api.result import Run
from tux.api.table import Table
from tux.apps.deepwalk import DeepWalk
from tux.estimators.conventions import BaseEstimator, check_is_fitted
from tux.estimators.fitting import epochs_of, fit, ids_of, model_of, starting_run
from tux.estimators.parameters import make_program, set_parameters
from tux.estimators.tables import as_table


class DeepWalkEmbedding(BaseEstimator):
    """A vector of each vertex of a graph; vertices that random walks visit close to each other get
    similar vectors.

    `n_components`: the length of a vector; `num_walks` from each vertex, of `walk_length` vertices;
    `window` steps within which two are near; `negatives` drawn for each that is near;
    `learning_rate` at the start; `p` and `q` other than 1 make the walks those of node2vec. With
    `directed`, walks follow edges only from their first end to their second; with `weighted`, in
    proportion to their weights. `max_iter`: epochs. `n_jobs`: threads, None for all cores; the
    result does not depend on them. `walks`, `length` and `step` are former names of `num_walks`,
    `walk_length` and `learning_rate`.

    A graph `X` is a networkx graph, a scipy.sparse adjacency matrix, or a table of edges: two
    columns of ids, and one of weights if `weighted`, as a DataFrame, an Arrow table, a dictionary
    or a tuple of columns, or an array or list of rows.

    Fitted: `node_ids_` (n,), `embedding_` (n, n_components) in their order, `n_iter_`.
    """

    def __init__(
        self,
        n_components: int = 128,
        *,
        num_walks: int = 10,
        walk_length: int = 40,
        window: int = 10,
        negatives: int = 5,
        learning_rate: float = 0.0275,
        p: float = 1.0,
        q: float = 1.0,
        directed: bool = False,
        weighted: bool = False,
        max_iter: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        walks: int | None = None,
        length: int | None = None,
        step: float | None = None,
    ) -> None:
        set_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> DeepWalkEmbedding:
        """Learn the vectors of a graph's vertices."""
        return self._fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> DeepWalkEmbedding:
        """Learn the vectors of the vertices of a graph that are new in it; the others keep theirs.
        Without a model it is `fit`;
        else the epochs are those of `tux run --from`, whatever `max_iter` is.
        """
        return self._fit(X, getattr(self, "_run", None))

    def _fit(self, X: Any, start: Run | None = None) -> DeepWalkEmbedding:
        """Train, and keep plain arrays of the run, and the run, with which `partial_fit` begins."""
        program = make_program(self, DeepWalk, dimensions="n_components")
        fitted = fit(self, program, as_table(X), start=start)
        self._run = starting_run(fitted)
        self.node_ids_ = ids_of(fitted, "node")
        self.embedding_ = fitted.vertices["node"]["u"]
        self.n_iter_ = epochs_of(fitted)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and return `embedding_` of a graph, of which the vertices are in the order of
        `node_ids_`. There is no `transform`: `fold_in` finds vectors of new vertices alone.
        """
        return np.asarray(self.fit(X).embedding_)

    def fold_in(self, X: Any) -> Table:
        """Find the vectors of new vertices by their edges to known ones, given as for `fit`: a
        table of `node` and `u` (n, n_components). Nothing that is fitted changes. DataError if no
        edge joins a new vertex with a known one.
        """
        check_is_fitted(self)
        return self._run.fold_in(as_table(X))

    def vectors(self, nodes: Any) -> np.ndarray:
        """Return the vectors of some vertices by their ids, (n, n_components). DataError for one
        that is unknown.
        """
        one = np.ndim(nodes) == 0
        found = self._model().vertices["node"].at([nodes] if one else nodes)
        return np.asarray(found["u"])

    def similar(self, nodes: Any, n: int = 10) -> Table:
        """Return the n other vertices whose vectors are the nearest to those of some, by cosine: a
        table of `node`, `rank` from 1, `similar` and `cosine`. DataError for one that is unknown.
        """
        return self._model().similar(nodes, n, field="node.u")

    def _model(self) -> Run:
        """Return the fitted arrays as `tux.run` would return them."""
        check_is_fitted(self)
        program = DeepWalk(dimensions=self.embedding_.shape[1])
        nodes = {"id": self.node_ids_, "u": self.embedding_}
        return model_of(program, {"node": nodes}, {})[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # rows are edges, not samples
        tags.input_tags.sparse = tags.input_tags.string = True
        return tags
