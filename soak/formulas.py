"""Metrics of a result, computed anew from the files of its model and from the data by their
formulas in plain numpy, with readers of their own: tux is not asked.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from faults.ended import RunRemains

Columns = Mapping[str, np.ndarray]
"""Columns of a model's table: numbers (n,), or those of a field with a length (n, length)."""

Formula = Callable[[Mapping[str, Columns], Path], dict[str, float]]
"""It gets the tables of a model by vertex type and the folder of the data, and returns metrics by
their names in records.
"""

ENDS = ("user", "item")

ROUNDING = 1e-5
"""The share by which a metric may differ from its formula: models have numbers of single
precision.
"""


def find_wrong_metrics(formula: Formula | None, now: RunRemains, folder: Path) -> list[str]:
    """List the metrics of the epoch whose model a run has kept that are not those of its formula,
    if it has one. `folder`: that of the data.
    """
    if formula is None:
        return []
    epoch = now.results.get("model_epoch", now.records[-1]["epoch"])
    record = next(each for each in now.records if each["epoch"] == epoch)
    tables = {
        Path(name).stem: read_columns(content)
        for name, content in now.model.items()
        if name.endswith(".parquet")
    }
    wrong = []
    for name, value in formula(tables, folder).items():
        told = record.get(name, np.nan)
        if not abs(told - value) <= ROUNDING * abs(value):
            wrong.append(f"{name} of epoch {epoch} is {told}, and by the model's files {value}")
    return wrong


def read_columns(content: bytes) -> Columns:
    """Read the columns of a table, those of lists of one length as arrays of two dimensions."""
    table = pq.read_table(io.BytesIO(content))
    return {name: np.array(table[name].to_pylist()) for name in table.column_names}


def judge_factors(model: Mapping[str, Columns], folder: Path) -> dict[str, float]:
    """Compute the root mean square error on held-out ratings, of inner products of factors; where
    a user or an item is not known, of the mean of the ratings trained on.
    """
    return {"test_rmse": _root_mean_square(_errors(model, folder / "held-out.csv"))}


def judge_squares(model: Mapping[str, Columns], folder: Path) -> dict[str, float]:
    """Compute the same error on both files, of alternating least squares."""
    error = _root_mean_square(_errors(model, folder / "ratings.csv"))
    return judge_factors(model, folder) | {"train_rmse": error}


def judge_ridge(model: Mapping[str, Columns], folder: Path) -> dict[str, float]:
    """Compute the sum of logistic losses, with half the sum of squares of all weights."""
    squares = np.square(model["feature"]["w"]).sum()
    return {"objective": float(_losses(model, folder / "train.svm").sum() + squares / 2)}


def judge_lasso(model: Mapping[str, Columns], folder: Path) -> dict[str, float]:
    """Compute the sum of logistic losses, with the sum of the sizes of all weights; and the mean
    loss on held-out samples.
    """
    sizes = np.abs(model["feature"]["w"]).sum()
    objective = float(_losses(model, folder / "train.svm").sum() + sizes)
    return judge_samples(model, folder) | {"objective": objective}


def judge_samples(model: Mapping[str, Columns], folder: Path) -> dict[str, float]:
    """Compute the mean logistic loss on held-out samples."""
    return {"test_logloss": float(_losses(model, folder / "test.svm").mean())}


def _errors(model: Mapping[str, Columns], path: Path) -> np.ndarray:
    """Return the errors of a factorization on a table of ratings."""
    columns = ((kind, model[kind]["id"].tolist(), model[kind]["f"]) for kind in ENDS)
    rows = {kind: dict(zip(ids, factors, strict=True)) for kind, ids, factors in columns}
    mean, errors = float(model["tau"]["mean"][0]), []
    with path.open(encoding="utf-8", newline="") as file:
        for rating in csv.DictReader(file):
            user, item = (rows[kind].get(int(rating[kind])) for kind in ENDS)
            known = user is not None and item is not None
            errors.append(float(rating["rating"]) - (user @ item if known else mean))
    return np.array(errors)


def _losses(model: Mapping[str, Columns], path: Path) -> np.ndarray:
    """Return log(1 + exp(-y w.x)) of each sample of a file of libsvm."""
    features = model["feature"]
    weights = dict(zip(map(str, features["id"]), features["w"].tolist(), strict=True))
    losses = []
    for line in path.read_text(encoding="utf-8").splitlines():
        label, *entries = line.split()
        pairs = (entry.split(":") for entry in entries)
        margin = sum(weights.get(feature, 0.0) * float(x) for feature, x in pairs)
        losses.append(np.logaddexp(0.0, -float(label) * margin))
    return np.array(losses)


def _root_mean_square(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))
