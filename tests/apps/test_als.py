"""Alternating least squares against numpy: each half of an epoch, on one worker and on several."""

from contextlib import nullcontext
from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.team import train_team
from support.messages import message
from support.oracles.als_oracle import AlsFactors
from support.programs.programs import both, column, drive, run_steps, start

import tux
from tux.apps.als import ALS, conjugate, normal
from tux.apps.als.counts import set_unit
from tux.apps.als.edges import weigh
from tux.apps.als.quality import gram_of, quality_stages, rate
from tux.apps.als.steps import advance
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.errors import UsageError
from tux.program.stage import Cluster
from tux.stages import Exchange, Score

ALONE = Cluster()


def ratings(m=260, users=30, items=24):
    """Return some ratings, and held-out ratings. A user and an item have no ratings, some items
    have few; some held-out ratings have an end that training has not seen.
    """
    rng = np.random.default_rng(5)
    pairs = rng.choice(users * items, m + 40, replace=False)
    src, dst = pairs // items, (pairs % items) ** 2 // items
    _, first = np.unique(src * items + dst, return_index=True)
    src, dst, value = src[first], dst[first], rng.integers(1, 6, len(first))
    order = rng.permutation(len(first))
    train, held = order[:-30], order[-30:]
    loose = {"user": [users], "item": [items]}
    edges = EdgeData.of(
        ("user", "item"), src[train], dst[train], {"value": value[train]}, vertices=loose
    )
    ends = [*src[held], 99, 0], [*dst[held], 0, 98]
    others = {"value": [*value[held], 4, 2]}
    return edges, EdgeData.of(("user", "item"), *ends, others, against=edges.ids)


EDGES, HELD = ratings()
KINDS = {
    "ratings": {},
    "centred": {"center": True},
    "biases": {"biases": True},
    "plain": {"plain": True, "reg": 2.0},
    "implicit": {"implicit": True, "alpha": 2.0},
    "implicit-plain": {"implicit": True, "plain": True, "reg": 0.5},
}
EXACT = pytest.param(0, marks=pytest.mark.long)  # which takes long to compile
each_kind = pytest.mark.parametrize("kind", KINDS)


def halves(program, worker, number=4):
    """Return the objective after each half of an epoch, and the oracle's."""
    drive(worker, *program.setup())
    truth = AlsFactors(program, column(worker, "user", "f"), column(worker, "item", "f"), EDGES)
    found, expected, of = [], [], conjugate if program.steps else normal
    exchanges = Exchange(of.solve_user), Exchange(of.solve_item, over="item", cut=False)
    for half in range(number):
        other = "item" if half % 2 == 0 else "user"
        drive(worker, *gram_of(program, other), exchanges[half % 2], *gram_of(program, "user"))
        drive(worker, *quality_stages(program, held_out=False))
        truth.half(half % 2)
        found.append(worker.tau.objective)
        expected.append(truth.objective())
    return found, expected


@pytest.mark.long(after=2)
@pytest.mark.slow
@each_kind
@pytest.mark.parametrize("steps", [EXACT, 1, 3])
def test_the_objective_after_each_half_is_that_of_numpy(kind, steps):
    program = ALS(rank=6, steps=steps, **KINDS[kind])
    found, expected = halves(program, start(program, EDGES))
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.long  # to compile
@each_kind
def test_exact_solutions_never_raise_the_objective(kind):
    program = ALS(rank=5, steps=0, **KINDS[kind])
    found, _ = halves(program, start(program, EDGES), 6)
    assert all(b <= a * (1 + 1e-9) for a, b in zip(found, found[1:], strict=False))


@pytest.mark.long
def test_more_steps_lead_to_the_exact_solution():
    exact, _ = halves(p := ALS(rank=5, steps=0), start(p, EDGES), 1)
    many, _ = halves(p := ALS(rank=5, steps=12), start(p, EDGES), 1)
    assert many == pytest.approx(exact, rel=1e-6)


