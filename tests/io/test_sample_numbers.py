"""Labels that are numbers: every form gives the same ones, and what is said of labels that are
none.
"""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from support.programs.sampled import entries, fails, labels_and_classes, writer

from tux.arrays.frames import frame_of
from tux.base.errors import DataError
from tux.io.samples.memory import read_memory_samples
from tux.io.samples.samples import read_samples

LABELS = [2.5, -1e-3, 2.5, 0.0, 7.0]
X = np.array([[1, 0], [0, 2], [3, 4], [0, 0], [0, 0.5]])
BARE = "1:1\n2:2\n1:3 2:4\n\n2:0.5\n"
SVM = "2.5 1:1\n# none\n-1e-3 2:2\n2.50 1:3 2:4\n0\n7 2:0.5\n"
CSV = "size,y,kind\n1,2.5,a\n0,-1e-3,b\n3,2.50,a\n0,0,a\n0,7,b\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return writer(tmp_path_factory.mktemp("numbers"))


def read(path, **how):
    return read_samples(path, numeric=True, **how)


def test_libsvm(file):
    for name in ("s.svm", "s.txt"):
        samples = read(file(SVM, name))
        assert labels_and_classes(samples) == (LABELS, ()) and samples.label.dtype == np.float64
        assert samples.edges.ids["sample"].values.tolist() == [1, 2, 3, 4, 5]
        assert entries(samples) == {(1, 1, 1), (2, 2, 2), (3, 1, 3), (3, 2, 4), (5, 2, 0.5)}


def test_labels_that_would_be_two_classes_or_one(file):
    assert read(file("0 1:1\n1 1:2\n")).label.tolist() == [0, 1]
    assert read(file("3 1:1\n3.0 1:2\n")).label.tolist() == [3, 3]


def test_all_digits_count(file):
    words = ["0.12345678901234567890123", "1700000060.125", "1.7976931348623157e308", "-5e-324"]
    words.append("+.5e-1")
    numbers = [float(word) for word in words]
    assert read(file("".join(f"{word} 1:1\n" for word in words))).label.tolist() == numbers
    apart = file("\n".join(words), "labels.txt")
    assert read(file("1:1\n" * 5), labels=apart).label.tolist() == numbers
    table = "x,y\n" + "".join(f"1,{word}\n" for word in words)
    assert read(file(table, "s.csv")).label.tolist() == numbers


def test_tables(file, tmp_path):
    text = read(file(CSV, "s.csv"))
    assert labels_and_classes(text) == (LABELS, ())
    columns = {"size": X[:, 0], "y": LABELS, "kind": ["a", "b", "a", "a", "b"]}
    pq.write_table(pa.table(columns), tmp_path / "s.parquet", row_group_size=2)
    stored = read(tmp_path / "s.parquet")
    assert labels_and_classes(stored) == (LABELS, ()) and entries(stored) == entries(text)
    held = read_memory_samples(frame_of(columns), "a dict", numeric=True)
    assert labels_and_classes(held) == (LABELS, ()) and held.edges.ids[
        "sample"
    ].values.tolist() == [
        0,
        1,
        2,
        3,
        4,
    ]
    other = read(file(CSV.replace("y", "price"), "s.csv"), label="price")
    assert labels_and_classes(other) == (LABELS, ())


def test_times_in_seconds_are_read_whole(file, tmp_path):
    times = [1.7e9 + at + at / 64 for at in range(5)]
    text = "".join(f"{time!r}\n" for time in times)
    np.save(tmp_path / "y.npy", np.array(times))
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(X))
    columns = {"size": X[:, 0], "y": times}
    pq.write_table(pa.table(columns), tmp_path / "s.parquet", row_group_size=2)
    rows = "".join(f"{size},{time!r}\n" for size, time in zip(X[:, 0], times, strict=True))
    pairs = zip(times, SVM.replace("# none\n", "").splitlines(), strict=True)
    lines = "".join(f"{time!r} {line.partition(' ')[2]}\n" for time, line in pairs)
    found = [
        read(file(lines)),
        read(file(BARE, "bare.txt"), labels=file(text, "labels.txt")),
        read(tmp_path / "x.npz", labels=tmp_path / "y.npy"),
        read(file("size,y\n" + rows, "s.csv")),
        read(tmp_path / "s.parquet"),
        read_memory_samples(frame_of(columns), "a dict", numeric=True),
        read_memory_samples(X, "an array", y=np.array(times), numeric=True),
        read_memory_samples(sp.csr_array(X), "a matrix", y=times, numeric=True),
    ]
    for samples in found:
        assert samples.label.tolist() == times


def test_types_of_columns(tmp_path):
    for column in (
        pa.array([1, 0, 3], "int8"),
        pa.array([1, 0, 3], "float16"),
        pa.array([1, 0, 3], "int16").dictionary_encode(),
        pa.array([1, 0, 3]).cast(pa.decimal128(30, 2)),
    ):
        pq.write_table(pa.table({"x": [1.0, 2, 3], "y": column}), tmp_path / "s.parquet")
        assert read(tmp_path / "s.parquet").label.tolist() == [1, 0, 3]


def test_labels_apart(file, tmp_path):
    words = file("2.5\n-1e-3\n2.50\n0\n7\n\n", "labels.txt")
    np.save(tmp_path / "y.npy", np.array(LABELS))
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(X))
    for labels in (words, tmp_path / "y.npy"):
        for path in (file(BARE), tmp_path / "x.npz"):
            assert labels_and_classes(read(path, labels=labels)) == (LABELS, ())
    for y in (
        LABELS,
        np.array(LABELS),
        np.array(LABELS, object),
        np.array([str(y) for y in LABELS]),
    ):
        for x in (X, sp.csr_array(X)):
            assert labels_and_classes(read_memory_samples(x, "an array", y=y, numeric=True)) == (
                LABELS,
                (),
            )


