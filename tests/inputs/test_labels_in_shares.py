"""A run whose labels stand in a file of their own has what a run has that loads all whole, where
each loader reads a share of the samples and the labels of these alone.
"""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from support.machines.same_loads import begin_run, faults, load_both_ways

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.linear.linear import Linear
from tux.base.errors import DataError
from tux.io.samples.label_files import examine_labels, read_sample_labels
from tux.io.source import text
from tux.options.options import RunOptions

pytestmark = pytest.mark.usefixtures("here")


def features(m=60, seed=4, **odd):
    """Return lines of libsvm text without labels; `odd` ones by their numbers, as row_7="..."."""
    draw = np.random.default_rng(seed)
    out = []
    for at in range(m):
        columns = np.unique(draw.integers(1, 20, draw.integers(1, 6)))
        out.append(" ".join(f"{column}:{draw.integers(1, 40) / 8:g}" for column in columns))
        out[-1] = odd.get(f"row_{at}", out[-1])
    return "".join(line + "\n" for line in out)


def label_lines(*kinds, m=60):
    draw = np.random.default_rng(7)
    return "".join(f"{kinds[draw.integers(len(kinds))]}\n" for _ in range(m))


def linear(loss="logistic", **parameters):
    return Linear(loss=loss, **parameters)


def write_table(path, m=60):
    draw = np.random.default_rng(2)
    rows = [
        f"{value / 8:g},{('Oslo', 'Rome', '')[at % 3]},{2**24 + 2 * at}"
        for at, value in enumerate(draw.integers(-40, 40, m))
    ]
    path.write_text("size,town,big\n" + "".join(row + "\n" for row in rows))


@pytest.mark.parametrize(
    ("labels", "program"),
    [
        (label_lines("-1", "+1"), BlockPG()),
        (label_lines("yes", "no") + "\n\n", BlockPG()),
        (label_lines('"a ""b"""', '"c,d"'), linear()),
        (label_lines('"a"', "b"), linear()),
        (label_lines("b", "10", "9.50", "+10"), linear("softmax")),
        (label_lines("0.5", "1e-3", "-7"), linear("squared")),
        (label_lines("16777217", "16777216", "16777219"), linear("squared")),
        (label_lines("0.0", "-0"), linear("softmax", classes="0,1")),
    ],
)
def test_labels_of_each_kind(here, labels, program):
    (here / "x.svm").write_text(features())
    (here / "y.txt").write_text(labels)
    write_table(here / "x.csv")
    for name, workers in (("x.svm", 2), ("x.svm", 5), ("x.csv", 3)):
        found = load_both_ways(here, program, name, RunOptions(workers=workers, labels="y.txt"))
        assert ("labels" in " ".join(found.warnings)) == ("16777217" in labels)


@pytest.mark.parametrize(
    ("labels", "program"),
    [
        (np.arange(60) % 2, BlockPG()),
        (np.arange(60) % 2 > 0, linear()),
        (np.arange(60) / 7, linear("squared")),
        (np.array(["a", "b", "c"])[np.arange(60) % 3], linear("softmax")),
        (np.array([b"a", b"bc"])[np.arange(60) % 2], linear()),
    ],
)
def test_labels_in_an_array(here, labels, program):
    np.save("y.npy", labels)
    (here / "x.svm").write_text(features())
    load_both_ways(here, program, "x.svm", RunOptions(workers=3, labels="y.npy"))


@pytest.mark.parametrize("program", [linear("squared"), linear("softmax")])
def test_bad_rows_and_bad_labels_are_skipped(here, program):
    (here / "many").mkdir()
    (here / "many" / "a.svm").write_text(features(row_3="1:x"))
    with gzip.open(here / "many" / "b.svm.gz", "wt") as file:
        file.write(features(30, row_9="2:nan"))
    lines = label_lines("1", "2", m=90).splitlines()
    lines[20] = lines[70] = "nan"
    with gzip.open(here / "y.gz", "wt") as file:
        file.write("\n".join(lines))
    options = RunOptions(workers=4, labels="y.gz", on_bad_row="skip")
    found = load_both_ways(here, program, "many", options)
    assert found.record.sizes["skipped"] == 4


def test_parquet_and_a_column_of_weights(here):
    columns = {"size": np.arange(60.0), "heavy": np.arange(60.0) % 3}
    pq.write_table(pa.table(columns), "x.parquet", row_group_size=7)
    (here / "y.txt").write_text(label_lines("a", "b"))
    options = RunOptions(workers=3, labels="y.txt", weight="heavy")
    load_both_ways(here, linear(), "x.parquet", options)


def save_matrix(form="csr", *, compressed=True, rows=60, bad=0.0):
    draw = np.random.default_rng(5)
    dense = draw.integers(-3, 4, (rows, 15)) * (draw.random((rows, 15)) < 0.3) / 4
    dense[7], dense[50, 3] = 0, bad
    sp.save_npz("x.npz", sp.csr_array(dense).asformat(form), compressed)
    Path("y.txt").write_text(label_lines("1", "2", m=60))


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("program", [BlockPG(), linear("squared")])
def test_a_matrix(here, program, compressed):
    save_matrix(compressed=compressed)
    for workers in (2, 3, 5):
        load_both_ways(here, program, "x.npz", RunOptions(workers=workers, labels="y.txt"))
    entry = sp.csr_array(([2.0], ([1], [3])), shape=(2, 9))
    sp.save_npz("few.npz", entry)
    Path("few.txt").write_text("1\n0\n")
    load_both_ways(here, program, "few.npz", RunOptions(workers=5, labels="few.txt"))
    save_matrix(bad=np.inf)
    options = RunOptions(workers=3, labels="y.txt", on_bad_row="skip")
    assert load_both_ways(here, program, "x.npz", options).record.sizes["skipped"] == 1


