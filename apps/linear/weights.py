"""The report of a linear model: its largest weights, and its arrays for other programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.apps.blockpg.weights import TOP, SparseReport, parse_labels, sklearn, weights
from tux.apps.linear.batches import describe_batches
from tux.apps.linear.losses import LOSSES
from tux.apps.linear.path import best_penalty, path_rows
from tux.apps.linear.updates import UPDATES
from tux.apps.linear.wolfe import SEARCHING
from tux.program.input import class_names
from tux.program.program import remark_on_end

SHOWN = 5  # classes
LOWER = 1.1  # a rise by less is the noise of mini-batches


def labels_of(program):
    """Return the labels of a program's classes."""
    return parse_labels(class_names(program.classes))


class LinearReport(SparseReport):
    """Of a program whose features have a weight `w` and whose context has an intercept `b`."""

    def tables(self, program, model):
        """Return the table of `SparseReport`; of several classes, the largest weights of all."""
        if not LOSSES[program.loss].wide:
            return super().tables(program, model)
        w, of = model.fields["feature"]["w"], class_names(program.classes)
        top = np.argsort(-np.abs(w), axis=None, kind="stable")[:TOP]
        places = zip(*np.unravel_index(top, w.shape), strict=True)
        rows = [(model.ids["feature"][j], of[k], w[j, k]) for j, k in places]
        if program.fit_intercept:
            b = model.fields["tau"]["b"][0]
            rows = [("(intercept)", of[k], b[k]) for k in range(len(of))] + rows
        return {
            "weights": {
                "feature": [str(feature) for feature, _, _ in rows],
                "class": [label for _, label, _ in rows],
                "weight": [f"{weight:.6g}" for _, _, weight in rows],
            }
        }

    def opening(self, program, vertices):
        """Return the first lines of a run: the classes, and the size of a mini-batch."""
        wide = LOSSES[program.loss].wide
        lines = [describe_classes(labels_of(program))] if wide else []
        if program.solver in UPDATES:
            lines.append(describe_batches(program, vertices["sample"]))
        return lines

    def remarks(self, program, records):
        """Return remarks: the objective has been lower before, or the run has ended too early."""
        reached = records[-1].get("penalty_l2", program.l2) if records else program.l2
        if program.path > 1 and reached > program.l2:
            return [
                f"the path has ended at l2 {reached:.6g}, before {program.l2:g}; with more epochs "
                "(and patience, if there is one) it goes on"
            ]
        if program.solver in SEARCHING and program.tol > 0:
            return remark_on_end(program, records, {"tol": program.tol})
        found = [record["objective"] for record in records if "objective" in record]
        if not found or found[-1] <= LOWER * min(found):
            return []
        smaller = "; a smaller --learning-rate may mend it" if program.step_parameters else ""
        return [f"the objective has risen from {min(found):.6g} to {found[-1]:.6g}{smaller}"]

    def history(self, program, records):
        """Return the path."""
        return {"path": path_rows(records)} if program.path > 1 else {}

    def summary(self, program, tables, records):
        """Return the best penalty of a path."""
        return best_penalty(program, records) if program.path > 1 else {}

    def exports(self):
        """Return the forms of export of `SparseReport`; where labels are numbers, the arrays are
        those of scikit-learn's Ridge.
        """
        return {"weights": table, "sklearn": estimator}


def describe_classes(classes: list[Any]) -> str:
    """Return a sentence about the classes. Where they look like measurements, it names another
    loss.
    """
    shown = ", ".join(map(str, classes[:SHOWN])) + (", ..." if len(classes) > SHOWN else "")
    number = any(isinstance(each, float) and each != round(each) for each in classes)
    other = "; --loss squared takes labels as numbers" if number else ""
    return f"{len(classes):,} classes: {shown}{other}"


def table(program, model) -> dict[str, np.ndarray]:
    """Return the arrays of `tux.apps.blockpg.weights.weights`; of several classes, `weight` (k,
    classes) of the features that have one which is not 0, by the largest of each, `intercept`
    (classes,), and `classes` (classes,).
    """
    if not LOSSES[program.loss].wide:
        return weights(program, model)
    w = model.fields["feature"]["w"]
    largest = np.abs(w).max(axis=1)
    order = np.argsort(-largest, kind="stable")[: np.count_nonzero(largest)]
    return {
        "feature": model.ids["feature"][order],
        "weight": w[order],
        "intercept": model.fields["tau"]["b"][0],
        "classes": np.array(labels_of(program)),
    }


def estimator(program, model) -> dict[str, np.ndarray]:
    """Return the arrays of `tux.apps.blockpg.weights.sklearn`. Of several classes, `coef_` is
    (classes, n) and `intercept_` (classes,).
    """
    if LOSSES[program.loss].wide:
        order = np.argsort(model.ids["feature"], kind="stable")
        return {
            "coef_": model.fields["feature"]["w"][order].T,
            "intercept_": model.fields["tau"]["b"][0],
            "classes_": np.array(labels_of(program)),
            "features": model.ids["feature"][order],
        }
    return sklearn(program, model)
