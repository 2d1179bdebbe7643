"""Boosted trees for several classes beside a plain oracle: trees, workers, new data, and files."""

import csv
import json
from types import SimpleNamespace as Row

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from support.machines.team import Team
from support.messages import message
from support.oracles.gbdt_oracle import FIELDS, draw_samples, edges_of, grow, score_samples

import tux
from tux.apps.gbdt import classes as app
from tux.apps.gbdt.gbdt import GBDT
from tux.apps.gbdt.losses import LOSSES
from tux.base.text import join_class_names

DEPTH = 2
PLAIN = {"jit": False, "progress": False}


def draw(seed=3, classes=3, n=150, p=6):
    return draw_samples(n=n, p=p, seed=seed, classes=classes)


def program(classes=3, **of):
    names = join_class_names([str(k) for k in range(classes)])
    return GBDT(**{"loss": "softmax", "classes": names, "max_depth": DEPTH, "max_iter": 3} | of)


def forest(context, trees):
    return {name: np.asarray(context[name]).reshape(trees, -1) for name in FIELDS}


def logloss(scores, y):
    return -log_softmax(scores, axis=1)[np.arange(len(y)), y.astype(int)]


def fit(x, y, test, *, k=1, slack=0, classes=3, jit=False, threads=1, **of):
    edges = edges_of(x, y)
    held = edges_of(*test, train=edges)
    how = {"by": "target"} if k > 1 else {}
    made = program(classes, **of)
    team = Team(made, edges, held, k=k, slack=slack, delivery=k, jit=jit, threads=threads, **how)
    return team.train(made.max_iter)


# The functions.


def test_derivatives_and_the_loss():
    rng = np.random.default_rng(1)
    loss, step = LOSSES["softmax"], 1e-4
    for count in (2, 3, 5):
        m, y = rng.normal(size=count), count - 1
        chances = softmax(m)
        assert loss.value(float(y), m, 0.5) == pytest.approx(-np.log(chances[y]))
        assert loss.value(float(y), 500 * m, 0.5) == pytest.approx(-log_softmax(500 * m)[y])
        for k in range(count):
            g, h = loss.slopes(k == y, chances[k], 0.5)
            low, at, high = (loss.value(y, m + d * np.eye(count)[k], 0.5) for d in (-step, 0, step))
            assert g == pytest.approx((high - low) / (2 * step), abs=1e-6)
            assert h == pytest.approx(2 * (high - 2 * at + low) / step**2, abs=1e-4)


def test_functions_of_samples_are_plain_python():
    p = Row(loss=LOSSES["softmax"], quantile=0.5)
    tree = np.zeros((3, 4), "f4")
    tree[:, 1] = 0.5, -1.0, 2.0
    leaves = np.full((3, 4), -1)
    tau = Row(base=0.25, tree=3, turn=0, copies=2.0, weight=tree, feature=leaves, most_g=0.0)
    tau.most_h = tau.tested = tau.test_losses = tau.right = tau.trees = tau.leaves = 0
    wide = {name: np.zeros(3) for name in ("score", "g", "h")}
    sample = Row(label=2.0, c=2.0, climbed=0, node=1, state=np.zeros(4, int), **wide)
    app.recall(sample, [], tau, p)
    chances = softmax([0.5, -1.0, 2.0])
    assert sample.score.tolist() == [0.75, -0.75, 2.25]
    assert sample.g == pytest.approx(2 * (chances - [0, 0, 1]))
    assert sample.h == pytest.approx(8 * chances * (1 - chances))
    assert tau.most_g == abs(sample.g).max() and tau.most_h == sample.h.max()
    tau.turn, tau.per_g, tau.per_h, tau.tree = 1, 2.0**20, 2.0**20, 2
    app.quantise(sample, tau)
    assert sample.state[:2] / 2**20 == pytest.approx([sample.g[1], sample.h[1]], abs=1e-6)
    app.climb(sample, tau)
    assert sample.score[1] == 1.25
    for _ in range(2):
        app.take_turns(tau)
    app.finish(tau, p)
    assert (tau.trees, tau.leaves, tau.turn) == (4, 3, 0)
    tau.tree, tau.ranks = 3, np.zeros((2, 4096))
    app.judge(sample, [], tau, p)
    assert (tau.tested, tau.right, sample.climbed) == (1, 1, 3)
    assert tau.test_losses == pytest.approx(-np.log(chances[2]))
    out = np.zeros(3, "f4")
    app.probabilities(sample, [], tau, out)
    assert out == pytest.approx(chances, rel=1e-6)


