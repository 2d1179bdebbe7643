"""The checks of scikit-learn's estimators that fail for the most likely mistakes."""

from sklearn.utils import estimator_checks as checks

QUICK = [
    checks.check_dict_unchanged,
    checks.check_dont_overwrite_parameters,
    checks.check_estimators_nan_inf,
    checks.check_estimators_pickle,
    checks.check_fit_score_takes_y,
    checks.check_n_features_in_after_fitting,
]
