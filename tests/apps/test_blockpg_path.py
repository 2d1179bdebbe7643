"""BlockPG along a path of penalties: each fit ends at its own optimum."""

import numpy as np
import pytest
from support.machines.blockpg_team import MADE, fit, result_of
from support.oracles import blockpg_oracle as oracle
from support.oracles.blockpg_oracle import Data


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
def test_a_path_of_penalties(k):
    """From where all weights are 0 down to l1, in equal steps of the logarithm; each run ends at
    its own optimum.
    """
    team = fit(MADE, path=5, l1=0.5, k=k, tol=1e-11, epochs=1000, blocks=8 if k > 1 else 0)
    records = team.records[0]
    last = {record["penalty_l1"]: record for record in records}
    first = oracle.steepest(MADE)
    np.testing.assert_allclose(list(last), np.geomspace(first, 0.5, 5), rtol=1e-5)
    assert list(last) == sorted(last, reverse=True) and len(records) < 1000
    for penalty, record in last.items():
        best, w, _ = oracle.solve(MADE, penalty)
        assert best * (1 - 1e-9) <= record["objective"] <= best * (1 + 1e-6)
    nonzeros = [record["nonzeros"] for record in last.values()]
    assert nonzeros[0] == 0 < nonzeros[1] and nonzeros[-1] == np.count_nonzero(result_of(team)[1])


def draw_ones(n=2000, p=12, seed=4):
    """Draw samples whose features are there or not, some in nearly all of them."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, p)) < np.linspace(0.1, 0.9, p)).astype(float)
    truth = np.where(rng.random(p) < 0.5, rng.normal(size=p), 0)
    y = np.where(x @ truth - 1 + rng.logistic(size=n) > 0, 1.0, -1.0)
    return Data(x, y, np.ones(n))


@pytest.mark.slow
def test_each_penalty_of_a_path_ends_at_its_optimum_where_searches_move_the_weights():
    """A search after the last pass of a penalty changes the sum of |w|, by which F changes with the
    penalty.
    """
    data = draw_ones()
    team = fit(data, path=30, l1=oracle.steepest(data) / 30, tol=1e-7, epochs=3000)
    last = {record["penalty_l1"]: record["objective"] for record in team.records[0]}
    assert len(last) == 30
    for penalty, objective in last.items():
        assert objective <= oracle.solve(data, penalty)[0] * (1 + 1e-7)


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_a_path_ends_at_the_penalty_itself(count):
    team = fit(MADE, path=count, l1=1.0, tol=1e-3, epochs=1000, jit=False)
    penalties = {record["penalty_l1"] for record in team.records[0]}
    assert len(penalties) == count and min(penalties) == 1.0
