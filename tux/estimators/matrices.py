"""Samples that are the rows of a matrix, dense or sparse: checks, and their entries as edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from tux.arrays.edges import EdgeData
from tux.arrays.given import check_unmasked
from tux.estimators.conventions import (
    BaseEstimator,
    ClassifierMixin,
    check_classification_targets,
    compute_sample_weight,
    validate_data,
    validation,
)
from tux.estimators.fitting import matrix_edges

REALS = (np.float64, np.float32)
PIECE = 1 << 17  # numbers of a dense matrix that are looked at together


class MatrixEstimator(BaseEstimator):
    """The common part of estimators of the rows of a matrix, which may be sparse."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class MatrixClassifier(ClassifierMixin, MatrixEstimator):
    """The common part of classifiers of the rows of a matrix. A parameter is `class_weight`."""

    class_weight: Any
    classes_: np.ndarray

    def _check_samples(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True, classes: Any = None
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return samples, their classes and weights, fit for training; set `classes_`, to all
        `classes` if they are given, or compare with those that there are. ValueError for a class
        that is none of these, and unless samples of two classes have a weight.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=REALS, reset=reset)
        check_classification_targets(y)
        weight = weights(sample_weight, X) * compute_sample_weight(self.class_weight, y)
        if reset:
            self.classes_ = np.unique(y if classes is None else classes)
        if len(unknown := np.setdiff1d(y, self.classes_)):
            raise ValueError(f"the model does not know the class {unknown[0]}")
        if not reset:
            return in_32_bits(X), y, weight
        there = np.unique(y[weight > 0])
        if len(there) < 2:
            raise ValueError(
                "samples of at least 2 classes are needed, but those with a weight have only one "
                f"class: {there[0]}"
            )
        return in_32_bits(X), y, weight


def weights(given: Any, X: Any) -> np.ndarray:
    """Return the weight of each sample, (n,). ValueError for negative ones, and if all are 0."""
    check_unmasked(given)
    weight = np.asarray(validation._check_sample_weight(given, X, dtype=np.float64))
    if (weight < 0).any():
        raise ValueError("Negative values in sample_weight")
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight


def in_32_bits(X: Any) -> Any:
    """Return a matrix whose values can be read in 32 bits, without entries that stand twice.
    ValueError for values that are too large.
    """
    if sparse.issparse(X) and not X.has_canonical_format:  # entries that stand twice are added
        X = X.copy()
        X.sum_duplicates()
    values = X.data if sparse.issparse(X) else X
    if max(values.max(initial=0), -values.min(initial=0)) > np.finfo(np.float32).max:
        raise ValueError("X has values that are infinity in 32 bits; scale it")
    return X


def samples(X: Any, known: dict[str, np.ndarray], kind: type = np.float32) -> EdgeData:
    """Return the entries of a matrix as edges from samples, of which these fields are `known`, to
    features. `kind`: the dtype of values.
    """
    matrix = X if sparse.issparse(X) else _compress(X, kind)
    values = matrix.data.astype(kind, copy=sparse.issparse(X))  # those of X stay
    edges = matrix_edges(("sample", "feature"), matrix, value=values)
    return replace(edges, vertex_fields={"sample": known})


def _compress(X: np.ndarray, kind: type) -> Any:
    """Convert a dense matrix to CSR with values of this kind, by pieces of its rows."""
    ends = np.cumsum(np.count_nonzero(X, axis=1), dtype=np.int64)
    columns, values = np.empty(ends[-1], np.int32), np.empty(ends[-1], kind)
    step, begin = max(1, PIECE // X.shape[1]), 0
    for at in range(0, len(X), step):
        piece = X[at : at + step]
        there = piece != 0
        end = begin + int(np.count_nonzero(there))
        columns[begin:end] = np.nonzero(there)[1]
        values[begin:end] = piece[there]
        begin = end
    indptr = np.concatenate([[0], ends])
    return sparse.csr_array((values, columns, indptr), shape=X.shape)
