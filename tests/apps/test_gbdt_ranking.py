"""Boosted trees that rank, beside a plain oracle: slopes, trees, measures, workers, new data; and
what is refused.
"""

from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.team import Team
from support.messages import message
from support.oracles import ranking_oracle as oracle
from support.oracles.gbdt_oracle import FIELDS, edges_of, grow, score_samples

import tux
from tux.apps.gbdt import lambdas, queries, ranking
from tux.apps.gbdt.gbdt import GBDT
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, UsageError
from tux.program.program import rebuild

DEPTH = 2
SIZES = [9, 1, 14, 5, 11, 2]
PLAIN = {"jit": False, "progress": False}


def program(**of):
    shape = {"max_iter": 2, "max_depth": DEPTH, "min_child_weight": 0.01}
    return rebuild(GBDT, {"loss": "lambdarank"} | shape | of)


def ranked_edges(x, y, query, train=None):
    """Return samples with queries as edges, behind those of training if they are given."""
    made = edges_of(x.astype("f4"), y.astype("f4"), train=train)
    known, query = made.vertex_fields["sample"], query.astype("i4")
    if train is not None:
        before = train.vertex_fields["sample"]["query"]
        query = np.concatenate([before, query + before.max() + 1])
    fields = {"sample": {**known, "query": query}}
    return EdgeData(made.ends, made.ids, made.src, made.dst, made.fields, vertex_fields=fields)


def forest(context):
    width = 2 ** (DEPTH + 1)
    return {name: np.asarray(context[name]).reshape(-1, width) for name in FIELDS}


# Formulas.


@pytest.mark.parametrize("truncation", [1, 3, 30])
@pytest.mark.parametrize("scores", ["drawn", "equal", "few"])
def test_slopes_are_those_of_the_oracle(truncation, scores):
    _, y, query = oracle.draw_queries(SIZES)
    m = np.random.default_rng(1).normal(size=len(y))
    m = {"drawn": m, "equal": np.zeros(len(y)), "few": np.rint(m)}[scores]
    order = np.lexsort((np.arange(len(y)), -m, query))
    bounds = np.cumsum([0, *SIZES])
    wanted = oracle.slopes(m, y, query, truncation)
    found = lambdas.slopes(bounds, m[order], y[order].astype(float), truncation)
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other[order], rel=1e-9, abs=1e-12)
    assert found[0][9] == found[1][9] == 0  # the only sample of its query
    assert lambdas.mean_ndcg(bounds, y[order].astype(float), 5) == pytest.approx(
        oracle.ndcg(m, y, query, 5)
    )


def test_far_scores_overflow_nothing():
    bounds, grade = np.array([0, 3]), np.array([0.0, 31.0, 3.0])
    for span in (1e3, 1e300):
        g, h = lambdas.slopes(bounds, span * np.array([1.0, 0.0, -1.0]), grade, 30)
        assert np.isfinite(g).all() and np.isfinite(h).all()
        assert g[1] < 0 < g[0] and (h >= 0).all()


def test_a_query_without_a_grade_counts_as_1():
    assert lambdas.mean_ndcg(np.array([0, 2, 4]), np.array([0.0, 0, 0, 1]), 1) == 0.5
    g, h = lambdas.slopes(np.array([0, 2]), np.array([1.0, 0]), np.zeros(2), 30)
    assert not g.any() and not h.any()


# Functions.


def context(n):
    told = {name: np.zeros(n) for name in ("told_score", "told_grade")}
    told |= {"told_query": np.zeros(n, int), "slope": np.zeros((2, n))}
    return Row(**told, base=0.0, tree=0, copies=1.0, most_g=0.0, most_h=0.0)


