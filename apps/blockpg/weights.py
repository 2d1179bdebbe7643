"""The report of a sparse linear model: its largest weights, its path of penalties, and its arrays
for other programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tux.apps.blockpg.quality import TESTS
from tux.program.program import Program, remark_on_end
from tux.program.report import Model, Report
from tux.program.returns import call_hook

TOP = 10  # weights that are shown
PATH = ("objective", "nonzeros", "duality_gap", *TESTS)
CLASSES = ("-1", "1")  # where none are named


class SparseReport(Report):
    """Of a program whose features have a weight `w` and whose context has an intercept `b`; its
    parameters are a penalty `l1` and a number `path` of penalties.
    """

    def tables(self, program, model):
        """Return the intercept, if there is one, and the largest weights."""
        w, names = model.fields["feature"]["w"], model.ids["feature"]
        top = largest(w)[:TOP]
        rows = [("(intercept)", _intercept(model))] if program.fit_intercept else []
        rows += zip(names[top], w[top], strict=True)
        return {
            "weights": {
                "feature": [str(name) for name, _ in rows],
                "weight": [f"{weight:.6g}" for _, weight in rows],
            }
        }

    def remarks(self, program, records):
        """Remark that a path has ended before its last penalty, or the run before its optimum."""
        reached = records[-1].get("penalty_l1", program.l1) if records else program.l1
        if program.path > 1 and reached > program.l1:
            return [
                f"the path has ended at l1 {reached:.6g} instead of {program.l1:g}; more --epochs "
                "let it go on"
            ]
        goals = {"tol": program.tol, "gap": program.gap}
        return remark_on_end(program, records, goals) if any(goals.values()) else []

    def history(self, program, records):
        """Return the path."""
        return {"path": path(records)} if program.path > 1 else {}

    def exports(self):
        """Return the forms of export: weights that are not 0, and the arrays of scikit-learn's
        estimators.
        """
        return {"weights": weights, "sklearn": sklearn}


def largest(w: np.ndarray) -> np.ndarray:
    """Return the places of the weights that are not 0, largest first, whatever their sign; equal
    ones in their order.
    """
    (there,) = np.nonzero(w)
    return there[np.argsort(-np.abs(w[there]), kind="stable")]


def path(
    records: Sequence[Mapping[str, Any]],
    penalty: str = "penalty_l1",
    measures: Sequence[str] = PATH,
) -> dict[str, list[str]]:
    """Return a row for each value of the metric `penalty`, in the order of the run: the `measures`
    in the last epoch's record of it. A measure that is in no such record is left out.
    """
    last = {record[penalty]: record for record in records if penalty in record}
    metrics = [name for name in measures if any(name in record for record in last.values())]
    columns = {
        name: [f"{record[name]:.8g}" if name in record else "" for record in last.values()]
        for name in metrics
    }
    return {penalty: [f"{each:.6g}" for each in last], **columns}


def weights(program: Program, model: Model) -> dict[str, np.ndarray]:
    """Return `feature` (k,) ids and `weight` (k,) float64 of the weights that are not 0, largest
    first; `intercept` float64.
    """
    w = model.fields["feature"]["w"]
    order = largest(w)
    return {
        "feature": model.ids["feature"][order],
        "weight": w[order],
        "intercept": np.asarray(_intercept(model)),
    }


def sklearn(program: Program, model: Model) -> dict[str, np.ndarray]:
    """Return `coef_` (1, n), `intercept_` (1,) float64 and `classes_` (2,) as in
    LogisticRegression; `features` (n,): ids of the n columns. Where labels are numbers, there are
    no classes, and as in Lasso `coef_` is (n,) and `intercept_` one number.

    Columns are in ascending order of the ids. Classes are numbers if both are.
    """
    features, given = model.ids["feature"], program.parameters
    order = np.argsort(features, kind="stable")
    arrays = {
        "coef_": model.fields["feature"]["w"][order][None],
        "intercept_": np.array([_intercept(model)]),
    }
    if call_hook(program.input, "numeric", program):
        arrays = {name: array[0] for name, array in arrays.items()}
    else:
        arrays["classes_"] = np.array(classes(given["negative"], given["positive"]))
    return {**arrays, "features": features[order]}


def classes(negative: str, positive: str) -> list[Any]:
    """Return the labels of the two classes, as whole numbers or else as numbers if both are, and
    else as text.
    """
    return parse_labels([negative or CLASSES[0], positive or CLASSES[1]])


def parse_labels(names: Sequence[str]) -> list[Any]:
    """Return the labels as whole numbers if all are, else as numbers if all are, and else as
    text.
    """
    for kind in (int, float):
        try:
            return [kind(name) for name in names]
        except ValueError:
            continue
    return [*names]


def _intercept(model: Model) -> float:
    return float(model.fields["tau"]["b"][0])
