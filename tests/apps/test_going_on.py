"""Apps that go on with the model of a run: what new data change, beside numpy's solutions."""

import numpy as np
import pytest

import tux

RANK = 4


def draw_ratings(seed, users, items, count):
    """Draw a table of ratings, each pair once."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(len(users) * len(items), count, replace=False)
    user, item = np.array(users)[pairs // len(items)], np.array(items)[pairs % len(items)]
    return {"user": user, "item": item, "value": rng.integers(1, 6, count).astype(float)}


OLD = draw_ratings(1, range(30), range(100, 120), 300)
NEW = draw_ratings(2, [3, 7, 500], range(100, 122), 30)


def mean_products(run, kind, table):
    """Return C of `tux.apps.als.prior`, by the factors of a type and the weights of a table."""
    f, n = run.vertices[kind]["f"].astype(float), run.vertices[kind]["n"].astype(float)
    if run.parameters["biases"]:
        f = np.column_stack([f, np.ones(len(f))])
    weight = run.parameters["alpha"] * table["value"].mean() if run.parameters["implicit"] else 1.0
    return weight * (f * n[:, None]).T @ f / n.sum()


def unknowns(vertices, p):
    """Return the factors of vertices, (n, rank), and behind them biases, if there are some."""
    f = vertices["f"].astype(float)
    return np.column_stack([f, vertices["bias"].astype(float)]) if p.biases else f


def solve_by_numpy(run, p, table, user):
    """Return a user's factors after its new ratings, of known items."""
    items, users = run.vertices["item"], run.vertices["user"]
    y = items["f"].astype(float)
    rows = table["user"] == user
    far = y[items.positions(table["item"][rows])]
    value = table["value"][rows] - float(run.context["offset"][0])
    weights, targets, shared = np.ones(len(far)), value, np.zeros((RANK, RANK))
    if p.implicit:
        weights, shared = p.alpha * table["value"][rows], y.T @ y
        targets = (1 + weights) / weights
    n, size = len(far), RANK
    if p.biases:
        value = value - items["bias"].astype(float)[items.positions(table["item"][rows])]
        far, size, targets = np.column_stack([far, np.ones(n)]), RANK + 1, value
        shared = np.zeros((size, size))
    place = users.positions([user])[0]
    old = float(users["n"][place]) if place >= 0 else 0.0
    x = unknowns(users, p)[place] if place >= 0 else np.zeros(size)
    own = p.reg * np.eye(size)
    new = (far * weights[:, None]).T @ far
    a = shared + new + (own if p.plain else own * (n + old))
    a += old * mean_products(run, "item", table)
    if old:
        b = far.T @ (weights * (targets - far @ x)) - (0 if p.plain else p.reg * n) * x
    else:
        b = far.T @ (weights * targets) - (a @ x)
    return x + np.linalg.solve(a, b)


@pytest.mark.parametrize("steps", [0, 12])
@pytest.mark.parametrize(
    "more",
    [{}, {"implicit": True, "alpha": 2.0}, {"plain": True, "center": True}, {"biases": True}],
)
def test_als_moves_a_user_by_new_ratings_and_what_the_model_says_of_old_ones(steps, more):
    p = tux.ALS(rank=RANK, steps=steps, **more)
    old = tux.run(p, OLD, epochs=3, jit=False, progress=False)
    known = np.isin(NEW["item"], OLD["item"])
    table = {name: column[known] for name, column in NEW.items()}
    new = tux.run(p, table, from_run=old, epochs=1, jit=False, progress=False)
    users = new.vertices["user"]
    for user in dict.fromkeys(table["user"].tolist()):
        found = unknowns(users, p)[users.positions([user])[0]]
        np.testing.assert_allclose(found, solve_by_numpy(old, p, table, user), rtol=2e-3, atol=2e-3)
    before, after = (run.vertices["user"] for run in (old, new))
    same = [user for user in before.ids.tolist() if user not in table["user"]]
    assert np.array_equal(before["f"][before.positions(same)], after["f"][after.positions(same)])
    assert after["n"].sum() == before["n"].sum() + len(table["user"])


