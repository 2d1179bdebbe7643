"""`tux.split` of tables in memory, of several libraries: as that of a file with the same rows."""

import numpy as np
import pyarrow as pa
import pytest
from support.messages import message

import tux
from tux.cli.main import main

RNG = np.random.default_rng(5)
USER, ITEM = RNG.integers(0, 20, 200), RNG.integers(0, 30, 200)
TIME = RNG.integers(0, 1000, 200).astype("M8[s]").astype("M8[ms]")
COLUMNS = {"user": USER, "item": ITEM, "time": TIME, "row": np.arange(200)}


def as_pandas():
    return pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(COLUMNS)


def as_polars():
    return pytest.importorskip("polars", reason="polars is not installed").DataFrame(COLUMNS)


KINDS = {
    "pandas": (as_pandas, lambda table: table["row"].tolist()),
    "polars": (as_polars, lambda table: table["row"].to_list()),
    "pyarrow": (lambda: pa.table(COLUMNS), lambda table: table["row"].to_pylist()),
    "dict": (lambda: COLUMNS, lambda table: table["row"].tolist()),
    "tuple": (lambda: (*COLUMNS.values(),), lambda table: table[3].tolist()),
    "rows": (
        lambda: [*zip(*(column.tolist() for column in COLUMNS.values()), strict=True)],
        lambda table: [row[3] for row in table],
    ),
}
TITLED = [kind for kind in KINDS if kind not in ("tuple", "rows")]


@pytest.fixture
def path(tmp_path):
    names, rows = ",".join(COLUMNS), zip(*COLUMNS.values(), strict=True)
    lines = [names, *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "all.csv").write_text("\n".join(lines))
    return tmp_path / "all.csv"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["random", "user", "leave-one-out", "time"])
def test_a_table_is_split_as_a_file(path, kind, by):
    make, rows = KINDS[kind]
    column = "time" if kind in TITLED else "3"
    time = {} if by in ("random", "user") else {"time": column}
    columns = {} if kind in TITLED else {"columns": "1,2"}
    given = make()
    parts = tux.split(given, by=by, seed=2, **time, **columns)
    assert all(type(part) is type(given) for part in parts)
    files = tux.split(path, path.parent / "out", by=by, seed=2, **time and {"time": "time"})
    for part, file in zip(parts, files, strict=True):
        told = [int(line.split(",")[3]) for line in file.read_text().splitlines()[1:]]
        assert rows(part) == told and 0 < len(told) < 200


def test_two_files_as_on_the_command_line(path, monkeypatch, capsys):
    monkeypatch.chdir(path.parent)
    train, test = tux.split("all.csv", "one", by="time", time="time", test_share=0.25)
    argv = "split all.csv --out two --by time --time time --test-share 0.25"
    assert main(argv.split()) == 0
    assert capsys.readouterr().out == "two/train.csv: 150 rows\ntwo/test.csv: 50 rows\n"
    for made in (train, test):
        assert (path.parent / "two" / made.name).read_bytes() == made.read_bytes()
    assert main(argv.split()) == 2
    assert "output folder two exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"data": "all.csv"}, "the files that are made need a folder"),
        ({"data": COLUMNS, "out": "x"}, r"out=\.\.\. is for files"),
        ({"data": COLUMNS, "by": "day"}, 'by="day" is no rule'),
        ({"data": 3}, "the int is no table of pairs"),
        ({"data": COLUMNS, "by": "time", "time": "when"}, "no column 'when'"),
        ({"data": ([1, None], ["a", "b"])}, "user is missing"),
        ({"data": {"user": [], "item": []}}, "no row"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises((tux.UsageError, tux.DataError), match=words):
        tux.split(**given)


def test_a_table_that_cannot_be_cut():
    class Stream:
        def __arrow_c_stream__(self, schema=None):
            return pa.table(COLUMNS).__arrow_c_stream__(schema)

    with pytest.raises(tux.DataError, match=message("cannot-be-cut-in-two", "Stream")):
        tux.split(Stream())


def test_large_whole_times_in_memory_differ_by_one():
    times = 1_700_000_000_000_000_000 + np.array([7, 9, 8])
    table = {"user": ["a"] * 3, "item": [1, 2, 3], "time": times}
    _, held = tux.split(table, by="leave-one-out", time="time")
    assert held["item"] == [2] and held["time"].tolist() == [times[1]]


def test_times_with_a_fraction_in_memory():
    table = {"user": ["a"] * 3, "item": [1, 2, 3], "time": [1.25, 0.5, 1.5]}
    assert tux.split(table, by="leave-one-out", time="time")[1]["item"] == [3]


def test_entries_of_any_kind_are_kept():
    table = {"user": [1, 1, 2], "item": [1, 2, 3], "tags": [["x"], ["y", "z"], []]}
    train, held = tux.split(table, by="leave-one-out")
    assert len(held["tags"]) == 1 and len(train["tags"]) == 2


def test_numbers_of_numpy_are_numbers():
    plain = tux.split(COLUMNS, seed=3, test_share=0.25)[1]["row"].tolist()
    held = tux.split(COLUMNS, seed=np.int64(3), test_share=np.float32(0.25))[1]
    assert held["row"].tolist() == plain


@pytest.mark.parametrize("wrong", [{"columns": ["a", "b"]}, {"time": 4}, {"test_share": "0.2"}])
def test_arguments_of_another_type_are_refused(wrong):
    by = {"by": "time"} if "time" in wrong else {}
    with pytest.raises(tux.UsageError):
        tux.split(COLUMNS, **wrong, **by)
