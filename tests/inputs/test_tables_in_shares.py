"""A run whose points or tables of vertices are loaded in shares has what a run has that loads them
whole: the same parts, data of vertices, categories, digests, sizes, lines and warnings.
"""

import gzip
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.machines.same_loads import begin_run, load_both_ways

from tux import Edge, Points, Program, Samples, Vertex, data, param
from tux.apps.kmeans.kmeans_points import PointKMeans
from tux.base.errors import TuxError
from tux.options.options import RunOptions

TOWNS = ("Oslo", "Rome", "Bern", "007")
EDGES = "user,item\n" + "".join(f"{at % 31},i{at % 13}\n" for at in range(90))


class PlacedPoints(Program):
    point = Vertex(x=data("f4", 2), town=data("i4", default=0))
    input = Points()

    def stages(self):
        return []


class BuyingUsers(Program):
    dims: int = param(0, "numbers of a user", low=0)
    user = Vertex(age=data("f4"), town=data("i4"), x=data("f8", "dims", default=0.5))
    item = Vertex(weight=data("u1", default=3), m=data("f4", 2, 2, default=1))
    sale = Edge("user", "item")

    def stages(self):
        return []

    def evaluate(self):
        return []


class AgedSamples(Program):
    sample = Vertex(label=data("f4"), age=data("f4", default=1))
    feature = Vertex(town=data("i4", default=2))
    entry = Edge("sample", "feature", value=data("f4"))
    input = Samples()

    def stages(self):
        return []


@pytest.fixture(autouse=True)
def sales_file(here):
    (here / "sales.csv").write_text(EDGES)


def users(m=40, prefix="", seed=4, **odd):
    """Return the lines of a table of users, and `odd` ones by their numbers, as row_7="..."."""
    draw = np.random.default_rng(seed)
    rows = [f"{prefix}{at},{draw.integers(9)},{TOWNS[draw.integers(3)]}" for at in range(m)]
    rows = [odd.get(f"row_{at}", row) for at, row in enumerate(rows)]
    return "id,age,town\n" + "\n".join(rows) + "\n"


def vectors(m=50, seed=5):
    return np.random.default_rng(seed).normal(size=(m, 2))


def outcome(here, program, data, options, *, in_shares):
    """Return the error of a run, or its warnings."""
    try:
        return begin_run(here / "parts", program, data, None, options, in_shares=in_shares).warnings
    except TuxError as error:
        shutil.rmtree(here / "parts", ignore_errors=True)
        return type(error), str(error)


@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize("partitioner", [None, "auto", "grid"])
def test_points_of_plain_text(here, workers, partitioner):
    np.savetxt(here / "p.csv", vectors(), delimiter=",")
    options = RunOptions(workers=workers, partitioner=partitioner)
    found = load_both_ways(here, PointKMeans(n_clusters=3), "p.csv", options)
    assert found.record.sizes["vertices"] == {"sample": 50}


@pytest.mark.parametrize("prefix", ["", "p", "-"])
def test_points_with_ids_in_any_order(here, prefix):
    rows = [f"{prefix}{90 - at},{a},{b},me" for at, (a, b) in enumerate(vectors())]
    (here / "p.csv").write_text("\n".join(["# made", "id,height,width,who", *rows, "", "# end"]))
    found = load_both_ways(here, PointKMeans(n_clusters=3), "p.csv", RunOptions(workers=3))
    assert "columns: x from height, width" in found.lines
    assert any("comments" in text for text in found.warnings)
    with gzip.open(here / "p.csv.gz", "wt") as file:
        file.write("\n".join(rows))
    load_both_ways(here, PointKMeans(n_clusters=3), "p.csv.gz", RunOptions(workers=3))


def test_points_of_parquet(here):
    x = vectors()
    words = [TOWNS[at % 3] for at in range(50)]
    table = {"x": [[*row] for row in x], "town": words, "id": [f"p{at}" for at in range(50)]}
    pq.write_table(pa.table(table), here / "lists.parquet", row_group_size=7)
    pq.write_table(pa.table({"a": x[:, 0], "b": x[:, 1]}), here / "two.parquet", row_group_size=9)
    for name in ("lists.parquet", "two.parquet"):
        for workers in (2, 5):
            found = load_both_ways(here, PlacedPoints(), name, RunOptions(workers=workers))
        assert ("point.data.town.npy" in found.files) == (name == "lists.parquet")


