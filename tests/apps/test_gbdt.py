"""Boosted trees beside a plain oracle: bins, splits, missing values, workers, threads."""

import math
from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.team import Team
from support.oracles.gbdt_oracle import FIELDS, draw_samples, edges_of, grow, score_samples

from tux.apps.gbdt import moves, start
from tux.apps.gbdt.bins import ends, into_bins
from tux.apps.gbdt.gbdt import GBDT
from tux.apps.gbdt.growing import cuts_between
from tux.apps.gbdt.losses import LOSSES
from tux.apps.gbdt.units import set_units
from tux.base.errors import DataError, TuxError


def fit(x, y, *, test=None, weight=None, k=1, jit=True, threads=1, slack=0, delivery=0, **of):
    of = {"max_iter": 3, "max_depth": 3} | of
    edges = edges_of(x, y, weight)
    held = None if test is None else edges_of(*test, train=edges)
    options = {"by": "target"} if k > 1 else {}
    program = GBDT(**of)
    team = Team(
        program,
        edges,
        held,
        k=k,
        jit=jit,
        threads=threads,
        slack=slack,
        delivery=delivery,
        **options,
    )
    return team.train(of["max_iter"])


def forest(team):
    return {name: np.array(getattr(team.tau, name)) for name in FIELDS}


def check_same_trees(found, wanted, *, exact=True):
    for name in FIELDS:
        if exact:
            assert np.array_equal(found[name], wanted[name]), name
        else:
            assert found[name] == pytest.approx(wanted[name], rel=1e-5, abs=1e-6), name


CASES = {
    "numbers": draw_samples(),
    "few values": draw_samples(values=4, seed=1),
    "one value": draw_samples(values=1, share=0.3, seed=2),
    "dense": draw_samples(share=1.0, seed=3),
}


@pytest.mark.long(after=2)
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_trees_are_those_of_the_oracle(name):
    x, y = CASES[name]
    wanted, m = grow(x, y)
    team = fit(x, y)
    check_same_trees(forest(team), wanted, exact=False)
    assert team.gather("sample", "node").shape == y.shape
    assert team.history("objective")[-1] == pytest.approx(np.logaddexp(0, -y * m).sum(), rel=1e-6)


@pytest.mark.slow
def test_squared_errors_and_few_bins():
    x, y = draw_samples(numbers=True, seed=4)
    wanted, m = grow(x, y, "squared", bins=8)
    team = fit(x, y, loss="squared", max_bins=8)
    check_same_trees(forest(team), wanted, exact=False)
    assert team.history("objective")[-1] == pytest.approx(((y - m) ** 2).sum() / 2, rel=1e-6)
    assert team.workers[0].tables["feature"].arrays["bins"].max() <= 8


@pytest.mark.long
@pytest.mark.parametrize(("k", "slack"), [(2, 0), (3, 2)])
def test_several_workers_grow_the_same_trees(k, slack):
    x, y = draw_samples(numbers=True, seed=5)
    test = draw_samples(n=80, numbers=True, seed=6)
    of = {"loss": "squared", "subsample": 0.7, "colsample_bytree": 0.6, "max_iter": 4}
    one = fit(x, y, test=test, **of)
    team = fit(x, y, test=test, k=k, slack=slack, delivery=k, **of)
    check_same_trees(forest(team), forest(one))
    for metric in ("objective", "test_rmse"):
        assert team.history(metric) == pytest.approx(one.history(metric), rel=1e-12)


@pytest.mark.long
def test_weights_count_as_often():
    x, y = draw_samples(n=120, seed=9)
    twice = np.arange(len(y)) % 3 == 0
    one = fit(x, y, weight=np.where(twice, 2.0, 1.0))
    other = fit(np.concatenate([x, x[twice]]), np.concatenate([y, y[twice]]))
    check_same_trees(forest(one), forest(other), exact=False)
    up = fit(x, y, positive_weight=2.0)
    check_same_trees(forest(up), forest(fit(x, y, weight=np.where(y > 0, 2.0, 1.0))))


@pytest.mark.long
def test_a_share_of_features_and_of_samples():
    x, y = draw_samples(seed=10)
    some = fit(x, y, colsample_bytree=0.2, max_iter=6)
    used = [set(row[row >= 0]) for row in some.tau.feature]
    assert all(len(of) <= 6 for of in used) and len(set.union(*used)) > 3
    halves = fit(x, y, subsample=0.5)
    assert halves.tau.cover[:, 1].max() < 0.7 * fit(x, y).tau.cover[0, 1]


@pytest.mark.slow
def test_a_split_needs_gain_and_weight():
    x, y = draw_samples(seed=11)
    assert (fit(x, y, min_gain=1e6).tau.feature == -1).all()
    heavy = fit(x, y, min_child_weight=20.0)
    leaves = heavy.tau.cover[heavy.tau.cover > 0]
    assert leaves.min() >= 20 and (heavy.tau.feature >= 0).any()


@pytest.mark.slow
def test_constant_features_and_samples_without_entries():
    x, y = draw_samples(seed=12)
    x[:, 0], x[:, 1], x[:7] = 5.0, np.nan, np.nan
    team = fit(x, y)
    assert not np.isin(team.tau.feature, [1]).any()
    check_same_trees(forest(team), grow(x, y)[0], exact=False)


@pytest.mark.slow
def test_one_class_is_refused():
    x, y = draw_samples()
    with pytest.raises(TuxError, match="one class"):
        fit(x, abs(y))


