"""Labelled samples: files of libsvm, every kind of labels, and what is said of each thing that
is wrong; the other forms give the same.
"""

import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.messages import message
from support.programs.sampled import entries, fails, labels_and_classes, writer

from tux.base.errors import UsageError
from tux.io.samples import parquet as sample_parquet
from tux.io.samples.samples import read_samples
from tux.io.source import text as io_text

REAL = os.environ.get("TUX_TEST_DATA", "")
needs_data = pytest.mark.skipif(not REAL, reason="TUX_TEST_DATA names no folder of real data")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return writer(tmp_path_factory.mktemp("samples"))


# ---- libsvm

SVM = "+1 2:1 5:.5 # the first\n\n-1\n# none\n+1 1:2 2:-1\n"
SVM_ENTRIES = {(1, 2, 1), (1, 5, 0.5), (3, 1, 2), (3, 2, -1)}


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, lambda b: pa.compress(b, codec="zstd", asbytes=True)]
)
def test_libsvm(file, pack):
    for name in ("s.svm", "s.txt"):
        samples = read_samples(file(pack(SVM.encode()), name))
        assert entries(samples) == SVM_ENTRIES and labels_and_classes(samples) == (
            [1, -1, 1],
            ("-1", "+1"),
        )
        assert samples.edges.ids["sample"].values.tolist() == [
            1,
            2,
            3,
        ] and samples.weight.tolist() == [1, 1, 1]
        assert (
            samples.edges.ends == ("sample", "feature")
            and samples.edges.fields["value"].dtype == samples.label.dtype == np.float32
        )
    assert entries(read_samples(file(pack(SVM.encode())), ("row", "key"), {})) == {
        entry[:2] for entry in SVM_ENTRIES
    }
    # which by its first lines alone might be another kind of file
    zeros = read_samples(file("1\n0\n1\n0 3:1\n"))
    assert zeros.label.tolist() == [1, -1, 1, -1] and entries(zeros) == {(4, 3, 1)}


def test_features_in_any_order_and_several_times(file):
    samples = read_samples(file("1 5:1 2:3 5:.5\n0 9:1 1:1\n"))
    assert (
        entries(samples) == {(1, 2, 3), (1, 5, 1.5), (2, 1, 1), (2, 9, 1)}
        and samples.edges.skipped == 0
    )
    assert "1 entry repeats a feature of the same sample" in samples.edges.notes[0]


@pytest.mark.parametrize(
    ("labels", "signs", "classes"),
    [
        ("0 1 1", [-1, 1, 1], ("0", "1")),
        ("-1 +1 1.0", [-1, 1, 1], ("-1", "+1")),
        ("2 1 2", [1, -1, 1], ("1", "2")),
        ("10 9 1e1", [1, -1, 1], ("9", "10")),
        ("-.5 -7e-1 -0.5", [1, -1, 1], ("-7e-1", "-.5")),
        ("yes no yes", [1, -1, 1], ("no", "yes")),
        ("b 10 b", [1, -1, 1], ("10", "b")),
        ("1 x 1.0", [-1, 1, -1], ("1", "x")),
    ],
)
def test_two_kinds_of_labels(file, labels, signs, classes):
    words = labels.split()
    assert labels_and_classes(read_samples(file("".join(f"{word} 1:1\n" for word in words)))) == (
        signs,
        classes,
    )
    table = read_samples(file("x,label\n" + "".join(f"1,{word}\n" for word in words), "s.csv"))
    assert labels_and_classes(table) == (signs, classes)
    bare, apart = file("1:1\n" * len(words)), file(labels.replace(" ", "\n"), "labels.txt")
    assert labels_and_classes(read_samples(bare, labels=apart)) == (signs, classes)
    assert read_samples(bare, labels=apart, classes=classes[::-1]).label.tolist() == [
        -sign for sign in signs
    ]