def test_samples_of_a_query_need_not_follow_each_other():
    _, y, query = oracle.draw_queries([4, 5])
    m = np.random.default_rng(2).normal(size=9)
    mixed = np.random.default_rng(3).permutation(9)
    tau, p = context(12), Row(truncation=30, ndcg_at=10)
    for i in mixed:
        ranking.tell(Row(id=i + 2, score=m[i], label=y[i], query=query[i]), tau)
    ranking.compare(tau, p)
    g, h = oracle.slopes(m, y, query)
    assert tau.slope[:, 2:11] == pytest.approx(np.array([g, h]))
    assert not tau.slope[:, [0, 1, 11]].any()
    assert tau.train_ndcg == pytest.approx(oracle.ndcg(m, y, query))
    sample = Row(id=2, c=0.5, g=0.0, h=0.0)
    ranking.take(sample, tau)
    assert (sample.g, sample.h) == (pytest.approx(g[0] / 2), pytest.approx(h[0] / 2))
    assert tau.most_g == abs(sample.g) and tau.most_h == sample.h


@pytest.mark.parametrize("label", [-1.0, 0.5, 32.0, 1e30])
def test_labels_that_are_no_grades_are_refused(label):
    tau = context(2)
    for i, grade in enumerate([label, 1.0]):
        ranking.tell(Row(id=i, score=0.0, label=grade, query=0), tau)
    with pytest.raises(DataError, match=message("the-labels-of-are-no")):
        queries.rank(tau)


def test_nothing_to_compare_is_refused():
    tau, p = context(3), Row(truncation=30, ndcg_at=10)
    for i, (grade, query) in enumerate([(1.0, 0), (1.0, 0), (0.0, 1)]):
        ranking.tell(Row(id=i, score=0.0, label=grade, query=query), tau)
    with pytest.raises(DataError, match=message("no-query-has-samples-of")):
        ranking.compare(tau, p)


def test_pairs_are_those_of_grades_however_far_scores_are_apart():
    tau, p = context(2), Row(truncation=30, ndcg_at=10)
    for i, (grade, score) in enumerate([(1.0, 2000.0), (0.0, -2000.0)]):
        ranking.tell(Row(id=i, score=score, label=grade, query=0), tau)
    ranking.compare(tau, p)
    assert tau.train_ndcg == 1.0 and not tau.slope.any()


def test_queries_of_edges_are_numbers_from_0():
    x, y, query = oracle.draw_queries([3, 4])
    with pytest.raises(DataError, match="query -1 of sample .* queries are to be numbers from 0"):
        run(ranked_edges(x, y, query - 1))


# Runs.


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_trees_are_those_of_the_oracle(k):
    x, y, query = oracle.draw_queries(SIZES)
    new = oracle.draw_queries([7, 8], seed=5)
    wanted, m = grow(
        x.astype("f4"),
        y.astype("f4"),
        lambda y, m: oracle.slopes(m, y, query, 4),
        trees=2,
        depth=DEPTH,
        least_h=0.01,
    )
    edges = ranked_edges(x, y, query)
    held = ranked_edges(*new, train=edges)
    how = {"by": "target", "slack": k - 1, "delivery": k} if k > 1 else {}
    of = {"truncation": 4, "ndcg_at": 3, "ranked_samples": len(y) + len(new[1])}
    team = Team(program(**of), edges, held, k=k, jit=False, **how).train(2)
    for name in FIELDS:
        found = np.array(getattr(team.tau, name))
        assert found == pytest.approx(wanted[name], rel=1e-5, abs=1e-6), name
    assert team.history("train_ndcg")[-1] == pytest.approx(oracle.ndcg(m, y, query, 3))
    scores = score_samples(wanted, new[0], 0.0)
    told = oracle.ndcg(scores.astype("f4"), new[1], new[2], 3)
    assert team.history("test_ndcg")[-1] == pytest.approx(told)


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("delivery", range(4))
def test_samples_wait_for_their_slopes_at_any_slack(delivery):
    edges = ranked_edges(*oracle.draw_queries(SIZES))
    of = {"ranked_samples": sum(SIZES), "max_iter": 3}
    one = Team(program(**of), edges, k=1, jit=False).train(3)
    how = {"k": 3, "by": "target", "slack": 8, "delivery": delivery}
    team = Team(program(**of), edges, jit=False, **how).train(3)
    for name in FIELDS:
        assert np.array_equal(getattr(team.tau, name), getattr(one.tau, name)), name


