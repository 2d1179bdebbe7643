"""Metrics of a result, computed anew from the files of its model and from the data by their
formulas in plain numpy, with readers of their own: tux is not asked.
"""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
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
    """Read the columns of a table, those of lists of one length as arrays of two dimensions, and
    of lists of any length as arrays of lists.
    """
    table = pq.read_table(io.BytesIO(content))
    lists = {field.name for field in table.schema if pa.types.is_large_list(field.type)}
    return {
        name: np.array(table[name].to_pylist(), dtype=object if name in lists else None)
        for name in table.column_names
    }


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


def judge_clusters(model: Mapping[str, Columns], folder: Path) -> dict[str, float]:
    """Compute the sum of squared distances of samples to their nearest centers, of both files."""
    place = {str(feature): at for at, feature in enumerate(model["feature"]["id"])}
    size = model["tau"]["size"][0]
    full = size > 0
    centers = (model["feature"]["s"][:, full] / size[full]).T  # `s`: coordinates times the size
    files = {"inertia": "train.svm", "test_inertia": "test.svm"}
    return {name: _nearest_squares(folder / file, place, centers) for name, file in files.items()}


def judge_points(model: Mapping[str, Columns], folder: Path) -> dict[str, float]:
    """Compute the sum of squared distances of points to their nearest centers."""
    tau = model["tau"]
    points = np.loadtxt(folder / "points.csv", delimiter=",", skiprows=1)[:, 1:]
    centers = tau["center"][0].reshape(-1, points.shape[1])
    squares = np.square(points[:, np.newaxis] - centers).sum(axis=2)
    return {"inertia": float(squares.min(axis=1).sum())}


def judge_trees(model: Mapping[str, Columns], folder: Path) -> dict[str, float]:
    """Compute the sum of logistic losses of scores that walks through trees add up, and the mean
    loss on held-out samples.
    """
    losses = [_tree_losses(model, folder / file) for file in ("train.svm", "test.svm")]
    return {"objective": float(losses[0].sum()), "test_logloss": float(losses[1].mean())}


def judge_topics(model: Mapping[str, Columns], folder: Path) -> dict[str, float]:
    """Compute the joint log likelihood of words and topics by occurrence (Griffiths and Steyvers,
    PNAS 2004, equations 2 and 3) of counts that must be those of the documents; NaN if not.
    """
    tau, counts = model["tau"], model["word"]["n"]
    alpha, beta, size = tau["alpha"][0], float(tau["beta"][0]), len(counts)
    likelihood = _likelihood(counts.T, np.full(size, beta))
    held, lengths = np.zeros(len(alpha)), {}
    for document, *topics in zip(*model["document"].values(), strict=True):
        numbers = np.bincount(topics[0], topics[1], minlength=len(alpha))
        likelihood += _likelihood(numbers[np.newaxis], alpha)
        lengths[int(document)] = numbers.sum()
        held += numbers
    agree = np.array_equal(held, counts.sum(axis=0)) and np.array_equal(held, tau["n"][0])
    words, documents = _occurrences(folder / "documents.csv")
    agree &= documents == lengths
    agree &= words == dict(zip(model["word"]["id"].tolist(), counts.sum(axis=1), strict=True))
    return {"loglik_per_token": likelihood / held.sum() if agree else np.nan}


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
    margins = [
        label * sum(weights.get(feature, 0.0) * x for feature, x in entries.items())
        for label, entries in _samples(path)
    ]
    return np.logaddexp(0.0, -np.array(margins))


def _samples(path: Path) -> Iterator[tuple[float, dict[str, float]]]:
    """Yield label and entries of each sample of a file of libsvm."""
    for line in path.read_text(encoding="utf-8").splitlines():
        label, *entries = line.split()
        pairs = (entry.split(":") for entry in entries)
        yield float(label), {feature: float(x) for feature, x in pairs}


def _nearest_squares(path: Path, place: Mapping[str, int], centers: np.ndarray) -> float:
    """Return the sum of squared distances of the samples of a file to their nearest centers, of
    which a column has the coordinates of a feature.
    """
    squares = 0.0
    for _, entries in _samples(path):
        sample = np.zeros(centers.shape[1])
        unknown = sum(x * x for feature, x in entries.items() if feature not in place)
        for feature in entries.keys() & place.keys():
            sample[place[feature]] = entries[feature]
        squares += unknown + np.square(centers - sample).sum(axis=1).min()
    return float(squares)


def _tree_losses(model: Mapping[str, Columns], path: Path) -> np.ndarray:
    """Return log(1 + exp(-y m)) of each sample of a file, m being the score of boosted trees."""
    tau = model["tau"]
    count, names = int(tau["tree"][0]), [str(feature) for feature in model["feature"]["id"]]
    fields = ("feature", "cut", "default_left", "weight")
    trees = [tau[name][0].reshape(-1, 2 ** (int(tau["depth"][0]) + 1)) for name in fields]
    margins = []
    for label, entries in _samples(path):
        score = float(tau["base"][0])
        for feature, cut, default_left, weight in zip(*(of[:count] for of in trees), strict=True):
            node = 1  # the root; node n has the children 2 n and 2 n + 1
            while feature[node] >= 0:
                x = entries.get(names[feature[node]])
                goes_left = default_left[node] if x is None else x < cut[node]
                node = 2 * node + (not goes_left)
            score += float(weight[node])
        margins.append(label * score)
    return np.logaddexp(0.0, -np.array(margins))


def _likelihood(counts: np.ndarray, prior: np.ndarray) -> float:
    """Return the log likelihood of draws, counted in each row (n, k), from distributions that are
    drawn from the Dirichlet distribution of a prior (k,).
    """
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    rise = lgamma(counts + prior) - lgamma(prior)
    total = float(prior.sum(dtype=float))
    whole = lgamma(counts.sum(axis=1) + total) - math.lgamma(total)
    return float(rise.sum() - whole.sum())


def _occurrences(path: Path) -> tuple[dict[int, float], dict[int, float]]:
    """Return how many occurrences each word and each document of a file has."""
    words, documents = defaultdict(float), defaultdict(float)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for counts, name in ((words, "word"), (documents, "document")):
                counts[int(row[name])] += float(row["count"])
    return dict(words), dict(documents)


def _root_mean_square(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))
