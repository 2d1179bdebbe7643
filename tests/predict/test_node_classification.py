"""Scores: classification by regressions that scikit-learn finds too, F1 and AUC by their
definitions, and edges held out.
"""

import numpy as np
import pytest

from tux.apps.deepwalk.scoring import apart, dots, score_embedding
from tux.graph.links import hold_out_links
from tux.io.edges.read import read_edges
from tux.io.vertices.labels import VertexLabels, read_vertex_labels
from tux.predict.node_classification import (
    _fit,
    _rotate_to_gram,
    auc,
    f1,
    f1_scores,
    log_odds,
    logistic,
    most_likely,
)


def make_samples(n=300, d=6, labels=5, seed=0):
    """Make features, and labels that depend on them; everybody has one at least."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    chance = x @ rng.normal(size=(d, labels)) + rng.normal(size=(n, labels)) - 1
    member = chance > 0
    member[np.arange(n), chance.argmax(1)] = True
    return x, member


# ---- the regression


def test_the_gradient_at_the_minimum_is_zero():
    """And the sum is the one in the text: w + sum_i -y_i (1 - sigma(y_i (w x_i + b))) x_i = 0, b
    likewise.
    """
    for scale in (0.01, 1.0, 100.0):
        x, member = make_samples()
        x *= scale
        w, b = logistic(x, member, c=2.0)
        for label in range(member.shape[1]):
            y = np.where(member[:, label], 1.0, -1.0)
            wrong = 1 / (1 + np.exp(np.clip(y * (x @ w[:, label] + b[label]), -500, 500)))
            whole, all_of_it = (
                np.column_stack([x, np.ones(len(x))]),
                np.append(w[:, label], b[label]),
            )
            assert np.linalg.norm(all_of_it - 2.0 * (y * wrong) @ whole) < 1e-4 * np.linalg.norm(
                (y * 0.5) @ whole * 2.0
            )


def test_few_products_solve_for_features_of_any_scale(monkeypatch):
    """Correlated features, of lengths between 0.01 and 100: the preconditioner makes up for
    both, so that 12 turns are enough.
    """
    monkeypatch.setattr("tux.predict.node_classification.TURNS", 12)
    monkeypatch.setattr("tux.predict.node_classification.STEPS", 12)
    rng = np.random.default_rng(0)
    x, member = make_samples(2000, 20, 7)
    x = x @ rng.normal(size=(20, 20)) * np.logspace(-2, 2, 20)
    w, b = logistic(x, member)
    sign = np.where(member, 1.0, -1.0)
    wrong = 1 / (1 + np.exp(np.clip(sign * log_odds(x, w, b), -500, 500)))
    ones, whole = np.column_stack([x, np.ones(len(x))]), np.vstack([w, b])
    left = np.linalg.norm(whole - ones.T @ (sign * wrong), axis=0)
    assert (left < 1e-4 * np.linalg.norm(ones.T @ sign / 2, axis=0)).all()


def test_a_larger_share_may_start_anywhere():
    """The minimum is where it is, wherever the search for it starts."""
    x, member = make_samples()
    axes, _ = _rotate_to_gram(x)
    cold = _fit(axes, member, 1.0)
    warm = _fit(axes, member, 1.0, cold + np.random.default_rng(0).normal(size=cold.shape))
    np.testing.assert_allclose(warm, cold, atol=1e-3)


def test_separable_labels_and_lone_ones():
    x = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    w, b = logistic(x, np.array([[False, False], [False, False], [True, False], [True, True]]))
    assert (
        w[0, 0] > 0
        and ((log_odds(x, w, b)[:, 0] > 0) == [False, False, True, True]).all()
        and np.isfinite(w).all()
    )
    assert log_odds(x, w, b)[:, 1].argmax() == 3
    w, b = logistic(np.zeros((4, 3)), np.zeros((4, 0), bool))
    assert w.shape == (3, 0) and b.shape == (0,)


def test_labels_solved_in_groups(monkeypatch):
    x, member = make_samples()
    whole = logistic(x, member)
    monkeypatch.setattr("tux.predict.node_classification.CELLS", 2 * len(x))
    for part, same in zip(logistic(x, member), whole, strict=True):
        np.testing.assert_allclose(part, same, rtol=1e-9)


def test_as_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    x, member = make_samples(400, 8)
    w, b = logistic(x, member)
    for label in range(member.shape[1]):
        fit = linear.LogisticRegression(solver="liblinear", C=1.0, tol=1e-8, max_iter=1000).fit(
            x, member[:, label]
        )
        np.testing.assert_allclose(w[:, label], fit.coef_[0], atol=2e-3)
        np.testing.assert_allclose(b[label], fit.intercept_[0], atol=2e-3)


# ---- F1


def test_f1_by_hand():
    true = np.array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], bool)
    given = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 0]], bool)
    # hits 1 1 0 0; TP 2, FP 2, FN 2 in all; labels 1, 2/3... of 2 TP / (2 TP + FP + FN): 2/2, 2/4,
    # 0/2, nothing
    assert f1(true, given) == pytest.approx((4 / 8, (1 + 0.5 + 0 + 0) / 4))


def test_f1_as_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = np.random.default_rng(1)
    true, given = rng.random((50, 7)) < 0.3, rng.random((50, 7)) < 0.3
    true[:, 3] = given[:, 3] = False
    expected = [
        metrics.f1_score(true, given, average=how, zero_division=0) for how in ("micro", "macro")
    ]
    assert f1(true, given) == pytest.approx(expected)


def test_as_many_labels_as_are_known():
    scores = np.array([[0.1, 0.9, 0.5], [0.3, 0.3, 0.3], [-np.inf, 2.0, np.inf]])
    assert most_likely(scores, np.array([2, 1, 3])).tolist() == [
        [False, True, True],
        [True, False, False],
        [True, True, True],
    ]
    assert not most_likely(scores, np.array([0, 0, 0])).any()


def test_scores_of_good_and_of_no_features():
    x, member = make_samples(400)
    good, none = (
        f1_scores(features, member, shuffles=3)
        for features in (x, np.random.default_rng(9).normal(size=x.shape))
    )
    assert list(good) == [
        f"{kind}_f1_{share}" for share in (10, 50, 90) for kind in ("micro", "macro")
    ]
    assert (
        good["micro_f1_50"] > 0.75 > 0.6 > none["micro_f1_50"]
        and good["macro_f1_50"] > none["macro_f1_50"]
    )
    assert f1_scores(x.astype("f4"), member, (0.5,), 3, seed=1) == f1_scores(
        x.astype("f4"), member, (0.5,), 3, seed=1
    )
    assert f1_scores(x, member, (0.5,), 1, seed=1) != f1_scores(x, member, (0.5,), 1, seed=2)


def test_what_is_done_is_told():
    """Shares of the work: one for each share and shuffle, from above 0 to 1."""
    x, member = make_samples(100)
    told = []
    f1_scores(x, member, (0.9, 0.5), 3, progress=told.append)
    assert (
        len(told) == 6
        and told == sorted(set(told))
        and told[-1] == pytest.approx(1)
        and told[0] > 0
    )


def test_any_number_of_threads(monkeypatch):
    x, member = make_samples(200)
    several = f1_scores(x, member, shuffles=4)
    monkeypatch.setattr("tux.predict.node_classification.cores", lambda: 1)
    assert f1_scores(x, member, shuffles=4) == pytest.approx(several, abs=0.02)


def test_vertices_without_labels_do_not_count():
    x, member = make_samples(100)
    more = np.concatenate([x, 1e3 * np.ones((50, x.shape[1]))])
    assert f1_scores(
        more, np.concatenate([member, np.zeros((50, 5), bool)]), (0.5,), 2
    ) == f1_scores(x, member, (0.5,), 2)
    assert f1_scores(x[:3], member[:3], (0.1, 0.5, 0.999), 1).keys() == {
        "micro_f1_50",
        "macro_f1_50",
        "micro_f1_99.9",
        "macro_f1_99.9",
    }
    assert f1_scores(x, np.zeros((100, 5), bool)) == {}


def test_a_label_that_all_have_and_one_that_few_have():
    x, member = make_samples(60, labels=2)
    member[:, 0], member[:, 1] = True, False
    member[7, 1] = True
    assert f1_scores(x, member, (0.5,), 4)["micro_f1_50"] > 0.95


# ---- links


def test_auc_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(0)
    positive, negative = rng.integers(0, 6, 40) / 2 + 0.5, rng.integers(0, 6, 31) / 2
    pairs = [1.0 if p > n else 0.5 if p == n else 0.0 for p in positive for n in negative]
    assert auc(positive, negative) == pytest.approx(np.mean(pairs), abs=1e-15)
    assert auc(np.ones(3), np.ones(2)) == 0.5 and auc(np.ones(3), np.zeros(2)) == 1.0
    assert np.isnan(auc(np.ones(0), np.ones(2)))


def graph(n=60, m=300, seed=0):
    """Return random edges, some repeated, some in both directions, some loops."""
    src, dst = np.random.default_rng(seed).integers(0, n, (2, m)).astype(np.int32)
    return np.concatenate([src, src[:40], dst[20:60]]), np.concatenate([dst, dst[:40], src[20:60]])


def undirected_pairs(src, dst):
    return {
        (min(u, v), max(u, v)) for u, v in zip(src.tolist(), dst.tolist(), strict=True) if u != v
    }


def test_pairs_that_no_edge_joins():
    src, dst = graph(12, 60)
    u, v = apart(src, dst, 12, 500, seed=1)
    assert (
        len(u) == 500 and (u < v).all() and not undirected_pairs(u, v) & undirected_pairs(src, dst)
    )
    everything = {(a, b) for a in range(12) for b in range(a + 1, 12)}
    assert undirected_pairs(u, v) == everything - undirected_pairs(
        src, dst
    )  # each is found among so many
    whole = np.triu_indices(5, 1)
    assert (
        len(apart(*whole, 5, 10)[0]) == 0
        and len(apart(np.zeros(0, int), np.zeros(0, int), 1, 3)[0]) == 0
    )


def test_dot_products_in_pieces(monkeypatch):
    monkeypatch.setattr("tux.apps.deepwalk.scoring.PIECE", 3)
    vectors = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    u, v = np.arange(5), np.arange(1, 6)
    np.testing.assert_allclose(
        dots(vectors, u, v),
        [vectors[i].astype(float) @ vectors[j] for i, j in zip(u, v, strict=True)],
    )


def test_an_embedding_judged():
    """Two groups, of which only members are joined: vectors that tell the groups know held-out
    edges and labels; others do not.
    """
    rng = np.random.default_rng(0)
    half = np.repeat([0, 1], 50)
    src, dst = rng.integers(0, 100, (2, 2000))
    inside = half[src] == half[dst]
    src, dst = src[inside], dst[inside]
    held = hold_out_links(src, dst, 100, 0.1)
    labels = VertexLabels(np.eye(2, dtype=bool)[half], np.arange(2), 0)
    good, bad = np.eye(2)[half] + 0.01 * rng.normal(size=(100, 2)), rng.normal(size=(100, 2))
    edges, pairs = (src[held.kept], dst[held.kept]), (held.src, held.dst)
    known, unknown = (
        score_embedding(vectors.astype("f4"), labels, pairs, edges, 0, (0.5,), 2)
        for vectors in (good, bad)
    )
    assert (
        known.keys() == {"micro_f1_50", "macro_f1_50", "link_auc"} and known["micro_f1_50"] == 1.0
    )
    assert (
        known["link_auc"] > 0.8
        and abs(unknown["link_auc"] - 0.5) < 0.2
        and unknown["micro_f1_50"] < 0.8
    )
    assert score_embedding(good, None, None, edges) == {}
    assert score_embedding(good, None, pairs, edges).keys() == {"link_auc"} and score_embedding(
        good, labels, None, edges
    ).keys() > {"macro_f1_90"}
    assert score_embedding(good, None, (src[:0], dst[:0]), edges) == {}


@pytest.mark.slow
def test_real_labels_by_neighbours(real_data):
    """Rows of PPI's adjacency, at random made short, know more of the labels than chance, and
    the same as liblinear makes of them.
    """
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    edges = read_edges(real_data / "labelled" / "PPI.ungraph.gz", ("node", "node"), {})
    labels = read_vertex_labels(real_data / "labelled" / "PPI.cmty.gz", edges.ids["node"])
    n = len(edges.ids["node"])
    rng = np.random.default_rng(0)
    throw, x = rng.normal(size=(n, 32)), np.zeros((n, 32))
    for one, other in ((edges.src, edges.dst), (edges.dst, edges.src)):
        np.add.at(x, one, throw[other])
    x /= np.sqrt(np.bincount(edges.src, minlength=n) + np.bincount(edges.dst, minlength=n) + 1)[
        :, None
    ]
    order = rng.permutation(n)
    seen, asked = order[: n // 2], order[n // 2 :]
    w, b = logistic(x[seen], labels.member[seen])
    count = labels.member[asked].sum(1)
    mine = f1(labels.member[asked], most_likely(log_odds(x[asked], w, b), count))
    fits = [
        linear.LogisticRegression(solver="liblinear").fit(x[seen], y) for y in labels.member[seen].T
    ]
    theirs = np.column_stack([fit.decision_function(x[asked]) for fit in fits])
    assert mine == pytest.approx(f1(labels.member[asked], most_likely(theirs, count)), abs=0.002)
    shuffled = f1(
        labels.member[asked], most_likely(rng.permutation(log_odds(x[asked], w, b)), count)
    )
    assert mine[0] > shuffled[0] + 0.01
