"""Features of users and items in BPR: the pull to priors, the regression against plain numpy, and
what it says of items without pairs.
"""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from support.messages import message
from support.programs.programs import both_later, column, complete

import tux
from tux.apps.bpr import FeatureBPR, losses
from tux.apps.bpr.pairs import has_item
from tux.apps.features.ends import SWEEPS
from tux.apps.features.regression import add_feature, add_rest, keep_prior, move_feature
from tux.arrays.edges import EdgeData
from tux.inputs.load import load

USERS, ITEMS, GENRES = 120, 90, 6


def plant(seed=0):
    """Return pairs that follow planted vectors, a matrix (USERS, ITEMS), and the genres of items,
    one (ITEMS, GENRES), on which the vectors of items depend.
    """
    rng = np.random.default_rng(seed)
    genres = rng.random((ITEMS, GENRES)) < 0.3
    genres[np.arange(ITEMS), rng.integers(GENRES, size=ITEMS)] = True
    q = (genres / genres.sum(axis=1, keepdims=True)) @ rng.normal(0, 2, (GENRES, 3))
    scores = rng.normal(size=(USERS, 3)) @ q.T
    return rng.random(scores.shape) < 1 / (1 + np.exp(-3 * (scores - 1))), genres


PAIRS, HAS = plant()
COLD = np.arange(ITEMS) % 5 == 0
TRAIN = PAIRS & ~COLD


def data_of(pairs=TRAIN, **features):
    """Return data by edge type; features are matrices by name."""
    return {"pair": np.nonzero(pairs), **{name: np.nonzero(of) for name, of in features.items()}}


def edges_of(program, data):
    return load(program, data).train


class GivenDraw:
    """A random stream that draws 0."""

    def below(self, n):
        return 0


def triple(seed=0):
    """Return a user, an item that it has, and one that it has not, with priors."""
    rng = np.random.default_rng(seed)
    user, item, other = (
        SimpleNamespace(
            f=rng.normal(size=4),
            b=rng.normal(),
            G=np.ones(5),
            prior=rng.normal(size=5),
            share=1.0,
            id=number,
        )
        for number in range(3)
    )
    user.items = np.array([1])
    other.b = item.b + 9  # ranked too high
    return user, item, other


@pytest.mark.parametrize("loss", ["bpr", "warp"])
def test_vectors_are_pulled_to_their_priors(loss):
    p = SimpleNamespace(rank=4, learning_rate=0.1, reg=0.03, max_sampled=1)
    plain, pulled = triple(), triple()
    for rows, name in ((plain, loss), (pulled, f"{loss}_to_prior")):
        user, item, other = rows
        drawn = [SimpleNamespace(item=other)]
        tau = SimpleNamespace(n=0, wrong=0, items=9.0)
        getattr(losses, name)(user, item, drawn, tau, p, GivenDraw())
        assert tau.wrong == 1
    for without, row in zip(plain, pulled, strict=True):
        np.testing.assert_allclose(row.f - without.f, 0.1 * 0.03 * row.prior[:4], rtol=1e-5)
        assert row.b == pytest.approx(without.b)


def regression(q, has, reg):
    """Return the vectors of features that explain the rows of q the best."""
    a = has / np.maximum(has.sum(axis=1, keepdims=True), 1)
    return np.linalg.solve(a.T @ a + reg * np.eye(a.shape[1]), a.T @ q)


