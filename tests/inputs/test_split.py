"""`tux split`: both files together have the rows of the table as they stood there, and the rows
that are held out are those that the rule names, said again here in plain Python.
"""

import csv
import gzip
import os
from collections import Counter
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.messages import message

from tux.arrays import arrow
from tux.base.errors import DataError, DiskError, UsageError
from tux.inputs.held_out_rows import HeldOutRule
from tux.inputs.split import split_files
from tux.io.source import text

REAL = os.environ.get("TUX_TEST_DATA", "")
RNG = np.random.default_rng(3)
DRAWN = [each.tolist() for each in (RNG.integers(0, 40, 600), RNG.integers(0, 90, 600))]
TIMES = RNG.integers(10, 99, 600).tolist()
ROWS = [
    (f"u{user}", item, 1 + at % 5, time, at)
    for at, (user, item, time) in enumerate(zip(*DRAWN, TIMES, strict=True))
] + [("alone", 3, 4, 50, 600)]
"""User, item, rating, time and the number of the row, by which rows are told apart."""
HEAD = "user,item,rating,time,row"
PLACES = range(len(ROWS))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Enter an empty folder. Text is read in many small blocks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(text, "BLOCK", 1 << 10)
    return tmp_path


def write(path, rows=ROWS, head=HEAD, separator=",", end="\n"):
    lines = [head] * bool(head) + [separator.join(map(str, row)) for row in rows]
    Path(path).write_bytes("".join(line + end for line in lines).encode())


def read(path):
    packed = path.suffix == ".gz"
    return gzip.decompress(path.read_bytes()) if packed else path.read_bytes()


def split(path="all.csv", out="out", columns=None, **rule):
    """Split a file; return the two new ones."""
    made = split_files(path, out, HeldOutRule(**rule), columns)
    assert sorted(os.listdir(out)) == sorted([made.train.name, made.test.name])
    assert not [name for name in os.listdir() if name.endswith(".part")]
    return made


def numbers(path, at=4):
    """Return the last cells of the rows of a file of text with names."""
    head, *rows = csv.reader(read(path).decode().splitlines())
    assert ",".join(head) == HEAD
    return [int(row[at]) for row in rows]


def held_rows(made):
    """Return the numbers of the rows held out, after a look at those of both files."""
    train, test = map(numbers, made[:2])
    assert train == sorted(train) and test == sorted(test)
    assert sorted(train + test) == [*PLACES] and made.rows == (len(train), len(test))
    return test


# ---- which rows


def test_random_rows():
    write("all.csv")
    held = held_rows(split())
    assert 30 < len(held) < 90
    assert held == held_rows(split(out="again"))
    assert held != held_rows(split(out="other", seed=1))
    assert 250 < len(held_rows(split(out="half", share=0.5))) < 350


def test_users_with_all_their_rows():
    write("all.csv")
    held = {*held_rows(split(by="user", share=0.3))}
    users = {ROWS[at][0] for at in held}
    assert 3 < len(users) < 25 and held == {at for at in PLACES if ROWS[at][0] in users}


def test_the_latest_row_of_each_user():
    write("all.csv")
    last = {}
    for at in PLACES:
        user, time = ROWS[at][0], ROWS[at][3]
        if user not in last or time >= ROWS[last[user]][3]:
            last[user] = at
    del last["alone"]  # who would not be trained on at all
    assert held_rows(split(by="leave-one-out", time="time")) == sorted(last.values())


def test_a_random_row_of_each_user():
    write("all.csv")
    held = held_rows(split(by="leave-one-out"))
    counts = Counter(row[0] for row in ROWS)
    assert Counter(ROWS[at][0] for at in held) == {u: 1 for u in counts if counts[u] > 1}
    assert held != held_rows(split(by="leave-one-out", out="other", seed=1))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
def test_the_latest_rows(share):
    write("all.csv")
    times = sorted({row[3] for row in ROWS})
    later = {cut: [at for at in PLACES if ROWS[at][3] > cut] for cut in times[:-1]}
    best = min(later, key=lambda cut: abs(len(later[cut]) - share * len(ROWS)))
    assert held_rows(split(by="time", time="4", share=share)) == later[best]


