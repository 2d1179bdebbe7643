"""The examples als.py and boosted_trees.py, against numpy and scikit-learn."""

import json

import numpy as np
import pytest
from support.machines.team import train_team
from support.messages import message

import tux
from tux.arrays.arrow import read_parquet
from tux.arrays.edges import EdgeData
from tux.base.errors import ProgramError
from tux.cli.main import main
from tux.program.sources import find

ALS = find("docs/examples/als.py").program
TREES = find("docs/examples/boosted_trees.py").program

several = pytest.mark.parametrize(("k", "slack"), [(1, 0), (2, 0), (2, 2), (3, 0), (3, 2)])


def close(found, truth):
    np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-9)


# ---- alternating least squares

RANK, REG = 3, 0.1


def ratings():
    """Return 60 ratings of 12 users and 8 items, with a user and an item that have none, and
    held-out ratings. One held-out rating has a user that training has not seen.
    """
    rng = np.random.default_rng(5)
    pairs = rng.choice(12 * 8, 70, replace=False)
    src, dst, value = pairs // 8, pairs % 8, rng.integers(1, 6, 70)
    loose = {"user": [12], "item": [8]}
    train = EdgeData.of(("user", "item"), src[:60], dst[:60], {"value": value[:60]}, vertices=loose)
    held = [*src[60:], 99], [*dst[60:], 0], {"value": [*value[60:], 4]}
    return train, EdgeData.of(("user", "item"), *held, against=train.ids)


def least_squares(ends, others, y, value, n):
    """Return the factors (n, RANK) that minimise the objective for fixed factors `y` of the other
    ends: to each system of ratings the penalty adds RANK equations.
    """
    x = np.zeros((n, RANK))
    for v in np.unique(ends):
        rows, r = y[others[ends == v]], value[ends == v]
        penalty = np.sqrt(len(r) * REG) * np.eye(RANK)
        x[v] = np.linalg.lstsq(np.vstack([rows, penalty]), np.r_[r, np.zeros(RANK)])[0]
    return x


def alternate(train, y, epochs):
    """Return the factors of both sides after some epochs, and the objective of each epoch."""
    value, objectives = train.fields["value"].astype("f8"), []
    for _ in range(epochs):
        x = least_squares(train.src, train.dst, y, value, 13)
        y = least_squares(train.dst, train.src, x, value, 9)
        p, q = x[train.src], y[train.dst]
        errors = (value - (p * q).sum(1)) ** 2
        objectives.append((errors + REG * ((p**2).sum(1) + (q**2).sum(1))).sum())
    return x, y, objectives


def als(epochs, **options):
    train, test = ratings()
    return train_team(ALS(rank=RANK, reg=REG), train, epochs, test, **options)


def agrees_with_least_squares(team):
    train, test = ratings()
    x, y, objectives = alternate(train, als(0, k=1).gather("item", "y"), 3)
    close(team.gather("user", "x"), x)
    close(team.gather("item", "y"), y)
    close(team.history("objective"), objectives)
    assert objectives == sorted(objectives, reverse=True)
    seen = test.src < 13
    errors = test.fields["value"].astype("f8")
    errors[seen] -= (x[test.src[seen]] * y[test.dst[seen]]).sum(1)
    close(team.history("test_rmse")[-1], np.sqrt((errors**2).mean()))


@pytest.mark.slow(after=3)
@several
def test_als_solves_least_squares_on_any_number_of_workers(k, slack):
    agrees_with_least_squares(als(3, k=k, slack=slack, by="bicut"))


@pytest.mark.long
def test_compiled_als_solves_the_same():
    agrees_with_least_squares(als(3, k=2, slack=2, by="bicut", jit=True))


def test_als_refuses_a_graph_in_which_users_are_cut():
    with pytest.raises(
        ProgramError, match=message("is-cut-and-needs-each", "user", "RatingsALS", "user")
    ):
        als(1, k=2, by="random")


# ---- boosted trees

CHOSEN = {"trees": 3, "depth": 3, "bins": 8, "rate": 0.3, "l2": 0.5, "least_h": 1e-3, "dims": 4}


def points():
    """Return (x, label, held_out) of 80 points. Features are whole numbers 0 to 7, each of them a
    bin of its own; the last feature makes the same splits as the first.
    """
    rng = np.random.default_rng(8)
    x = rng.integers(0, 8, (80, 4)).astype("f4")
    x[:2] = [[0], [7]]
    x[:, 3] = 7 - x[:, 0]
    label = (x[:, 0] * x[:, 1] + x[:, 2] + rng.normal(0, 3, 80) > 14).astype("i4")
    return x, label, (np.arange(80) % 7 == 3).astype("u1")


