"""`tux predict --top` and `tux run --judge-top`: what is listed is what `--pairs` predicts.

What cannot be meant is refused.
"""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import tux
from tux.arrays.arrow import parquet_groups, parquet_writer, read_parquet
from tux.base.errors import DataError, UsageError
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.predict import recommend
from tux.predict.factors import Factors, factors_of
from tux.predict.predict import predict
from tux.predict.ranking import judge_ranking
from tux.predict.recommend import top
from tux.program.product import product_of
from tux.program.sources import find
from tux.runs.session import run

ROOT = Path(__file__).parents[2]
BIASED = '''
"""Scores of a mean, biases and factors that are given by who is joined to what."""
from tux import Context, Edge, Program, Ratings, Vertex, data, shared, total, value
from tux.stages import Apply, Exchange, GlobalSync, Score


def add(buyer, thing, sale, tau):
    tau.n, tau.sum = tau.n + 1, tau.sum + sale.value
    buyer.b += sale.value / 8
    thing.b -= sale.value / 4
    buyer.p[0] += 0.5
    buyer.p[1] -= sale.value / 2
    thing.q[0] += sale.value / 4
    thing.q[1] += 0.25


def finish(tau):
    tau.mean = tau.sum / tau.n


def guess(buyer, thing, tau):
    dot = buyer.p[0] * thing.q[0] + buyer.p[1] * thing.q[1]
    return tau.mean + buyer.b + thing.b + dot


class Biased(Program):
    epochs = 1
    input = Ratings()
    buyer = Vertex(b=shared("f4"), p=shared("f4", 2))
    thing = Vertex(b=shared("f4"), q=shared("f4", 2))
    sale = Edge("buyer", "thing", value=data("f4"))
    tau = Context(n=total(), sum=total(), mean=value("f8"))

    def stages(self):
        return [Exchange(add), Apply("buyer"), Apply("thing"), GlobalSync(finish)]

    def predict(self):
        return Score(guess, name="likes", factors=("p", "q"), biases=("b", "b"), offset="mean")
'''
TRAIN = [(f"u{u}", i, 1 + (u * i) % 5) for u in range(12) for i in range(40, 60) if (u + i) % 3]


