"""Tables with one row a sample: text and Parquet, and every way of writing them wrongly."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.programs.sampled import entries, fails, labels_and_classes, writer

from tux.arrays.frames import frame_of
from tux.io.samples import parquet as sample_parquet
from tux.io.samples import tables as sample_tables
from tux.io.samples.memory import read_memory_samples
from tux.io.samples.samples import read_samples
from tux.io.source import table_text
from tux.io.source import text as io_text


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return writer(tmp_path_factory.mktemp("samples"))


CSV = (
    "age,city,label,w,vip\n3, york ,no,1,true\n0,,yes,2.5,false\n,rome,yes,0,\n1e2,york,no,1,True\n"
)
CSV_ENTRIES = {
    (1, "age", 3),
    (1, "city=york", 1),
    (1, "vip", 1),
    (3, "city=rome", 1),
    (4, "age", 100),
    (4, "city=york", 1),
    (4, "vip", 1),
}


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", "::"])
def test_tables_of_text(file, separator):
    for text in (
        CSV,
        CSV.replace("\n", "\r\n"),
        "# head\n\n" + CSV + "\n",
        "\ufeff" + CSV.removesuffix("\n"),
    ):
        text = text.replace(",", separator)
        for content in (text.encode(), gzip.compress(text.encode())):
            samples = read_samples(file(content, "s.csv"), weight="w")
            assert entries(samples) == CSV_ENTRIES and labels_and_classes(samples) == (
                [-1, 1, 1, -1],
                ("no", "yes"),
            )
            assert samples.weight.tolist() == [1, 2.5, 0, 1] and samples.weight.dtype == np.float32
    assert (1, "w", 1) in entries(read_samples(file(CSV, "s.csv")))


def test_quotes_and_blanks(file):
    samples = read_samples(file('y,"a, b"\n0,"x, y"\n1,"say ""no"""\n', "s.csv"))
    assert entries(samples) == {(1, "a, b=x, y", 1), (2, 'a, b=say "no"', 1)}
    assert entries(read_samples(file(" y  a\n0  2\n 1\t3 \n", "s.txt"))) == {
        (1, "a", 2),
        (2, "a", 3),
    }


def test_the_column_of_labels(file):
    for header, column in (
        ("x,Class,TARGET", 2),
        ("label,y,z", 0),
        ("z,y,class", 1),
        ("a,class,b", 1),
    ):
        rows = ["1,1,1"] * 2
        rows[1] = ",".join("0" if at == column else "1" for at in range(3))
        assert read_samples(file("\n".join([header, *rows]), "s.csv")).label.tolist() == [1, -1]
    path = file("a,b,c\n1,2,3\n4,5,6\n", "s.csv")
    assert (
        fails("no column of labels", path)
        == "It has a, b, c; name that of the labels with --label, or a file of them with --labels."
    )
    assert fails("no column 'd'", path, label="d") == "It has a, b, c."
    assert fails("no column 'd'", path, label="b", weight="d") == "It has a, b, c."
    fails("column 'b' cannot be that of the weights", path, label="b", weight="b")
    assert entries(read_samples(path, label="b")) == {
        (1, "a", 1),
        (1, "c", 3),
        (2, "a", 4),
        (2, "c", 6),
    }
    fails("two columns are called 'a'", file("a,a,y\n1,2,3\n", "s.csv"))
    fails("'1,2,3' is no line of column names", file("1,2,3\n4,5,6\n", "s.csv"))
    fails("no column of features", file("y,w\n1,2\n", "s.csv"), weight="w")
    # pandas numbers its rows
    assert entries(read_samples(file(",a,,y\n0,1,5,1\n1,1,5,0\n", "s.csv"))) == {
        (1, "a", 1),
        (2, "a", 1),
    }
    fails(
        "columns 'a=b' and 'a' both give the feature 'a=b'",
        file("a=b,a,y\n1,b,1\n1,b,0\n", "s.csv"),
    )
    fails(
        "has labels itself, in column 'y'",
        file("a,y\n1,1\n", "s.csv"),
        labels=file("1\n", "labels.txt"),
    )


def test_decimal_commas_are_named(file):
    for text, line in (
        ("y;age;c\n1;3,5;a\n0;2;b\n", 2),
        ("# a comment\ny\tage\n1\t2\n\n0\t\n1\t3,5\n", 6),
        ('y,age\n1,"3,5"\n0,"2,5"\n', 2),
    ):
        fails("age is '3,5', with a decimal comma: write it as 3.5", file(text, "s.csv"), line)
    samples = read_samples(file("y;size\n1;3,5\n0;large\n", "s.csv"))
    assert samples.edges.ids["feature"].values.tolist() == ["size=3,5", "size=large"]