@pytest.mark.slow
@pytest.mark.parametrize("steps", [0, 3])
def test_als_of_two_workers_goes_on_as_one_does(tmp_path, steps):
    p = tux.ALS(rank=RANK, steps=steps)
    tux.run(p, OLD, epochs=3, progress=False, out=tmp_path / "old")
    one, two = (
        tux.run(p, NEW, from_run=tmp_path / "old", epochs=1, workers=workers, progress=False)
        for workers in (1, 2)
    )
    for kind in ("user", "item"):
        a, b = (run.vertices[kind] for run in (one, two))
        np.testing.assert_allclose(a["f"], b["f"][b.positions(a.ids)], rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("biases", [False, True])
def test_mf_keeps_who_has_no_new_rating(biases):
    p = tux.MF(rank=RANK, biases=biases)
    old = tux.run(p, OLD, epochs=4, jit=False, progress=False)
    new = tux.run(p, NEW, from_run=old, epochs=4, jit=False, progress=False)
    before, after = (run.vertices["user"] for run in (old, new))
    others = [user for user in before.ids.tolist() if user not in NEW["user"]]
    at, then = before.positions(others), after.positions(others)
    assert np.array_equal(before["f"][at], after["f"][then])
    assert np.array_equal(before["G"][at], after["G"][then])
    moved = after.positions([3, 7])
    f, g = before["f"][before.positions([3, 7])], after["f"][moved]
    cosine = (f * g).sum(axis=1) / np.linalg.norm(f, axis=1) / np.linalg.norm(g, axis=1)
    assert (cosine > 0.5).all() and not np.array_equal(f, g)
    assert (after["G"][moved] > before["G"][before.positions([3, 7])])[:, 0].all()
    assert new.history["train_rmse"][-1] < new.history["train_rmse"][0]
    assert new.context["mean"] == old.context["mean"]


@pytest.mark.parametrize("more", [{}, {"fit_intercept": True, "loss": "squared"}])
def test_a_linear_model_is_tied_to_its_weights_by_what_it_has_seen(more):
    from scipy import sparse
    from scipy.optimize import minimize

    rng = np.random.default_rng(5)
    truth = rng.normal(size=6)

    def draw(n):
        x = rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.6)
        return x, np.where(x @ truth + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)

    p = tux.Linear(l2=0.5, tol=1e-9, **more)
    (x0, y0), (x1, y1) = draw(80), draw(30)
    old = tux.run(p, (sparse.csr_matrix(x0), y0), epochs=60, jit=False, progress=False)
    new = tux.run(
        p, (sparse.csr_matrix(x1), y1), from_run=old, epochs=60, jit=False, progress=False
    )
    w0, w1 = (run.vertices["feature"]["w"] for run in (old, new))
    squared = "loss" in more
    stiffness = (x0.astype("f4") ** 2).sum(axis=0) * (1.0 if squared else 0.25)
    b = float(old.context["b"][0])

    def objective(w):
        m = x1.astype("f4") @ w + b
        loss = ((m - y1) ** 2 / 2) if squared else np.logaddexp(0, -y1 * m)
        return loss.sum() + ((stiffness + 0.5) * (w - w0) ** 2).sum() / 2

    expected = minimize(objective, w0, method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(w1, expected, atol=2e-5)
    assert np.abs(w1 - w0).max() > 1e-3 and new.context["b"][0] == b
    found = new.vertices["feature"]["stiffness"].ravel()
    more_of_it = (x1.astype("f4") ** 2).sum(axis=0) * (1.0 if squared else 0.25)
    np.testing.assert_allclose(found, stiffness + more_of_it, rtol=1e-5)


@pytest.mark.parametrize("sampler", ["sparse", "warp"])
def test_lda_counts_new_documents_beside_the_old_ones(sampler):
    texts = [["a", "b", "a", "c"], ["b", "c", "d"], ["a", "d", "d", "e"]]
    more = [["a", "f", "f"], ["e", "c", "b", "b"]]
    p = tux.LDA(topics=3, sampler=sampler)
    old = tux.run(p, texts, epochs=3, jit=False, progress=False)
    new = tux.run(p, more, from_run=old, epochs=3, jit=False, progress=False)
    words = new.vertices["word"]
    count = dict(zip(words.ids.tolist(), words["n"].sum(axis=1).tolist(), strict=True))
    expected = dict.fromkeys(words.ids.tolist(), 0)
    for text in (*texts, *more):
        for word in text:
            expected[word] += 1
    assert count == expected
    assert new.context["n"].sum() == sum(expected.values())
    assert new.context["V"] == len(expected) and len(new.vertices["document"].ids) == len(more)
    assert np.isfinite(new.history["loglik_per_token"]).all()


@pytest.mark.parametrize("batch", [0, 5])
@pytest.mark.parametrize("dense", [False, True])
def test_centers_move_to_the_means_of_all_samples_so_far(dense, batch):
    rng = np.random.default_rng(3)
    middles = np.array([[0.0, 9.0, 1.0], [9.0, 0.0, 2.0]])
    first, then = (middles[rng.integers(0, 2, n)] + rng.normal(0, 0.1, (n, 3)) for n in (40, 12))
    if dense:
        p, tables = tux.PointKMeans(n_clusters=2, batch_size=batch), [first, then]
    else:
        from scipy import sparse

        p = tux.SparseKMeans(n_clusters=2, batch_size=batch)
        tables = [sparse.csr_matrix(each) for each in (first, then)]
    old = tux.run(p, tables[0], epochs=5, jit=False, progress=False)
    new = tux.run(p, tables[1], from_run=old, epochs=5, jit=False, progress=False)
    size = old.context["size"][0]
    grown = new.context["size"][0] - size
    if batch:  # each of the five epochs lets the samples join once more
        assert grown.sum() == 5 * len(then) and (grown > 0).all()
        return
    joined = np.bincount(new.vertices["sample"]["cluster"], minlength=2)
    assert grown.tolist() == joined.tolist() and joined.sum() == 12

    def sums(run):
        if dense:
            return run.context["center"].reshape(2, 3) * run.context["size"][0][:, None]
        return run.vertices["feature"]["s"].T

    mine = [then[new.vertices["sample"]["cluster"] == k].sum(axis=0) for k in range(2)]
    np.testing.assert_allclose(sums(new) - sums(old), mine, rtol=1e-3, atol=1e-3)


def test_walks_begin_at_new_vertices_alone():
    ring = [(n, (n + k) % 40) for n in range(40) for k in (1, 2)]
    p = tux.DeepWalk(dimensions=4, num_walks=2, walk_length=5, window=2)
    old = tux.run(p, ring, jit=False, progress=False)
    more = [*ring, (90, 91), (91, 92), (90, 92)]  # which no other walk comes by
    new = tux.run(p, more, from_run=old, jit=False, progress=False)
    begun = tux.run(p, more, from_run=old, epochs=0, jit=False, progress=False)
    before, after = (run.vertices["node"] for run in (old, new))
    assert after.ids.tolist()[40:] == [90, 91, 92]
    assert np.array_equal(before["u"], after["u"][:40])
    moved = np.abs(after["u"][40:] - begun.vertices["node"]["u"][40:]).max(axis=1)
    assert (moved > 0).all()
    assert np.abs(after["c"][40:]).max(axis=1).min() > 0


def test_a_new_item_says_nothing_to_users_before_it_is_found():
    """Its first factors are random, and would turn the vectors of all who have rated it."""
    p = tux.ALS(rank=RANK)
    old = tux.run(p, OLD, epochs=5, jit=False, progress=False)
    users = np.arange(30)
    fresh = {"user": users, "item": np.full(30, 999), "value": np.full(30, 3.0)}
    new = tux.run(p, fresh, from_run=old, jit=False, progress=False)
    before, after = (run.vertices["user"]["f"] for run in (old, new))
    cosine = (before * after).sum(axis=1)
    cosine /= np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    assert cosine.min() > 0.95
    found = new.predict({"user": users, "item": fresh["item"]})
    assert np.abs(np.asarray(found) - 3.0).mean() < 0.7


@pytest.mark.parametrize("loss", ["bpr", "warp"])
def test_bpr_moves_a_vertex_the_less_the_more_pairs_it_had(loss):
    p = tux.BPR(rank=RANK, loss=loss)
    old = tux.run(p, OLD, epochs=10, jit=False, progress=False)
    new = tux.run(p, NEW, from_run=old, epochs=10, jit=False, progress=False)
    for kind in ("user", "item"):
        before, after = (run.vertices[kind] for run in (old, new))
        seen = np.isin(before.ids, NEW[kind])
        assert np.array_equal(after.ids[: len(before.ids)], before.ids)
        pairs = np.concatenate([OLD[kind], NEW[kind]])
        assert after["n"].tolist() == [np.sum(pairs == each) for each in after.ids]
        f, g = before["f"], after["f"][: len(before.ids)]
        if kind == "user":  # an item is compared with others, whether it has new pairs or not
            assert np.array_equal(f[~seen], g[~seen]) and not np.array_equal(f[seen], g[seen])
        cosine = (f * g).sum(axis=1) / np.linalg.norm(f, axis=1) / np.linalg.norm(g, axis=1)
        assert cosine.min() > 0.9


def test_bpr_learns_from_one_new_user_alone():
    p = tux.BPR(rank=RANK)
    old = tux.run(p, OLD, epochs=10, jit=False, progress=False)
    fresh = {"user": np.full(4, 500), "item": np.array([100, 103, 107, 119])}
    new = tux.run(p, fresh, from_run=old, epochs=200, jit=False, progress=False)
    items = new.vertices["item"]
    products = items["f"] @ new.vertices["user"].at([500])["f"][0]
    has = np.isin(items.ids, fresh["item"])
    assert products[has].min() > products[~has].mean()
    assert new.vertices["user"]["n"].tolist()[-1] == 4
