"""`docs/examples/mf.py`: against numpy, on several workers, and beside the app."""

import numpy as np
import pytest
from support.machines.team import train_team
from support.programs.programs import both, start

import tux
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.engine.training import Training
from tux.program.sources import find
from tux.synthetic.ratings import ratings

BiasedMF = find("docs/examples/mf.py").program


def plant_ratings(users=60, items=40, n=2000):
    """Return training and held-out ratings of a planted model, and the error of the truth."""
    data = ratings(users, items, n, rank=3, step=0, test_share=0.1, seed=1, noise=0.2)
    train, test = data.split()
    edges = from_arrays(train["user"], train["item"], ends=("user", "item"), value=train["rating"])
    fields = {"value": test["rating"]}
    held = EdgeData.of(("user", "item"), test["user"], test["item"], fields, against=edges.ids)
    return edges, held, data.floor


EDGES, HELD, FLOOR = plant_ratings()


@both
def test_one_step_on_each_rating(jit):
    """A user with an item each: the ratings share no vertex, so their order means nothing."""
    values = np.float32([5, 3, 1, 2])
    edges = from_arrays(range(4), range(4), ends=("user", "item"), value=values)
    p = BiasedMF(rank=3, learning_rate=0.1, reg=0.5)
    worker = start(p, edges, jit=jit, seed=3)
    tables = [worker.tables[name].arrays for name in ("user", "item")]
    u, i = (table["f"].astype(float) for table in tables)
    (record,) = Training(worker).epochs(1)
    order = worker.graph.vertices["user"].order, worker.graph.vertices["item"].order
    u[order[0]], i[order[1]] = u.copy(), i.copy()
    mean = values.mean()
    error = values - mean - (u * i).sum(axis=1)
    assert worker.tau.mean == mean
    assert record["train_rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-5)
    found = [
        table["f"][worker.graph.vertices[name].row_of]
        for name, table in zip(("user", "item"), tables, strict=True)
    ]
    np.testing.assert_allclose(found[0], u + 0.1 * (error[:, None] * i - 0.5 * u), rtol=1e-4)
    np.testing.assert_allclose(found[1], i + 0.1 * (error[:, None] * u - 0.5 * i), rtol=1e-4)
    bias = tables[0]["bias"][worker.graph.vertices["user"].row_of]
    np.testing.assert_allclose(bias, 0.1 * error, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("k", "slack"), [(1, 0), (2, 0), (3, 2)])
def test_a_planted_model_is_found(k, slack):
    program = BiasedMF(rank=4, reg=0.02, learning_rate=0.05, decay=0.97)
    team = train_team(program, EDGES, 30, HELD, k=k, slack=slack, jit=True)
    spread = np.std(HELD.fields["value"])
    assert team.history("test_rmse")[-1] < 0.6 * spread


@pytest.mark.slow
def test_movielens_as_the_app(real_data):
    """The figure of the example: at most 0.005 behind the app."""
    folder = real_data / "ratings" / "ml-1m"
    names = [str(folder / f"ml-1m.{part}.dat.gz") for part in ("train", "probe")]
    least = [
        min(tux.run(program(), names[0], test=names[1]).history["test_rmse"])
        for program in (BiasedMF, tux.MF)
    ]
    assert least[0] <= least[1] + 0.005