ROWS = [
    ("3,5,b,1,1", "5 columns instead of 4"),
    ('"3,5",b,1,1', "a is '3,5', with a decimal comma: write it as 3.5"),
    ("nan,b,1,1", "a is 'nan', not finite"),
    ("inf,b,1,1", "a is 'inf', not finite"),
    ("-1e39,b,1,1", "a is '-1e39', not finite"),
    ("x,b,1,1", "a is 'x', not a number as in the first rows"),
    ("1,b,1", "3 columns instead of 4"),
    ('1,"b,1,1', "a quote is not closed"),
    ("1,b,,1", "the label is missing"),
    ("1,b,nan,1", "the label is 'nan', not finite"),
    ("1,b,1,", "weight w is missing"),
    ("1,b,1,-1", "weight w is '-1', not a finite number from 0"),
    (b"1,\xff,1,1", "the line is not UTF-8 text"),
]


@pytest.mark.slow(after=7)
@pytest.mark.parametrize(("row", "says"), ROWS)
@pytest.mark.parametrize("gap", ["5", ""])
def test_bad_rows_of_text(file, monkeypatch, row, says, gap):
    monkeypatch.setattr(sample_tables, "JUDGED", 3)
    monkeypatch.setattr(table_text, "SMALL", 64)
    monkeypatch.setattr(io_text, "BLOCK", 256)
    good = "".join(f"{number},c{number % 3},{number % 2},1\n" for number in range(1, 40))
    head = f"a,b,y,w\n# a comment\n{good}".encode()
    path = file(
        head
        + (row if isinstance(row, bytes) else row.encode())
        + b"\n"
        + f"{gap},last,0,2\n".encode()
        + good.encode(),
        "s.csv",
    )
    fails(says, path, 42, weight="w")
    samples = read_samples(path, weight="w", on_bad_row="skip")
    assert samples.edges.skipped == 1 and samples.edges.first_skipped.startswith(
        f"{path}:42: {says}"
    )
    assert samples.edges.ids["sample"].values.tolist() == [*range(1, 40), *range(41, 81)]
    assert samples.weight.tolist() == [1] * 39 + [2] + [1] * 39
    again = [n % 2 * 2 - 1 for n in range(1, 40)]
    assert samples.label.tolist() == [*again, -1, *again]
    expected = {
        (at + n, feature, value)
        for at in (0, 41)
        for n in range(1, 40)
        for feature, value in (("a", n), (f"b=c{n % 3}", 1))
    }
    assert entries(samples) == expected | {(41, "b=last", 1)} | ({(41, "a", 5)} if gap else set())


def test_whole_numbers_only(file):
    path = file("a,y\n1,1\n2.5,0\n", "s.csv")
    fails("a is '2.5', not a whole number", path, 3, fields={"count": "i4"})
    assert read_samples(
        path, fields={"count": "i4"}, on_bad_row="skip", classes=("0", "1")
    ).edges.fields["count"].tolist() == [1]


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet(tmp_path):
    columns = {
        "age": pa.array([3, 0, None, 100], pa.int16()),
        "city": pa.array(["york", None, "rome", "york"]).dictionary_encode(),
        "label": ["no", "yes", "yes", "no"],
        "w": pa.array([1, 2.5, 0, 1], pa.float32()),
        "vip": [True, False, None, True],
        "nothing": pa.nulls(4),
        "empty": ["", "", "", ""],
        "code": pa.array([0, 0, 0, 0]).dictionary_encode(),
    }
    samples = read_samples(parquet(tmp_path / "s.parquet", **columns), weight="w")
    assert (
        entries(samples) == CSV_ENTRIES
        and labels_and_classes(samples) == ([-1, 1, 1, -1], ("no", "yes"))
        and samples.weight.tolist() == [1, 2.5, 0, 1]
    )
    for labels, classes in (
        ([1, 2, 2, 1], ("1", "2")),
        ([-0.5, 1.0, 1.0, -0.5], ("-0.5", "1")),
        ([False, True, True, False], ("false", "true")),
    ):
        for column in (pa.array(labels), pa.array(labels).dictionary_encode()):
            path = parquet(tmp_path / "s.parquet", a=[1] * 4, y=column)
            assert labels_and_classes(read_samples(path)) == ([-1, 1, 1, -1], classes)


