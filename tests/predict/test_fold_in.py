"""Vectors of new vertices, `tux predict --fold-in` and `Run.fold_in`, beside numpy's solutions."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from support.messages import message

import tux
from tux.base.errors import DataError, UsageError
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.predict.rows import fold_in
from tux.program.sources import find
from tux.runs.session import run as run_into

RANK = 5
APPS = {
    "als": tux.ALS(rank=RANK),
    "als, centred": tux.ALS(rank=RANK, center=True, plain=True),
    "als, implicit": tux.ALS(rank=RANK, implicit=True, alpha=3.0),
    "als, biases": tux.ALS(rank=RANK, biases=True),
    "mf": tux.MF(rank=RANK),
    "mf, biases": tux.MF(rank=RANK, biases=True),
}


def draw_ratings(seed, users, items, count):
    """Draw a table of ratings, each pair once."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(len(users) * len(items), count, replace=False)
    user, item = np.array(users)[pairs // len(items)], np.array(items)[pairs % len(items)]
    return {"user": user, "item": item, "value": rng.integers(1, 6, count).astype(float)}


OLD = draw_ratings(1, range(30), range(100, 120), 300)
NEW = draw_ratings(2, [3, 500, 501], range(100, 123), 40)  # user 3, and items up to 119, are known


@pytest.fixture(scope="module", params=APPS)
def model(request):
    """Return a run of one of `APPS`."""
    return tux.run(APPS[request.param], OLD, epochs=2, jit=False, progress=False)


def biases_of(run, kind):
    """Return the biases of a vertex type, or zeros."""
    table = run.vertices[kind]
    return table["bias"] if run.parameters["biases"] else np.zeros(len(table))


def offset_of(run):
    """Return the constant of all predictions of a run."""
    name = "mean" if run.parameters["biases"] else "offset"
    return float(run.context.get(name, [0.0])[0])


def solve_by_numpy(run, own, other, ratings):
    """Return by id the least squares of `own` vertices, with the factors of `other` ones fixed; the
    last number is the bias, if there are biases.
    """
    p, known = run.parameters, run.vertices[other]
    fixed, penalty, given = known["f"].astype(float), p["reg"], biases_of(run, other)
    if p["biases"]:
        fixed = np.column_stack([fixed, np.ones(len(fixed))])
    offset, width, found = offset_of(run), fixed.shape[1], {}
    for each in dict.fromkeys(ratings[own].tolist()):
        at = known.positions(ratings[other])
        rows = (ratings[own] == each) & (at >= 0)
        y, value = fixed[at[rows]], ratings["value"][rows]
        targets = value - offset - given[at[rows]]
        weights, a = np.ones(len(y)), np.zeros((width, width))
        if p.get("implicit"):
            weights, a = p["alpha"] * value, fixed.T @ fixed
            targets = (1 + weights) / weights
        a = a + (y * weights[:, None]).T @ y
        a += np.eye(width) * (penalty if p.get("plain") else penalty * len(y))
        found[each] = np.linalg.solve(a, y.T @ (weights * targets)) if len(y) else np.zeros(width)
    return found


@pytest.mark.parametrize(("own", "other"), [("user", "item"), ("item", "user")])
def test_vectors_of_new_vertices_are_the_least_squares(model, own, other):
    ratings = NEW if own == "user" else draw_ratings(3, range(35), [7, 100, 600], 60)
    found = model.fold_in(ratings, of=own)
    expected = solve_by_numpy(model, own, other, ratings)
    assert found[own].tolist() == [*expected]
    solved = np.column_stack([found[name] for name in found.columns[1:]])
    np.testing.assert_allclose(solved, [*expected.values()], rtol=1e-5, atol=1e-5)


def test_a_vertex_that_is_folded_in_again_is_that_of_the_model():
    """Items stay as they are after the last half of a sweep, which has solved them exactly."""
    for biases in (False, True):
        program = tux.ALS(rank=RANK, steps=0, biases=biases, reg=0.1)
        run = tux.run(program, OLD, epochs=2, jit=False, progress=False)
        found, items = run.fold_in(OLD, of="item"), run.vertices["item"]
        at = items.positions(found["item"])
        for name in found.columns[1:]:
            np.testing.assert_allclose(found[name], items[name][at], rtol=1e-4, atol=1e-5)


def test_the_first_end_is_that_of_new_vertices(model):
    own = ["bias"] if model.parameters["biases"] else []
    assert model.fold_in(NEW).columns == ["user", "f", *own]


def test_known_ids_may_keep_their_vectors(model):
    users = model.vertices["user"]
    kept, anew = (model.fold_in(NEW, keep_known=keep) for keep in (True, False))
    assert kept.columns == anew.columns
    for name in kept.columns[1:]:
        for user, own, other in zip(kept["user"].tolist(), kept[name], anew[name], strict=True):
            if user == 3:
                assert own.tolist() == users.at(3)[name].tolist() != other.tolist()
            else:
                assert own.tolist() == other.tolist()


def test_new_users_get_their_best_items(model):
    new = model.fold_in(NEW)
    seen = {(u, i) for u, i in zip(NEW["user"].tolist(), NEW["item"].tolist(), strict=True)}
    found = model.recommend(new, 4, exclude=NEW)
    items, added = model.vertices["item"], offset_of(model) + biases_of(model, "item")
    biases = new["bias"] if "bias" in new else np.zeros(len(new))
    for user, f, bias in zip(new["user"].tolist(), new["f"], biases, strict=True):
        scores = dict(zip(items.ids.tolist(), items["f"] @ f + added + bias, strict=True))
        left = {item: score for item, score in scores.items() if (user, item) not in seen}
        best = sorted(left.values())[::-1][:4]
        own = found["user"] == user
        assert not {(user, item) for item in found["item"][own].tolist()} & seen
        np.testing.assert_allclose(found["score"][own], best, rtol=1e-5, atol=1e-6)


def test_a_user_without_a_known_item_gets_zeros(model, caplog):
    ratings = {"user": [1000, 1001], "item": [100, 999], "value": [4.0, 4.0]}
    assert model.fold_in(ratings)["f"].any(axis=1).tolist() == [True, False]
    assert (
        "1 of 2 ratings of the data is of items that the model does not know: left out"
        in caplog.text
    )


def test_a_program_that_predicts_for_rows_gives_its_predictions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("words.csv", "w") as file:
        file.write("document,word,count\n")
        for document in range(12):
            for word in range(document % 3, 20, 3):
                file.write(f"d{document},w{word},{1 + (document * word) % 4}\n")
    found = tux.run(tux.LDA(topics=3), "words.csv", epochs=2, jit=False, progress=False)
    new = {"document": ["x", "x", "y"], "word": ["w1", "w4", "w2"], "count": [2, 1, 5]}
    assert found.fold_in(new)["topic"].tolist() == found.predict(new).tolist()


CASES = {
    "no end": (
        lambda run: run.fold_in(NEW, of="usr"),
        "ALS has no end 'usr'\n  did you mean user? its ends are user and item",
    ),
    "no vectors of users": (
        lambda run: run.recommend(run.fold_in(draw_ratings(3, range(9), [7], 5), of="item")),
        "the vectors of new vertices have no column user\n  find vectors of the end user",
    ),
    "nothing known": (
        lambda run: run.fold_in({"user": [1], "item": [9999], "value": [1.0]}),
        "the model knows none of the items",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_meant_is_refused(case):
    run = tux.run(APPS["als"], OLD, epochs=1, jit=False, progress=False)
    ask, text = CASES[case]
    with pytest.raises((UsageError, DataError)) as caught:
        ask(run)
    assert str(caught.value).startswith(text)


BIASED = """
from tux import Apply, Context, Edge, Exchange, Program, Ratings, Score, Vertex, data, shared


def add(user, item, rating):
    user.b += rating.value
    item.b += 1
    user.f[0] += 1
    item.f[0] += rating.value


def find(user, edges, out):
    out[0] = len(edges)


def guess(user, item):
    return user.b + item.b + user.f[0] * item.f[0]


class Biased(Program):
    epochs = 1
    input = Ratings()
    user = item = Vertex(b=shared("f4"), f=shared("f4", 1))
    rating = Edge("user", "item", value=data("f4"))

    def stages(self):
        return [Exchange(add), Apply("user"), Apply("item")]

    def predict(self):
        return Score(guess, factors=("f", "f"), biases=("b", "b"))

    def fold_in(self, role):
        return [Score(find, role, width=1, name="f")]
"""


def test_known_ids_keep_their_biases_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "biased.py").write_text(BIASED)
    run = tux.run(find("biased.py").program(), OLD, jit=False, progress=False)
    known = {"user": [3, 4], "item": [100, 101], "value": [1.0, 1.0]}
    kept = run.recommend(run.fold_in(known, keep_known=True), 5)
    expected = run.recommend([3, 4], 5)
    assert kept["item"].tolist() == expected["item"].tolist()
    assert kept["score"].tolist() == expected["score"].tolist()


def test_predictions_for_rows_are_not_kept():
    matrix = sparse.csr_array(np.eye(6)[:, :4])
    run = tux.run(tux.SparseKMeans(n_clusters=2), matrix, epochs=1, jit=False, progress=False)
    with pytest.raises(UsageError, match="predicts for each new sample"):
        run.fold_in(matrix[:2], keep_known=True)


def test_pairs_that_count_once_are_folded_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = {name: NEW[name] for name in ("user", "item")}
    run = tux.run(tux.ALS(rank=3, implicit=True), OLD, epochs=1, jit=False, progress=False)
    (tmp_path / "pairs.csv").write_text(
        "user,item\n" + "".join(f"{u},{i}\n" for u, i in zip(*pairs.values(), strict=True))
    )
    ones = run.fold_in({**pairs, "value": np.ones(len(NEW["user"]))})
    assert run.fold_in("pairs.csv")["f"].tolist() == ones["f"].tolist()


def test_a_program_without_the_stages_says_so():
    pairs = {name: OLD[name] for name in ("user", "item")}
    run = tux.run(tux.BPR(rank=2), pairs, epochs=1, jit=False, progress=False)
    with pytest.raises(UsageError, match="BPR cannot fold in a new item"):
        run.fold_in(pairs, of="item")


SAMPLES = sparse.csr_array(np.random.default_rng(0).random((40, 5)))
LABELS = np.arange(40) % 2


@pytest.mark.parametrize(
    ("program", "data", "new"),
    [
        (tux.SparseKMeans(n_clusters=2), SAMPLES, SAMPLES[:7]),
        (tux.PointKMeans(n_clusters=2), SAMPLES.toarray(), SAMPLES[:7].toarray()),
        (tux.GBDT(max_depth=2), (SAMPLES, LABELS), SAMPLES[:7]),
    ],
    ids=["kmeans", "points", "trees"],
)
def test_what_is_predicted_of_rows_is_what_is_found(program, data, new):
    run = tux.run(program, data, epochs=2, jit=False, progress=False)
    found, expected = run.fold_in(new), run.predict(new, ids=True)
    assert found.columns == expected.columns and len(found) == 7
    for name in found.columns:
        assert found[name].tolist() == expected[name].tolist()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a model of `als` in `als` and the files of `OLD` and `NEW`."""
    monkeypatch.chdir(tmp_path)
    for name, table in (("old.csv", OLD), ("new.csv", NEW)):
        rows = zip(*(column.tolist() for column in table.values()), strict=True)
        with open(name, "w", newline="") as file:
            csv.writer(file).writerows([[*table], *rows])
    options = RunOptions(out="als", epochs=2, jit=False)
    run_into(find("als").program(rank=RANK), "old.csv", options=options)
    return tmp_path


def read_columns(path):
    """Return the columns of a CSV file by name, as texts."""
    with open(path, newline="") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, zip(*rows, strict=True), strict=True))


def test_the_command_writes_vectors(folder):
    assert main(["predict", "als", "--fold-in", "new.csv", "--out", "users.csv"]) == 0
    expected = fold_in("als", "new.csv")
    found = read_columns("users.csv")
    assert [*found] == ["user", *(f"f_{k}" for k in range(RANK))]
    assert [int(user) for user in found["user"]] == expected["user"].tolist()
    vectors = np.array([found[f"f_{k}"] for k in range(RANK)], float).T
    np.testing.assert_allclose(vectors, expected["f"], rtol=1e-5)


def test_the_command_lists_the_best_items_of_new_users(folder):
    ask = ["predict", "als", "--fold-in", "new.csv", "--top", "2", "--exclude", "new.csv"]
    assert main([*ask, "--out", "top.csv"]) == 0
    found = tux.load("als")
    expected = found.recommend(found.fold_in("new.csv"), 2, exclude="new.csv")
    written = read_columns("top.csv")
    for name in ("user", "rank", "item"):
        assert [int(each) for each in written[name]] == expected[name].tolist()
    np.testing.assert_allclose(np.array(written["score"], float), expected["score"], rtol=1e-5)


def read_by(library, name):
    """Read a file of vectors by a library."""
    if library == "pyarrow":
        parquet = pytest.importorskip("pyarrow.parquet")
        return parquet.read_table(f"{name}.parquet")
    if library == "dict":
        return dict(tux.load("als").fold_in("new.csv").to_dict())
    found = pytest.importorskip(library.partition(" ")[0])
    if "text" in library:
        return found.read_csv(f"{name}.csv")
    return found.read_parquet(f"{name}.parquet")


@pytest.mark.parametrize(
    "library", ["dict", "pyarrow", "pandas", "polars", "pandas text", "polars text"]
)
@pytest.mark.parametrize("biases", [False, True])
def test_vectors_that_another_library_has_read_are_recommended_to(folder, library, biases):
    if biases:
        options = RunOptions(out="biased", epochs=1, jit=False)
        run_into(find("als").program(rank=2, biases=True), "old.csv", options=options)
        Path("als").rename("without")
        Path("biased").rename("als")
    ending = "csv" if "text" in library else "parquet"
    assert main(["predict", "als", "--fold-in", "new.csv", "--out", f"users.{ending}"]) == 0
    run = tux.load("als")
    expected = run.recommend(run.fold_in("new.csv"), 3, exclude="new.csv")
    found = run.recommend(read_by(library, "users"), 3, exclude="new.csv")
    for name in ("user", "rank", "item"):
        assert found[name].tolist() == expected[name].tolist()
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-5)


def test_vectors_of_another_model_are_refused():
    small, large = (
        tux.run(tux.ALS(rank=rank), OLD, epochs=1, jit=False, progress=False) for rank in (2, 3)
    )
    with pytest.raises(DataError, match=message("vectors-of-numbers-and-those", "3")):
        large.recommend(small.fold_in(NEW))
    for wrong in ({"user": [1], "f": ["x"]}, {"user": [1, 2], "f": [[1.0, 2, 3], [1.0]]}):
        with pytest.raises(DataError, match=message("is-no-column-of-numbers")):
            large.recommend(wrong)
    with pytest.raises(DataError, match=message("the-vectors-of-new-vertices", "f")):
        large.recommend({"user": [1, 2]})


def test_all_files_that_are_excluded_count(folder):
    rows = Path("new.csv").read_text().splitlines()
    Path("first.csv").write_text("\n".join(rows[:20]) + "\n")
    Path("rest.csv").write_text("\n".join([rows[0], *rows[20:]]) + "\n")
    ask = ["predict", "als", "--fold-in", "new.csv", "--top", "3"]
    assert main([*ask, "--exclude", "new.csv", "--out", "one.csv"]) == 0
    both = ["--exclude", "first.csv", "--exclude", "rest.csv", "--out", "two.csv"]
    assert main([*ask, *both]) == 0
    assert Path("one.csv").read_text() == Path("two.csv").read_text()


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--pairs", "new.csv", "--fold-in", "new.csv"], "tux predict needs DATA or --pairs FILE"),
        (["--pairs", "new.csv", "--keep-known"], "--keep-known without --fold-in DATA"),
        (["--top", "3", "--of", "item"], "--of without --fold-in DATA"),
        (
            ["--fold-in", "none.csv", "--top", "3", "--of", "item"],  # before it is read
            "the best are found for each user, and not for each item",
        ),
    ],
)
def test_flags_that_do_not_go_together_are_refused(folder, capsys, flags, text):
    assert main(["predict", "als", *flags]) != 0
    assert text in capsys.readouterr().err