def test_other_numbers_of_kinds(file):
    path = file("1 1:1\n0 1:1\n# and\n2 1:1\n1 1:1\n3 1:1\n")
    fails("4 kinds of labels instead of two: '1' (2), '0' (1), '2' (1), '3' (1)", path, 4)
    fails(
        "3 kinds of labels instead of two: 'a' (1), 'b' (1), 'c' (1)",
        file("y x\na 1\n\nb 2\nc 2\n", "s.txt"),
        5,
    )
    many = "".join(f"{label} 1:1\n" for label in range(7))
    fails(
        "7 kinds of labels instead of two: '0' (1), '1' (1), '2' (1), '3' (1), '4' (1), ...",
        file(many),
        3,
    )
    one = fails(f"all labels of {path} are of one kind: '+1' (2)", file("+1 1:1\n1 2:1\n"))
    assert "both" in one


def test_classes_of_training(file):
    path = file("1 1:1\n+1 2:1\n")
    assert labels_and_classes(read_samples(path, classes=("-1", "+1"))) == ([1, 1], ("-1", "+1"))
    fails("label '1' is neither 'no' nor 'yes'", path, 1, classes=("no", "yes"))
    fails("label '2' is neither '0' nor '1'", file("1 1:1\n\n2 1:1\n"), 3, classes=("0", "1"))
    fails(
        "label 'c' is neither 'a' nor 'b'", file("x,y\n1,a\n1,c\n", "s.csv"), 3, classes=("a", "b")
    )
    for classes in (("1", "+1"), ("nan", "1")):
        with pytest.raises(UsageError, match=message("classes-and-are-not-two")):
            read_samples(path, classes=classes)


def test_samples_without_labels(file):
    bare = file("1:1\n\n2:1\n")
    assert "file of labels" in fails(f"{bare} has no labels", bare)
    samples = read_samples(bare, require_labels=False, classes=("a", "b"))
    assert (
        labels_and_classes(samples) == ([], ("a", "b"))
        and len(samples.weight) == 3
        and entries(samples) == {(1, 1, 1), (3, 2, 1)}
    )
    for held in ("0 1:1\n0 2:1\n", "x,label\n1,0\n1,0\n"):
        path = file(held, "s.svm" if ":" in held else "s.csv")
        # place holders
        assert labels_and_classes(
            read_samples(path, require_labels=False, classes=("-1", "1"))
        ) == (
            [],
            ("-1", "1"),
        )
        assert labels_and_classes(read_samples(path, require_labels=False)) == ([], ("-1", "+1"))
        assert labels_and_classes(read_samples(path, require_labels=False, classes=("0", "1"))) == (
            [-1, -1],
            ("0", "1"),
        )
        fails("label '0' is neither", path, classes=("-1", "1"))
    fails(
        "label '2' is neither", file("1 1:1\n2 1:1\n"), 2, classes=("-1", "1"), require_labels=False
    )
    assert (
        len(read_samples(file("x,b\n1,2\n", "s.csv"), label="clicked", require_labels=False).label)
        == 0
    )


LINES = [
    ("0 3:nan", "value of feature 3 is 'nan', not finite"),
    ("1 3:1 4:-inf", "value of feature 4 is '-inf', not finite"),
    ("1 3:1e39", "value of feature 3 is '1e39', not finite"),
    ("1 -1:1 1:1", "'-1:1' is no feature:value"),
    ("0 5:3e38 4:1 5:3e38", "the numbers of feature 5 add up to 6e+38, beyond float32"),
    ("1 x:1", "'x:1' is no feature:value"),
    ("2:1 3:1", "a sample without a label, but the first one has one"),
    ("nan 2:1", "the label is 'nan', not finite"),
    ("1e999 2:1", "the label is '1e999', not finite"),
]


