"""Boosted trees that go on with the trees of a run, beside a plain oracle; and what is refused."""

import numpy as np
import pytest
from support.messages import message
from support.oracles.gbdt_oracle import FIELDS, draw_samples, edges_of, grow, score_samples

import tux
from tux.apps.gbdt.gbdt import GBDT
from tux.cli.main import main

SIZES, COLUMNS, DEPTH = (120, 30), 6, 2


def draw(seed, loss, n, columns=COLUMNS):
    """Draw samples; where there are more columns, new features."""
    return draw_samples(n=n, p=columns, seed=seed, numbers=loss == "squared")


def train(program, samples, epochs, start=None):
    how = {"epochs": epochs, "jit": False, "progress": False}
    return tux.run(program, edges_of(*samples), from_run=start, **how)


def forest(run):
    """Return the fields of all trees, (trees, nodes), and the first score."""
    trees, width = int(run.context["tree"][0]), 2 ** (DEPTH + 1)
    fields = {name: run.context[name].reshape(-1, width)[:trees] for name in FIELDS}
    return fields, float(run.context["base"][0])


@pytest.mark.parametrize("columns", [COLUMNS, COLUMNS + 2])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_new_trees_are_those_of_the_oracle(loss, columns):
    p = GBDT(loss=loss, max_depth=DEPTH, max_iter=4)
    first, then = draw(1, loss, SIZES[0]), draw(2, loss, SIZES[1], columns)
    old = train(p, first, 2)
    new = train(p, then, 3, old)
    (before, base), (after, same) = forest(old), forest(new)
    assert base == same and len(after["weight"]) == 5
    x, y = then
    copies = sum(SIZES) / SIZES[1]
    scores = score_samples(before, x, base)
    more, m = grow(x, y, loss, trees=3, depth=DEPTH, scores=scores, copies=copies)
    for name in FIELDS:
        assert np.array_equal(after[name][:2], before[name]), name
        assert after[name][2:] == pytest.approx(more[name], rel=1e-5, abs=1e-6), name
    if loss == "squared":
        told = ((y - m) ** 2).sum() / 2
    else:
        told = np.logaddexp(0, -y * m).sum()
    assert new.history["objective"][-1] == pytest.approx(told, rel=1e-6)


def test_predictions_and_exports_have_all_trees():
    p = GBDT(max_depth=DEPTH, max_iter=2)
    old = train(p, draw(1, "logistic", SIZES[0]), 2)
    new = train(p, draw(2, "logistic", SIZES[1]), None, old)
    assert len(new.history["epoch"]) == 2  # no more than max_iter
    again = train(new.program, draw(3, "logistic", SIZES[1]), 1, new)
    assert [run.context["tree"].item() for run in (old, new, again)] == [2, 4, 5]
    assert again.program.trees_before == 4 and again.context["seen"] == SIZES[0] + 2 * SIZES[1]
    x, _ = draw(4, "logistic", 20)
    fields, base = forest(again)
    chances = 1 / (1 + np.exp(-score_samples(fields, x, base)))
    found = again.predict(edges_of(x, np.ones(20, "f4")))
    assert np.asarray(found) == pytest.approx(chances, abs=1e-6)
    assert again.export("trees")["weight"].shape == (5, 2 ** (DEPTH + 1))
    assert len(again.export("xgboost")["learner"]["gradient_booster"]["model"]["trees"]) == 5


def test_a_model_moves_little_where_new_samples_are_few():
    """Each stands for its share of all, so noise of a few samples does not gather."""
    p = GBDT(max_depth=DEPTH, max_iter=10)
    x, y = draw(1, "logistic", 400)
    old = train(p, (x, y), 6)
    new = train(p, (x[:4], -y[:4]), 5, old)
    (before, base), (after, _) = forest(old), forest(new)
    moved = score_samples(after, x, base) - score_samples(before, x, base)
    assert 0 < np.abs(moved).max() < 0.5


def test_trees_of_another_depth_are_refused():
    old = train(GBDT(max_depth=DEPTH), draw(1, "logistic", 40), 1)
    with pytest.raises(tux.UsageError, match=message("max-depth-is-and-trees", "3")):
        train(GBDT(max_depth=DEPTH + 1), draw(2, "logistic", 20), 1, old)


@pytest.mark.parametrize(("had", "has"), [("softmax", "squared"), ("logistic", "softmax")])
def test_trees_of_another_loss_are_refused(had, has):
    """Their scores mean something else: those of a class, or the logarithm of a number."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 3)), np.resize([-1.0, 1.0], 40)
    how = {"epochs": 1, "jit": False, "progress": False}
    old = tux.run(GBDT(loss=had), (x, y), **how)
    with pytest.raises(tux.UsageError, match=message("of-a-model-cannot-change", "loss")):
        tux.run(GBDT(loss=has), (x, y), from_run=old, **how)


def test_one_worker_goes_on(tmp_path, capsys):
    lines = [f"{'+1' if k % 3 else '-1'} {k % 5 + 1}:{k}" for k in range(40)]
    for name in ("old", "new"):
        (tmp_path / f"{name}.svm").write_text("\n".join(lines) + "\n")
    shape = ["--max-depth", "2", "--no-jit", "--form", "svm"]
    old, new = (str(tmp_path / f"{name}.svm") for name in ("old", "new"))
    out = str(tmp_path / "run")
    assert main(["run", "gbdt", old, *shape, "--epochs", "2", "--out", out]) == 0
    capsys.readouterr()
    assert main(["info", out]) == 0
    shown = capsys.readouterr().out
    assert "max_depth 2" in shown and "trees_before" not in shown and "ranked" not in shown
    assert main(["run", "gbdt", new, "--from", out, "--no-jit", "--form", "svm"]) == 0
    assert "epoch  5/5" in capsys.readouterr().out.replace("epoch 5/5", "epoch  5/5")
    assert main(["run", "gbdt", new, "--from", out, "--workers", "2", "--form", "svm"]) == 2
    assert "begins with a model has one worker, not 2" in capsys.readouterr().err


def test_the_number_of_trees_before_is_no_flag(capsys):
    assert main(["run", "gbdt", "--help"]) == 0
    text = capsys.readouterr().out
    assert "--max-iter" in text and "trees-before" not in text