@pytest.mark.parametrize(
    ("form", "how", "program"),
    [
        ("csc", {}, linear()),
        ("coo", {}, linear()),
        ("csr", {}, linear(hash=3)),
    ],
)
def test_matrices_that_are_read_whole(here, form, how, program):
    save_matrix(form, **how)
    options = RunOptions(workers=3, labels="y.txt")
    one, other = (
        begin_run(here / "parts", program, "x.npz", None, options, in_shares=in_shares)
        for in_shares in (False, True)
    )
    assert not other.in_shares and one.files == other.files


@pytest.mark.parametrize(
    ("how", "labels", "words"),
    [
        ({"rows": 61}, "y.txt", "60 labels, but 61 samples"),
        ({"bad": np.nan}, "y.txt", "x.npz:row 51"),
        ({}, None, "has no labels"),
    ],
)
def test_errors_of_matrices_are_the_same(here, how, labels, words):
    save_matrix(**how)
    told = faults(here, linear(), RunOptions(workers=3, labels=labels), "x.npz")
    assert told[0] == told[1]
    assert words in told[0][1]


@pytest.mark.parametrize("damage", ["bounds", "bytes"])
def test_damaged_matrices_are_the_same(here, damage):
    save_matrix(compressed=False)
    if damage == "bounds":
        arrays = dict(np.load("x.npz"))
        np.savez("x.npz", **arrays | {"indptr": arrays["indptr"].astype("f8")})
    else:
        first = sp.load_npz("x.npz").data[:9].tobytes()
        content = Path("x.npz").read_bytes()
        Path("x.npz").write_bytes(content.replace(first, first[::-1]))
    told = faults(here, linear(), RunOptions(workers=3, labels="y.txt"), "x.npz")
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("labels", "words", "program", "how"),
    [
        (label_lines("a", "b", m=59), "label for each sample of x.svm", BlockPG(), {}),
        ("y\n" + label_lines("a", "b"), "may be a name", BlockPG(), {}),
        ('"y"\n' + label_lines('"1"', '"0"'), "'y', may be a name", linear("squared"), {}),
        (label_lines("1", "0", m=61), "61 labels", linear(), {"on_bad_row": "skip"}),
        ("", "0 labels", linear(), {}),
        (label_lines("a", m=50) + "\n" + label_lines("b", m=9), "y.txt:51", BlockPG(), {}),
        (label_lines("1", m=50) + "x\n" + label_lines("2", m=9), "y.txt:51", linear("squared"), {}),
        (label_lines("1", m=50) + "inf\n" + label_lines("2", m=9), "finite", linear(), {}),
        (label_lines("a"), "all labels of y.txt are of one kind", BlockPG(), {}),
        (label_lines("a", m=40) + label_lines("b", "c", m=20), "y.txt:4", BlockPG(), {}),
        (label_lines("a", "b"), "labels of y.txt", BlockPG(negative="a", positive="c"), {}),
        (label_lines("a", "b"), "labels stand either", BlockPG(), {"label": "y", "form": "table"}),
        ("a\0\n" * 60, "not a text file", BlockPG(), {}),
    ],
)
def test_errors_are_the_same(here, labels, words, program, how):
    (here / "x.svm").write_text(features())
    (here / "y.txt").write_text(labels)
    told = faults(here, program, RunOptions(workers=3, labels="y.txt", **how), "x.svm")
    assert told[0] == told[1]
    assert words in told[0][1]


@pytest.mark.parametrize("labels", [np.r_[np.arange(59.0), np.nan], np.r_[np.inf, np.arange(59.0)]])
@pytest.mark.parametrize("program", [linear("squared"), linear("softmax")])
def test_numbers_that_are_no_labels(here, labels, program):
    np.save("y.npy", labels)
    (here / "x.svm").write_text(features())
    told = faults(here, program, RunOptions(workers=3, labels="y.npy"), "x.svm")
    assert told[0] == told[1]
    assert "finite" in told[0][1]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.svm", "1 2:1\n0 3:1\n" * 30, "has labels itself"),
        ("x.csv", "a,y\n" + "1,2\n" * 60, "has labels itself"),
        ("x.svm", features(row_50="1:x"), "x.svm:51"),
    ],
)
def test_errors_in_samples_are_the_same(here, name, content, words):
    (here / name).write_text(content)
    (here / "y.txt").write_text(label_lines("1", "0"))
    told = faults(here, linear(), RunOptions(workers=3, labels="y.txt"), name)
    assert told[0] == told[1]
    assert words in told[0][1]


@pytest.mark.parametrize("content", ['"a"\n' * 9, '"a"\n\n"b"\n\n\n', "a\n" * 7, "\n\n1\n", ""])
def test_ranges_of_labels_are_those_of_all(here, monkeypatch, content):
    monkeypatch.setattr(text, "_block", lambda: 8)
    (here / "y.txt").write_text(content)
    file, whole = examine_labels("y.txt"), read_sample_labels("y.txt").tolist()
    assert file.size == len(whole) and (not whole or file.first == whole[0])
    for end in range(len(whole) + 1):
        assert [file.read_range(at, end).tolist() for at in range(end + 1)] == [
            whole[at:end] for at in range(end + 1)
        ]


@pytest.mark.parametrize("name", ["y.txt", "y.npy"])
def test_a_file_of_labels_that_is_shorter_now(here, name):
    def write(labels):
        np.save(name, labels) if name == "y.npy" else Path(name).write_text("a\n" * len(labels))

    write(np.arange(9))
    file = examine_labels(name)
    write(np.arange(5))
    assert len(file.read_range(2, 5)) == 3
    with pytest.raises(DataError, match="was changed while it was read"):
        file.read_range(2, 6)