@pytest.mark.parametrize(("line", "says"), LINES)
def test_bad_lines(file, line, says):
    path = file(f"1 1:1\n\n0 2:1\n{line}\n1 7:1\n")
    assert "--on-bad-row skip" in fails(says, path, 4)
    samples = read_samples(path, on_bad_row="skip")
    assert entries(samples) == {(1, 1, 1), (2, 2, 1), (4, 7, 1)} and samples.label.tolist() == [
        1,
        -1,
        1,
    ]
    assert samples.edges.skipped == 1 and samples.edges.first_skipped.startswith(
        f"{path}:4: {says}"
    )
    assert samples.edges.ids["feature"].values.tolist() == [1, 2, 7] and len(samples.weight) == 3


def test_nothing_usable(file):
    fails("no sample of", file("1 x:1\n"), on_bad_row="skip")
    fails("has a label; the first:", file("nan 1:1\n"), on_bad_row="skip")
    fails("no feature in 2 samples", file("1\n0\n"))
    fails("is empty", file(""))
    fails("is empty", file("", "s.csv"))
    fails("no sample of", file("x,y\n", "s.csv"))
    fails("no such file", Path("nowhere.svm"))
    fails("is a docword file", file("1\n1\n1\n1 1 1\n", "s.txt"))


def test_places_in_long_files(file, monkeypatch):
    monkeypatch.setattr(io_text, "BLOCK", 64)
    text = "".join(
        f"+{1 + number // 50} 1:1 {2 + number}:1\n{'# none' * (number % 3 == 0)}\n"
        for number in range(100)
    )
    samples = read_samples(file(text))
    assert samples.classes == ("+1", "+2") and samples.label.tolist() == [-1] * 50 + [1] * 50
    fails("3 kinds of labels", file(text + "\n3 1:1\n"), 202)
    fails("label '3' is neither '+1' nor '2'", file(text + "\n3 1:1\n"), 202, classes=("+1", "2"))


def test_features_of_64_bits(file):
    most = 2**64 - 1
    samples = read_samples(file(f"1 3:1 {2**40}:2 {most}:3\n0 {2**31}:1\n"))
    assert (
        entries(samples) == {(1, 3, 1), (1, 2**40, 2), (1, most, 3), (2, 2**31, 1)}
        and len(samples.edges.ids["feature"]) == 4
    )
    fails("too large a number", file(f"1 {2**64}:1\n"), 1)
    turned = read_samples(file(f"1 {most}:1 5:1\n0 {most}:1 {most}:1\n"))
    assert entries(turned) == {(1, 5, 1), (1, most, 1), (2, most, 2)}
    known = read_samples(file("1 3:1\n0 5:1\n"), against=samples.edges.ids).edges
    assert known.ids["feature"].values.tolist() == [3, 2**31, 2**40, most, 5] and known.unseen == {
        "feature": 1
    }


def test_features_of_training(file):
    train = read_samples(file("1 2:1 9:1\n0 4:1\n"))
    path = file("0 1:1 4:1 9:1\n1 3:1\n", "t.svm")
    test = read_samples(path, against=train.edges.ids)  # of these, samples are not taken over
    assert test.edges.ids["feature"].values.tolist() == [2, 4, 9, 1, 3] and test.edges.unseen == {
        "feature": 2
    }
    assert test.edges.ids["sample"].values.tolist() == [1, 2] and test.unknown == 0
    left = read_samples(path, against=train.edges.ids, unknown="skip")
    assert (
        entries(left) == {(1, 4, 1), (1, 9, 1)}
        and left.unknown == 2
        and left.label.tolist() == [-1, 1]
    )
    # what can be told of them is told by the intercept
    for rows, unknown in (("1 7:1\n0 8:1\n", 2), ("1\n0\n", 0)):
        bare = read_samples(file(rows, f"{unknown}.svm"), against=train.edges.ids, unknown="skip")
        assert not len(bare.edges) and bare.unknown == unknown and bare.label.tolist() == [1, -1]
    with pytest.raises(UsageError, match=message("to-leave-out-unknown-s")):
        read_samples(path, unknown="skip")


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"form": "doc"}, "there is no form 'doc'"),
        ({"ends": ("a", "a")}, "not both of type a"),
        ({"fields": {"a": "f4", "b": "f4"}}, "one number an entry"),
        ({"fields": {"a": "U3"}}, "one number an entry"),
        ({"weight": "w"}, "no columns with names, so none for the weight"),
        ({"label": "y"}, "none for the label"),
        ({"form": "table", "label": "y", "labels": "z"}, "either in column 'y' or in z"),
    ],
)
def test_what_does_not_go_together(file, how, says):
    with pytest.raises(UsageError, match=says):
        read_samples(file(SVM), **how)


