"""Metrics of apps of which larger is better are declared so, and may be monitored."""

import re

import numpy as np
import pytest

import tux
from tux.program.sources import builtin, find

RISING = {"test_accuracy", "test_auc", "train_ndcg", "test_ndcg", "loglik_per_token"}
GOOD = re.compile(r"accuracy|auc|ndcg|loglik|precision|recall|r2|explained|right|coherence")
"""What names of metrics have in them of which larger is better."""


def names(program, *, rises):
    fields = program.context.fields.items()
    return {name for name, field in fields if field.reported and field.rises == rises}


@pytest.mark.parametrize("app", builtin())
def test_metrics_of_which_larger_is_better_rise(app):
    programs = [find(app).program, *([tux.GBDT(loss="lambdarank")] if app == "gbdt" else [])]
    for program in programs:
        assert names(program, rises=True) <= RISING
        assert not any(map(GOOD.search, names(program, rises=False)))


class SteadyLinear(tux.Linear):
    monitor = "test_auc"
    keeps_best = True


class SteadyBlocks(tux.BlockPG):
    monitor = "test_auc"


class SteadyTrees(tux.GBDT):
    monitor = "test_auc"


def draw(seed, n):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return x, np.where(x[:, 0] + 2 * rng.normal(size=n) > 0, 1, -1)


@pytest.mark.parametrize(
    ("program", "seed"),
    [
        (SteadyLinear(solver="adam", batch_size=5, learning_rate=0.8), 3),
        (SteadyBlocks(l1=0.01), 1),
        (SteadyTrees(max_depth=3, min_child_weight=0.1, learning_rate=0.9), 3),
    ],
    ids=["linear", "blockpg", "gbdt"],
)
def test_the_epoch_of_the_largest_area_is_kept(program, seed):
    how = {"jit": False, "progress": False, "epochs": 6, "seed": 1}
    run = tux.run(program, draw(seed, 50), test=draw(seed + 100, 40), **how)
    areas = run.history["test_auc"]
    best = int(np.argmax(areas))
    assert best not in (int(np.argmin(areas)), len(areas) - 1)
    assert run.results["best"]["epoch"] == run.results["model_epoch"] == best + 1


def test_a_metric_of_a_subclass_is_monitored_with_any_loss():
    assert SteadyTrees(loss="softmax").monitor == SteadyLinear().monitor == "test_auc"
    assert tux.GBDT(loss="squared").monitor == "test_rmse"
    assert tux.Linear(loss="squared").monitor == "test_loss"