def test_held_out_samples_need_no_labels_to_predict(file):
    for text in (SVM, SVM.replace("2.5 ", "? ").replace("7 ", "nan "), BARE):
        samples = read(file(text), require_labels=False)
        assert labels_and_classes(samples) == ([], ()) and len(samples.edges.ids["sample"]) == 5
        assert samples.edges.skipped == 0
    for text in (CSV, CSV.replace("2.5,", "?,"), CSV.replace(",7", ",")):
        samples = read(file(text, "s.csv"), require_labels=False)
        assert labels_and_classes(samples) == ([], ()) and entries(samples) >= {
            (1, "size", 1),
            (5, "kind=b", 1),
        }
        assert not {name for _, name, _ in entries(samples)} & {"y"}


@pytest.mark.parametrize(
    ("label", "says"),
    [
        ("spam", "the label is 'spam', not a number"),
        ("nan", "the label is 'nan', not finite"),
        ("-inf", "the label is '-inf', not finite"),
        ("1e309", "not finite"),
        ("0x10", "the label is '0x10', not a number"),
        ("1,5", "the label is '1,5', with a decimal comma: write it as 1.5"),
    ],
)
def test_a_label_that_is_no_number(file, label, says):
    do = fails(says, file(f"2 1:1\n# none\n{label} 1:1\n"), 3, numeric=True)
    assert "--on-bad-row skip" in do
    bare, apart = file("1:1\n" * 3), file(f"1\n2\n{label}\n", "labels.txt")
    with pytest.raises(DataError) as error:
        read(bare, labels=apart)
    assert says in error.value.what and error.value.where == f"{apart}:3"
    cell = f'"{label}"' if "," in label else label
    in_table = says.replace("the label", "label y")
    fails(in_table, file(f"x,y\n1,2\n1,{cell}\n", "s.csv"), 3, numeric=True)
    for path in (
        file(f"2 1:1\n{label} 1:1\n4 1:1\n"),
        file(f"x,y\n1,2\n1,{cell}\n1,4\n", "s.csv"),
    ):
        samples = read(path, on_bad_row="skip")
        assert samples.label.tolist() == [2, 4] and samples.edges.skipped == 1
        assert samples.edges.ids["sample"].values.tolist() == [1, 3]
        assert samples.edges.first_skipped.startswith(f"{path}:")


def test_a_label_that_is_missing(file, tmp_path):
    fails("a sample without a label", file("2 1:1\n1:1\n"), 2, numeric=True)
    fails("has no labels", file(BARE), numeric=True)
    fails("no column of labels", file("a,b\n1,2\n", "s.csv"), numeric=True)
    for gap in ("", "NA"):
        fails("label y is missing", file(f"x,y\n1,2\n1,{gap}\n", "s.csv"), 3, numeric=True)
    pq.write_table(pa.table({"x": [1.0, 2, 3], "y": [1.0, None, 2.5]}), tmp_path / "s.parquet")
    fails("label y is missing", tmp_path / "s.parquet", "row 2", numeric=True)
    samples = read(tmp_path / "s.parquet", on_bad_row="skip")
    assert samples.label.tolist() == [1, 2.5] and samples.edges.skipped == 1
    pq.write_table(pa.table({"x": [1.0, 2], "y": ["1", "b"]}), tmp_path / "s.parquet")
    fails("label y is a column of words", tmp_path / "s.parquet", numeric=True)
    for y, says in (
        (np.array([1.0, np.nan]), "the label is 'nan', not finite"),
        (np.array([1.0, None]), "the label is missing"),
        (np.array(["1", "b"]), "the label is 'b', not a number"),
    ):
        with pytest.raises(DataError) as error:
            read_memory_samples(X[:2], "an array", y=y, numeric=True)
        assert error.value.what == says and error.value.where == "the labels, row 1"


def test_no_label_is_a_number(file):
    with pytest.raises(DataError, match="no sample of .* has a label; the first: .*'b', not a num"):
        read(file("b 1:1\nc 1:1\n"), on_bad_row="skip")
    with pytest.raises(DataError, match="no sample of .* is usable"):
        read(file("x,y\n1,b\n1,c\n", "s.csv"), on_bad_row="skip")


def test_the_column_of_labels_is_not_told_as_unused(file):
    table = file("a,b,y\n1,2,3\n4,5,6\n", "u.csv")
    assert not any("not used" in note for note in read(table, require_labels=False).edges.notes)


def test_labels_below_the_least_are_bad_rows(file, tmp_path):
    says = "is '-3', below 0"
    fails(says, file("2 1:1\n# none\n-3 1:1\n"), 3, numeric=True, least=0.0)
    fails(says, file("x,y\n1,2\n1,-3\n", "s.csv"), 3, numeric=True, least=0.0)
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [2, -3]}), tmp_path / "s.parquet")
    with pytest.raises(DataError, match=says):
        read(tmp_path / "s.parquet", least=0.0)
    with pytest.raises(DataError, match=says):
        read_memory_samples(X, "an array", y=[0, 1, 2, -3, 4], numeric=True, least=0.0)
    rest = read(file("2 1:1\n-3 1:1\n4 1:1\n"), least=0.0, on_bad_row="skip")
    assert rest.label.tolist() == [2, 4] and rest.edges.skipped == 1
