"""BlockPG's functions in plain Python against their formulas, and what comes back: tables,
exports, an estimator of scikit-learn.
"""

import math
from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.blockpg_team import MADE, fit, result_of, unbalanced_samples

from tux.apps.blockpg import coordinate, quality, samples, span, weights
from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.blockpg.losses import LOSSES
from tux.apps.blockpg.passes import accept_alone, decide, share_of_change
from tux.options.options import RunOptions
from tux.predict.export import export
from tux.program.report import Model
from tux.runs.session import run

# Functions in plain Python.


def test_renew():
    """Slope and curvature are the derivatives of the loss."""
    for label, m, c in ((1.0, 0.7, 2.0), (-1.0, 0.7, 0.5), (1.0, -800.0, 1.0), (-1.0, -800.0, 1.0)):
        sample, tau = (
            Row(label=label, m=m, c=c, near=3),
            Row(stiff=2.0, floor=0.25, crowd=0.1, loss=0.0, level=0.0),
        )
        samples.renew_model(sample, tau, Row(loss=LOSSES["logistic"], epsilon=1.0))
        samples.set_curvature(sample, tau)
        chance = 1 / (1 + np.exp(min(label * m, 700)))
        assert tau.loss == pytest.approx(c * np.logaddexp(0, -label * m))
        assert sample.r == pytest.approx(-label * c * chance, rel=1e-12, abs=1e-300)
        assert sample.h == pytest.approx(c * chance * (1 - chance), rel=1e-12, abs=1e-300)
        assert sample.u == pytest.approx(max(c * chance * (1 - chance), 0.25 * c) * 2 * 1.2)


def entries(values, **samples):
    """Return edges of a feature to samples, given by their fields."""
    rows = [
        Row(**dict(zip(samples, each, strict=True))) for each in zip(*samples.values(), strict=True)
    ]
    return [
        Row(value=np.float32(value), sample=row) for value, row in zip(values, rows, strict=True)
    ]


def test_gather():
    edges = entries([2, -1], r=[0.5, 0.25], u=[1.0, 3.0], h=[0.5, 1.0], near=[0, 2])
    calm = {"full": False, "crowd": 0.0, "floor": 0.0, "stiff": 2.0, "top": 0.25}
    for active, tau, g, s in (
        (True, calm, 0.75, 6.0),
        (True, calm | {"floor": 0.5}, 0.75, 7.0),
        (True, calm | {"crowd": 0.5}, 0.75, 7.0),
        (False, calm, 0.0, 0.0),
        (False, calm | {"full": True}, 0.75, 1.25),
        (False, calm | {"full": True, "crowd": 0.5}, 0.75, 0.25 * (4 + 1 * 2)),
    ):
        feature = Row(active=active, g=0.0, s=0.0)
        coordinate.gather(feature, edges, Row(**tau))
        assert (feature.g, feature.s) == pytest.approx((g, s))


@pytest.mark.parametrize(
    ("full", "active", "w", "g", "wakes"),
    [
        (True, False, 0.0, 0.75, True),
        (True, False, 0.0, 0.25, False),
        (True, False, 0.5, 0.25, True),  # a search has moved it
        (False, False, 0.0, 0.75, False),
        (True, True, 0.0, 0.25, True),
    ],
)
def test_features_at_rest_wake_before_a_full_pass(full, active, w, g, wakes):
    feature, tau = Row(active=active, w=w, g=0.0), Row(full=full, l1=0.5)
    coordinate.add_resting_slope(feature, entries([2, -1], r=[g, g]), tau)
    assert feature.g == (g if full and not active else 0)
    coordinate.wake_by_slope(feature, tau)
    assert feature.active == wakes


@pytest.mark.parametrize("w", [-1.3, 0.0, 0.4])
@pytest.mark.parametrize("g", [-3.0, -0.2, 0.9, 5.0])
def test_step_goes_to_the_minimum_of_the_model(w, g):
    feature = Row(w=w, g=g, s=2.0, active=False)
    coordinate.step(feature, Row(full=True, l1=1.0), Row(l2=0.5))
    grid = np.concatenate([[0.0], np.linspace(-6, 6, 120_001)])
    model = g * (grid - w) + (grid - w) ** 2 + np.abs(grid) + 0.25 * grid**2
    assert feature.w == pytest.approx(grid[model.argmin()], abs=2e-4)
    assert feature.active == (w != 0 or abs(g) > 1)


def test_step_leaves_what_is_at_rest():
    feature = Row(w=0.0, g=9.0, s=2.0, active=False)
    coordinate.step(feature, Row(full=False, l1=1.0), Row(l2=0.0))
    assert feature.w == 0 and not feature.active