DATES = [
    ["2026-01-31", "2026-02-01"],
    ["2026-01-31 10:00:00", "2026-01-31 10:00:00.5"],
    ["2026-01-31T10:00:00Z", "2026-01-31T10:00:00-01:00"],
    ["2026-01-31 10:00:00.000000001", "2026-01-31 10:00:00.00000001"],
    ["2026-01-31T10:00:00.1234561Z", "2026-01-31T10:00:00.123456200+00:00"],
    ["1700000000.0000000001", "1700000000.0000000002"],
    ["9.5", "1e1"],
    ["9", "10"],
]


@pytest.mark.parametrize(("early", "late"), DATES)
@pytest.mark.parametrize("turned", [False, True])
def test_times_are_compared_as_times(early, late, turned):
    times = [late, early] if turned else [early, late]
    write("all.csv", [("a", 1, 1, times[0], 0), ("a", 2, 1, times[1], 1)])
    made = split(by="leave-one-out", time="time")
    assert numbers(made.test) == [1 - turned]


def test_one_time_may_be_written_in_two_ways():
    for one, other in (
        ("2026-01-31 10:00:00.5", "2026-01-31 10:00:00.500000000"),
        ("2026-01-31T10:00:00.1234560Z", "2026-01-31T11:00:00.123456+01:00"),
        ("10.0", "1e1"),
    ):
        write("all.csv", [("a", 1, 1, one, 0), ("a", 2, 1, other, 1), ("a", 3, 1, one, 2)])
        made = split(by="leave-one-out", time="time", out=f"of {one}")
        assert numbers(made.test) == [2]


@pytest.mark.parametrize(
    "type_", [pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.date32(), pa.float64(), pa.int32()]
)
def test_times_of_parquet(type_):
    whole = pa.int64() if pa.types.is_timestamp(type_) else pa.int32()
    times = pa.array([30, 10, 20], whole).cast(type_)
    pq.write_table(pa.table({"user": ["a"] * 3, "item": [1, 2, 3], "ts": times}), "all.parquet")
    made = split("all.parquet", by="leave-one-out", time="ts")
    assert pq.read_table(made.test)["item"].to_pylist() == [1]
    assert pq.read_table(made.train)["item"].to_pylist() == [2, 3]
    assert pq.read_schema(made.train).equals(pq.read_schema("all.parquet"))


