"""K-means as a clusterer: `tux.apps.kmeans` on the rows of a matrix, dense or sparse."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from tux.api.result import Run
from tux.apps.kmeans import PointKMeans, SparseKMeans
from tux.apps.kmeans.report import centers
from tux.arrays.points import points
from tux.estimators.conventions import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    ConvergenceWarning,
    TransformerMixin,
    check_is_fitted,
    check_random_state,
    euclidean_distances,
    pairwise_distances_argmin_min,
    validate_data,
)
from tux.estimators.fitting import epochs_of, fit, history_of, matrix_edges, starting_run
from tux.estimators.matrices import REALS, in_32_bits
from tux.estimators.parameters import make_program, set_parameters
from tux.inputs.deferred import DeferredEdges
from tux.program.report import Model


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Clusters of samples: min sum |x - c|^2 over samples x and their nearest centers c.

    `n_clusters` clusters; `init`: "k-means++" or "random" samples; `n_init` starts, of which the
    one with the least inertia stays. `max_iter` moves of the centers; `tol`: end when they have
    moved less, squared, as a share of the mean variance of a feature. `batch_size`: samples in a
    mini-batch, after which centers move; 0 for all. `n_jobs`: threads, None for all cores; the
    result does not depend on them. Samples are kept in 32 bits.

    Fitted: `cluster_centers_` (n_clusters, n_features_in_), `labels_` (n,), `inertia_`, `n_iter_`,
    `history_`.
    """

    n_clusters: int
    n_init: int
    random_state: Any

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-4,
        batch_size: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        set_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> KMeans:
        """Fit the centers to samples `X` (n, features), dense or sparse. ValueError for fewer
        samples than clusters.
        """
        X = self._samples(X, reset=True)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        if self.n_init < 1:
            raise ValueError(f"n_init={self.n_init}, must be >= 1.")
        seeds: list[Any] = [self.random_state]
        if self.n_init > 1:
            draws = check_random_state(self.random_state)
            seeds = draws.randint(2**31 - 1, size=self.n_init).tolist()
        fits = [self._fit(X, seed) for seed in seeds]
        best = min(fits, key=lambda each: each.history["inertia"][-1])
        self._keep(best, X.dtype)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> KMeans:
        """Go on with new samples, given as for `fit`: each center moves to the mean of all samples
        so far, of which those before stay in their clusters. Without a model it is `fit`;
        else the epochs are those of `tux run --from`, whatever `max_iter` is.
        `labels_` and `inertia_` are those of the new samples.
        """
        if (start := getattr(self, "_run", None)) is None:
            return self.fit(X)
        X = self._samples(X)
        if sparse.issparse(X) != isinstance(start.program, SparseKMeans):
            kind = "dense" if sparse.issparse(X) else "sparse"
            raise ValueError(f"the samples before were {kind}: give X as they were")
        self._keep(self._fit(X, self.random_state, start), X.dtype)
        return self

    def _fit(self, X: Any, seed: Any, start: Run | None = None) -> Run:
        """Train from one start, or from the model of a run."""
        kind: Any = SparseKMeans if sparse.issparse(X) else PointKMeans
        program = make_program(self, kind)
        data = DeferredEdges((X,), partial(_edges if sparse.issparse(X) else _points, X))
        return fit(self, program, data, start=start, random_state=seed)

    def _keep(self, fitted: Run, dtype: Any) -> None:
        """Keep plain arrays of a run, and the run, with which `partial_fit` begins."""
        self._run = starting_run(fitted)
        fields: dict[str, Any] = {"tau": fitted.context}
        ids: dict[str, np.ndarray] = {}
        if "feature" in fitted.vertices:
            fields["feature"], ids = fitted.vertices["feature"], {"feature": np.empty(0)}
        center, _ = centers(fitted.program, Model(fields, ids))
        lacking = np.isnan(center).any(axis=1)
        if lacking.any():
            center[lacking] = center[~lacking][0]
            warnings.warn(
                f"{int(lacking.sum())} of {self.n_clusters} clusters are empty: there may be fewer "
                "different samples",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.cluster_centers_ = center.astype(dtype)
        self.labels_ = np.array(fitted.vertices["sample"]["cluster"], np.int32)
        self.history_ = history_of(fitted)
        self.inertia_, self.n_iter_ = float(self.history_["inertia"][-1]), epochs_of(fitted)

    def _samples(self, X: Any, *, reset: bool = False) -> Any:
        """Return `X` as an array or a CSR matrix of floats."""
        X = validate_data(self, X, accept_sparse="csr", dtype=REALS, reset=reset)
        return in_32_bits(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the nearest center of each sample, (n,)."""
        return self._nearest(X)[0].astype(np.int32)

    def transform(self, X: Any) -> np.ndarray:
        """Return the distances of samples to all centers, (n, n_clusters)."""
        check_is_fitted(self)
        return np.asarray(euclidean_distances(self._samples(X), self.cluster_centers_))

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the inertia of samples; higher is better."""
        return -float((self._nearest(X)[1].astype(np.float64) ** 2).sum())

    def _nearest(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest center of each sample, and the distance to it."""
        check_is_fitted(self)
        at, distance = pairwise_distances_argmin_min(self._samples(X), self.cluster_centers_)
        return np.asarray(at), np.asarray(distance)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _edges(X: Any) -> Any:
    """Return the entries of a sparse matrix."""
    values = X.data.astype(np.float32)
    return matrix_edges(("sample", "feature"), X, value=values)


def _points(X: np.ndarray) -> Any:
    """Return the rows of an array."""
    return points(X.astype(np.float32, copy=False), kind="sample")
