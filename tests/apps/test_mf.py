"""Matrix factorization: each UDF as plain Python, each kernel against plain numpy, and the whole
against a planted truth.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.oracles import oracle
from support.programs.programs import both, column, complete, drive, run_steps, start

from tux.apps.mf import mf, sgd
from tux.apps.mf.biases import CHOICES
from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.engine.training import Training
from tux.program.program import stages_of
from tux.program.stage import Cluster
from tux.stages import Apply, Exchange, GlobalSync, Score
from tux.synthetic.ratings import ratings


def make_ratings(users=40, items=25, n=400, test_share=0.1, seed=0, **options):
    """Draw training and held-out ratings of a planted model. Return them, and the noise floor."""
    data = ratings(users, items, n, rank=3, step=0, test_share=test_share, seed=seed, **options)
    train, test = data.split()
    edges = from_arrays(train["user"], train["item"], ends=("user", "item"), value=train["rating"])
    held = EdgeData.of(
        ("user", "item"), test["user"], test["item"], {"value": test["rating"]}, against=edges.ids
    )
    return edges, held, data.floor


EDGES, HELD, FLOOR = make_ratings()


def vertex(rng, rank, warm, squares=(0.7, 0.9, 0.8)):
    """Return a vertex as a UDF may meet it, in plain numpy."""
    f = rng.normal(size=rank)
    norm = np.array([f[:warm] @ f[:warm], f[warm:] @ f[warm:]])
    return SimpleNamespace(f=f, G=np.array(squares), norm=norm, bias=rng.normal())


def rating(value):
    return SimpleNamespace(value=value)


def context(**given):
    return SimpleNamespace(
        **{
            "n": 0,
            "sse": 0.0,
            "norms": 0.0,
            "mean": 3.5,
            "root": 0.9,
            "step": 0.09,
            "epoch": 1,
            **given,
        }
    )


def parameters(rank=6, warm=2, step=0.1, reg=0.05, biases=False):
    names = {"rank": rank, "warm": warm, "learning_rate": step, "reg": reg}
    return SimpleNamespace(**names, biases=CHOICES[biases])


@pytest.mark.parametrize(
    ("values", "unit"), [([2, 2], 0.4), ([-5] * 3, 1), ([100, 101], 20.1), ([0, 0], 1), ([0, 4], 2)]
)
def test_the_unit_of_nearly_equal_ratings_follows_their_size(values, unit):
    tau = context(mean=np.mean(values), square=np.mean(np.square(values)))
    sgd.choose_unit(tau, parameters())
    assert tau.root**2 == pytest.approx(unit, rel=1e-4) and tau.step == 0.1 * tau.root


def test_begin_puts_factors_in_the_ratings_units():
    v, tau, p = vertex(np.random.default_rng(0), 6, 2), context(root=0.8), parameters()
    v.f[:] = np.linspace(0, 1, 6)
    sgd.begin(v, tau, p)
    drawn = np.linspace(0, 1, 6)
    expected = np.concatenate([drawn[:2], 0.8 * (drawn[2:] - 0.5)]) * 0.8 / np.sqrt(6)
    np.testing.assert_allclose(v.f, expected)
    np.testing.assert_allclose(v.norm, [expected[:2] @ expected[:2], expected[2:] @ expected[2:]])
    np.testing.assert_allclose(v.G, [2 * 0.8**6, 4 * 0.8**6, 0.8])
    sgd.begin(v, tau, parameters(biases=True))
    assert v.G[2] == pytest.approx(0.8**4)


@pytest.mark.parametrize("warm", [1, 3, 6, 9])
def test_renorm(warm):
    v = vertex(np.random.default_rng(1), 6, warm)
    expected = v.norm.copy()
    v.norm[:] = 99
    sgd.renorm(v, parameters(warm=warm))
    np.testing.assert_allclose(v.norm, expected)


@pytest.mark.parametrize("group", [0, 1])
def test_advance_follows_the_gradient_without_a_pass_over_it(group):
    rng, p = np.random.default_rng(2), parameters()
    v, other, err = vertex(rng, 6, 2), vertex(rng, 6, 2), 0.7
    part = slice(0, 2) if group == 0 else slice(2, 6)
    gradient = p.reg * v.f[part] - err * other.f[part]
    squares = v.G[group]
    factor = sgd.advance(v, group, other.norm[group], v.f[part] @ other.f[part], err, 0.3, p)
    assert factor == pytest.approx(0.3 / np.sqrt(squares), rel=1e-6)
    assert v.G[group] == pytest.approx(squares + np.sum(gradient**2), rel=1e-6)
    moved = v.f[part] - factor * gradient
    assert v.norm[group] == pytest.approx(moved @ moved, rel=1e-6)


def test_advance_without_a_step_leaves_a_group_alone():
    v = vertex(np.random.default_rng(2), 6, 2)
    before = v.G.copy(), v.norm.copy()
    assert sgd.advance(v, 1, 0.3, 0.2, 0.7, 0.0, parameters()) == 0
    assert np.array_equal(v.G, before[0]) and np.array_equal(v.norm, before[1])


@pytest.mark.parametrize(("rank", "warm"), [(6, 2), (3, 3), (2, 4), (1, 1)])
@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("biases", [False, True])
def test_sgd_in_plain_python(rank, warm, epoch, biases):
    rng, p = np.random.default_rng(3), parameters(rank, warm, biases=biases)
    tau = context(epoch=epoch)
    users, items = ([vertex(rng, rank, min(warm, rank)) for _ in range(n)] for n in (3, 2))
    edges = [(int(rng.integers(3)), int(rng.integers(2)), rng.normal(3.5, 1)) for _ in range(12)]
    arrays = [
        [np.array([getattr(v, name) for v in side]) for side in (users, items)]
        for name in ("f", "G")
    ]
    own = [np.array([v.bias for v in side]) for side in (users, items)]
    how = {"step": p.learning_rate * tau.root, "reg": p.reg, "warm": warm}
    if biases:
        how |= {"mean": tau.mean, "biases": own, "bias_step": p.learning_rate * tau.root**2}
    truth = oracle.SgdFactors(*arrays, **how)
    truth.train(edges, first_epoch=epoch == 0)
    for u, i, value in edges:
        sgd.sgd(users[u], items[i], rating(value), tau, p)
    for side, vertices in enumerate((users, items)):
        np.testing.assert_allclose(
            [v.f for v in vertices], truth.factors[side], rtol=2e-5, atol=1e-6
        )
        np.testing.assert_allclose([v.G for v in vertices], truth.squares[side], rtol=2e-5)
        expected = truth.biases[side] if biases else own[side]
        np.testing.assert_allclose([v.bias for v in vertices], expected, rtol=2e-5)
        for v in vertices:
            np.testing.assert_allclose(
                v.norm, [v.f[:warm] @ v.f[:warm], v.f[warm:] @ v.f[warm:]], rtol=1e-5, atol=1e-6
            )
    assert tau.n == 12 and tau.sse == pytest.approx(truth.sse, rel=1e-5)


def test_rate():
    rng, tau = np.random.default_rng(4), context()
    user, item, new = (
        vertex(rng, 6, 2),
        vertex(rng, 6, 2),
        SimpleNamespace(f=np.ones(6), norm=np.zeros(2), bias=0.0),
    )
    p = parameters()
    assert sgd.rate(user, item, tau, p) == pytest.approx(user.f @ item.f)
    assert sgd.rate(user, new, tau, p) == sgd.rate(new, item, tau, p) == 3.5
    p, added = parameters(biases=True), user.bias + item.bias
    assert sgd.rate(user, item, tau, p) == pytest.approx(3.5 + added + user.f @ item.f)
    assert sgd.rate(user, new, tau, p) == pytest.approx(3.5 + user.bias)
    assert sgd.rate(new, item, tau, p) == pytest.approx(3.5 + item.bias)


PROGRAM = {"rank": 7, "warm": 3, "reg": 0.02}


def state(worker, field):
    """Return the field of both types, by dense index."""
    return [column(worker, name, field).copy() for name in ("user", "item")]


@both
def test_setup_against_numpy(jit):
    worker = start(MF(**PROGRAM), EDGES, HELD, jit=jit)
    drawn = state(worker, "f")
    drive(worker, *stages_of(worker.program, "setup", Cluster()))
    n, mean, std = oracle.moments(EDGES.fields["value"])
    assert worker.tau.mean == pytest.approx(mean, rel=1e-6) and worker.tau.root == pytest.approx(
        std**0.5, rel=1e-6
    )
    for name, first, f, squares, norm in zip(
        ("user", "item"), drawn, *(state(worker, x) for x in ("f", "G", "norm")), strict=True
    ):
        known = worker.graph.vertices[name].n_train
        expected = np.where(np.arange(7) < 3, first, 0.8 * (first - 0.5)) * np.sqrt(std / 7)
        np.testing.assert_allclose(f[:known], expected[:known], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(squares[:known], [[3 * std**3, 4 * std**3]] * known, rtol=1e-5)
        np.testing.assert_allclose(norm[:known], norms(expected[:known], 3), rtol=1e-5)
        assert (norm[known:] == 0).all()


def norms(f, warm):
    """Return squared norms (n, 2) of the two groups of dimensions."""
    return np.stack([(f[:, :warm] ** 2).sum(1), (f[:, warm:] ** 2).sum(1)], axis=1)


@pytest.fixture(scope="module", params=[False, True], ids=["vectors", "biases"])
def plain_run(request):
    """Run three epochs in plain Python. Return the program, and by epoch the edges in the order in
    which they were visited.
    """
    visited, program = [], MF(**PROGRAM, biases=request.param)

    def note_visit(user, item, rating, tau, p):
        visited[-1].append((user._index, item._index, rating.value))
        sgd.sgd(user, item, rating, tau, p)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mf, "sgd", note_visit)
        worker = start(program, EDGES, HELD, jit=False)
        setup, stages = (
            worker.prepare(stages_of(worker.program, method, Cluster()))
            for method in ("setup", "stages")
        )
        worker.run(setup)
        for epoch in range(3):
            worker.epoch = epoch
            visited.append([])
            worker.run(stages)
    return program, visited


def test_three_epochs_against_numpy(plain_run):
    program, visited = plain_run
    worker = complete(program, EDGES, 0, test=HELD)
    tables, root = [worker.tables[name].arrays for name in ("user", "item")], worker.tau.root
    how = {"step": program.learning_rate * root, "reg": program.reg, "warm": program.warm}
    if program.biases:
        how |= {"mean": worker.tau.mean, "biases": [t["bias"] for t in tables]}
        how |= {"bias_step": program.learning_rate * root**2}
    truth = oracle.SgdFactors([t["f"] for t in tables], [t["G"] for t in tables], **how)
    stages = worker.prepare(stages_of(program, "stages", Cluster()))
    for epoch, edges in enumerate(visited):
        assert sorted(value for *_, value in edges) == sorted(EDGES.fields["value"].tolist())
        truth.train(edges, first_epoch=epoch == 0)
        worker.epoch = epoch
        worker.run(stages)
        for table, f, squares in zip(tables, truth.factors, truth.squares, strict=True):
            np.testing.assert_allclose(table["f"], f, rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(table["G"], squares, rtol=1e-3)
        for table, biases in zip(tables, truth.biases or (), strict=program.biases):
            np.testing.assert_allclose(table["bias"], biases, rtol=1e-3, atol=1e-4)
        assert worker.metrics()["train_rmse"] == pytest.approx(
            np.sqrt(truth.sse / len(edges)), rel=1e-4
        )
    assert visited[0] != visited[1]


@pytest.mark.parametrize("biases", [False, True])
def test_objective_is_that_of_the_model_before_each_step(biases):
    """With steps of nearly nothing it is the objective of the initial model."""
    how = PROGRAM | {"learning_rate": 1e-9, "warm": 7, "biases": biases}
    worker = complete(MF(**how), EDGES, 1)
    users, items = (f.astype(float) for f in state(worker, "f"))
    x, y = users[EDGES.src], items[EDGES.dst]
    errors = (EDGES.fields["value"] - biases * worker.tau.mean - (x * y).sum(1)) ** 2
    assert worker.metrics()["objective"] == pytest.approx(
        errors.sum() + 0.02 * ((x**2).sum() + (y**2).sum()), rel=1e-4
    )


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("batch", [0, 60])
def test_norms_kept_by_each_step_are_the_true_ones(batch):
    worker = complete(MF(batch_size=batch, **PROGRAM), EDGES, 3)
    exchange = Exchange(mf.sgd, over="item").prepare(worker)
    for epoch in range(3, 6):
        worker.epoch = epoch
        exchange.run()
    for f, norm in zip(state(worker, "f"), state(worker, "norm"), strict=True):
        np.testing.assert_allclose(norm, norms(f.astype(float), 3), rtol=1e-3, atol=1e-4)


def train_mf(epochs, edges, held, **options):
    worker = start(MF(**options), edges, held)
    return list(Training(worker).epochs(epochs)), worker


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("batch", [0, 3000], ids=["one batch", "batches"])
def test_a_planted_model_is_recovered(batch):
    edges, held, floor = make_ratings(1000, 300, 60_000, noise=0.3)
    records, worker = train_mf(25, edges, held, rank=8, reg=0.02, batch_size=batch)
    spread = np.std(held.fields["value"])
    assert floor < records[-1]["test_rmse"] < 1.1 * floor < 0.5 * spread
    assert records[-1]["train_rmse"] < records[1]["train_rmse"] < records[0]["train_rmse"]
    assert records[-1]["clock"] == len(records) * records[0]["clock"] and (
        records[0]["clock"] > 5
    ) == (batch > 0)
    assert worker.edges_visited == 25 * len(edges) + len(edges)


@pytest.mark.parametrize("each", [1, 5, 1000, -3, 0], ids=str)
def test_equal_ratings_are_learnt(each):
    """Implicit feedback is all 1: an error of a tenth is what the penalty costs."""
    edges, held, _ = make_ratings(200, 100, 8000)
    same = [
        replace(part, fields={"value": np.full(len(part), each, np.float32)})
        for part in (edges, held)
    ]
    records, _ = train_mf(6, *same, rank=8)
    assert records[-1]["test_rmse"] <= 0.1 * abs(each) + 0.01


@pytest.mark.parametrize("biases", [False, True])
def test_users_and_items_that_rate_alike_need_biases(biases):
    """Ratings of biases alone, and a factor of one dimension, which cannot hold two biases."""
    rng = np.random.default_rng(6)
    user, item = np.divmod(rng.permutation(60 * 40)[:1500], 40)
    value = 3 + rng.normal(size=60)[user] + rng.normal(size=40)[item]
    edges = from_arrays(user, item, ends=("user", "item"), value=value.astype(np.float32))
    records, _ = train_mf(30, edges, None, rank=1, warm=1, reg=0.001, biases=biases)
    assert (records[-1]["train_rmse"] < 0.1) == biases


def test_stages_are_what_the_header_says():
    program = MF(batch_size=100)
    setup, evaluate = (
        [type(stage) for stage in stages_of(program, method, Cluster(has_test=True))]
        for method in ("setup", "evaluate")
    )
    assert setup == [Exchange, GlobalSync, GlobalSync, Apply, Apply]
    assert evaluate == [Exchange, GlobalSync]
    assert (
        program.stages()[0].size.edges == 100
        and program.monitor == "test_rmse"
        and isinstance(program.predict(), Score)
    )


def test_without_held_out_ratings_there_is_no_test_rmse():
    records, _ = train_mf(2, EDGES, None, **PROGRAM)
    assert "test_rmse" not in records[-1] and records[-1]["train_rmse"] > 0


def test_held_out_ratings_of_new_vertices_get_the_mean():
    held = EdgeData.of(
        ("user", "item"), [10**6], [1], {"value": np.float32([3])}, against=EDGES.ids
    )
    worker = complete(MF(**PROGRAM), EDGES, 1, test=held)
    (score,) = run_steps(worker, Score(sgd.rate))
    assert score.scores.tolist() == [worker.tau.mean]