# ---- all forms alike


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_one_set_of_samples_in_four_forms(tmp_path_factory, seed, chunked):
    folder, random = tmp_path_factory.mktemp("all"), np.random.default_rng(seed)
    dense = np.round(random.normal(size=(random.integers(2, 30), random.integers(1, 6))), 3) * (
        random.random((1, 1)) < 0.9
    )
    dense[random.random(dense.shape) < 0.4] = 0
    dense[0, 0] = 7
    labels = np.where(random.random(len(dense)) < 0.5, 1, 0)
    labels[:2] = 0, 1
    lines = [
        f"{y} " + " ".join(f"{at + 1}:{v:.17g}" for at, v in enumerate(row) if v)
        for y, row in zip(labels, dense, strict=True)
    ]
    (folder / "s.svm").write_text("\n".join(lines))
    sp.save_npz(folder / "s.npz", sp.csr_array(dense))
    np.save(folder / "y.npy", labels)
    columns = {f"f{at}": dense[:, at] for at in range(dense.shape[1])} | {"y": labels}
    pq.write_table(pa.table(columns), folder / "s.parquet")
    rows = [
        ",".join(columns),
        *(",".join(f"{columns[name][at]:.17g}" for name in columns) for at in range(len(dense))),
    ]
    (folder / "s.csv").write_text("\n".join(rows))
    with pytest.MonkeyPatch.context() as patch:
        if chunked:
            patch.setattr(io_text, "BLOCK", 40)
            patch.setattr(sample_parquet, "CELLS", 12)
        read = [
            read_samples(folder / f"s.{end}", labels=folder / "y.npy" if end == "npz" else None)
            for end in ("svm", "npz", "parquet", "csv")
        ]
    names = {f"f{at}": at for at in range(dense.shape[1])}
    expected = {
        (r + 1, c, float(np.float32(dense[r, c]))) for r, c in zip(*np.nonzero(dense), strict=True)
    }
    assert (
        {(row, column - 1, value) for row, column, value in entries(read[0])}
        == entries(read[1])
        == expected
    )
    for table in read[2:]:
        assert {(row, names[column], value) for row, column, value in entries(table)} == expected
    for samples in read:
        assert labels_and_classes(samples) == (
            [2 * label - 1 for label in labels.tolist()],
            ("0", "1"),
        )
        assert samples.edges.ids["sample"].values.tolist() == list(range(1, len(dense) + 1))


# ---- real files


@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "features", "count", "positive"),
    [
        ("a9a.gz", 32_561, 123, 451_592, 7_841),
        ("a9a.t.gz", 16_281, 122, 225_731, 3_846),
        ("farm-ads-vect.gz", 4_143, 54_877, 817_141, 2_210),
        ("generated-20k-50k.gz", 20_000, None, 784_967, 10_675),
    ],
)
def test_real_samples(name, rows, features, count, positive):
    samples = read_samples(Path(REAL) / "libsvm" / name)
    assert (
        len(samples.label) == len(samples.edges.ids["sample"]) == rows
        and len(samples.edges) == count
    )
    assert (samples.label > 0).sum() == positive and (samples.label < 0).sum() == rows - positive
    assert (
        features in (None, len(samples.edges.ids["feature"]))
        and (samples.edges.fields["value"] == 1).all()
    )