@pytest.mark.long
def test_vertices_without_ratings_have_no_factors():
    worker = start(p := ALS(rank=4), EDGES)
    drive(worker, *p.setup(), *p.stages(ALONE))
    for name, ends in (("user", EDGES.src), ("item", EDGES.dst)):
        n = np.bincount(ends, minlength=len(EDGES.ids[name]))
        assert (column(worker, name, "f")[n == 0] == 0).all()
        assert (column(worker, name, "n") == n).all()


def history(k=1, by="bicut", slack=0, **how):
    """Return records of a run of k workers, and the predictions of all pairs."""
    team = train_team(
        ALS(rank=5, **how), EDGES, 3, HELD, k=k, by=by, slack=slack, delivery=1, jit=True
    )
    f = team.gather("user", "f") @ team.gather("item", "f").T
    if how.get("biases"):
        f += team.gather("user", "bias")[:, None] + team.gather("item", "bias")
    return np.array(team.history("objective")), f


@pytest.mark.long
@pytest.mark.parametrize("steps", [EXACT, 2])
@pytest.mark.parametrize(
    ("k", "slack"), [(2, 0), pytest.param(4, 0, marks=pytest.mark.long), (2, 2)]
)
@pytest.mark.parametrize(
    "how",
    [{"center": True}, {"biases": True}, pytest.param({"implicit": True}, marks=pytest.mark.long)],
)
def test_several_workers_do_what_one_does(how, k, slack, steps):
    objective, predictions = history(steps=steps, **how)
    others, theirs = history(k, slack=slack, steps=steps, **how)
    np.testing.assert_allclose(others, objective, rtol=1e-5)
    np.testing.assert_allclose(theirs, predictions, atol=1e-5 * abs(predictions).max())


def test_the_weight_and_target_of_an_edge():
    tau = Row(offset=3.5)
    assert weigh(np.float32(5), tau, Row(implicit=False)) == (1, 1.5)
    implicit = Row(implicit=True, alpha=2.0)
    assert weigh(np.float32(3), tau, implicit) == (6, 7)
    assert weigh(np.float32(-3), tau, implicit) == (6, 0)
    assert weigh(np.float32(0), tau, implicit) == (0, 0)


@pytest.mark.parametrize("rest", [0.0, 1e-9, -1e-9])
def test_steps_end_where_only_rounding_is_left(rest):
    """As without a penalty: a step along such a direction would be of any length."""
    x, r, d, got = (np.array(v, np.float32) for v in ([2, 0], [0, 1e-6], [0, 1], [0, rest]))
    p = Row(rank=2, reg=np.float32(0), plain=False, implicit=False)
    tau = Row(enough=1e-20, flat=1e-6)
    assert advance(x, np.float32(3), 0, r, d, got, 1e-12, tau, p) == 0
    assert x.tolist() == [2, 0]


def units(size, **of):
    """Return what follows the unit of ratings, of which the root of the mean square is `size`."""
    tau, p = Row(norms=10 * size**2, edges=10), ALS(**of)
    set_unit(tau, Row(implicit=p.implicit, biases=Row(width=int(p.biases))))
    return tau.first_size, tau.enough, tau.flat


