"""BPR and WARP: each step as plain Python and by gradients, an epoch against plain numpy, and what
the whole ranks.
"""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
from support.machines.team import train_team
from support.messages import message
from support.programs.programs import both_later, column, complete

import tux
from tux.apps.bpr import losses, pairs
from tux.apps.bpr.bpr import BPR, LOSSES
from tux.arrays.edges import EdgeData
from tux.graph import layout

USERS, ITEMS = 150, 120


class GivenDraws:
    """A random stream that draws the numbers that it is given."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def below(self, n):
        assert 0 <= self.numbers[0] < n
        return self.numbers.pop(0)


def make_user(rng, rank, items):
    vectors = {"f": rng.normal(size=rank), "G": np.ones(rank)}
    return SimpleNamespace(**vectors, share=1.0, items=np.array(items))


def make_item(rng, rank, number):
    vectors = {"f": rng.normal(size=rank), "b": rng.normal(), "G": np.ones(rank + 1)}
    return SimpleNamespace(**vectors, share=1.0, id=number)


def make_triple(seed=0, rank=5):
    """Return a user, its item 3, and edges to the items 7, which the user has, and 2."""
    rng = np.random.default_rng(seed)
    user = make_user(rng, rank, [3, 7, 8])
    item, had, other = (make_item(rng, rank, number) for number in (3, 7, 2))
    return user, item, [SimpleNamespace(item=each) for each in (had, other)]


def parameters(**given):
    how = {"rank": 5, "learning_rate": 1e-4, "reg": 0.03, "max_sampled": 4}
    return SimpleNamespace(**how | given)


def context():
    return SimpleNamespace(n=0, wrong=0, items=41.0)


def numbers_of(*rows):
    """Return all numbers of rows in one array."""
    return np.concatenate([np.append(row.f, getattr(row, "b", [])) for row in rows])


def set_numbers(numbers, *rows):
    """Set all numbers of rows."""
    for row in rows:
        row.f[:], numbers = numbers[: len(row.f)], numbers[len(row.f) :]
        if hasattr(row, "b"):
            row.b, numbers = numbers[0], numbers[1:]


def slope_of(objective, *rows):
    """Return the gradient of an objective of rows by central differences."""
    at, out = numbers_of(*rows), []
    for j in range(len(at)):
        sides = []
        for side in (1e-5, -1e-5):
            moved = at.copy()
            moved[j] += side
            set_numbers(moved, *rows)
            sides.append(objective(*rows))
        out.append((sides[0] - sides[1]) / 2e-5)
    set_numbers(at, *rows)
    return np.array(out)


def margin(user, item, other):
    return user.f @ item.f + item.b - user.f @ other.f - other.b


def test_bpr_goes_along_the_gradient_of_the_paper():
    user, item, others = make_triple()
    other, p, tau = others[1].item, parameters(), context()

    def objective(*rows):
        penalty = numbers_of(*rows) @ numbers_of(*rows)
        return -np.log1p(np.exp(-margin(*rows))) - p.reg / 2 * penalty

    slope, before = slope_of(objective, user, item, other), numbers_of(user, item, other)
    wrong = margin(user, item, other) <= 0
    losses.bpr(user, item, others, tau, p, GivenDraws(1))
    moved = (numbers_of(user, item, other) - before) / p.learning_rate
    np.testing.assert_allclose(moved, slope, rtol=1e-3, atol=1e-6)
    assert (tau.n, tau.wrong) == (1, wrong)


@pytest.mark.parametrize(("loss", "draws"), [(losses.bpr, 1), (losses.warp, 4)])
def test_an_item_that_the_user_has_changes_nothing(loss, draws):
    user, item, others = make_triple()
    others[0].item.b = 99.0  # ranked far too high
    before = numbers_of(user, item, others[0].item)
    loss(user, item, others, context(), parameters(), GivenDraws(*[0] * draws))
    losses.bpr(user, item, [], context(), parameters(), GivenDraws())  # nor is a tile without edges
    assert np.array_equal(numbers_of(user, item, others[0].item), before)


def test_warp_takes_the_first_item_that_is_ranked_too_high():
    user, item, others = make_triple()
    low, other = make_item(np.random.default_rng(1), 5, 1), others[1].item
    others += [SimpleNamespace(item=low)]
    item.b = low.b = 0.0
    low.f[:], other.b, others[0].item.b = -9 * user.f, item.f @ user.f + 5, 99.0
    p, tau, z = parameters(learning_rate=0.1), context(), np.log(40 // 3)
    u, q, o = user.f.copy(), item.f.copy(), other.f.copy()
    biases = item.b, other.b
    losses.warp(user, item, others, tau, p, GivenDraws(2, 0, 1))  # low, had, and the one too high
    np.testing.assert_allclose(user.f, u + 0.1 * (z * (q - o) - p.reg * u), rtol=1e-6)
    np.testing.assert_allclose(item.f, q + 0.1 * (z * u - p.reg * q), rtol=1e-6)
    np.testing.assert_allclose(other.f, o - 0.1 * (z * u + p.reg * o), rtol=1e-6)
    assert item.b == pytest.approx(biases[0] + 0.1 * (z - p.reg * biases[0]))
    assert other.b == pytest.approx(biases[1] - 0.1 * (z + p.reg * biases[1]))
    np.testing.assert_allclose(user.G, 1 + (z * (q - o)) ** 2, rtol=1e-6)
    np.testing.assert_allclose(item.G, np.append(1 + (z * u) ** 2, 1 + z**2), rtol=1e-6)
    np.testing.assert_allclose(other.G, item.G)
    assert (tau.n, tau.wrong) == (1, 1)
    root = np.sqrt(item.G[-1])
    before = item.b
    losses.warp(user, item, others, tau, p, GivenDraws(1))
    assert item.b - before == pytest.approx(0.1 / root * (np.log(40) - p.reg * before), rel=1e-5)


def test_warp_draws_no_more_than_it_may():
    user, item, others = make_triple()
    others[1].item.b = -99.0
    before, tau, draws = numbers_of(user, item), context(), GivenDraws(1, 1, 1, 1, 1)
    losses.warp(user, item, others, tau, parameters(), draws)
    assert np.array_equal(numbers_of(user, item), before)
    assert (tau.n, tau.wrong, len(draws.numbers)) == (1, 0, 1)


@pytest.mark.parametrize("loss", [losses.bpr_among_all, losses.warp])
def test_who_had_pairs_before_moves_less(loss):
    user, item, others = make_triple()
    other = others[1].item
    other.b = 9.0  # ranked too high, so that WARP takes it
    whole, before = copy.deepcopy((user, item, other)), numbers_of(user, item, other)
    loss(*whole[:2], [SimpleNamespace(item=whole[2])], context(), parameters(), GivenDraws(0))
    for v, n in ((user, 3), (item, 0), (other, 1)):
        v.n = n
        pairs.set_share(v)
    loss(user, item, others, context(), parameters(), GivenDraws(1))
    share = np.repeat([1 / 4, 1, 1 / 2], [5, 6, 6])
    moved, all_of_it = numbers_of(user, item, other) - before, numbers_of(*whole) - before
    np.testing.assert_allclose(moved, share * all_of_it, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("draws", "z"), [(1, np.log(40)), (21, 0.0), (50, 0.0)])
def test_the_weight_of_a_pair_falls_with_the_draws(draws, z):
    assert losses.weigh(draws, context()) == pytest.approx(z)
    assert losses.weigh(draws, SimpleNamespace(items=1e9)) <= losses.MOST_WEIGHT


def test_the_items_of_a_user_are_found():
    rng = np.random.default_rng(0)
    for n in range(12):
        numbers = rng.permutation(20)[:n]
        user = SimpleNamespace(items=np.zeros(n, int), n=2)
        edges = [SimpleNamespace(item=SimpleNamespace(id=number)) for number in numbers.tolist()]
        pairs.remember(user, edges)
        assert user.items.tolist() == sorted(numbers) and user.n == 2 + n
        found = [i for i in range(-1, 21) if pairs.has_item(user, SimpleNamespace(id=i))]
        assert found == sorted(numbers)


# ---- whole epochs


def plant_pairs(seed=0):
    """Return pairs that follow planted vectors as a matrix (USERS, ITEMS) of training, and one of
    all.
    """
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(USERS, 2)) @ rng.normal(size=(ITEMS, 2)).T
    every = rng.random((USERS, ITEMS)) < 1 / (1 + np.exp(-4 * (scores - 1)))
    return every & (rng.random(every.shape) < 0.7), every


def edges_of(matrix):
    every = {"user": range(USERS), "item": range(ITEMS)}
    return EdgeData.of(("user", "item"), *np.nonzero(matrix), {}, vertices=every)


TRAIN, EVERY = plant_pairs()
EDGES = edges_of(TRAIN)


class Replay:
    """The steps of a loss on arrays, for triples of numbers in their order."""

    def __init__(self, program, worker):
        self.program = program
        self.f = [column(worker, kind, "f").astype("f8") for kind in ("user", "item")]
        self.b = column(worker, "item", "b").astype("f8")

    def step(self, u, i, j):
        """Make the step of BPR."""
        (p, q), b, rate, reg = self.f, self.b, self.program.learning_rate, self.program.reg
        z = 1 / (1 + np.exp(p[u] @ (q[i] - q[j]) + b[i] - b[j]))
        p[u], q[i], q[j] = (
            p[u] + rate * (z * (q[i] - q[j]) - reg * p[u]),
            q[i] + rate * (z * p[u] - reg * q[i]),
            q[j] - rate * (z * p[u] + reg * q[j]),
        )
        b[i], b[j] = b[i] + rate * (z - reg * b[i]), b[j] - rate * (z + reg * b[j])


def triples_of(program, epochs, monkeypatch):
    """Return the triples (user, item, other) on which a run makes steps, in their order."""
    found, others_of = [], []

    def has_item(user, item):
        if not pairs.has_item(user, item):
            others_of.append(item.id)
        return pairs.has_item(user, item)

    def bpr(user, item, others, tau, p, rng):  # random numbers depend on its name
        before = len(others_of)
        losses.bpr(user, item, others, tau, p, rng)
        if len(others_of) > before:
            found.append((user.id, item.id, others_of[-1]))

    with monkeypatch.context() as patched:
        patched.setattr(losses, "has_item", has_item)
        patched.setitem(LOSSES, "bpr", bpr)
        complete(program, EDGES, epochs, jit=False)
    return found


@both_later
def test_epochs_against_numpy(jit, monkeypatch):
    program = BPR(rank=5, reg=0.02)
    triples = triples_of(program, 3, monkeypatch)
    replay = Replay(program, complete(program, EDGES, 0, jit=False))
    for triple in triples:
        replay.step(*triple)
    worker = complete(program, EDGES, 3, jit=jit)
    for side, kind in enumerate(("user", "item")):
        np.testing.assert_allclose(column(worker, kind, "f"), replay.f[side], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(column(worker, "item", "b"), replay.b, rtol=1e-3, atol=1e-5)
    assert len(triples) > TRAIN.sum()


@pytest.mark.parametrize("tiles", [1, 8])
def test_no_drawn_item_is_one_that_the_user_has(tiles, monkeypatch):
    monkeypatch.setattr(layout, "ROWS_BESIDE", 120 if tiles == 1 else 15)
    triples = np.array(triples_of(BPR(rank=2), 2, monkeypatch))
    user, item, other = triples.T
    assert TRAIN[user, item].all() and not TRAIN[user, other].any()
    popular = TRAIN.sum(axis=0) > np.median(TRAIN.sum(axis=0))
    assert popular[other].mean() > 0.55  # they are drawn as items of pairs


def auc_of(scores):
    """Return how many of the pairs of a new item and an item that is not liked are in order, as a
    mean over users.
    """
    new = EVERY & ~TRAIN
    return np.mean(
        [
            (row[likes][:, None] > row[~every]).mean()
            for row, likes, every in zip(scores, new, EVERY, strict=True)
            if likes.any() and not every.all()
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("k", "slack"), [(1, 0), (2, 0), (3, 1)])
@pytest.mark.parametrize("loss", ["bpr", "warp"])
def test_new_items_of_users_are_ranked_before_the_rest(loss, k, slack):
    program = BPR(loss=loss, rank=4)
    team = train_team(program, EDGES, 30, k=k, slack=slack, by="bicut", jit=True)
    scores = team.gather("user", "f") @ team.gather("item", "f").T + team.gather("item", "b")
    popular = np.broadcast_to(TRAIN.sum(axis=0), TRAIN.shape)
    assert auc_of(scores) > 0.8 > auc_of(popular) + 0.1
    seen = team.history("violations")
    assert seen[-1] < 0.8 * seen[0]


def test_users_of_several_workers_must_be_whole():
    with pytest.raises(tux.UsageError, match="whole"):
        tux.run(
            BPR(), np.nonzero(TRAIN), workers=2, partitioner="random", jit=False, progress=False
        )


def test_max_sampled_is_for_warp():
    with pytest.raises(tux.UsageError, match=message("max-sampled-has-no-effect", "bpr")):
        BPR(max_sampled=3)
    assert BPR(loss="warp", max_sampled=3).max_sampled == 3


@pytest.mark.long
@pytest.mark.parametrize("loss", ["bpr", "warp"])
def test_films_are_ranked_better_than_by_their_popularity(loss, real_data):
    folder = real_data / "ratings" / "ml-1m"
    run = tux.run(
        BPR(loss=loss, rank=16),
        str(folder / "ml-1m.train.dat.gz"),
        test=str(folder / "ml-1m.probe.dat.gz"),
        judge_top=10,
        epochs=20,
        progress=False,
    )
    assert run.results["recall@10"] > 0.08  # of the most popular: 0.07
    assert run.history["test_violations"][-1] < 0.25