def test_scatter():
    edges = entries([2, -1], m=[1.0, 1.0], r=[0.5, 0.5], h=[0.25, 0.125])
    feature = Row(w=0.75, used=0.25)
    coordinate.scatter(feature, edges)
    assert [edge.sample.m for edge in edges] == [2.0, 0.5] and feature.used == 0.75
    assert [edge.sample.r for edge in edges] == [0.5 + 0.25, 0.5 - 0.0625]
    coordinate.scatter(feature, edges)
    assert [edge.sample.m for edge in edges] == [2.0, 0.5]


def test_features_that_have_long_been_at_zero_add_nothing_to_sums():
    """Each feature is passed over from the third pass on in which it stays at zero."""
    rng = np.random.default_rng(0)
    names = "absolute", "square", "nonzero"
    tau = Row(at=0, x=rng.normal(size=span.ALL), **dict.fromkeys(names, 0.0))
    tau.signs, tau.pulls, tau.norms = np.zeros(3), np.zeros(3), np.zeros((3, 3))
    tau.lengths, tau.squares = np.zeros(4), np.zeros(4)
    feature = Row(w=0.0, before=0.0, moved=rng.normal(size=3), rests=0)
    for number, w in enumerate((2.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0)):
        feature.w, tau.at = w, number % 3
        span.add_displacement(feature, tau, Row(l2=1.0))
        assert feature.rests == (0, 0, 1, 2, 3, 3, 0)[number]
        feature.before = w
    assert (tau.absolute, tau.square, tau.nonzero) == (3, 5, 2)
    assert feature.moved.tolist() == [-1, 0, 0]


def test_a_search_takes_the_minimum_of_a_quadratic():
    """Two directions, no penalty: the model's minimiser, all the way."""
    tau = Row(
        curves=np.diag([2.0, 4.0, 0, 0]),
        slopes=np.array([1.0, -2.0, 0, 0]),
        norms=np.zeros((3, 3)),
        pulls=np.zeros(3),
        refused=False,
    )
    tau.signs, tau.l1, tau.model, tau.model_slopes = np.zeros(3), 0.0, np.zeros((4, 4)), np.zeros(4)
    tau.x = span.direction(tau, Row(l2=0.0))
    np.testing.assert_allclose(tau.x, [-0.5, 0.5, 0, 0], rtol=1e-6)
    tau.lengths = tau.squares = np.zeros(len(span.SHARES))
    span.choose(tau, Row(l2=0.0))
    np.testing.assert_allclose(tau.x, [-0.5, 0.5, 0, 0], rtol=1e-6)


def test_a_pass_beyond_all_numbers_is_not_searched():
    tau = Row(
        curves=np.full((4, 4), np.inf),
        slopes=np.full(4, np.nan),
        norms=np.zeros((3, 3)),
        pulls=np.zeros(3),
        signs=np.zeros(3),
    )
    tau.l1, tau.model, tau.model_slopes = 1.0, np.zeros((4, 4)), np.zeros(4)
    assert not span.direction(tau, Row(l2=0.0)).any()


def test_a_change_by_short_steps_is_no_sign_of_the_optimum():
    tau = Row(damping=1.0, last_mark=100.001, missed=0.0)
    assert share_of_change(tau, 100.0) == pytest.approx(1e-5)
    tau.damping = 64.0
    assert share_of_change(tau, 100.0) == pytest.approx(64e-5)
    tau.missed = 1e-3
    assert share_of_change(tau, 100.0) == pytest.approx(164e-5)


@pytest.mark.parametrize(("rise", "stiff"), [(1e-13, 1.4), (1e-6, 4.0)])
def test_steps_are_stiffer_only_after_a_rise_that_is_no_noise(rise, stiff):
    p = Row(loss=LOSSES["logistic"], tol=1e-7, l2=0.0, fit_intercept=False)
    tau = fit(MADE, epochs=2, jit=False).tau
    tau.F, tau.penalty, tau.stiff, tau.loss = 100.0, 0.0, 2.0, 100.0 * (1 + rise)
    decide(tau, p)
    accept_alone(tau, p)
    assert tau.undone and tau.F == 100.0
    assert tau.stiff == pytest.approx(stiff)


def test_probability():
    edges = [Row(value=2.0, feature=Row(w=0.5)), Row(value=-1.0, feature=Row(w=3.0))]
    assert quality.probability(Row(), edges, Row(b=0.25)) == pytest.approx(
        1 / (1 + math.exp(2 - 0.25))
    )
    assert quality.probability(Row(), [], Row(b=0.0)) == 0.5
    assert (
        quality.probability(Row(), edges, Row(b=800.0)) == 1
        and quality.probability(Row(), edges, Row(b=-600.0)) < 1e-200
    )


# Results.

FIELDS = {"feature": {"w": np.array([0.0, -2.0, 0.5, 0.0, 2.0])}, "tau": {"b": np.array([-0.25])}}
IDS = {"feature": np.array([30, 7, 2, 9, 1])}
MODEL, report = Model(FIELDS, IDS), BlockPG.report


