"""The report of boosted trees: the features that they use, and the same trees for XGBoost."""

from __future__ import annotations

import numpy as np

from tux.apps.gbdt.booster import labels, trees, xgboost
from tux.apps.gbdt.contributions import contributions
from tux.apps.gbdt.losses import LOSSES
from tux.apps.linear.weights import describe_classes
from tux.program.report import Report


class TreeReport(Report):
    """Of a program with trees in the context."""

    def opening(self, program, vertices):
        """Return a line about the classes, if there may be many."""
        return [describe_classes(labels(program))] if LOSSES[program.loss].wide else []

    def tables(self, program, model):
        """Return the features, by the sum of the gains of their splits."""
        gain, splits = importances(model)
        (used,) = np.nonzero(splits)
        order = used[np.argsort(-gain[used], kind="stable")]
        return {
            "importance": {
                "feature": [str(name) for name in model.ids["feature"][order]],
                "gain": [f"{gain[k]:.6g}" for k in order],
                "splits": [str(splits[k]) for k in order],
            }
        }

    def exports(self):
        """Return the forms of export: the document for XGBoost; the trees and importances as
        arrays; and SHAP values of samples.
        """
        return {"xgboost": xgboost, "trees": trees, "importance": importance, "shap": contributions}


def importances(model):
    """Return the sum of the gains of each feature's splits, and their number, (n,)."""
    feature = np.asarray(model.fields["tau"]["feature"])[0]
    at = feature >= 0
    gains = np.asarray(model.fields["tau"]["gain"])[0][at].astype(float)
    n = len(model.ids["feature"])
    return (
        np.bincount(feature[at], gains, minlength=n),
        np.bincount(feature[at], minlength=n),
    )


def importance(program, model):
    """Return `feature` (n,) ids, `gain` and `splits` (n,) of each."""
    gain, splits = importances(model)
    return {"feature": model.ids["feature"], "gain": gain, "splits": splits}