def test_points_of_one_array(here):
    np.save("p.npy", vectors())
    np.save("whole.npy", (9 * vectors()).astype("i2"))
    pq.write_table(pa.table({"given": [[*row] for row in vectors()]}), "p.parquet", 9)
    for name in ("p.npy", "whole.npy", "p.parquet"):
        found = load_both_ways(here, PlacedPoints(), name, RunOptions(workers=5))
        assert found.record.sizes["vertices"] == {"point": 50}
    x = vectors()
    x[40] = np.nan
    np.save("bad.npy", x)
    options = RunOptions(workers=3, on_bad_row="skip")
    found = load_both_ways(here, PlacedPoints(), "bad.npy", options)
    assert "bad.npy:row 41: x[0] is nan" in found.warnings[0]


def test_other_points_are_read_whole(here):
    np.savez("p.npz", vectors())
    np.save("columns.npy", np.asfortranarray(vectors()))
    np.save("wide.npy", np.ones((9, 3)))
    (here / "many").mkdir()
    np.savetxt(here / "many" / "a.csv", vectors(), delimiter=",")
    np.savetxt(here / "many" / "b.csv", vectors(), delimiter=",")
    for name in ("p.npz", "columns.npy", "wide.npy", "many", "none.csv", "many/a*"):
        told = [
            outcome(here, PlacedPoints(), name, RunOptions(workers=3), in_shares=each)
            for each in (False, True)
        ]
        assert told[0] == told[1]
        assert isinstance(told[0], tuple) == (name in ("wide.npy", "many", "none.csv"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2\n3,4,5\n" * 20, "p.csv:2"),
        ("1,2\n" * 30 + "3,\n", "p.csv:31"),
        ("1,2\n" * 30 + "3,1e60\n", "is 1e+60"),
        ("id,a,b\n" + "7,1,2\n" * 20, "has a row already"),
        ("id,a\n" + "7,1\n" * 20, "has 1 number a point"),
        ("a,b\n" + "1,2\n" * 20 + "x,3\n", "has 1 number a point"),
        ("a,b\n1,2\n" + "\n" * 40, None),
        ("a,b\n", "holds no point"),
        ("", "is empty"),
    ],
)
def test_faults_of_points_are_the_same(here, text, words):
    (here / "p.csv").write_text(text)
    for bad in ("stop", "skip"):
        options = RunOptions(workers=3, on_bad_row=bad)
        told = [
            outcome(here, PlacedPoints(), "p.csv", options, in_shares=each)
            for each in (False, True)
        ]
        assert told[0] == told[1]
        assert words is None or bad == "skip" or words in told[0][1]


def test_a_column_is_of_words_if_it_is_in_any_share(here):
    rows = [f"{a},{b},{at % 3}" for at, (a, b) in enumerate(vectors())]
    for last in ("3.0", "red", "-4", "300000000000"):
        (here / "p.csv").write_text("\n".join(["a,b,town", *rows, f"1,2,{last}"]) + "\n")
        options = RunOptions(workers=3, on_bad_row="skip")
        found = load_both_ways(here, PlacedPoints(), "p.csv", options)
        assert found.record.sizes["skipped"] == (last == "300000000000")


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_tables_of_both_types(here, workers):
    (here / "users.csv").write_text(users())
    rows = [f"i{at}\t{at}\t{at}\t{at + 1}\t0\t2" for at in range(0, 20, 2)]
    (here / "items.tsv").write_text("\n".join(["item\tweight\tm_0\tm_1\tm_2\tm_3", *rows]) + "\n")
    tables = {"user": "users.csv", "item": "items.tsv"}
    options = RunOptions(workers=workers, vertices=tables, seed=3)
    found = load_both_ways(here, BuyingUsers(), "sales.csv", options)
    assert found.warnings[:2] == [
        "9 users of users.csv without edges",
        "3 items of items.tsv without edges",
    ]
    assert "user.data.x.npy" not in found.files


