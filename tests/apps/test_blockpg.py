"""BlockPG against a solver that proves its optima: on one worker and many, penalties, weights,
ill-made data, and what travels.
"""

import math

import numpy as np
import pytest
from support.machines.blockpg_team import MADE, fit, result_of, unbalanced_samples
from support.machines.team import Team
from support.oracles import blockpg_oracle as oracle
from support.oracles.blockpg_oracle import Data, draw_samples

from tux.apps.blockpg import passes, start
from tux.apps.blockpg.blockpg import BlockPG
from tux.base.errors import ProgramError
from tux.inputs.samples import samples_to_edges
from tux.io.samples.samples import read_samples

REAL = {
    "generated-20k-50k.gz": (2, 11169.26448),
    "a9a.gz": (1, 10558.7234),
    "farm-ads-vect.gz": (1, 630.22512),
}


def check_optimum(team, data, share, l1, l2=0.0, intercept=False):
    """Assert that the model is within `share` of the optimum, and that the program reports its
    objective. Return the weights.
    """
    best, _, _ = oracle.solve(data, l1, l2, intercept)
    said, w, b = result_of(team)
    assert said == pytest.approx(oracle.objective(data, w, l1, l2, b), rel=1e-9)
    assert best * (1 - 1e-10) <= said <= best * (1 + share)
    assert all(np.isfinite(team.history("objective"))) and never_rises(team)
    return w


def never_rises(team):
    """Return whether the objective never rises, apart from its own rounding."""
    objective = np.array(team.history("objective"))
    return (np.diff(objective) <= 1e-11 * objective[:-1]).all()


# Optima.


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("l1", [0.3, 2.0])
def test_the_optimum_on_one_worker(seed, l1):
    data = draw_samples(seed=seed)
    check_optimum(fit(data, l1=l1, seed=seed), data, 1e-9, l1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("k", "slack"),
    [(2, 0), (4, 1)]
    + [
        pytest.param(k, slack, marks=pytest.mark.long)
        for k, slack in ((2, 1), (2, 4), (4, 0), (4, 4))
    ],
)
def test_the_optimum_on_several_workers(k, slack):
    team = fit(MADE, k=k, slack=slack, delivery=k + slack, blocks=8)
    check_optimum(team, MADE, 1e-6, 1.0)
    assert all(
        each == team.history("objective")
        for each in (team.history("objective", rank) for rank in range(k))
    )
    assert (
        slack == 0
        or max(record["max_staleness"] for records in team.records for record in records) > 0
    )
    assert team.agrees("feature", "w")


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize("blocks", [1, 3, 40])
def test_blocks_on_one_worker(blocks):
    check_optimum(fit(MADE, blocks=blocks, epochs=1000), MADE, 1e-7, 1.0)


@pytest.mark.long
@pytest.mark.parametrize("name", REAL)
def test_real_data_on_one_worker(real_data, name):
    check_known_optimum(real_data / "libsvm" / name, *REAL[name], 1e-7)


@pytest.mark.long
def test_real_data_on_two_workers(real_data):
    check_known_optimum(
        real_data / "libsvm" / "generated-20k-50k.gz",
        *REAL["generated-20k-50k.gz"],
        1e-6,
        k=2,
        slack=1,
    )


def check_known_optimum(path, l1, best, share, **options):
    """Assert that the known optimum of a file is reached, and that the objective is that of the
    weights.
    """
    samples = read_samples(path)
    team = Team(
        BlockPG(l1=l1, tol=1e-10),
        samples_to_edges(samples, BlockPG()),
        jit=True,
        by="source",
        **{"k": 1, **options},
    ).train(300, every=1000)
    said, w, _ = result_of(team)
    assert best * (1 - 1e-8) <= said <= best * (1 + share) and never_rises(team)
    edges = samples.edges
    margins = np.bincount(
        edges.src, edges.fields["value"] * w[edges.dst], minlength=len(samples.label)
    )
    assert said == pytest.approx(
        np.logaddexp(0, -samples.label * margins).sum() + l1 * np.abs(w).sum(), rel=1e-10
    )
    assert np.count_nonzero(w) == team.history("nonzeros")[-1]


# Penalties, intercept, weights.


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(("l1", "l2"), [(1.0, 1.0), (0.0, 1.0)])
def test_elastic_net(k, l1, l2):
    check_optimum(fit(MADE, k=k, l1=l1, l2=l2, blocks=8 if k > 1 else 0), MADE, 1e-7, l1, l2)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