def run(data, of=(), **options):
    return tux.run(program(**dict(of)), data, **PLAIN | options)


def with_weights(x, y, query):
    return x, y, None, query


@pytest.mark.slow
def test_a_run_keeps_the_epoch_whose_ndcg_is_largest():
    test = with_weights(*oracle.draw_queries([9, 9, 9], seed=7))
    of = {"max_iter": 8, "learning_rate": 1.0}
    found = run(with_weights(*oracle.draw_queries(SIZES)), of, test=test, patience=3)
    told = found.history["test_ndcg"]
    best = int(np.argmax(told))
    assert len(told) == min(8, best + 4)
    assert found.context["tree"][0] == best + 1
    assert oracle.ndcg(found.predict(test[0]), test[1], test[3]) == pytest.approx(told[best])


@pytest.mark.slow
def test_new_trees_follow_those_of_a_model():
    x, y, query = oracle.draw_queries([8, 7], seed=4)
    old = run(ranked_edges(*oracle.draw_queries([20, 10], seed=3)), epochs=1)
    new = run(ranked_edges(x, y, query), epochs=1, from_run=old)
    before = {name: field[:1] for name, field in forest(old.context).items()}
    more, m = grow(
        x.astype("f4"),
        y.astype("f4"),
        lambda y, m: oracle.slopes(m, y, query),
        trees=1,
        depth=DEPTH,
        least_h=0.01,
        scores=score_samples(before, x, 0.0),
        copies=3.0,
    )
    found = new.export("trees")
    for name in FIELDS:
        assert found[name][1:] == pytest.approx(more[name], rel=1e-5, abs=1e-6), name
    assert np.asarray(new.predict(x)) == pytest.approx(m, rel=1e-5, abs=1e-6)
    told = new.export("xgboost")["learner"]
    assert told["objective"]["name"] == "rank:ndcg"
    assert float(told["learner_model_param"]["base_score"]) == 0


@pytest.mark.slow
def test_weights_count():
    x, y, query = oracle.draw_queries([10, 12])
    weight = np.where(query == 0, 1.0, 0.0)
    one, of = query == 0, {"max_iter": 1}
    found = run((x, y, weight, query), of)
    alone = run(with_weights(x[one], y[one], query[one]), of)
    assert found.context["weight"] == pytest.approx(alone.context["weight"], rel=1e-5)


@pytest.mark.parametrize("name", ["truncation", "ndcg_at"])
def test_parameters_of_other_losses_are_refused(name):
    with pytest.raises(UsageError, match=message("has-no-effect-with-the-3", name)):
        GBDT(**{name: 7})


def test_other_losses_have_no_field_of_it():
    plain = GBDT()
    assert "query" not in plain.vertices["sample"].fields
    assert not queries.RANKED.keys() & plain.context.fields.keys()
    assert "query" in program().vertices["sample"].fields


# Files.


def write(path, x, y, query):
    """Write a libsvm file, whose features are numbered from 1."""
    rows = []
    for values, grade, q in zip(x.tolist(), y, query, strict=True):
        entries = " ".join(f"{k + 1}:{value}" for k, value in enumerate(values))
        rows.append(f"{grade} qid:{q + 1} {entries}\n")
    path.write_text("".join(rows))
    return str(path)