@both_later
def test_the_regression_against_numpy(jit):
    user_has = np.random.default_rng(3).random((USERS, 4)) < 0.5
    program = FeatureBPR(rank=2, feature_reg=5.0, learning_rate=1e-9, reg=0.0)
    few = TRAIN & (np.random.default_rng(4).random(TRAIN.shape) < 0.03)
    edges = edges_of(program, data_of(few, user_features=user_has, item_features=HAS))
    worker = complete(program, edges, 60 // SWEEPS, jit=jit)
    p, q = column(worker, "user", "f"), column(worker, "item", "f")
    q = np.hstack([q, column(worker, "item", "b")[:, None]])
    paired = {"user": few.any(axis=1), "item": few.any(axis=0)}
    assert not paired["item"].all()
    for kind, own, every in (("user", p, user_has), ("item", q, HAS)):
        at = edges.ids[kind].values
        there, has = paired[kind][at], every[at]
        found = column(worker, f"{kind}_feature", "f")
        np.testing.assert_allclose(found, regression(own[there], has[there], 5.0), atol=1e-4)
        prior = (has / np.maximum(has.sum(axis=1, keepdims=True), 1)) @ found
        np.testing.assert_allclose(column(worker, kind, "prior"), prior, atol=1e-6)
        np.testing.assert_allclose(own[~there], prior[~there], atol=1e-6)


def test_a_sweep_never_makes_the_objective_larger():
    rng, p = np.random.default_rng(1), SimpleNamespace(feature_reg=0.1)
    has, q = rng.random((40, 12)) < 0.4, rng.normal(size=(40, 2))
    a = has / np.maximum(has.sum(axis=1, keepdims=True), 1)
    ends = [
        SimpleNamespace(f=f, pairs=1, features=row.sum(), prior=np.zeros(2), gathered=np.zeros(2))
        for f, row in zip(q, has, strict=True)
    ]
    features = [SimpleNamespace(f=np.zeros(2), weight=weight) for weight in a.sum(axis=0)]
    edges = [(ends[v], features[i]) for v, i in np.argwhere(has)]

    def objective(f):
        return ((q - a @ f) ** 2).sum() + p.feature_reg * (f**2).sum()

    told = []
    for _ in range(50):
        told.append(objective(np.array([each.f for each in features])))
        for each in features:
            each.rest = np.zeros(2)
        for v, feature in edges:
            add_rest(v, feature, lambda v, k, p: v.f[k], p)
        for each in features:
            move_feature(each, p)
        for v in ends:
            v.gathered[:] = 0
        for v, feature in edges:
            add_feature(v, feature)
        for v in ends:
            keep_prior(v)
    assert (np.diff(told) <= 0).all()
    assert told[-1] < 1.01 * objective(regression(q, has, p.feature_reg))


def ranked_right(scores, pairs):
    """Return how many pairs of an item that a user has and one that it has not are in order."""
    shares = [
        (row[has][:, None] > row[~has]).mean()
        for row, has in zip(scores, pairs, strict=True)
        if has.any() and not has.all()
    ]
    return np.mean(shares)


def scores_of(run):
    """Return the scores (USERS, ITEMS), 0 of users and items that the run does not know."""
    users, items = (np.asarray(run.vertices[kind].ids) for kind in ("user", "item"))
    f = {kind: np.array(run.vertices[kind]["f"]) for kind in ("user", "item")}
    out = np.zeros(PAIRS.shape)
    out[np.ix_(users, items)] = f["user"] @ f["item"].T + np.array(run.vertices["item"]["b"])
    return out


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("loss", ["bpr", "warp"])
def test_items_without_pairs_are_ranked_by_their_features(loss, workers):
    program = FeatureBPR(loss=loss, rank=4)
    options = {"epochs": 25, "workers": workers, "seed": 1, "progress": False}
    run = tux.run(program, data_of(item_features=HAS), **options)
    scores = scores_of(run)
    assert ranked_right(scores[:, COLD], PAIRS[:, COLD]) > 0.75
    assert ranked_right(scores, TRAIN) > 0.75
    best = run.recommend(None, 5, only=np.flatnonzero(COLD))
    assert set(best["item"]) <= set(np.flatnonzero(COLD).tolist())


def test_without_features_it_is_bpr():
    options = {"epochs": 2, "seed": 4, "progress": False, "jit": False}
    plain = tux.run(tux.BPR(rank=3), np.nonzero(TRAIN), **options)
    alone = tux.run(FeatureBPR(rank=3), {"pair": np.nonzero(TRAIN)}, **options)
    assert len(alone.vertices["item_feature"]) == 0
    assert ranked_right(scores_of(plain), TRAIN) == pytest.approx(
        ranked_right(scores_of(alone), TRAIN), abs=0.1
    )


def test_features_of_a_user_are_none_of_its_items():
    """The list of its items has room for them."""
    pairs = (np.array([3, 3, 4, 5]), np.array([0, 2, 1, 0]))
    data = {"pair": pairs, "user_features": (np.repeat([3, 4, 5], 3), np.tile([7, 8, 9], 3))}
    program = FeatureBPR(rank=2)
    worker = complete(program, edges_of(program, data), 0, jit=False)
    table, rows = worker.tables["user"], worker.graph.vertices["user"].row_of
    lists = [
        np.asarray(table.arrays["items"][table.bounds[row] : table.bounds[row + 1]]) for row in rows
    ]
    has = [[pairs_of_user.tolist().count(item) for item in range(3)] for pairs_of_user in lists]
    assert has == [[1, 0, 1], [0, 1, 0], [1, 0, 0]]
    users = [SimpleNamespace(items=each) for each in lists]
    told = [[has_item(user, SimpleNamespace(id=item)) for item in range(3)] for user in users]
    assert told == [[True, False, True], [False, True, False], [True, False, False]]


def test_files_of_an_optional_type_may_be_left_out(tmp_path):
    (tmp_path / "pairs.csv").write_text("user,item\na,x\na,y\nb,x\nc,z\nc,y\n")
    (tmp_path / "towns.csv").write_text("user,town\na,A\nb,B\nd,A\n")
    files = {"pair": str(tmp_path / "pairs.csv"), "user_features": str(tmp_path / "towns.csv")}
    data, options = files, {"epochs": 2, "jit": False, "progress": False, "workers": 2}
    run = tux.run(FeatureBPR(rank=2), data, out=tmp_path / "run", **options)
    assert list(run.vertices["user"].ids) == ["a", "b", "c", "d"]
    assert len(run.vertices["item_feature"]) == 0
    told = json.loads((tmp_path / "run" / "run.json").read_text())
    assert told["data"]["path"] == [f"{name}={file}" for name, file in files.items()]
    again = tux.load(tmp_path / "run")
    assert len(again.recommend(["d"], 2)["item"]) == 2


def test_the_first_edge_type_is_not_optional():
    with pytest.raises(tux.ProgramError, match=message("the-first-edge-type-is")):

        class Loose(tux.Program):
            """A program without edges that it must have."""

            a = tux.Vertex()
            b = tux.Vertex()
            first = tux.Edge("a", "b", optional=True)
            second = tux.Edge("a", "b")


def test_edges_of_a_type_that_is_left_out_are_none():
    program = FeatureBPR()
    edges = edges_of(program, data_of(user_features=np.eye(USERS, dtype=bool)))
    assert isinstance(edges, EdgeData)
    assert len(edges.others["item_features"]) == 0
    assert len(edges.others["user_features"]) == USERS
    assert [len(edges.ids[kind]) for kind in ("user_feature", "item_feature")] == [USERS, 0]


@pytest.mark.slow
def test_the_estimator_takes_features():
    model = tux.BayesianPersonalizedRanking(4, max_iter=25, random_state=0)
    from scipy import sparse

    model.fit(sparse.csr_array(TRAIN), item_features=sparse.csr_array(HAS))
    assert len(model.item_ids_) == ITEMS
    with pytest.raises(tux.UsageError, match="with features cannot go on"):
        model.partial_fit(sparse.csr_array(TRAIN))
    scores = model.user_factors_ @ model.item_factors_.T + model.item_biases_
    scores = scores[:, np.argsort(model.item_ids_)]  # items without pairs come last
    users = model.user_ids_
    assert ranked_right(scores[:, COLD], PAIRS[users][:, COLD]) > 0.75
    pairs = np.array([(user, item) for user in users[:3] for item in np.flatnonzero(COLD)[:4]])
    np.testing.assert_allclose(
        model.predict(pairs).reshape(3, 4), scores[:3][:, COLD][:, :4], rtol=1e-5
    )
