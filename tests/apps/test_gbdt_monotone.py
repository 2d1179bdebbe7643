"""Monotone features of boosted trees: predictions, beside a plain oracle and XGBoost; workers, new
data, and what is refused.
"""

from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.team import Team
from support.messages import message
from support.oracles.gbdt_oracle import FIELDS, edges_of, grow, score_samples

import tux
from tux.apps.gbdt import rules
from tux.apps.gbdt.directions import by_number, read_directions, write_directions
from tux.apps.gbdt.gbdt import GBDT
from tux.apps.gbdt.losses import LOSSES
from tux.cli.main import main

DIRECTIONS = [1, -1, 0, -1, 1]
TEXT = "0:+1,1:-1,2:0,3:-1,4:1"
NUMBERED = "0:1,1:-1,3:-1,4:1"
VALUES = np.arange(1, 8)
PLAIN = {"jit": False, "progress": False}
OBJECTIVES = {
    "squared": "reg:squarederror",
    "logistic": "binary:logistic",
    "poisson": "count:poisson",
    "softmax": "multi:softprob",
}


def draw(loss, seed=1, n=150, share=0.7):
    """Draw samples with few values, where some features go against their direction."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, 5)) < share, rng.choice(VALUES, (n, 5)), np.nan).astype("f4")
    full = np.nan_to_num(x)
    score = 2 * np.sin(full[:, 0]) + 0.2 * full[:, 0] + 0.3 * full[:, 1] * np.cos(full[:, 2])
    score += 2 * np.isnan(x[:, 3]) - 2 * np.isnan(x[:, 4]) + rng.normal(size=n) / 3
    if loss == "poisson":
        return x, rng.poisson(np.exp(score / 2)).astype("f4")
    if loss in ("softmax", "lambdarank"):
        return x, np.digitize(score, [-0.5, 1]).astype("f4")
    return x, score.astype("f4") if loss == "squared" else np.where(score > 0.3, 1.0, -1.0)


def parameters(loss, **of):
    classes = {"classes": "0,1,2"} if loss == "softmax" else {}
    return {"loss": loss, "max_iter": 3, "max_depth": 3, "monotone": TEXT} | classes | of


def train(loss, samples, **of):
    """Train on samples; those that are ranked come in queries of ten."""
    edges = edges_of(*samples)
    if loss == "lambdarank":
        queries = np.arange(len(samples[1]), dtype="i4") // 10
        edges.vertex_fields["sample"]["query"] = queries
    return tux.run(GBDT(**parameters(loss, **of)), edges, **PLAIN)


def forest(context, trees):
    """Return the fields of all trees, (trees, nodes)."""
    return {name: np.asarray(context[name]).reshape(trees, -1) for name in FIELDS}


def rises_along(run, feature, classes):
    """Return how the scores of many samples change from each value of a feature to the next, and
    beyond those of training, (samples, values, classes).
    """
    values = [-5, *VALUES, 50]
    x = np.repeat(draw("squared", seed=9, n=60)[0], len(values), axis=0)
    x[:, feature] = np.tile(values, 60)
    scores = score_samples(run.export("trees"), x, 0.0, classes)
    return np.diff(scores.reshape(60, len(values), classes), axis=1)


# Trees.


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("loss", [*OBJECTIVES, "lambdarank"])
def test_scores_are_monotone(loss):
    samples, classes = draw(loss), 3 if loss == "softmax" else 1
    run, free = train(loss, samples), train(loss, samples, monotone="")
    for feature, direction in enumerate(DIRECTIONS):
        assert (direction * rises_along(run, feature, classes)).min() >= 0, feature
    against = [d * rises_along(free, k, classes) for k, d in enumerate(DIRECTIONS)]
    assert np.min(against) < -0.05  # without the directions they are not
    assert abs(rises_along(run, 0, classes)).max() > 0


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("loss", "k"), [("poisson", 1), ("squared", 2), ("softmax", 2)])
def test_trees_are_those_of_the_oracle(loss, k):
    x, y = draw(loss, seed=2)
    wanted, _ = grow(x, y, loss, directions=DIRECTIONS)
    made = GBDT(**parameters(loss)).replace_parameters(directions=NUMBERED, rule="monotone")
    how = {"by": "target", "slack": 1, "delivery": 2} if k > 1 else {}
    team = Team(made, edges_of(x, y), k=k, **how).train(3)
    found = forest({name: getattr(team.tau, name) for name in FIELDS}, len(wanted["weight"]))
    for name in FIELDS:
        assert found[name] == pytest.approx(wanted[name], rel=1e-5, abs=1e-6), name


@pytest.mark.slow
@pytest.mark.parametrize(("k", "threads"), [(1, 2), (2, 1), (3, 2)])
def test_workers_and_threads_grow_the_same_trees(k, threads):
    x, y = draw("squared", seed=3, n=400)
    of = {"subsample": 0.8, "colsample_bytree": 0.8, "max_depth": 5}
    made = GBDT(**parameters("squared", **of))
    made = made.replace_parameters(directions=NUMBERED, rule="monotone")
    how = {"by": "target", "slack": k - 1, "delivery": k} if k > 1 else {}
    one = Team(made, edges_of(x, y), k=1, jit=True).train(3)
    team = Team(made, edges_of(x, y), k=k, jit=True, threads=threads, **how).train(3)
    for name in FIELDS:
        assert np.array_equal(getattr(team.tau, name), getattr(one.tau, name)), name


@pytest.mark.slow
@pytest.mark.parametrize("loss", OBJECTIVES)
def test_they_are_the_trees_of_xgboost(loss):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    x, y = draw(loss, seed=4)
    run = train(loss, (x, y), max_depth=4)
    found = run.export("trees")
    how = {"objective": OBJECTIVES[loss], "max_depth": 4, "tree_method": "hist", "nthread": 1}
    how |= {"base_score": float((y > 0).mean() if loss == "logistic" else y.mean())}
    if loss == "softmax":
        how |= {"num_class": 3, "base_score": 0.5}
    data = xgboost.DMatrix(x, y > 0 if loss == "logistic" else y)
    peer = xgboost.train({**how, "monotone_constraints": tuple(DIRECTIONS)}, data, 3)
    assert peer.predict(data) == pytest.approx(np.asarray(run.predict(edges_of(x, y))), rel=1e-5)
    nodes = peer.trees_to_dataframe()
    leaf = nodes["Feature"] == "Leaf"
    inner = found["feature"] >= 0
    gains = nodes["Gain"][~leaf].to_numpy()
    assert np.sort(found["gain"][inner]) == pytest.approx(np.sort(gains), rel=1e-5, abs=1e-5)
    split = np.zeros_like(inner)
    split[:, 2::2] = split[:, 3::2] = inner[:, 1 : inner.shape[1] // 2]
    weights = found["weight"][split & ~inner]
    wanted = nodes["Gain"][leaf].to_numpy()  # of a leaf it is the weight
    assert np.sort(weights) == pytest.approx(np.sort(wanted), rel=1e-5, abs=1e-6)


def test_samples_with_and_without_an_entry_are_in_no_order():
    """One value: the direction says nothing about samples without one, above or below."""
    x = np.where(np.arange(40) < 20, 3.0, np.nan).astype("f4")[:, None]
    y = np.where(np.arange(40) < 20, 1, -1).astype("f4")
    for text in ("0:+1", "0:-1"):
        run = train("squared", (x, y), monotone=text, max_iter=1, max_depth=1)
        found = run.predict(edges_of(x, y))
        assert np.asarray(found) == pytest.approx(y * 0.3 * 20 / 21)


# Functions.


def test_sides_in_the_wrong_order_have_no_fit():
    tau = Row(least_step=[-np.inf, -0.5], most_step=[np.inf, 0.25])
    left, right = (-4.0, 2.0), (3.0, 4.0)  # steps of -2 and .75
    fit = rules.monotone_fit
    assert fit(left, right, 0, 1, tau, None) == -np.inf
    assert fit(left, right, 0, -1, tau, None) == fit(left, right, 0, 0, tau, None) == 10.25
    bounded = -0.5 * (-8 + 0.5 * 2) + 0.25 * (6 - 0.25 * 4)
    assert fit(left, right, 1, -1, tau, None) == bounded
    p = Row(loss=LOSSES["squared"])
    assert rules.free_fit(left, right, 0, 0, tau, p) == 10.25
    assert fit((2.0, 1.0), (9.0, 1.0), 1, 1, tau, None) == 2 * 0.25 * 11 - 2 * 0.25**2  # equal


def test_a_feature_knows_its_direction():
    tau = Row(monotone=[2, 5, 9], direction=[1, -1, 1])
    found = [rules.find_direction(k, tau) for k in range(11)]
    assert found == [0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0]
    assert rules.no_direction(2, tau) == 0


def test_children_are_bounded_by_the_middle():
    """Node 0 is split by a rising feature, node 1 by a free one, whose left child is bounded."""
    tau = Row(nodes=4, monotone=np.array([7]), direction=np.array([1]), high=np.zeros(2))
    tau.feature_of, tau.sums = np.array([7, 3]), np.ones((2, 4))
    tau.least_step, tau.most_step = np.array([-9.0, 0, 0, 0]), np.array([9.0, 1, 0, 0])
    p = Row(loss=LOSSES["squared"])
    assert rules.monotone_bound(np.array([3.0, 1, 2, 0.5]), tau, p).tolist() == [3, 1, 1, 0.5]
    assert tau.least_step.tolist() == [2, -9, 0, 0] and tau.most_step.tolist() == [9, 2, 1, 1]


def test_directions_are_read():
    assert read_directions("age:+1, price:-1,x:0,y:1") == {"age": 1, "price": -1, "y": 1}
    assert read_directions('"a,b:-1",c:d:1') == {"a,b": -1, "c:d": 1}
    assert read_directions("") == {} and by_number(Row(directions="")) == []
    assert by_number(Row(directions="3:-1,10:1")) == [(3, -1), (10, 1)]


@pytest.mark.parametrize(
    ("text", "one_form"),
    [
        ("price:-1, age:1,x:0", "age:+1,price:-1"),
        ('c:d:1,"a,b:-1"', '"a,b:-1",c:d:+1'),
        ('"say ""a"":1"', '"say ""a"":+1"'),
        ("x:0", ""),
        ("", ""),
    ],
)
def test_directions_have_one_form(text, one_form):
    assert write_directions(text) == write_directions(one_form) == one_form
    assert read_directions(text) == read_directions(one_form)
    assert GBDT(monotone=text).parameters["monotone"] == GBDT(monotone=text).monotone == one_form


# Runs.


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("age", "monotone-does-not-name-a", "age"),
        ("age:2", "monotone-does-not-name-a", "age:2"),
        (":1", "monotone-does-not-name-a", ":1"),
        ("age:1,age:-1", "monotone-names-the-feature-twice", "age"),
        ('"age:1', "classes-cannot-be-read", "monotone"),
    ],
)
def test_wrong_directions_are_refused(text, code, value):
    with pytest.raises(tux.UsageError, match=message(code, value)):
        GBDT(monotone=text)


def test_quantiles_are_refused():
    assert GBDT(loss="quantile", monotone="age:0").monotone == ""  # it says nothing
    with pytest.raises(tux.UsageError, match=message("monotone-cannot-hold-with-the")):
        GBDT(loss="quantile", monotone="age:1")


def test_columns_have_directions_by_name(tmp_path, capsys, monkeypatch):
    """They are kept by a run that goes on, and by one that begins with the model."""
    monkeypatch.chdir(tmp_path)
    x, y = draw("squared", n=60, share=1.0)
    rows = [",".join(map(str, [*row, label])) for row, label in zip(x, y, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["age,b,price,d,e,label", *rows]) + "\n")
    run = "run gbdt a.csv --loss squared --max-depth 2 --no-jit".split()
    given = ["--monotone", "price:-1,age:+1"]
    assert main([*run, *given, "--epochs", "2", "--out", "one", "--checkpoint-every", "1"]) == 0
    assert main(["run", "--resume", "one", "--epochs", "3"]) == 0
    program = tux.load("one").program
    assert program.directions == "0:1,4:-1"  # in the order of the names
    capsys.readouterr()
    assert main(["info", "one"]) == 0
    shown = capsys.readouterr().out
    assert "monotone age:+1,price:-1" in shown and "0:1,4:-1" not in shown
    same = ["--monotone", " age:1, b:0,price:-1"]
    assert main([*run, *same, "--from", "one", "--epochs", "1"]) == 0
    assert main([*run, "--from", "one", "--epochs", "1", "--out", "two"]) == 0
    assert tux.load("two").program.monotone == program.monotone
    assert main([*run, "--from", "one", "--monotone", "age:1"]) == 2
    assert "monotone of a model cannot change" in capsys.readouterr().err
    assert main([*run, "--monotone", "prize:-1"]) == 2
    told = capsys.readouterr().err
    assert "no feature of the training data has the id 'prize'" in told and "price" in told


@pytest.mark.slow
def test_several_workers_are_verified(tmp_path, capsys):
    x, y = draw("squared", n=40, share=1.0)
    rows = [",".join(map(str, [*row, label])) for row, label in zip(x, y, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,c,d,e,label", *rows]) + "\n")
    run = ["run", "gbdt", str(tmp_path / "a.csv"), "--loss", "squared", "--max-depth", "2"]
    assert main([*run, "--monotone", "c:-1,a:+1", "--epochs", "2", "--verify", "--no-jit"]) == 0
    assert "the same on 1, 2 and 3 workers" in capsys.readouterr().out


def test_features_of_libsvm_have_directions_by_number(tmp_path):
    lines = [f"{k % 7} 10:{k % 5 + 1} 2:{k % 3 + 1}" for k in range(40)]
    (tmp_path / "a.svm").write_text("\n".join(lines) + "\n")
    program = GBDT(loss="squared", monotone="10:-1", max_depth=2)
    run = tux.run(program, str(tmp_path / "a.svm"), epochs=1, **PLAIN)
    assert run.program.directions == "1:-1"
