"""New users of BPR and WARP: their vectors beside numpy's steps on the same draws, and what they
rank.
"""

from types import SimpleNamespace as Row

import numpy as np
import pytest

import tux
from tux.apps.bpr import fold_in
from tux.base.errors import UsageError
from tux.estimators import BayesianPersonalizedRanking, MatrixFactorization

ITEMS, RANK = 40, 3
P = Row(rank=RANK, learning_rate=0.05, reg=0.02, max_sampled=4)


class SeededDraws:
    """A random stream, as functions get it."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def uniform(self):
        return self._rng.random()

    def below(self, n):
        return int(self._rng.random() * n)


@pytest.fixture
def items():
    """Return items with vectors, biases and numbers of pairs."""
    rng = np.random.default_rng(1)
    return [
        Row(id=i, f=rng.normal(size=RANK).astype("f4"), b=rng.normal(), n=int(rng.integers(1, 30)))
        for i in range(ITEMS)
    ]


def context_of(items):
    return Row(items=float(len(items)), most=max(item.n for item in items))


def find(items, own, function, seed):
    """Return what a function finds for a user who has the items `own`."""
    out, every = np.zeros(RANK, "f4"), [Row(item=item) for item in items]
    edges = [every[i] for i in own]
    function(edges, every, out, context_of(items), P, SeededDraws(seed))
    return out


def draw_by_pairs(counts, rng):
    """Draw an item in proportion to its pairs, by rejection."""
    while True:
        i, coin = rng.below(len(counts)), rng.uniform()
        if coin * counts.max() < counts[i]:
            return i


def bpr_by_numpy(items, own, seed):
    """Make the steps of a user of BPR."""
    f, b = np.array([item.f for item in items], float), np.array([item.b for item in items])
    counts, rng, x = np.array([item.n for item in items]), SeededDraws(seed), np.zeros(RANK)
    passes = []
    for _ in range(fold_in.PASSES):
        for i in own:
            if (j := draw_by_pairs(counts, rng)) not in own:
                z = 1 / (1 + np.exp(x @ (f[i] - f[j]) + b[i] - b[j]))
                x = x + P.learning_rate * (z * (f[i] - f[j]) - P.reg * x)
        passes.append(x)
    return np.mean(passes[fold_in.PASSES // 2 :], axis=0)


def warp_by_numpy(items, own, seed):
    """Make the steps of a user of WARP."""
    f, b = np.array([item.f for item in items], float), np.array([item.b for item in items])
    rng, x, sums = SeededDraws(seed), np.zeros(RANK), np.ones(RANK)
    for _ in range(fold_in.PASSES):
        for i in own:
            for draws in range(1, P.max_sampled + 1):
                j = rng.below(len(items))
                if x @ f[j] + b[j] > x @ f[i] + b[i] - 1 and j not in own:
                    slope = np.log(max(1, (len(items) - 1) // draws)) * (f[i] - f[j])
                    x = x + P.learning_rate / np.sqrt(sums) * (slope - P.reg * x)
                    sums = sums + slope**2
                    break
    return x


@pytest.mark.parametrize("own", [[3], [30, 2, 17, 5]])
@pytest.mark.parametrize(
    ("function", "by_numpy"),
    [(fold_in.find_by_bpr, bpr_by_numpy), (fold_in.find_by_warp, warp_by_numpy)],
)
def test_the_steps_of_a_new_user(items, own, function, by_numpy):
    for seed in range(3):
        expected = by_numpy(items, own, seed)
        np.testing.assert_allclose(find(items, own, function, seed), expected, rtol=1e-4, atol=1e-5)


def test_a_user_without_items_gets_zeros(items):
    for function in fold_in.FINDS.values():
        assert not find(items, [], function, 0).any()


def test_items_are_drawn_by_their_pairs(items):
    rng, every = SeededDraws(0), [Row(item=item) for item in items]
    tau, found = context_of(items), np.zeros(ITEMS)
    for _ in range(20_000):
        found[fold_in.draw_item(every, tau, rng).id] += 1
    counts = np.array([item.n for item in items])
    np.testing.assert_allclose(found / found.sum(), counts / counts.sum(), atol=0.005)


def test_a_draw_ends_where_nearly_all_have_few_pairs(items, monkeypatch):
    monkeypatch.setattr(fold_in, "PROPOSED", 2)
    tau = Row(most=1e300)
    every = [Row(item=item) for item in items]
    drawn = {fold_in.draw_item(every, tau, SeededDraws(seed)).id for seed in range(40)}
    assert len(drawn) > 10


# ---- whole models

USERS = 60


def plant_pairs():
    """Return pairs that follow planted vectors, as a matrix (USERS, ITEMS)."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(USERS, 2)) @ rng.normal(size=(ITEMS, 2)).T
    return rng.random((USERS, ITEMS)) < 1 / (1 + np.exp(-4 * (scores - 1)))


