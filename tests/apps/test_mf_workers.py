"""MF on several workers reaches what one reaches, whichever side is larger and however it is
cut.
"""

import gzip
from functools import cache

import numpy as np
import pytest
from support.machines.team import train_team

from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.options.options import RunOptions
from tux.runs.session import run
from tux.synthetic import ratings as synthetic_ratings

EPOCHS = 6
NEAR = 1.005  # the largest ratio of the test RMSE to that of one worker

SHAPES = {"wide": (80, 1200), "even": (400, 400), "tall": (1200, 80)}  # users, items


def draw_ratings(users, items):
    """Draw 20,000 ratings with a power law at both ends, of which 40% are held out."""
    return synthetic_ratings.ratings(users, items, 20_000, rank=3, test_share=0.4).split()


@cache
def ratings(shape):
    train, test = draw_ratings(*SHAPES[shape])
    pairs = train["user"], train["item"]
    edges = from_arrays(*pairs, ends=("user", "item"), value=train["rating"])
    pairs, values = (test["user"], test["item"]), {"value": test["rating"]}
    return edges, EdgeData.of(("user", "item"), *pairs, values, against=edges.ids)


@cache
def best(shape, k=1, by="bicut", slack=0):
    """Return the best test RMSE of a run with default parameters."""
    edges, held = ratings(shape)
    team = train_team(MF(), edges, EPOCHS, held, k=k, by=by, slack=slack, delivery=1, jit=True)
    assert all(np.isfinite(team.gather(name, "f")).all() for name in ("user", "item"))
    return min(team.history("test_rmse"))


# If both ends are cut, an epoch has many more clocks, so the larger teams are left out.
WORKERS_AND_SLACK = {
    "bicut": [(2, 0), (2, 4), (4, 2), (8, 0)],
    "random": [(2, 0), (2, 4), (4, 0)],
    "ne": [(2, 2), (4, 0)],
}


# Of each partitioner and shape one is quick, and one more is slow; the others are long.
QUICK = [("wide", "bicut", 2, 4), ("even", "bicut", 4, 2), ("wide", "random", 2, 0)]
QUICK += [("tall", "ne", 2, 2)]
SLOW = [("wide", "ne", 4, 0), ("even", "random", 2, 4), ("tall", "bicut", 8, 0)]


def marks(case):
    """Return the marks of pytest of a case: none, slow or long."""
    return [] if case in QUICK else [pytest.mark.slow if case in SLOW else pytest.mark.long]


@pytest.mark.long(after=2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "by", "k", "slack"),
    [
        pytest.param(*case, marks=marks(case))
        for shape in SHAPES
        for by, pairs in WORKERS_AND_SLACK.items()
        for case in ((shape, by, k, slack) for k, slack in pairs)
    ],
)
def test_workers_reach_what_one_reaches(shape, by, k, slack):
    assert best(shape, k, by, slack) < NEAR * best(shape)


@pytest.mark.parametrize(("k", "slack"), [(2, 0), pytest.param(4, 2, marks=pytest.mark.slow)])
def test_workers_reach_what_one_reaches_with_biases(k, slack):
    edges, held = ratings("even")
    one, several = (
        train_team(MF(biases=True), edges, EPOCHS, held, delivery=1, jit=True, **how)
        for how in ({"k": 1}, {"k": k, "slack": slack, "by": "bicut"})
    )
    least = [min(team.history("test_rmse")) for team in (one, several)]
    assert least[1] < NEAR * least[0] < 0.98 * NEAR * best("even")
    assert several.gather("item", "bias").any()


@pytest.mark.slow
@pytest.mark.parametrize(("users", "items", "slack"), [(3, 2000, 0), (2000, 3, 2)])
def test_fewer_vertices_at_one_end_than_workers(users, items, slack):
    train, _ = synthetic_ratings.ratings(users, items, 5000, rank=2, test_share=0.1).split()
    edges = from_arrays(train["user"], train["item"], ends=("user", "item"), value=train["rating"])
    team = train_team(MF(rank=8), edges, 4, k=5, by="bicut", slack=slack, jit=True)
    errors = team.history("train_rmse")
    assert all(later < earlier for earlier, later in zip(errors, errors[1:], strict=False))


def epinions(folder, to):
    """Fold 5 of the Epinions ratings is held out."""
    source = folder / "ratings" / "epinions" / "epinions.ratings.txt.gz"
    train, test = to / "train.txt", to / "test.txt"
    with gzip.open(source, "rt") as lines, train.open("w") as most, test.open("w") as held:
        for line in lines:
            *rating, fold = line.split()
            (held if fold == "5" else most).write("\t".join(rating) + "\n")
    return train, test


def movielens(folder, to):
    """Return the official split 1 of MovieLens 100K."""
    folder = folder / "ratings" / "ml-100k"
    return folder / "u1.base.gz", folder / "u1.test.gz"


@pytest.mark.long
@pytest.mark.parametrize(
    ("files", "workers"), [pytest.param(epinions, 2, marks=pytest.mark.long), (movielens, 3)]
)
def test_real_ratings(files, workers, real_data, tmp_path):
    train, test = files(real_data, tmp_path)
    best = []
    for k in (1, workers):
        records = run(MF(), train, test=test, options=RunOptions(epochs=8, workers=k)).records
        best.append(min(record["test_rmse"] for record in records))
    assert best[1] < NEAR * best[0]


@pytest.mark.long
@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.long)])
def test_movielens_1m(workers, real_data):
    train, test = (
        real_data / "ratings" / "ml-1m" / f"ml-1m.{name}.dat.gz" for name in ("train", "probe")
    )
    records = run(
        MF(rank=64), train, test=test, options=RunOptions(epochs=6, workers=workers)
    ).records
    assert min(record["test_rmse"] for record in records) < 0.8505