class Oracle:
    """Boosted trees by recursion over sets of points. `sums` are G and H of a set."""

    def __init__(self, x, label, train):
        self.x, self.label, self.train = x, label, train
        positive = label[train].mean()
        self.score = np.full(len(x), np.log(positive / (1 - positive)))
        self.losses = []
        for _ in range(CHOSEN["trees"]):
            chance = 1 / (1 + np.exp(-self.score))
            self.g, self.h = chance - label, chance * (1 - chance)
            self.grow(np.arange(len(x)), CHOSEN["depth"])
            loss = np.log1p(np.exp(-(2 * label - 1) * self.score))
            self.losses.append([loss[train].mean(), loss[~train].mean()])

    def sums(self, at):
        at = at[self.train[at]]
        return self.g[at].sum(), self.h[at].sum()

    def fit(self, at):
        g, h = self.sums(at)
        return g**2 / (h + CHOSEN["l2"]) if h else 0

    def grow(self, at, depth):
        best, gain = None, 1e-6
        for k in range(4) if depth else ():
            for cut in range(7):
                parts = at[self.x[at, k] <= cut], at[self.x[at, k] > cut]
                here = (sum(map(self.fit, parts)) - self.fit(at)) / 2
                least = min(self.sums(part)[1] for part in parts)
                if least >= CHOSEN["least_h"] and here > gain + 1e-9:
                    best, gain = parts, here
        if best is None:
            g, h = self.sums(at)
            self.score[at] -= CHOSEN["rate"] * g / (h + CHOSEN["l2"])
            return
        for part in best:
            self.grow(part, depth - 1)


@pytest.fixture(scope="module")
def oracle():
    x, label, held_out = points()
    return Oracle(x, label, held_out == 0)


def trees(**options):
    x, label, held_out = points()
    data = tux.points(x, label=label, held_out=held_out)
    return train_team(TREES(**CHOSEN), data, 10, **options)


def agrees_with_recursion(team, oracle):
    close(team.gather("point", "score"), oracle.score)
    close(team.history("train_loss"), [train for train, _ in oracle.losses])
    close(team.history("test_loss"), [test for _, test in oracle.losses])


@pytest.mark.slow(after=4)
@several
@pytest.mark.parametrize("by", ["random", "bicut"])
def test_trees_are_those_of_recursion_on_any_number_of_workers(oracle, k, slack, by):
    team = trees(k=k, slack=slack, by=by)
    agrees_with_recursion(team, oracle)
    # Of splits with the same gain the first is taken, whatever the sums were rounded to.
    assert 3 not in team.tau.feature and 0 in team.tau.feature


@pytest.mark.long
def test_compiled_trees_are_the_same(oracle):
    agrees_with_recursion(trees(k=2, slack=2, jit=True), oracle)


def test_trees_are_those_of_scikit_learn():
    from sklearn.ensemble import HistGradientBoostingClassifier

    x, label, _ = points()
    team = train_team(TREES(**CHOSEN), tux.points(x, label=label), 10, k=1)
    peer = HistGradientBoostingClassifier(
        max_iter=CHOSEN["trees"],
        max_depth=CHOSEN["depth"],
        learning_rate=CHOSEN["rate"],
        l2_regularization=CHOSEN["l2"],
        max_leaf_nodes=None,
        min_samples_leaf=1,
        early_stopping=False,
    ).fit(x, label)
    # scikit-learn computes derivatives in single precision
    np.testing.assert_allclose(
        team.gather("point", "score"), peer.decision_function(x), rtol=0, atol=1e-5
    )
    assert "test_loss" not in team.records[0][-1]


def test_points_of_one_class_are_refused():
    x, label, _ = points()
    with pytest.raises(tux.ProgramError, match="all points are of one class; --positive is 2"):
        train_team(TREES(**CHOSEN | {"positive": 2}), tux.points(x, label=label), 1, k=1)


CLASSES = "no", "yes"


@pytest.mark.long
def test_trees_from_the_command_line(tmp_path, capsys, oracle):
    x, label, held_out = points()
    rows = [
        f"{a:g},{b:g},{c:g},{d:g},{CLASSES[y]},{held}"
        for (a, b, c, d), y, held in zip(x, label, held_out, strict=True)
    ]
    (tmp_path / "points.csv").write_text("\n".join(["a,b,c,d,label,held_out", *rows]) + "\n")
    chosen = {name: value for name, value in CHOSEN.items() if name != "dims"}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in chosen.items()]
    argv = ["run", "docs/examples/boosted_trees.py", str(tmp_path / "points.csv"), *flags]
    assert main([*argv, "--out", str(tmp_path / "out"), "--workers", "2", "--no-jit"]) == 0
    close(read_parquet(tmp_path / "out/model/point.parquet")["score"], oracle.score)
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["parameters"]["dims"] == 4
    assert "x[0]" in capsys.readouterr().out