def write_table(path, rows, header="user,item,rating"):
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with ratings, a file of users, and a model of `mf` in `mf`."""
    monkeypatch.chdir(tmp_path)
    write_table("train.csv", TRAIN)
    write_table("users.csv", [["u7"], ["u2"], ["new"], ["u7"]], "user")
    run(find("mf").program(rank=5), "train.csv", options=RunOptions(out="mf", epochs=3, jit=False))
    return tmp_path


def join_pieces(pieces):
    pieces = list(pieces)
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def by_pairs(model, users, items, header="user,item"):
    """Return by user the items and scores as `predict` has them for all pairs, the best first."""
    write_table("all.csv", [(u, i) for u in users for i in items], header)
    columns = list(predict(model, "all.csv").values())
    scores = {}
    for user, item, score in zip(*(column.tolist() for column in columns), strict=True):
        scores.setdefault(user, []).append((-score, item))
    return {user: [(item, -score) for score, item in sorted(each)] for user, each in scores.items()}


def check_best_items(found, expected, count, name="score"):
    """Assert that the items are the best by scores. Items of equal scores may be in any order, as
    sums are rounded.
    """
    user, rank, item, score = found.values()
    assert [*found][1] == "rank" and [*found][3] == name and score.dtype == np.float32
    at = 0
    for each in dict.fromkeys(user.tolist()):
        scores, best = dict(expected[each]), expected[each][:count]
        rows = slice(at, at + len(best))
        assert user[rows].tolist() == [each] * len(best)
        assert rank[rows].tolist() == list(range(1, len(best) + 1))
        assert len(set(item[rows].tolist())) == len(best)
        np.testing.assert_allclose(score[rows], [score for _, score in best], rtol=1e-5)
        np.testing.assert_allclose(score[rows], [scores[i] for i in item[rows]], rtol=1e-5)
        at += len(best)
    assert at == len(user)


@pytest.mark.parametrize("more", [{}, {"users": "users.csv"}, {"exclude": "train.csv"}])
def test_the_users_of_several_row_groups_are_ranked_alike(folder, monkeypatch, more):
    def rank():
        pieces = [*top("mf", 3, **more)]
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}

    whole = rank()
    held = read_parquet("mf/model/user.parquet")
    with parquet_writer("mf/model/user.parquet") as write:
        for lo in range(0, 12, 5):
            write({name: column[lo : lo + 5] for name, column in held.items()})
    monkeypatch.setattr(recommend, "PIECE", 4)
    assert len(parquet_groups("mf/model/user.parquet")) == 3
    cut = rank()
    assert list(cut) == list(whole) and len(cut["rank"]) == (6 if "users" in more else 36)
    assert all(np.array_equal(cut[name], column) for name, column in whole.items())


def test_scores_are_those_of_pairs(folder):
    users, items = [f"u{u}" for u in range(12)], range(40, 60)
    expected = by_pairs("mf", users, items)
    told = []
    found = join_pieces(top("mf", 4, progress=told.append))
    assert list(found) == ["user", "rank", "item", "score"] and len(found["user"]) == 48
    assert sorted(set(found["user"].tolist())) == sorted(users) and told[-1] == 1
    check_best_items(found, expected, 4)
    check_best_items(join_pieces(top("mf", 100)), expected, 100)


def test_some_users_without_what_they_know(folder, monkeypatch):
    monkeypatch.setattr("tux.predict.recommend.PIECE", 1)
    warned, seen = [], {(user, item) for user, item, _ in TRAIN}
    expected = {
        user: [each for each in best if (user, each[0]) not in seen]
        for user, best in by_pairs("mf", ["u2", "u7"], range(40, 60)).items()
    }
    found = join_pieces(top("mf", 9, users="users.csv", exclude="train.csv", warn=warned.append))
    assert list(dict.fromkeys(found["user"].tolist())) == ["u7", "u2"]  # each once, as in the file
    check_best_items(found, expected, 9)
    assert len(found["user"]) == sum(len(each) for each in expected.values()) < 18
    assert warned == [
        "1 user of users.csv never occurred in training, and nothing is recommended to them: new",
        "train.csv: columns that are not used: rating",
    ]


def test_some_items_alone(folder, monkeypatch):
    """Candidates are ranked as if the others were not there, and only they are scored."""
    monkeypatch.setattr("tux.predict.recommend.PIECE", 5)
    write_table("items.csv", [[47], [41], [999], [58], [47]], "item")
    warned, seen, sizes = [], {(user, item) for user, item, _ in TRAIN}, []
    best = Factors.best
    monkeypatch.setattr(
        Factors, "best", lambda self, *given: sizes.append(len(self.items)) or best(self, *given)
    )
    expected = by_pairs("mf", [f"u{u}" for u in range(12)], [41, 47, 58])
    check_best_items(join_pieces(top("mf", 2, only="items.csv", warn=warned.append)), expected, 2)
    assert {*sizes} == {3} and len(warned) == 1
    assert "999" in warned[0] and "none of them is recommended" in warned[0]
    fresh = {
        user: [each for each in best if (user, each[0]) not in seen]
        for user, best in expected.items()
    }
    found = top("mf", 9, users="users.csv", only="items.csv", exclude="train.csv")
    check_best_items(join_pieces(found), fresh, 9)


def test_the_only_items_with_biases(folder):
    Path("biased.py").write_text(BIASED)
    write_table("sales.csv", TRAIN, "buyer,thing,value")
    program = find("biased.py").program()
    run(program, "sales.csv", options=RunOptions(out="out", jit=False))
    expected = by_pairs("out", [f"u{u}" for u in range(12)], [45, 57], "buyer,thing")
    write_table("things.csv", [[57], [45]], "thing")
    check_best_items(join_pieces(top("out", 1, only="things.csv")), expected, 1, "likes")


def test_biases_and_another_name(folder):
    Path("biased.py").write_text(BIASED)
    write_table("sales.csv", TRAIN, "buyer,thing,value")
    program = find("biased.py").program()
    run(program, "sales.csv", options=RunOptions(out="out", jit=False))
    expected = by_pairs("out", ["u0", "u5"], range(40, 60), "buyer,thing")
    write_table("buyers.csv", [["u0"], ["u5"]], "buyer")
    found = join_pieces(top("out", 7, users="buyers.csv"))
    assert list(found) == ["buyer", "rank", "thing", "likes"]
    check_best_items(found, expected, 7, "likes")


@pytest.mark.parametrize("app", ["mf", "als"])
def test_biases_of_the_apps(folder, app):
    program = find(app).program(rank=2, biases=True)
    run(program, "train.csv", options=RunOptions(out="biased", epochs=3, jit=False))
    expected = by_pairs("biased", [f"u{u}" for u in range(12)], range(40, 60))
    check_best_items(join_pieces(top("biased", 6)), expected, 6)
    found = factors_of(program, tux.load("biased").vertices | {"tau": tux.load("biased").context})
    assert found.item_bias.any() and found.query_bias.any() and found.offset > 1


def test_the_example_of_least_squares(folder):
    als = find(str(ROOT / "docs/examples/als.py")).program(rank=2)
    run(als, "train.csv", options=RunOptions(out="als", epochs=2, jit=False))
    expected = by_pairs("als", ["u3"], range(40, 60))
    write_table("one.csv", [["u3"]], "user")
    check_best_items(join_pieces(top("als", 5, users="one.csv")), expected, 5)


# ---- on the command line


def rows_of(text):
    return list(csv.reader(text.splitlines()))


def test_command(folder, capsys):
    words = "predict mf --top 3 --for users.csv --exclude train.csv".split()
    assert main(words) == 0
    out, err = capsys.readouterr()
    head, *lines = rows_of(out)
    assert head == ["user", "rank", "item", "score"] and "warning: 1 user of users.csv" in err
    assert [line[:2] for line in lines] == [[u, str(r)] for u in ("u7", "u2") for r in (1, 2, 3)]
    assert main([*words, "--out", "top.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "top.csv: 6 recommendations"
    head, *same = rows_of(Path("top.csv").read_text())
    assert [line[:3] for line in same] == [line[:3] for line in lines]
    assert [float(line[3]) for line in same] == [float(line[3]) for line in lines]
    assert main([*words, "--out", "top.parquet"]) == 0
    columns = read_parquet("top.parquet")
    assert columns["item"].tolist() == [int(line[2]) for line in lines]
    assert columns["user"].tolist() == [line[0] for line in lines]


def test_columns_of_what_is_excluded(folder, capsys):
    turned = [(rating, item, user) for user, item, rating in TRAIN]
    write_table("turned.csv", turned, "Sterne,Produkt,Kunde")
    words = "predict mf --top 3 --exclude".split()
    assert main([*words, "train.csv"]) == 0
    same = capsys.readouterr().out
    assert main([*words, "turned.csv", "--columns", "Kunde,Produkt"]) == 0
    assert capsys.readouterr().out == same
    write_table("others.csv", [("x", 1), ("y", 2)], "user,item")
    assert main([*words, "others.csv"]) == 0
    assert "others.csv has no pair that the model knows" in capsys.readouterr().err


@pytest.mark.slow(after=4)
@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("mf --top 0", "at least 1 is needed"),
        ("mf --top 3 --pairs train.csv", "one of them"),
        ("mf train.csv --top 3", "one of them"),
        ("mf --nearest u1 --top 3", "one of them"),
        ("mf --nearest u1 --for users.csv", "--for without --top N"),
        ("mf --pairs train.csv --exclude train.csv", "--exclude without --top N"),
        ("mf --nearest u1 --only users.csv", "--only without --top N"),
        ("mf --top 3 --count 2", "--count without --nearest ID"),
        ("mf --top 3 --columns user,item", "--columns with --top, without --exclude"),
        ("mf --top 3 --on-bad-row skip", "--on-bad-row with --top"),
        ("mf --top 3 --vertices user=users.csv", "--vertices with --top"),
        ("mf --top 3 --form text", "--form with --top"),
        ("mf --top 3 --out top.txt", "does not say which kind of file"),
        ("mf --top 3 --out train.csv", "train.csv exists"),
    ],
)
def test_mistakes_on_the_command_line(folder, capsys, argv, words):
    assert main(["predict", *argv.split()]) == 2 and words in capsys.readouterr().err


def test_users_that_nobody_knows(folder):
    write_table("new.csv", [[f"n{u}"] for u in range(9)], "user")
    with pytest.raises(DataError, match=r"(?s)n0, n1, n2, n3, n4, \.\.\..*of the model is u0"):
        top("mf", 3, users="new.csv")
    write_table("none.csv", [], "user")
    with pytest.raises(DataError):
        top("mf", 3, users="none.csv")


# ---- programs that have no best


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('factors=("p", "q"), ', ""), "does not say that its predictions are inner products"),
        (('("p", "q")', '("p", "b")'), "names thing.b, which is no field of several numbers"),
        (('("b", "b")', '("", "q")'), "names thing.q, which is no field of one number"),
        (('offset="mean"', 'offset="sum"'), r"(?s)names tau.sum, .*there are: mean"),
        (('("p", "q")', '"pq"'), "factors of a Score are 'pq'"),
        (("        return Score(guess", "        return None and Score(guess"), "does not say"),
        (('q=shared("f4", 2)', 'q=shared("f4", 3)'), r"factors of \(2,\) and of \(3,\)"),
    ],
)
def test_what_a_program_may_not_say(tmp_path, change, words):
    path = tmp_path / "biased.py"
    assert change[0] in BIASED
    path.write_text(BIASED.replace(*change))
    fields = {
        "buyer": {"p": np.ones((2, 2)), "b": np.ones(2)},
        "thing": {"q": np.ones((3, 3)), "b": np.ones(3)},
        "tau": {"mean": np.ones(1)},
    }
    with pytest.raises(UsageError, match=words):
        factors_of(find(str(path)).program(), fields)


def test_vertices_of_one_type_have_similar_ones_instead():
    with pytest.raises(UsageError, match="--nearest ID"):
        product_of(find("deepwalk").program())


# ---- judged by ranks


def test_a_run_is_judged_by_ranks(folder, capsys):
    held = [(u, i, r) for u, i, r in TRAIN if (int(u[1:]) * 7 + i) % 5 == 0]
    write_table("less.csv", [each for each in TRAIN if each not in held])
    write_table("held.csv", [*held, ("stranger", 41, 3), ("u1", 999, 3), TRAIN[0]])
    argv = "run mf less.csv --test held.csv --rank 3 --epochs 2 --no-jit --judge-top 4 --out ranked"
    assert main(argv.split()) == 0
    results = json.loads(Path("ranked/run.json").read_text())["results"]
    names = [f"{name}@4" for name in ("recall", "ndcg", "map", "hit_rate", "mrr", "coverage")]
    told = capsys.readouterr().out
    assert all(f"{name} 0." in told for name in names)
    program = find("mf").program(rank=3)
    fields = {kind: read_parquet(f"ranked/model/{kind}.parquet") for kind in ("user", "item")}
    places = [{each: at for at, each in enumerate(f["id"].tolist())} for f in fields.values()]

    def codes(path):
        rows = rows_of(Path(path).read_text())[1:]
        ids = [(row[0] for row in rows), (int(row[1]) for row in rows)]
        return tuple(
            np.array([known.get(each, 1000) for each in column])
            for known, column in zip(places, ids, strict=True)
        )

    expected = judge_ranking(factors_of(program, fields), [codes("less.csv")], codes("held.csv"), 4)
    assert {name: results[name] for name in names} == pytest.approx(expected)
    assert 0 < results["recall@4"] < 1


@pytest.mark.long
def test_ranks_of_two_workers_leave_training_items_out(folder, capsys):
    """Items of training are the best by far, so that finding them again would show."""
    write_table("held.csv", [(f"u{u}", 40 + (2 - u) % 3, 5) for u in range(12)])
    argv = (
        "run mf train.csv --test held.csv --epochs 1 --no-jit --judge-top 7 --workers 2 --out two"
    )
    assert main(argv.split()) == 0
    found = json.loads(Path("two/run.json").read_text())["results"]
    assert found["recall@7"] == 1  # each user has 6 or 7 items left


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("mf train.csv --judge-top 3", "--judge-top judges by held-out edges"),
        ("mf train.csv --judge-top 0", "at least 1 is needed"),
        ("deepwalk train.csv --judge-top 3", "does not say that its predictions are inner"),
    ],
)
def test_what_cannot_be_judged(folder, capsys, argv, words):
    assert main(["run", *argv.split()]) == 2 and words in capsys.readouterr().err
