"""The one door to scikit-learn: the classes that make an estimator one of its own, and its checks
of arrays.
"""

from __future__ import annotations

from typing import Any

from tux.arrays.given import check_unmasked
from tux.base.errors import UsageError

try:
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import ClassifierMixin as ClassifierMixin
    from sklearn.base import ClassNamePrefixFeaturesOutMixin as ClassNamePrefixFeaturesOutMixin
    from sklearn.base import ClusterMixin as ClusterMixin
    from sklearn.base import RegressorMixin as RegressorMixin
    from sklearn.base import TransformerMixin as TransformerMixin
    from sklearn.exceptions import ConvergenceWarning as ConvergenceWarning
    from sklearn.exceptions import DataConversionWarning as DataConversionWarning
    from sklearn.metrics import pairwise_distances_argmin_min as pairwise_distances_argmin_min
    from sklearn.metrics import r2_score as r2_score
    from sklearn.metrics.pairwise import euclidean_distances as euclidean_distances
    from sklearn.utils import check_random_state as check_random_state
    from sklearn.utils import validation as validation
    from sklearn.utils.class_weight import compute_sample_weight as compute_sample_weight
    from sklearn.utils.extmath import safe_sparse_dot as safe_sparse_dot
    from sklearn.utils.multiclass import (
        check_classification_targets as check_classification_targets,
    )
    from sklearn.utils.validation import check_consistent_length as check_consistent_length
    from sklearn.utils.validation import check_is_fitted as check_is_fitted
    from sklearn.utils.validation import check_non_negative as check_non_negative
    from sklearn.utils.validation import column_or_1d as column_or_1d
except ImportError as error:
    raise UsageError(
        f"the estimators need scikit-learn 1.6 or later ({error})", do="pip install 'tux[sklearn]'"
    ) from error


def validate_data(estimator: Any, *arrays: Any, **how: Any) -> Any:
    """Return what scikit-learn's `validate_data` returns for X, or X and y. DataError for masked
    values, which it would read as any others.
    """
    for array in arrays:
        check_unmasked(array)
    return validation.validate_data(estimator, *arrays, **how)