@pytest.mark.parametrize("index", ["int8", "uint8", "uint32", "uint64"])
def test_words_by_codes_of_any_type(tmp_path, index):
    codes = pa.array([0, None, 1, 0], index)
    city = pa.DictionaryArray.from_arrays(codes, pa.array(["york", "rome"]))
    path = parquet(tmp_path / "s.parquet", city=city, y=[0, 1, 1, 0])
    assert entries(read_samples(path)) == {
        (1, "city=york", 1),
        (3, "city=rome", 1),
        (4, "city=york", 1),
    }
    held = frame_of(pa.table({"city": city, "y": [0, 1, 1, 0]}))
    assert entries(read_memory_samples(held, "a table")) == {
        (0, "city=york", 1),
        (2, "city=rome", 1),
        (3, "city=york", 1),
    }


@pytest.mark.parametrize("kind", ["Categorical", "Enum"])
def test_words_of_polars(tmp_path, kind):
    polars = pytest.importorskip("polars")
    dtype = polars.Categorical() if kind == "Categorical" else polars.Enum(["york", "rome"])
    city = polars.Series(["york", None, "rome", "york"], dtype=dtype)
    table = polars.DataFrame({"city": city, "y": [0, 1, 1, 0]})
    table.write_parquet(path := tmp_path / "s.parquet")
    of_file = entries(read_samples(path))
    held = entries(read_memory_samples(frame_of(table), "a table"))
    assert of_file == {(row + 1, name, value) for row, name, value in held}
    assert held == {(0, "city=york", 1), (2, "city=rome", 1), (3, "city=york", 1)}


def test_bad_rows_of_parquet(tmp_path, monkeypatch):
    monkeypatch.setattr(sample_parquet, "CELLS", 6)
    path = parquet(
        tmp_path / "s.parquet",
        a=[1.0, 2.0, float("nan"), 4.0, 5.0, 6.0],
        y=["a", "b", "a", None, "a", "b"],
        w=[1.0, 2.0, 1.0, 1.0, None, 1.0],
    )
    fails("a is 'nan', not finite", path, "row 3", weight="w")
    samples = read_samples(path, weight="w", on_bad_row="skip")
    assert entries(samples) == {(1, "a", 1), (2, "a", 2), (6, "a", 6)}
    assert labels_and_classes(samples) == ([-1, 1, 1], ("a", "b"))
    assert (
        samples.edges.skipped == 3
        and samples.edges.first_skipped == f"{path}:row 3: a is 'nan', not finite"
    )
    fails("the label is missing", parquet(path, a=[1, 1], y=pa.array([1, None])), "row 2")
    fails(
        "weight w is 'nan'",
        parquet(path, a=[1, 1], y=[1, 2], w=pa.array([1, None])),
        "row 2",
        weight="w",
    )
    fails("3 kinds of labels", parquet(path, a=[1, 1, 1, 1], y=[1, 2, 2, 3]), "row 4")
    fails(
        "column 'd' holds timestamp[ms], not numbers",
        parquet(path, d=pa.array([1, 2], pa.timestamp("ms")), y=[1, 2]),
    )
    fails(
        "weight w is a column of words", parquet(path, a=[1, 1], y=[1, 2], w=["a", "b"]), weight="w"
    )
    fails("no column of features", parquet(path, y=[1, 2]))
    false = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"b"]).buffers())
    fails("a string is not UTF-8 text", parquet(path, a=false, y=[1, 2]))
    fails("holds no sample", parquet(path, a=pa.array([], pa.int8()), y=pa.array([], pa.int8())))


@pytest.mark.parametrize("gap", ["", "?", "None", "NA", " ? "])
def test_a_missing_number_does_not_make_words_of_a_column(file, gap):
    rows = [f"{at},{'abc'[at % 3]},{at % 2}" for at in range(1, 30)]
    rows[7] = f"{gap},b,0"
    samples = read_samples(file("age,city,y\n" + "\n".join(rows) + "\n", "s.csv"))
    assert set(samples.edges.ids["feature"].values.tolist()) == {
        "age",
        "city=a",
        "city=b",
        "city=c",
    }
    assert samples.edges.notes == ("missing numbers count as 0: 1 of column age",)
    assert samples.edges.skipped == 0


def test_few_words_among_numbers_are_told(file):
    rows = [f"{at},{at % 2}" for at in range(1, 30)]
    rows[7] = "unknown,0"
    samples = read_samples(file("age,y\n" + "\n".join(rows) + "\n", "s.csv"))
    assert "age=unknown" in samples.edges.ids["feature"].values.tolist()
    (note,) = samples.edges.notes
    assert (
        "column age is read as words" in note
        and "28 of its first 29 values are numbers, but 'unknown' is not" in note
    )
    notes = read_samples(file("size,y\nNone,1\nNone,0\nL,1\n2,0\n", "s.csv")).edges.notes
    assert "1 of its first 2 values are numbers, but 'L' is not" in notes[0]
    assert "column size holds None, as words like any other" in notes[1]