# The trees.


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("classes", [3, 2, 6])
def test_trees_are_those_of_the_oracle(classes):
    x, y = draw(classes=classes, n=80)
    new = draw(seed=4, classes=classes, n=30)
    wanted, m = grow(x, y, "softmax", trees=2, depth=DEPTH)
    team = fit(x, y, new, classes=classes, max_iter=2)
    found = forest(vars_of(team.tau), 2 * classes)
    for name in FIELDS:
        assert found[name] == pytest.approx(wanted[name], rel=1e-5, abs=1e-6), name
    leaves = (wanted["feature"] >= 0).reshape(2, -1).sum(axis=1) + classes
    assert team.history("leaves") == leaves.tolist()
    assert team.history("trees") == [classes, 2 * classes]
    assert team.history("objective")[-1] == pytest.approx(logloss(m, y).sum(), rel=1e-6)
    scores = score_samples(wanted, new[0], 0.0, classes)
    assert team.history("test_logloss")[-1] == pytest.approx(logloss(scores, new[1]).mean())
    right = (scores.argmax(axis=1) == new[1]).mean()
    assert team.history("test_accuracy")[-1] == pytest.approx(right)
    assert ("test_auc" in team.records[0][-1]) == (classes == 2)


def vars_of(tau):
    return {name: np.array(getattr(tau, name)) for name in FIELDS}


@pytest.mark.slow
@pytest.mark.parametrize(("k", "slack"), [(2, 2), (3, 0)])
def test_several_workers_grow_the_same_trees(k, slack):
    x, y = draw(n=80)
    new = draw(seed=4, n=40)
    of = {"subsample": 0.7, "colsample_bytree": 0.6, "max_iter": 2}
    one = fit(x, y, new, **of)
    team = fit(x, y, new, k=k, slack=slack, **of)
    for name in FIELDS:
        assert np.array_equal(vars_of(team.tau)[name], vars_of(one.tau)[name]), name
    for metric in ("objective", "test_logloss", "test_accuracy"):
        assert team.history(metric) == pytest.approx(one.history(metric), rel=1e-12)


@pytest.mark.long
def test_compiled_and_on_threads_they_are_the_same():
    x, y = draw()
    new = draw(seed=4, n=60)
    plain = fit(x, y, new)
    for threads in (1, 3):
        team = fit(x, y, new, jit=True, threads=threads)
        for name in FIELDS:
            assert np.array_equal(vars_of(team.tau)[name], vars_of(plain.tau)[name]), name


def test_new_trees_follow_those_of_a_model():
    old = tux.run(program(), edges_of(*draw(n=60)), epochs=1, **PLAIN)
    x, y = draw(seed=5, n=20)
    new = tux.run(program(), edges_of(x, y), from_run=old, epochs=1, **PLAIN)
    before, after = forest(old.context, 9), forest(new.context, 12)
    assert new.program.trees_before == 3 and new.context["tree"].item() == 6
    scores = score_samples({name: field[:3] for name, field in before.items()}, x, 0.0, 3)
    how = {"trees": 1, "depth": DEPTH, "scores": scores, "copies": 80 / 20}
    more, m = grow(x, y, "softmax", **how)
    for name in FIELDS:
        assert np.array_equal(after[name][:3], before[name][:3]), name
        assert after[name][3:6] == pytest.approx(more[name], rel=1e-5, abs=1e-6), name
    chances = new.predict(edges_of(x, y))
    assert np.asarray(chances) == pytest.approx(softmax(m, axis=1), abs=1e-6)
    assert len(new.export("xgboost")["learner"]["gradient_booster"]["model"]["trees"]) == 6