def test_the_unit_of_ratings():
    ordinary = 1, 1e-20, 1e-6
    assert units(1.0) == units(3.7) == units(8.5) == units(0.0) == ordinary
    assert units(4e7, implicit=True) == units(4e7, biases=True) == ordinary
    assert units(3700.0) == pytest.approx((1000**0.5, 1e-11, 1e-3), rel=1e-9)
    assert units(0.0037) == pytest.approx((0.001**0.5, 1e-29, 1e-9), rel=1e-9)
    assert units(0.0037, biases=True) == pytest.approx((1, 1e-29, 1e-9), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("of", [{}, {"steps": 0}, {"center": True}])
@pytest.mark.parametrize("unit", [1000.0, 1e-6])
def test_predictions_follow_the_unit_of_ratings(of, unit):
    """All ratings are multiplied by a power of ten, and the penalty with them."""
    rng = np.random.default_rng(3)
    pairs = rng.choice(40 * 30, 700, replace=False)
    u, i = pairs // 30, pairs % 30
    r = np.round(3.5 + (rng.normal(size=(40, 3))[u] * rng.normal(size=(30, 3))[i]).sum(axis=1))
    found = []
    for size in (1.0, unit):
        data = from_arrays(u, i, ends=("user", "item"), value=(size * r).astype("f4"))
        run = tux.run(ALS(rank=4, reg=0.05 * size, **of), data, epochs=5, progress=False)
        x, y = run.vertices["user"]["f"], run.vertices["item"]["f"]
        found.append(x @ y.T / size)
    assert found[1] == pytest.approx(found[0], abs=1e-3)


@pytest.mark.parametrize("steps", [0, 8])
def test_one_half_of_an_epoch_finds_factors_and_biases_together(steps):
    program = ALS(rank=3, biases=True, steps=steps)
    worker = start(program, EDGES, jit=False)
    drive(worker, *program.setup())
    truth = AlsFactors(program, column(worker, "user", "f"), column(worker, "item", "f"), EDGES)
    of = conjugate if steps else normal
    for end, stage in enumerate((Exchange(of.solve_user), Exchange(of.solve_item, over="item"))):
        drive(worker, stage)
        truth.half(end)
        for field, expected in (("f", truth.f), ("bias", truth.bias)):
            found = column(worker, ("user", "item")[end], field)
            np.testing.assert_allclose(found, expected[end], rtol=1e-3, atol=1e-4)


def test_implicit_feedback_has_no_biases():
    with pytest.raises(UsageError, match=message("biases-are-of-ratings-and")):
        ALS(biases=True, implicit=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"implicit": True, "center": True}, "center is for ratings"),
        ({"alpha": 2.0}, "alpha 2 has no effect without implicit"),
        ({"implicit": True, "alpha": 2.0}, ""),
        ({"center": True}, ""),
    ],
)
def test_a_parameter_without_effect_is_told(given, words):
    program = ALS(**given)
    with pytest.warns(UserWarning, match=words) if words else nullcontext():
        assert program.input.specialise(program, None) is program


def test_exact_solutions_need_a_penalty():
    with pytest.raises(UsageError, match="reg = 0"):
        ALS(reg=0, steps=0)


@pytest.mark.long
@pytest.mark.parametrize("how", [{}, {"center": True}, {"implicit": True}, {"biases": True}])
@both
def test_predictions_and_the_error_on_held_out_ratings(jit, how):
    program = ALS(rank=4, **how)
    worker = start(program, EDGES, HELD, jit=jit)
    drive(worker, *program.setup(), *program.stages(ALONE))
    *_, score = run_steps(worker, *program.evaluate(Cluster(has_test=True)), Score(rate))
    f = {name: column(worker, name, "f").astype(float) for name in ("user", "item")}
    mean = 0 if program.implicit else EDGES.fields["value"].mean()
    rated = [
        np.isin(ends, there)
        for ends, there in ((HELD.src, EDGES.src), (HELD.dst, EDGES.dst))
    ]  # fmt: skip
    offset = mean if program.center or program.biases else 0
    dots = (f["user"][HELD.src] * f["item"][HELD.dst]).sum(1) + offset
    expected = np.where(rated[0] & rated[1], dots, mean)
    if program.biases:
        expected += column(worker, "user", "bias")[HELD.src]
        expected += column(worker, "item", "bias")[HELD.dst]
    np.testing.assert_allclose(score.scores, expected, rtol=1e-5, atol=1e-6)
    error = np.sqrt(np.mean((HELD.fields["value"] - expected) ** 2))
    if program.implicit:
        assert "test_rmse" not in worker.metrics()
    else:
        assert worker.metrics()["test_rmse"] == pytest.approx(error, rel=1e-6)