def test_intercept(k):
    data = unbalanced_samples()
    team = fit(data, k=k, fit_intercept=True, blocks=8 if k > 1 else 0)
    check_optimum(team, data, 1e-7, 1.0, intercept=True)
    b = oracle.solve(data, 1.0, intercept=True)[2]
    assert b < -1 and result_of(team)[2] == pytest.approx(b, abs=1e-3)


@pytest.mark.slow
def test_an_intercept_alone():
    """Without weights, the intercept is the logarithm of the odds."""
    data = unbalanced_samples()
    team = fit(data, l1=1e4, fit_intercept=True)
    said, w, b = result_of(team)
    share = (data.y > 0).mean()
    assert (
        len(team.records[0]) < 5
        and not w.any()
        and b == pytest.approx(math.log(share / (1 - share)), abs=1e-6)
    )
    assert said == pytest.approx(
        -len(data.y) * (share * math.log(share) + (1 - share) * math.log(1 - share)), rel=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2])
def test_weights_of_samples_and_classes(k):
    rng = np.random.default_rng(3)
    data = MADE._replace(
        c=np.where(rng.random(len(MADE.y)) < 0.1, 0, rng.exponential(size=len(MADE.y)))
        .astype("f4")
        .astype("f8")
    )
    team = fit(data, k=k, positive_weight=2.5, blocks=8 if k > 1 else 0)
    check_optimum(team, data._replace(c=np.where(data.y > 0, 2.5, 1) * data.c), 1e-7, 1.0)


@pytest.mark.slow
def test_a_weight_of_two_is_the_sample_twice():
    twice = Data(*(np.concatenate([each, each[:50]]) for each in MADE))
    weighed = MADE._replace(c=np.where(np.arange(len(MADE.y)) < 50, 2.0, 1.0))
    one, other = (fit(data) for data in (twice, weighed))
    assert result_of(one)[0] == pytest.approx(result_of(other)[0], rel=1e-10)
    np.testing.assert_allclose(result_of(one)[1], result_of(other)[1], atol=1e-4)


@pytest.mark.slow
def test_a_large_penalty_leaves_no_weight():
    edge = oracle.steepest(MADE)
    said, w, _ = result_of(fit(MADE, l1=edge * 1.001))
    assert not w.any() and said == pytest.approx(len(MADE.y) * math.log(2), rel=1e-12)
    assert result_of(fit(MADE, l1=edge * 0.999))[1].any()


# Data that are ill made.