# Files.


WORDS = np.array(["roe", "cod, salted", "eel"])


def write(path, x, y):
    """Write a table, in which what is missing is empty."""
    rows = [["" if np.isnan(v) else repr(float(v)) for v in row] for row in x]
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*"abcdef", "kind"])
        table.writerows([*row, WORDS[int(k)]] for row, k in zip(rows, y, strict=True))


def test_the_command_from_training_to_the_document(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (x, y), (other, others) = draw(n=100), draw(seed=4, n=40)
    write(tmp_path / "train.csv", x, y)
    write(tmp_path / "test.csv", other, others)
    run = "run gbdt train.csv --label kind --loss softmax --max-iter 2 --max-depth 2 --no-jit"
    code, said = command(f"{run} --test test.csv --epochs 1 --checkpoint-every 1 --out run")
    assert code == 0 and "3 classes: cod, salted, eel, roe" in said, said
    code, said = command("run --resume run --epochs 2")
    assert code == 0 and "test_accuracy" in said and "test_logloss" in said, said
    found = tux.load("run").export("trees")
    own = np.array([2, 0, 1])  # the places of the words
    wanted, _ = grow(x, own[y.astype(int)], "softmax", trees=2, depth=2)
    for name in FIELDS:
        assert found[name] == pytest.approx(wanted[name], rel=1e-5, abs=1e-6), name
    scores = score_samples(wanted, other, 0.0, 3)
    chances = softmax(scores, axis=1)
    last = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["test_logloss"] == pytest.approx(logloss(scores, own[others.astype(int)]).mean())
    assert command("predict run test.csv --out p.csv")[0] == 0
    with open("p.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["sample", *(f"probability_{name}" for name in sorted(WORDS)), "class"]
    assert np.array([row[1:4] for row in rows], "f8") == pytest.approx(chances, abs=1e-6)
    assert [row[4] for row in rows] == np.sort(WORDS)[chances.argmax(axis=1)].tolist()
    assert command("export run --format xgboost --out model.json")[0] == 0
    learner = json.loads((tmp_path / "model.json").read_text())["learner"]
    assert learner["objective"]["name"] == "multi:softprob"
    assert learner["learner_model_param"]["num_class"] == "3"
    assert learner["gradient_booster"]["model"]["tree_info"] == [0, 1, 2, 0, 1, 2]
    assert learner["gradient_booster"]["model"]["iteration_indptr"] == [0, 3, 6]
    assert json.loads(learner["attributes"]["classes"]) == sorted(WORDS)


@pytest.mark.slow
def test_xgboost_predicts_the_same(tmp_path):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    x, y = draw()
    found = tux.run(program(), edges_of(x, y), **PLAIN)
    (tmp_path / "model.json").write_text(json.dumps(found.export("xgboost")))
    data = xgboost.DMatrix(x, y)
    booster = xgboost.Booster(model_file=str(tmp_path / "model.json"))
    assert booster.predict(data) == pytest.approx(
        np.asarray(found.predict(edges_of(x, y))), abs=1e-5
    )
    how = {"max_depth": DEPTH, "objective": "multi:softprob", "num_class": 3, "base_score": 0.5}
    peer = xgboost.train(how | {"tree_method": "hist", "nthread": 1}, data, 3)
    assert booster.predict(data) == pytest.approx(peer.predict(data), abs=1e-4)


@pytest.mark.parametrize("loss", ["softmax", "squared"])
def test_a_weight_of_the_second_class_is_refused(loss):
    with pytest.raises(tux.UsageError, match=message("positive-weight-has-no-effect", loss)):
        GBDT(loss=loss, positive_weight=2.0)