# ---- which bytes


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", "::", " "])
@pytest.mark.parametrize("head", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_stay_as_they_are(separator, head, end):
    write(
        "all.dat", head=HEAD.replace(",", separator) if head else "", separator=separator, end=end
    )
    whole = Path("all.dat").read_bytes().splitlines(keepends=True)
    made = split("all.dat", by="leave-one-out", columns=None if head else "1,2")
    train, test = (read(path).splitlines(keepends=True) for path in made[:2])
    names, rows = whole[:head], whole[head:]
    assert train[:head] == test[:head] == names and made.train.name == "train.dat"
    assert Counter(train[head:]) + Counter(test[head:]) == Counter(rows)
    assert [row for row in rows if row in {*train}] == train[head:]


def test_odd_lines():
    """Quotes with a separator or a line break in them stay; comments and blank lines go, but for
    those above the rows, where a mark of byte order goes, too.
    """
    beginning = "# from the shop\nuser,item,note\n"
    rows = ['"a, b",1,"x\ny"\n', 'c,2,"say ""hi"""\n', "é,3,\n", '"a, b",4,z\n']
    body = rows[0] + "\n" + rows[1] + "  \n# a comment\n" + rows[2] + "user,item,note\n" + rows[3]
    Path("all.csv").write_text("\ufeff" + beginning + body, encoding="utf-8")
    made = split(by="user", share=0.5, seed=1)
    train, test = (read(path).decode() for path in made[:2])
    assert train.startswith(beginning) and test.startswith(beginning)
    parts = [each.removeprefix(beginning) for each in (train, test)]
    users = {0: "a", 1: "c", 2: "é", 3: "a"}
    held = {users[at] for at, row in enumerate(rows) if row in parts[1]}
    for side, part in enumerate(parts):
        assert part == "".join(row for at, row in enumerate(rows) if (users[at] in held) == side)


def test_many_files_become_two():
    Path("in").mkdir()
    write("in/a.csv", ROWS[:300])
    write("in/b.csv", ROWS[300:])
    write("all.csv")
    held = held_rows(split("in", by="time", time="time"))
    assert held == held_rows(split(by="time", time="time", out="one"))


def test_packed_files_stay_packed():
    write("all.csv")
    Path("all.csv.gz").write_bytes(gzip.compress(Path("all.csv").read_bytes()))
    made = split("all.csv.gz")
    assert made.test.name == "test.csv.gz" and held_rows(made)


def test_no_ending():
    for separator, name in ((",", "train.csv"), ("\t", "train.tsv"), (" ", "train.txt")):
        write("all", head=HEAD.replace(",", separator), separator=separator)
        assert split("all", name).train.name == name


def make_table(rows=ROWS):
    columns = dict(zip(HEAD.split(","), map(list, zip(*rows, strict=True)), strict=True))
    times = pa.array([datetime.fromtimestamp(time) for time in columns["time"]])
    more = {"time": times, "tags": [["a"] * (at % 3) for at in columns["row"]]}
    table = pa.table(columns | more)
    return table.set_column(0, "user", table["user"].dictionary_encode())


def test_parquet_keeps_types_and_columns():
    Path("in").mkdir()
    table = make_table().replace_schema_metadata({"made by": "a test"})
    pq.write_table(table[:400], "in/a.parquet", row_group_size=64)
    pq.write_table(table[400:], "in/b.parquet")
    made = split("in", by="user", share=0.4)
    train, test = map(pq.read_table, made[:2])
    assert made.rows == (len(train), len(test)) and train.schema.equals(test.schema)
    assert train.schema.equals(table.schema) and train.schema.metadata[b"made by"] == b"a test"
    held = set(test["row"].to_pylist())
    for part, side in ((train, False), (test, True)):
        kept = [at for at in PLACES if (at in held) == side]
        assert part.to_pylist() == table.take(kept).to_pylist()
    assert not set(train["user"].to_pylist()) & set(test["user"].to_pylist())


# ---- what is refused


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ({"by": "users"}, "by-is-no-rule"),
        ({"by": "leave-one-out", "share": 0.1}, "test-share-with-by-leave"),
        ({"share": 0.0}, "test-share-is-2"),
        ({"share": 1.0}, "test-share-is-2"),
        ({"by": "time"}, "by-time-without-time-column"),
        ({"by": "user", "time": "time"}, "time-with-by"),
    ],
)
def test_rules_that_say_nothing(rule, code):
    with pytest.raises(UsageError, match=message(code)):
        HeldOutRule(**rule)


@pytest.mark.parametrize(
    ("rows", "rule", "words"),
    [
        (ROWS[:3], {"share": 1e-9}, "no row of 3 would be held out"),
        (ROWS[:3], {"share": 1 - 1e-9}, "all rows of 3 would be held out"),
        ([("a", 1, 1, 5, 0)] * 3, {"by": "time", "time": "time"}, "no row of 3"),
        ([*ROWS, ("", 1, 1, 1, 1)], {}, r"user is missing.*all.csv:603\n  Correct the file.$"),
        ([*ROWS, ("a", 1)], {}, "2 columns instead of 5.*all.csv:603"),
        ([*ROWS, ("a", 1, 1, "", 1)], {"by": "time", "time": "time"}, "time is missing"),
        ([*ROWS, ("a", 1, 1, "soon", 1)], {"by": "time", "time": "time"}, "time is 'soon', no"),
        ([*ROWS, ("a", 1, 1, "inf", 1)], {"by": "time", "time": "time"}, "time is not finite"),
        (ROWS, {"by": "time", "time": "when"}, "no column 'when'"),
    ],
)
def test_rows_that_cannot_be_split(rows, rule, words):
    write("all.csv", rows)
    with pytest.raises(DataError, match=f"(?s){words}"):
        split(**rule)
    assert os.listdir() == ["all.csv"]


def test_what_is_no_table():
    Path("all.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3\n")
    with pytest.raises(DataError, match=message("is-no-table-but", "all.mtx", "market")):
        split("all.mtx")
    Path("empty.csv").write_text("# nothing\n")
    with pytest.raises(DataError, match="holds no edge"):
        split("empty.csv")