@pytest.mark.slow
def test_files_and_what_is_refused_of_them(tmp_path, command):
    data = write(tmp_path / "train.svm", *oracle.draw_queries(SIZES))
    test = write(tmp_path / "test.svm", *oracle.draw_queries([6, 6], seed=2))
    shape = "--loss lambdarank --max-iter 2 --max-depth 2 --no-jit"
    code, said = command(f"run gbdt {data} {shape} --test {test} --out {tmp_path / 'run'}")
    assert code == 0 and "test_ndcg" in said and "qid" not in said, said
    code, said = command(f"predict {tmp_path / 'run'} {test} --out {tmp_path / 'scores.csv'}")
    assert code == 0 and (tmp_path / "scores.csv").read_text().startswith("sample,score\n1,"), said
    code, said = command(f"run gbdt {data} {shape} --workers 2")
    assert code == 0, said
    for words, told in (
        (f"{data} --loss squared --max-iter 1 --no-jit", "qid, the query of each row, is left out"),
        (f"{data} --loss squared --query q", "does not rank samples here"),
        (shape, "ranks samples within queries, which generated samples do not tell"),
    ):
        assert told in command(f"run gbdt {words}")[1]
    parts = tmp_path / "parts"
    code, said = command(f"partition {data} --parts 1 --numeric --out {parts}")
    assert code == 0, said
    code, said = command(f"run gbdt {parts} {shape}")
    assert code == 2 and "name the file of samples itself" in said, said


@pytest.mark.slow
@pytest.mark.parametrize("truncation", [3, 30])
@pytest.mark.parametrize("scores", ["equal", "drawn", "few"])
def test_slopes_are_those_of_lightgbm(truncation, scores):
    """Of a feature that differs in all samples, each leaf of its tree has the weight -G / (H + 1).
    It looks sigmoids up in a table, and keeps g and h in 32 bits.
    """
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    _, y, query = oracle.draw_queries([*SIZES, 40])
    m = np.random.default_rng(1).normal(size=len(y))
    m = {"drawn": m, "equal": np.zeros(len(y)), "few": np.rint(m)}[scores]
    g, h = oracle.slopes(m, y, query, truncation)
    settings = {"objective": "lambdarank", "lambdarank_truncation_level": truncation}
    settings |= {"num_leaves": 1000, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1e-12}
    settings |= {"lambda_l2": 1.0, "learning_rate": 1.0, "min_data_in_bin": 1, "max_bin": 1000}
    settings |= {"feature_pre_filter": False, "verbose": -1, "num_threads": 1}
    x = np.arange(len(y), dtype=float)[:, None]
    data = lightgbm.Dataset(x, y, group=np.bincount(query), init_score=m, params=settings)
    peer = lightgbm.train(settings, data, 1)
    _, leaf = np.unique(peer.predict(x, pred_leaf=True).ravel(), return_inverse=True)
    weight = -np.bincount(leaf, g) / (np.bincount(leaf, h) + 1)
    assert peer.predict(x) == pytest.approx(weight[leaf], abs=1e-4) and leaf.max() > 4


@pytest.mark.long
def test_it_ranks_as_well_as_lightgbm():
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    sizes = np.random.default_rng(0).integers(20, 60, 150)
    (x, y, query), test = (oracle.draw_queries(sizes, 10, seed) for seed in (1, 2))
    shape = {"max_iter": 60, "learning_rate": 0.1, "max_depth": 6, "min_child_weight": 1.0}
    own = tux.run(program(**shape), with_weights(x, y, query), progress=False).predict(test[0])
    settings = {"objective": "lambdarank", "learning_rate": 0.1, "max_depth": 6, "num_leaves": 64}
    settings |= {"min_sum_hessian_in_leaf": 1.0, "lambda_l2": 1.0, "min_data_in_leaf": 1}
    settings |= {"verbose": -1, "num_threads": 1}
    peer = lightgbm.train(settings, lightgbm.Dataset(x, y, group=np.bincount(query)), 60)
    one, other = (oracle.ndcg(each, *test[1:]) for each in (own, peer.predict(test[0])))
    assert one > other - 0.01