@pytest.mark.slow
def test_no_samples_are_refused():
    x, y = draw_samples(n=20)
    with pytest.raises(DataError, match="add up to 0"):
        fit(x, y, weight=np.zeros(len(y)))


def test_huge_labels_have_finite_gains():
    x, y = draw_samples(n=60, p=4)
    team = fit(x, y * np.float32(1e30), loss="squared", jit=False, max_iter=1)
    assert np.isfinite(team.tau.gain).all() and team.tau.gain.max() > 1e38


# Functions.


def test_the_first_score_does_not_depend_on_the_order():
    rng = np.random.default_rng(13)
    weight = (10.0 ** rng.uniform(-6, 6, 400)).astype("f4")
    label = (10.0 ** rng.uniform(-6, 6, 400) * rng.choice([-1, 1], 400)).astype("f4")

    def sums(order):
        tau = Row(most_g=0.0, most_h=0.0, weights=[0, 0], labels=[0, 0], base=0.0, small=0)
        p = Row(loss=LOSSES["squared"], max_depth=6)
        samples = [Row(weight=weight[i], label=label[i], c=0.0) for i in order]
        for sample in samples:
            start.weigh(sample, tau, Row(positive_weight=0.3))
        set_units(tau)
        for sample in samples:
            start.count(sample, tau, p)
        start.begin(tau, p)
        return tau

    one = sums(range(400))
    for order in (range(399, -1, -1), rng.permutation(400)):
        other = sums(order)
        assert (other.weights, other.labels) == (one.weights, one.labels)
    c = np.where(label > 0, 0.3, 1) * weight.astype("f8")
    mean = math.fsum(c * label) / math.fsum(c)
    assert one.base == pytest.approx(np.float32(mean), rel=1e-6)


@pytest.mark.parametrize("name", ["logistic", "squared"])
@pytest.mark.parametrize("m", [-40.0, -2.0, 0.0, 0.3, 30.0])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_derivatives(name, m, y):
    loss, step = LOSSES[name], 1e-4
    g, h = loss.slopes(y, m, 0.5)
    low, at, high = (loss.value(y, m + d, 0.5) for d in (-step, 0, step))
    assert g == pytest.approx((high - low) / (2 * step), abs=1e-6)
    assert h == pytest.approx((high - 2 * at + low) / step**2, abs=1e-4)


def test_bins_of_few_values_are_the_values():
    x = np.float32([1, 1, 2, 5, 5, 9])
    assert ends(x, 255).tolist() == [1, 2, 5, 9]
    assert ends(x, 2).tolist() == [2, 9]


def test_bins_hold_equal_shares():
    last = ends(np.arange(1000, dtype=np.float32), 10)
    assert last.tolist() == [99.0 + 100 * k for k in range(10)]
    often = np.sort(np.concatenate([np.zeros(500), np.arange(1, 501)])).astype("f4")
    assert ends(often, 6).tolist() == [0, 100, 200, 300, 400, 500]


def test_a_feature_is_binned_in_plain_python():
    edges = [Row(value=v, bin=9) for v in (3.0, 1.0, 3.0)]
    feature = Row(bins=0)
    into_bins(feature, edges, Row(max_bins=255))
    assert [edge.bin for edge in edges] == [1, 0, 1] and feature.bins == 2
    into_bins(feature, edges[::2], Row(max_bins=255))
    assert [edge.bin for edge in edges] == [0, 0, 0] and feature.bins == 1
    into_bins(feature, [], Row(max_bins=255))
    assert feature.bins == 0


def test_cuts_lie_between_values():
    one, two = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    low = np.float32([0, one, -np.inf, 3, -np.inf])
    high = np.float32([1, two, 7, np.inf, np.inf])
    largest = np.finfo(np.float32).max
    assert cuts_between(low, high).tolist() == [0.5, two, -largest, largest, largest]


def test_cuts_between_values_that_are_one_in_32_bits():
    """As are times in seconds, of which 32 bits hold each 128th."""
    low = np.array([1.7e9, 1.7e9, 0.1])
    high = np.array([1.7e9 + 1, np.nextafter(1.7e9, np.inf), 0.2])
    cuts = cuts_between(low, high)
    assert (cuts > low).all() and (cuts <= high).all()
    assert cuts[0] == 1.7e9 + 0.5 and cuts[2] == np.float32(0.15)


def test_a_sample_settles():
    tau = Row(nodes=2, child=[5, 4, 3, 3])
    for node, moved, child in ((2, 0, 5), (2, 1, 4), (3, 0, 3), (3, 1, 3)):
        sample = Row(node=node, moved=moved)
        moves.settle(sample, tau)
        assert sample.node == child
    leaf = Row(node=1, moved=0)
    moves.settle(leaf, tau)
    assert leaf.node == 1


@pytest.mark.slow
def test_held_out_samples_go_through_the_trees():
    x, y = draw_samples(seed=8)
    far = np.where(np.isnan(x), np.nan, 100 * x)  # beyond all values of training
    team = fit(x, y, test=(far, y))
    m = score_samples(forest(team), far, team.tau.base)
    assert team.history("test_logloss")[-1] == pytest.approx(np.logaddexp(0, -y * m).mean())
    again = fit(x, y, test=(x, y))
    told = again.history("objective")[-1] / len(y)
    assert again.history("test_logloss")[-1] == pytest.approx(told, rel=1e-9)
    assert 0.5 < again.history("test_auc")[-1] <= 1