def test_held_out_edges_get_defaults(here):
    (here / "held.csv").write_text("user,item\n3,i99\n3,i4\n")
    (here / "items.csv").write_text("id,weight\n" + "".join(f"i{at},9\n" for at in range(9)))
    (here / "users.csv").write_text(users(33))
    tables = {"user": "users.csv", "item": "items.csv"}
    options = RunOptions(workers=3, vertices=tables)
    load_both_ways(here, BuyingUsers(), "sales.csv", options, "held.csv")


def test_defaults_keep_all_their_digits(here):
    class Numbered(BuyingUsers):
        user = Vertex(age=data("i8", default=2**53 + 1), size=data("f4", default=np.float32(0.1)))

    (here / "users.csv").write_text("id,age,size\n" + "".join(f"{at},9,0\n" for at in range(9)))
    options = RunOptions(workers=3, vertices={"user": "users.csv"})
    load_both_ways(here, Numbered(), "sales.csv", options)


def test_a_table_of_parquet_beside_many_files(here):
    (here / "sales").mkdir()
    lines = EDGES.splitlines(keepends=True)
    (here / "sales" / "a.csv").write_text("".join(lines[:50]))
    with gzip.open(here / "sales" / "b.csv.gz", "wt") as file:
        file.write("".join([lines[0], *lines[50:]]))
    draw = np.random.default_rng(3)
    ids = draw.permutation(40)
    x = [[float(at), 1.0] for at in ids]
    table = {"user": ids, "age": ids % 7, "town": [TOWNS[at % 4] for at in ids], "x": x}
    pq.write_table(pa.table(table), here / "u.parquet", row_group_size=6)
    options = RunOptions(workers=5, vertices={"user": "u.parquet"})
    found = load_both_ways(here, BuyingUsers(), "sales", options)
    assert found.parameters["dims"] == 2


def test_bad_rows_of_tables_are_skipped(here):
    text = users(row_39="39,nan,Rome", row_35="35,x,Rome", row_33="33,2", row_38=",3,Bern")
    (here / "users.csv").write_text(text)
    options = RunOptions(workers=5, vertices={"user": "users.csv"}, on_bad_row="skip")
    found = load_both_ways(here, BuyingUsers(), "sales.csv", options)
    assert found.warnings[0].startswith("4 bad rows of users.csv skipped; the first is users.csv:")


def test_samples_with_a_table(here):
    lines = [f"{at % 2} {at % 7 + 1}:2 9:{at}\n" if at % 5 else "1\n" for at in range(40)]
    (here / "a.svm").write_text("".join(lines))
    (here / "s.csv").write_text("id,age\n" + "".join(f"{at},{at % 9}\n" for at in range(40, 1, -1)))
    (here / "f.csv").write_text("id,town\n" + "".join(f"{at},Rome\n" for at in range(1, 12)))
    options = RunOptions(workers=3, vertices={"sample": "s.csv", "feature": "f.csv"})
    load_both_ways(here, AgedSamples(), "a.svm", options)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (users(20), {}),  # no default
        (users(row_3="3,1,Rome,8"), {}),
        (users(row_3="3,1,Rome\n3,4,Bern"), {}),
        (users(row_3="3,1,Rome\n3,4,Bern"), {"on_bad_row": "skip"}),
        (users(prefix="x"), {}),
        (users(row_3="3,-1e50,Rome"), {}),
        ("id,age\n3,4\n", {}),
        ("3,4,Rome\n" * 9, {}),
        ("id,age,town\n", {}),
        ("id,age,town\nx,y,Rome\n", {}),
        ("", {}),
    ],
)
def test_faults_of_tables_are_the_same(here, text, how):
    (here / "users.csv").write_text(text)
    options = RunOptions(workers=3, vertices={"user": "users.csv"}, **how)
    told = [
        outcome(here, BuyingUsers(), "sales.csv", options, in_shares=each) for each in (False, True)
    ]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "tables",
    [
        {"user": "none.csv"},
        {"shop": "users.csv"},
        {"user": {"id": np.arange(40), "age": np.ones(40), "town": np.arange(40)}},
    ],
)
def test_other_tables_are_read_whole(here, tables):
    (here / "users.csv").write_text(users())
    options = RunOptions(workers=2, vertices=tables)
    told = [
        outcome(here, BuyingUsers(), "sales.csv", options, in_shares=each) for each in (False, True)
    ]
    assert told[0] == told[1]
