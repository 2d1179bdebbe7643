"""BlockPG judged on held-out samples, whatever these hold."""

import numpy as np
import pytest
from support.machines.blockpg_team import MADE, fit, result_of
from support.oracles import blockpg_oracle as oracle
from support.oracles.blockpg_oracle import Data, draw_samples


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("intercept", [False, True])
def test_held_out_samples(k, intercept):
    train, test = (
        Data(*(each[rows] for each in draw_samples(n=240)))
        for rows in (slice(150), slice(150, None))
    )
    assert test.x.any(1).all()
    team = fit(
        train, test, k=k, blocks=8 if k > 1 else 0, every=1, epochs=5, fit_intercept=intercept
    )
    _, w, b = result_of(team)
    margins, last = test.x @ w + b, team.records[0][-1]
    assert last["test_logloss"] == pytest.approx(
        np.logaddexp(0, -test.y * margins).mean(), rel=1e-9
    )
    assert last["test_accuracy"] == pytest.approx(((margins > 0) == (test.y > 0)).mean())
    assert last["test_auc"] == pytest.approx(oracle.area(margins, test.y), abs=1e-3)
    assert 0.6 < last["test_auc"] < 1


@pytest.mark.long
@pytest.mark.parametrize(("k", "intercept"), [(1, True), (2, False), (3, True)])
def test_held_out_samples_without_entries_are_judged(k, intercept):
    """By the intercept alone; also where there are no others, and where they are fewer than
    workers.
    """
    train, test = (
        Data(*(each[rows] for each in draw_samples(n=240)))
        for rows in (slice(150), slice(150, None))
    )
    bare = np.arange(len(test.y)) % 4 == 0
    for mixed in (
        test._replace(x=np.where(bare[:, None], 0, test.x)),
        Data(*(each[:2] for each in test._replace(x=0 * test.x))),
    ):
        team = fit(
            train, mixed, k=k, blocks=8 if k > 1 else 0, every=1, epochs=3, fit_intercept=intercept
        )
        _, w, b = result_of(team)
        margins, last = mixed.x @ w + b, team.records[0][-1]
        assert last["test_logloss"] == pytest.approx(
            np.logaddexp(0, -mixed.y * margins).mean(), rel=1e-9
        )
        assert last["test_accuracy"] == pytest.approx(((margins > 0) == (mixed.y > 0)).mean())
        if len(set(mixed.y)) > 1:
            assert last["test_auc"] == pytest.approx(oracle.area(margins, mixed.y), abs=1e-3)


@pytest.mark.slow
def test_features_that_training_has_not_seen_count_nothing():
    test = draw_samples(n=30, p=60, seed=4)
    team = fit(MADE, test, every=1, epochs=3)
    margins = test.x[:, :40] @ result_of(team)[1][:40]
    assert team.records[0][-1]["test_logloss"] == pytest.approx(
        np.logaddexp(0, -test.y * margins).mean(), rel=1e-9
    )


@pytest.mark.slow
def test_one_class_has_no_area():
    test = draw_samples(n=20, seed=4)._replace(y=np.ones(20))
    last = fit(MADE, test, every=1, epochs=2).records[0][-1]
    assert "test_auc" not in last and last["test_logloss"] > 0


@pytest.mark.slow
def test_without_held_out_samples_nothing_is_said_of_them():
    assert not [
        name for name in fit(MADE, every=1, epochs=2).records[0][-1] if name.startswith("test_")
    ]