PAIRS = plant_pairs()


def pairs_of(users):
    """Return the pairs of some users as columns."""
    user, item = np.nonzero(PAIRS[users])
    return {"user": np.array(users)[user], "item": item}


@pytest.fixture(scope="module", params=["bpr", "warp"])
def model(request):
    program = tux.BPR(loss=request.param, rank=4)
    return tux.run(program, pairs_of(range(40)), epochs=2, jit=False, progress=False)


def test_items_keep_their_numbers_of_pairs(model):
    for kind, axis in (("user", 1), ("item", 0)):
        known = model.vertices[kind]
        assert known["n"].tolist() == PAIRS[:40].sum(axis=axis)[known.ids].tolist()


def test_new_users_get_vectors_and_the_same_again(model):
    new = pairs_of(range(40, 60))
    found = model.fold_in(new)
    assert found.columns == ["user", "f"] and found["user"].tolist() == [
        *dict.fromkeys(new["user"])
    ]
    assert found["f"].shape == (20, 4) and found["f"].any(axis=1).all()
    assert np.array_equal(model.fold_in(new)["f"], found["f"])
    best = model.recommend(found, 3, exclude=new)
    assert not {*zip(new["user"], new["item"], strict=True)} & {
        *zip(best["user"], best["item"], strict=True)
    }
    items = model.vertices["item"]
    scores = found["f"] @ items["f"].T + items["b"]
    scores[PAIRS[40:60][:, items.ids]] = -np.inf
    np.testing.assert_allclose(best["score"].reshape(20, 3)[:, 0], scores.max(axis=1), rtol=1e-5)


def test_new_items_are_refused(model):
    with pytest.raises(UsageError, match="BPR cannot fold in a new item"):
        model.fold_in(pairs_of([3]), of="item")


def auc_of(vectors, items, pairs):
    """Return how many of the pairs of an item that a user has and one without are in order, as a
    mean over users.
    """
    scores = vectors @ items["f"].T + items["b"]
    rows = zip(scores, pairs[:, items.ids], strict=True)
    return np.mean([(row[has][:, None] > row[~has]).mean() for row, has in rows if has.any()])


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["bpr", "warp"])
def test_users_who_came_later_are_ranked_as_those_of_training(loss):
    program, every = tux.BPR(loss=loss, rank=4), pairs_of(range(USERS))
    whole = tux.run(program, every, epochs=40, progress=False)
    part = tux.run(program, pairs_of(range(40)), epochs=40, progress=False)
    found = part.fold_in(pairs_of(range(40, 60)))
    trained = whole.vertices["user"].at(found["user"])["f"]
    reached, expected = (
        auc_of(f, run.vertices["item"], PAIRS[found["user"]])
        for f, run in ((found["f"], part), (trained, whole))
    )
    assert reached > 0.9 * expected > 0.7


@pytest.mark.slow
def test_estimators_find_new_users():
    pairs, new = pairs_of(range(40)), pairs_of(range(40, 60))
    model = BayesianPersonalizedRanking(4, max_iter=3, random_state=0).fit(pairs)
    found = model.fold_in(new)
    assert found["user"].tolist() == [*range(40, 60)] and found["f"].shape == (20, 4)
    best = model.recommend(found, 2, exclude=new)
    assert len(best) == 40 and not {*zip(new["user"], new["item"], strict=True)} & {
        *zip(best["user"], best["item"], strict=True)
    }
    with pytest.raises(UsageError, match="cannot fold in a new item"):
        model.fold_in(new, of="item")
    ratings = {**pairs, "rating": 1.0 + (pairs["user"] + pairs["item"]) % 5}
    rated = MatrixFactorization(4, max_iter=3, biases=True, random_state=0).fit(ratings)
    items = rated.fold_in({"user": [1, 2], "item": [99, 99], "rating": [4.0, 5.0]}, of="item")
    assert items.columns == ["item", "f", "bias"] and items["item"].tolist() == [99]