def test_columns_hold_what_they_held_in_training(file):
    """Also where their first rows say otherwise."""
    train = read_samples(file("y,age,zip\n0,1,a1\n1,2,7\n", "train.csv")).edges
    against = {"feature": train.ids["feature"]}
    same = file("age,zip\n5,7\n2,8\n", "new.csv")
    known = {"against": against, "require_labels": False}
    assert entries(read_samples(same, unknown="skip", **known)) == {
        (1, "age", 5),
        (1, "zip=7", 1),
        (2, "age", 2),
    }
    word = file("age,zip\n5,7\nold,a1\n?,a1\n", "new.csv")
    fails("age is 'old', not a number as in training", word, 3, **known)
    left = read_samples(word, on_bad_row="skip", **known)
    assert left.edges.skipped == 1 and (3, "zip=a1", 1) in entries(left)
    for column, wrong in (("age", pa.array(["5"])), ("zip", pa.array([7]))):
        columns = {"age": pa.array([5]), "zip": pa.array(["7"])} | {column: wrong}
        pq.write_table(pa.table(columns), path := file(b"", "new.parquet"))
        kinds = "words, but of numbers" if column == "age" else "numbers, but of words"
        fails(f"column {column!r} is one of {kinds} in training", path, **known)


# ---- columns that may be no features


def notes_of(tmp_path, columns):
    """Return the notes of readers on a table as text, as Parquet and in memory."""
    table = pa.table(columns)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    (text := tmp_path / "s.csv").write_text("\n".join(lines) + "\n")
    pq.write_table(table, path := tmp_path / "s.parquet")
    held = read_memory_samples(frame_of(table), "a table")
    return [each.edges.notes for each in (read_samples(text), read_samples(path), held)]


@pytest.mark.parametrize("name", ["index", "row.names", "rowname", "row", "X", "x", "no", "nr"])
@pytest.mark.parametrize("first", [0, 1])
def test_columns_that_count_the_rows_are_told(tmp_path, name, first):
    columns = {"a": [5, 7, 5, 8], name: list(range(first, first + 4)), "label": [0, 1, 1, 0]}
    says = f"column {name} counts the rows, and is a feature; leave it out if it is no value"
    for notes in notes_of(tmp_path, columns):
        assert [says in note for note in notes] == [True]


@pytest.mark.parametrize(
    ("name", "values"),
    [("x", [1, 2, 4, 5]), ("x", [2, 3, 4, 5]), ("age", [1, 2, 3, 4]), ("x", [4, 3, 2, 1])],
)
def test_columns_that_do_not_count_the_rows(tmp_path, name, values):
    columns = {"a": [5, 7, 5, 8], name: values, "label": [0, 1, 1, 0]}
    assert not any(notes_of(tmp_path, columns))


def test_counts_of_rows_in_blocks(tmp_path, monkeypatch, file):
    monkeypatch.setattr(io_text, "BLOCK", 20)
    lines = "".join(f"{at},{at % 7},{at % 2}\n" for at in range(1, 40))
    bad = lines.replace("5,5,1\n", "5,?x,1\n", 1)
    for text, how in ((lines, {}), (bad, {"on_bad_row": "skip"})):
        notes = read_samples(file("no,a,y\n" + text, "s.csv"), **how).edges.notes
        assert any("column no counts the rows" in note for note in notes)
    assert not read_samples(file("no,a,y\n" + lines + "7,7,1\n", "s.csv")).edges.notes


def test_categories_that_are_numbers_are_told():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": pandas.Categorical([10, 20, 10]), "y": [0, 1, 0]})
    samples = read_memory_samples(frame_of(table), "a table")
    (note,) = samples.edges.notes
    assert note.startswith("column a holds categories that are numbers")
    assert samples.edges.ids["feature"].values.tolist() == ["a"]


@pytest.mark.parametrize(
    "values",
    [["1_000", "2_000"], ["1_000", "500"], ["-$1.50", "$2"], ["EUR 5", "EUR 6"], ["US$5", "US$6"]],
)
def test_numbers_with_signs_and_underscores(file, values):
    text = "y,a\n" + "".join(f"{at % 2},{values[at % 2]}\n" for at in range(4))
    (note,) = read_samples(file(text, "s.csv")).edges.notes
    assert note.endswith("write numbers without signs")


@pytest.mark.parametrize(
    "values", [["u-1", "u-2"], ["10.0.0.1", "10.0.0.2"], ['"=""007"""', '"=""008"""'], ["a1", "b2"]]
)
def test_ids_are_no_numbers_with_signs(file, values):
    text = "y,a\n" + "".join(f"{at % 2},{values[at % 2]}\n" for at in range(4))
    assert not read_samples(file(text, "s.csv")).edges.notes