def test_the_largest_weights():
    told = report.tables(BlockPG(), MODEL)["weights"]
    assert told == {"feature": ["7", "1", "2"], "weight": ["-2", "2", "0.5"]}
    many = {"feature": {"w": np.arange(1.0, 40)}}
    many = Model(many, {"feature": np.arange(39)})
    assert report.tables(BlockPG(), many)["weights"]["feature"] == [
        str(n) for n in range(38, 28, -1)
    ]
    zeros = Model({"feature": {"w": np.zeros(3)}}, {"feature": np.arange(3)})
    assert report.tables(BlockPG(), zeros)["weights"] == {"feature": [], "weight": []}


def test_export_of_weights():
    out = report.exports()["weights"](BlockPG(), MODEL)
    assert (
        out["feature"].tolist() == [7, 1, 2]
        and out["weight"].tolist() == [-2, 2, 0.5]
        and out["intercept"] == -0.25
    )


def test_features_that_are_words():
    words = {"feature": np.array(["sky=blue", "age", "sky=red", "x", "b"], np.dtypes.StringDType())}
    model = Model(FIELDS, words)
    assert report.tables(BlockPG(), model)["weights"]["feature"] == ["age", "b", "sky=red"]
    assert weights.weights(BlockPG(), model)["feature"].tolist() == ["age", "b", "sky=red"]
    out = weights.sklearn(BlockPG(), model)
    assert out["features"].tolist() == sorted(words["feature"].tolist()) and out[
        "coef_"
    ].tolist() == [[-2, 2, 0, 0.5, 0]]


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (("", ""), [-1, 1]),
        (("0", "1"), [0, 1]),
        (("-1", "+1"), [-1, 1]),
        (("1", "1.5"), [1.0, 1.5]),
        (("ham", "spam"), ["ham", "spam"]),
        (("1", "two"), ["1", "two"]),
    ],
)
def test_classes_of_an_export(names, classes):
    out = weights.sklearn(BlockPG(negative=names[0], positive=names[1]), MODEL)["classes_"]
    assert out.tolist() == classes and out.dtype.kind in "ifU" and not out.dtype.hasobject


def test_a_table_of_the_path():
    records = [
        {"penalty_l1": 4.0, "objective": 9.5, "nonzeros": 1.0},
        {"penalty_l1": 4.0, "objective": 9.0, "nonzeros": 0.0, "test_auc": 0.5},
        {"penalty_l1": 2.0, "objective": 7.0, "nonzeros": 3.0},
        {"epoch": 4},
    ]
    assert report.history(BlockPG(path=2), records)["path"] == {
        "penalty_l1": ["4", "2"],
        "objective": ["9", "7"],
        "nonzeros": ["0", "3"],
        "test_auc": ["0.5", ""],
    }
    assert report.history(BlockPG(), records) == {} and weights.path([])["penalty_l1"] == []


@pytest.mark.slow
def test_an_export_is_a_fitted_estimator():
    """The lines that docs/blockpg.md shows."""
    LogisticRegression = pytest.importorskip("sklearn.linear_model").LogisticRegression
    data = unbalanced_samples()
    team = fit(data, fit_intercept=True)
    _, w, b = result_of(team)
    ids = {"feature": np.arange(data.x.shape[1])}
    held = {"feature": {"w": w}, "tau": {"b": np.array([b])}}
    model = weights.sklearn(BlockPG(negative="ham", positive="spam"), Model(held, ids))

    fitted = LogisticRegression()
    fitted.coef_, fitted.intercept_, fitted.classes_ = (
        model[name] for name in ("coef_", "intercept_", "classes_")
    )
    chances = fitted.predict_proba(data.x[:, model["features"]])[:, 1]

    np.testing.assert_allclose(chances, 1 / (1 + np.exp(-(data.x @ w + b))), rtol=1e-9)
    assert set(fitted.predict(data.x)) <= {"ham", "spam"}
    assert fitted.score(data.x, np.where(data.y > 0, "spam", "ham")) > 0.85


@pytest.mark.slow
def test_from_run_to_export(tmp_path):
    result = run(
        BlockPG(l1=0.5, tol=1e-6),
        MADE.edges(),
        options=RunOptions(out=tmp_path / "out", eval_every=1000),
    )
    out = export(tmp_path / "out", "weights")
    w = result.worker.tables["feature"].arrays["w"][result.worker.graph.vertices["feature"].row_of]
    assert dict(zip(out["feature"].tolist(), out["weight"].tolist(), strict=True)) == {
        j: w[j] for j in np.flatnonzero(w)
    }
    assert export(tmp_path / "out", "sklearn")["coef_"].tolist() == [w.tolist()]
    assert (tmp_path / "out" / "model" / "weights.tsv").read_text().startswith("feature\tweight\n")
