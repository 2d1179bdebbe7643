"""Features of users and items in mf and als: what rests, against plain numpy, and ratings of items
that have none.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from support.apps.app_cases import OF_SEVERAL_TYPES
from support.programs.programs import both_later, column, complete

import tux
from tux.apps.als import ALS, FeatureALS
from tux.apps.mf import MF, FeatureMF, described
from tux.apps.mf.biases import CHOICES
from tux.cli.main import main
from tux.inputs.load import load

USERS, ITEMS, GENRES = 30, 25, 4
COLD = np.arange(ITEMS) % 5 == 0


def plant(seed=0):
    """Return ratings (n, 3) of users and items, and the genres of items, one (ITEMS, GENRES), on
    which the vectors of items depend.
    """
    rng = np.random.default_rng(seed)
    genres = rng.random((ITEMS, GENRES)) < 0.3
    genres[np.arange(ITEMS), rng.integers(GENRES, size=ITEMS)] = True
    q = (genres / genres.sum(axis=1, keepdims=True)) @ rng.normal(0, 1.5, (GENRES, 2))
    values = 3 + rng.normal(size=(USERS, 2)) @ q.T + rng.normal(0, 0.1, (USERS, ITEMS))
    user, item = np.nonzero(rng.random(values.shape) < 0.6)
    return np.column_stack([user, item, values[user, item]]), genres


RATINGS, HAS = plant()
OF_COLD = COLD[RATINGS[:, 1].astype(int)]
TRAIN, HELD = RATINGS[~OF_COLD], RATINGS[OF_COLD]
USER_HAS = np.random.default_rng(1).random((USERS, 3)) < 0.5
BIASED = pytest.mark.parametrize("biases", [False, True])


def columns(ratings):
    return ratings[:, 0].astype(int), ratings[:, 1].astype(int), ratings[:, 2]


def data_of(ratings=TRAIN, **features):
    return {"rating": columns(ratings), **{name: np.nonzero(of) for name, of in features.items()}}


def numbers_of(worker, kind, *, biases):
    """Return the vectors of a type, with the biases behind them."""
    f = column(worker, kind, "f")
    return np.column_stack([f, column(worker, kind, "bias")]) if biases else f


def regression(q, has, reg=1.0):
    """Return the vectors of features that explain the rows of q the best."""
    a = means(has)
    return np.linalg.solve(a.T @ a + reg * np.eye(a.shape[1]), a.T @ q)


def means(has):
    """Return the matrix that takes the mean over the features of each row."""
    return has / np.maximum(has.sum(axis=1, keepdims=True), 1)


@both_later
@BIASED
@pytest.mark.parametrize("steps", [0, 3])
def test_als_rests_where_the_normal_equations_with_priors_hold(steps, biases, jit):
    program = FeatureALS(rank=2, reg=0.2, steps=steps, biases=biases)
    edges = load(program, data_of(user_features=USER_HAS, item_features=HAS)).train
    worker = complete(program, edges, 40, jit=jit)
    x = {kind: numbers_of(worker, kind, biases=biases) for kind in ("user", "item")}
    c = {kind: column(worker, kind, "prior") for kind in ("user", "item")}
    mean = TRAIN[:, 2].mean() if biases else 0.0
    for at, (kind, other) in enumerate((("user", "item"), ("item", "user"))):
        ends, far = (
            edges.ids[of].encode(TRAIN[:, side].astype(int))
            for of, side in ((kind, at), (other, 1 - at))
        )
        for v in np.unique(ends):
            (rows,) = np.nonzero(ends == v)
            y, t = x[other][far[rows]], TRAIN[rows, 2] - mean
            if biases:
                t = t - y[:, -1]
                y = np.column_stack([y[:, :-1], np.ones(len(rows))])
            weight = 0.2 * len(rows)
            left = (y.T @ y + weight * np.eye(y.shape[1])) @ x[kind][v]
            np.testing.assert_allclose(left, y.T @ t + weight * c[kind][v], rtol=1e-2, atol=0.15)
    for kind, every in (("user", USER_HAS), ("item", HAS)):
        has = every[edges.ids[kind].values]
        paired = column(worker, kind, "n") > 0
        assert paired.all() == (kind == "user")
        found = regression(x[kind][paired], has[paired])
        np.testing.assert_allclose(c[kind], means(has) @ found, atol=1e-2)
        np.testing.assert_allclose(x[kind][~paired], c[kind][~paired], atol=1e-6)


def rmse(run, ratings):
    user, item, value = columns(ratings)
    predicted = run.predict(np.column_stack([user, item]))
    return float(np.sqrt(np.mean((np.asarray(predicted) - value) ** 2)))


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "biases"), [(1, True), (2, False)])
@pytest.mark.parametrize("kind", [FeatureMF, FeatureALS])
def test_ratings_of_items_without_one_follow_from_features(kind, workers, biases):
    run = tux.run(
        kind(rank=3, reg=0.02, biases=biases),
        data_of(item_features=HAS),
        test=columns(HELD),
        epochs=40,
        workers=workers,
        seed=2,
        progress=False,
    )
    told = run.history["test_rmse"][run.results["model_epoch"] - 1]
    assert told < 0.7 * HELD[:, 2].std()
    assert told == pytest.approx(rmse(run, HELD), rel=1e-3)


@pytest.mark.parametrize(("plain", "kind"), [(MF, FeatureMF), (ALS, FeatureALS)])
def test_without_features_the_model_is_that_of_the_app(plain, kind):
    options = {"epochs": 3, "seed": 4, "progress": False, "jit": False}
    one = tux.run(plain(rank=2), columns(TRAIN), **options)
    other = tux.run(kind(rank=2), data_of(), **options)
    assert rmse(one, TRAIN) == pytest.approx(rmse(other, TRAIN), rel=0.05)


def test_steps_of_mf_lead_to_the_solution_with_priors():
    """A user steps along ratings of items that stay as they are."""
    rng, reg = np.random.default_rng(5), 0.5
    p = SimpleNamespace(rank=3, warm=1, reg=reg, biases=CHOICES[True])
    tau = SimpleNamespace(step=0.05, root=1.0, epoch=1, mean=3.0, n=0, sse=0.0, norms=0.0)
    q, biases, values = rng.normal(size=(12, 3)), rng.normal(size=12), 3 + rng.normal(size=12)
    prior = np.array([1.0, -2.0, 1.5, 0.5])

    def make(f, bias, prior):
        norm = np.array([f[0] ** 2, f[1:] @ f[1:]])
        return SimpleNamespace(f=f.copy(), bias=bias, G=np.ones(3), norm=norm, prior=prior)

    user = make(np.zeros(3), 0.0, prior)
    for _ in range(1500):
        for f, bias, value in zip(q, biases, values, strict=True):
            item = make(f, bias, np.zeros(4))
            described.sgd_to_prior(user, item, SimpleNamespace(value=value), tau, p)
    y = np.column_stack([q, np.ones(12)])
    left = y.T @ y / 12 + reg * np.eye(4)
    best = np.linalg.solve(left, y.T @ (values - 3 - biases) / 12 + reg * prior)
    np.testing.assert_allclose([*user.f, user.bias], best, rtol=0.05, atol=0.05)
    assert user.norm == pytest.approx([user.f[0] ** 2, user.f[1:] @ user.f[1:]], rel=1e-6)


@pytest.fixture
def files(tmp_path):
    """Write ratings and genres; return the folder."""
    rows = [f"{user:.0f},{item:.0f},{value:.3f}" for user, item, value in TRAIN.tolist()]
    (tmp_path / "ratings.csv").write_text("user,item,value\n" + "\n".join(rows) + "\n")
    (tmp_path / "pairs.csv").write_text(
        "user,item\n" + "\n".join(row.rpartition(",")[0] for row in rows) + "\n"
    )
    listed = [f"{item},g{genre}" for item, genre in np.argwhere(HAS).tolist()]
    (tmp_path / "genres.csv").write_text("item,genre\n" + "\n".join(listed) + "\n")
    return tmp_path


def words(files, app):
    first = OF_SEVERAL_TYPES[app]
    table = files / ("pairs.csv" if first == "pair" else "ratings.csv")
    return ["run", app, f"{first}={table}", f"item_features={files / 'genres.csv'}", "--rank", "3"]


@pytest.mark.slow
@pytest.mark.parametrize("app", OF_SEVERAL_TYPES)
def test_a_run_on_files_goes_on_to_the_same_bytes(app, files):
    command = words(files, app)
    whole, broken = files / "whole", files / "broken"
    assert main([*command, "--epochs", "4", "--workers", "2", "--out", str(whole)]) == 0
    kept = ["--epochs", "2", "--workers", "2", "--checkpoint-every", "1"]
    assert main([*command, *kept, "--out", str(broken)]) == 0
    assert main(["run", "--resume", str(broken), "--epochs", "4"]) == 0
    for kind in ("user", "item", "item_feature"):
        one, other = (folder / "model" / f"{kind}.parquet" for folder in (whole, broken))
        assert one.read_bytes() == other.read_bytes()
    best, cold, new = files / "best.csv", files / "cold.csv", np.flatnonzero(COLD).tolist()
    cold.write_text("\n".join(map(str, ["item", *new])) + "\n")
    top = ["--top", "3", "--only", str(cold), "--out", str(best)]
    assert main(["predict", str(whole), *top]) == 0
    lines = best.read_text().splitlines()
    assert lines[0] == "user,rank,item,score" and len(lines) == 1 + 3 * USERS
    scores = {float(line.split(",")[3]) for line in lines[1:]}
    assert len(scores) > USERS  # items that nobody has differ by their features


def test_an_app_without_features_names_the_one_that_has_them(files, capsys):
    assert main(["run", "bpr", f"pair={files / 'pairs.csv'}", "item_features=genres.csv"]) == 2
    told = capsys.readouterr().err
    assert "item_features is no edge type of BPR" in told and "tux run bpr_features" in told
    assert main(["run", "bpr", "pair=a.csv", "genres.csv"]) == 2
    assert "unknown argument genres.csv" in capsys.readouterr().err


def test_help_does_not_name_a_model_to_begin_with(capsys):
    assert main(["run", "bpr_features", "--help"]) == 0
    assert "--from" not in capsys.readouterr().out
    assert main(["run", "bpr", "--help"]) == 0
    assert "--from" in capsys.readouterr().out


def test_features_and_their_edges_are_told_apart():
    run = tux.run(
        FeatureMF(rank=2), data_of(item_features=HAS), epochs=1, progress=False, jit=False
    )
    assert f"{HAS.sum()} edges of item_features" in repr(run)


def test_a_penalty_without_bound_is_refused():
    with pytest.raises(tux.UsageError) as error:
        FeatureMF(feature_reg=float("inf"))
    assert error.value.do == "feature_reg must be at least 0 and finite"


@pytest.mark.parametrize("app", OF_SEVERAL_TYPES)
def test_features_must_be_named_by_their_edge_type(app, files, capsys):
    first = OF_SEVERAL_TYPES[app]
    assert main(["run", app, str(files / "ratings.csv")]) == 2
    assert f"write {first}={files / 'ratings.csv'}" in capsys.readouterr().err
    assert main(["run", app, f"item_features={files / 'genres.csv'}"]) == 2
    assert first in capsys.readouterr().err