def test_other_columns_in_another_file():
    Path("in").mkdir()
    table = make_table()
    pq.write_table(table, "in/a.parquet")
    pq.write_table(table.drop_columns("tags"), "in/b.parquet")
    with pytest.raises(DataError, match=message("has-other-columns-or-columns", "in/b.parquet")):
        split("in")
    assert os.listdir() == ["in"]


def test_a_folder_that_is_there():
    write("all.csv")
    split()
    before = Path("out/test.csv").read_bytes()
    with pytest.raises(UsageError, match=r"output folder out exists"):
        split(seed=1)
    assert Path("out/test.csv").read_bytes() == before


@pytest.mark.parametrize("name", ["all.csv", "all.parquet"])
def test_nothing_is_left_of_a_failure(monkeypatch, name):
    write("all.csv")
    pq.write_table(make_table(), "all.parquet")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(arrow, "replacing", fail)
    with pytest.raises(DiskError, match="No space left"):
        split(name)
    assert sorted(os.listdir()) == ["all.csv", "all.parquet"]


def test_a_file_that_changes_meanwhile(monkeypatch):
    write("all.csv")
    choose = HeldOutRule.choose

    def choose_and_change(*given):
        write("all.csv", ROWS[:400])
        return choose(*given)

    monkeypatch.setattr(HeldOutRule, "choose", choose_and_change)
    with pytest.raises(DataError, match=message("has-changed-while-it-was", "all.csv")):
        split()
    assert os.listdir() == ["all.csv"]


@pytest.mark.skipif(not REAL, reason="TUX_TEST_DATA names no folder of real data")
def test_the_last_rating_of_each_user_of_movielens():
    path = Path(REAL, "ratings", "ml-100k", "u.data.gz")
    rows = np.array([line.split() for line in read(path).splitlines()], np.int64)
    made = split(str(path), by="leave-one-out", time="4")
    train, test = (
        np.array([line.split() for line in read(each).splitlines()], np.int64) for each in made[:2]
    )
    assert len(train) == len(rows) - 943 and len(test) == 943
    last = {user: rows[rows[:, 0] == user, 3].max() for user in range(1, 944)}
    assert {user: time for user, _, _, time in test.tolist()} == last


def test_a_byte_that_stands_for_breaks_is_refused():
    write("all.csv", [("a", 1, "x\x1ey"), ("b", 2, "z")], "user,item,note")
    with pytest.raises(DataError, match=message("a-row-holds-the-byte")):
        split()
    assert not os.path.exists("out")


@pytest.mark.parametrize("by", ["random", "user", "leave-one-out"])
def test_a_table_without_rows_is_refused(by):
    write("all.csv", [], "user,item")
    with pytest.raises(DataError, match="holds no"):
        split(by=by)


def test_columns_that_might_be_any_are_not_guessed():
    write("all.csv", [(1, "ann", "x", 5), (2, "ann", "y", 3)], "when,who,what,stars")
    with pytest.raises(DataError, match="user and item may be any of the columns"):
        split(by="user")
    made = split(by="leave-one-out", columns="who,what")
    assert made.rows == (1, 1)


def test_large_whole_times_differ_by_one():
    rows = [("a", n, 1_700_000_000_000_000_000 + at) for n, at in enumerate([7, 9, 8])]
    write("all.csv", [*rows, ("b", 1, 5), ("b", 2, 4)], "user,item,time")
    made = split(by="leave-one-out", time="time")
    assert made.test.read_text().splitlines()[1:] == ["a,1,1700000000000000009", "b,1,5"]


def test_what_is_odd_in_rows_is_told_but_no_column_is_unused(here):
    rows = [(f"a{at}", f"b{at % 7}", at) for at in range(40)]
    write("all.csv", [*rows, ("# an end",)], "who,friend,n")
    told = []
    split_files("all.csv", "out", HeldOutRule(), warn=told.append)
    assert [text.split(":")[0] for text in told] == ["all.csv"] * len(told)
    assert "1 line of comments" in str(told) and "not used" not in str(told)
    write("pairs.csv", [row[:2] for row in rows], "who,friend")
    split_files("pairs.csv", "out2", HeldOutRule(), warn=told.append)
    assert any("row 1, who, friend, is read as an edge" in text for text in told)
