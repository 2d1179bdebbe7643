"""The SHAP values of samples as a matrix in XGBoost's columns."""

from __future__ import annotations

import numpy as np

from tux.apps.gbdt.booster import columns, labels, trees
from tux.apps.gbdt.context import trees_of_epoch
from tux.apps.gbdt.shap import ExplainedTrees, explain_scores
from tux.program.report import RowMatrix


def contributions(program, model, rows):
    """Return the SHAP values of samples, with the base as the last column. Those of several classes
    follow one another.
    """
    ids, classes = np.asarray(model.ids["feature"]), trees_of_epoch(program)
    column, width, _ = columns(ids)
    fields = trees(program, model)
    explained = [
        ExplainedTrees.of(fields, len(ids), slice(k, None, classes)) for k in range(classes)
    ]
    filled = np.concatenate(
        [np.append(column[each.used], width) + k * (width + 1) for k, each in enumerate(explained)]
    )
    order = np.argsort(filled)
    pieces = (piece[:, order].astype(np.float32) for piece in explain_scores(explained, rows))
    names = np.array(_names(program, ids, explained))[order]
    of = filled[order], names, classes * (width + 1), pieces
    return RowMatrix(rows, *of, value="contribution")


def _names(program, ids, explained):
    """Return what columns are called, class after class."""
    names = [[*map(str, ids[each.used].tolist()), "base"] for each in explained]
    if len(explained) == 1:
        return names[0]
    named = zip(labels(program), names, strict=True)
    return [f"{label}:{name}" for label, called in named for name in called]