ZERO = MADE._replace(x=np.where(np.arange(len(MADE.y))[:, None] % 7 == 0, 0, MADE.x))
MIXED = MADE._replace(
    x=(MADE.x * 10 ** np.random.default_rng(0).uniform(-2, 2, MADE.x.shape[1]))
    .astype("f4")
    .astype("f8")
)
ILL = {
    "features twice": (MADE._replace(x=np.hstack([MADE.x, MADE.x, MADE.x])), 1.0),
    "samples without features": (ZERO, 1.0),
    "a feature of ones": (MADE._replace(x=np.column_stack([MADE.x, np.ones(len(MADE.y))])), 1.0),
    "a feature of none": (MADE._replace(x=np.column_stack([MADE.x, np.zeros(len(MADE.y))])), 1.0),
    "large values": (draw_samples(scale=1e3), 1e3),
    "large values, small penalty": (draw_samples(scale=1e3), 1.0),
    "small values": (draw_samples(scale=1e-3), 1e-3),
    "values of all sizes": (MIXED, 1.0),
    "correlated": (
        MADE._replace(
            x=(MADE.x + 3 * np.random.default_rng(5).normal(size=(150, 1)))
            .astype("f4")
            .astype("f8")
        ),
        1.0,
    ),
    "separable": (draw_samples(noise=0), 0.01),
    "one class": (MADE._replace(y=np.ones(len(MADE.y))), 1.0),
    "one sample": (Data(np.array([[1.0, 2.0, 0.5]]), np.ones(1), np.ones(1)), 0.1),
    "two samples": (
        Data(np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([1.0, -1.0]), np.ones(2)),
        0.1,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", ILL)
def test_ill_made_data(name):
    data, l1 = ILL[name]
    check_optimum(fit(data, l1=l1, epochs=2000), data, 1e-7, l1)


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["samples without features", "two samples"]
    + [pytest.param(name, marks=pytest.mark.slow) for name in ("features twice", "large values")],
)
def test_ill_made_data_on_workers(name):
    data, l1 = ILL[name]
    check_optimum(fit(data, l1=l1, epochs=1000, k=2, slack=1, blocks=8), data, 1e-6, l1)


# Passes.


@pytest.mark.long
@pytest.mark.parametrize("k", [1, 2])
def test_passes_that_raise_the_objective_are_undone(monkeypatch, k):
    """Without damping, features of a block that say the same step over each other; F still
    falls, and to its minimum.
    """
    data, undone, accept = draw_samples(n=60, p=20, share=1.0), [], passes.accept
    data.x[:] = (data.x + 3 * data.x[:, :1]).astype("f4")

    def record_undone(tau, p, crowd):
        accept(tau, p, crowd)
        undone.append((bool(tau.undone), float(tau.stiff)))

    monkeypatch.setattr(passes, "accept", record_undone)
    monkeypatch.setattr(start, "CROWD", 0.0)
    team = fit(data, blocks=2, k=k, epochs=400)
    objective, back = np.array(team.history("objective")), np.array([each for each, _ in undone])
    assert back.sum() > 3 and max(stiff for _, stiff in undone) >= 4
    assert np.isfinite(objective).all() and never_rises(team)
    before = np.concatenate([[len(data.y) * math.log(2)], objective[:-1]])
    np.testing.assert_allclose(objective[back], before[back], rtol=1e-11)
    check_optimum(team, data, 1e-4, 1.0)


@pytest.mark.slow
def test_ends_by_change_and_by_gap():
    loose, tight, by_gap = fit(MADE, tol=1e-2), fit(MADE), fit(MADE, tol=0.0, gap=1e-3, every=1)
    assert len(loose.records[0]) < len(tight.records[0]) < 300
    assert loose.records[0][-1]["change"] <= 1e-2
    gaps, objective = by_gap.history("duality_gap"), by_gap.history("objective")
    assert gaps[-1] <= 1e-3 * objective[-1] and all(
        gap > 1e-3 * F for gap, F in zip(gaps[:-1], objective, strict=False)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [{}, {"k": 2, "blocks": 8}, {"l2": 1.0}, {"fit_intercept": True}, {"l1": 0.0, "l2": 1.0}],
)
def test_duality_gap(case):
    """Never less than what is missing, and nothing in the end."""
    data = unbalanced_samples() if "fit_intercept" in case else MADE
    team = fit(data, every=1, **case)
    best, _, _ = oracle.solve(
        data, case.get("l1", 1.0), case.get("l2", 0.0), case.get("fit_intercept", False)
    )
    gaps, objective = (np.array(team.history(name)) for name in ("duality_gap", "objective"))
    assert (gaps >= objective - best - 1e-9 * best).all() and gaps[0] > 0.01 * best > 1e4 * gaps[-1]


@pytest.mark.slow
def test_no_gap_without_a_penalty():
    assert "duality_gap" not in fit(MADE, l1=0.0, epochs=3, every=1).records[0][-1]


# The place of data, and the messages.


@pytest.mark.slow
def test_samples_are_whole_and_features_cut():
    team = fit(MADE, k=2, blocks=8, epochs=4)
    assert all(
        not worker.graph.vertices["sample"].is_cut and worker.graph.vertices["feature"].is_cut
        for worker in team.workers
    )
    assert sum(worker.graph.vertices["sample"].n_train for worker in team.workers) == len(MADE.y)
    assert set(team.total_sent()) == {"feature", "tau"} and team.total_sent()["feature"] > 0


@pytest.mark.slow
def test_masters_hold_what_mirrors_do_not():
    team = fit(MADE, k=2, blocks=8, epochs=1)
    both = {"w", "active", "g", "s"}
    for worker in team.workers:
        assert set(worker.tables["feature"].visible_fields("exchange")[0].names) == both | {"used"}
        assert set(worker.server.tables["feature"].visible_fields("apply")[0].names) == both | {
            "before",
            "moved",
            "rests",
        }


@pytest.mark.slow
def test_slopes_go_up_and_weights_down():
    """Each replica on another worker than its master sends two numbers when features are brought
    together, and gets a weight and a mark.
    """
    team = fit(MADE, k=2, blocks=8, epochs=3)
    one, other = team.workers
    away = sum(
        np.isin(own.master_ids("feature"), held.graph.vertices["feature"].order).sum()
        for own, held in ((one, other), (other, one))
    )
    up = 1 + 3 + 1  # in set-up, in each pass, for the last duality gap
    down = up + 3  # and to settle each pass, which asks for nothing
    assert away > 0
    assert sum(worker.total_dense()["feature"] for worker in team.workers) == away * (
        up * 2 * 8 + down * (8 + 1)
    )


@pytest.mark.slow
def test_a_partition_that_cuts_samples_is_refused():
    with pytest.raises(ProgramError, match="sample is cut"):
        fit(MADE, k=2, by="random")
