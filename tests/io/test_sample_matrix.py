"""Samples in files of numpy and scipy, and labels in a file of their own; false arrays are
refused before they take memory.
"""

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.programs.sampled import entries, fails, labels_and_classes, writer

from tux.base.errors import DataError
from tux.io.samples.samples import read_samples

SVM = "+1 2:1\n-1 3:1\n"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return writer(tmp_path_factory.mktemp("samples"))


# ---- labels apart


def test_labels_of_another_file(file):
    path = file("1:1\nx:1\n\n2:1\n")
    apart = file("a\nb\na\nb\n\n", "labels.txt")
    samples = read_samples(path, labels=apart, on_bad_row="skip")  # those of bad rows are there too
    assert samples.edges.ids["sample"].values.tolist() == [1, 3, 4] and labels_and_classes(
        samples
    ) == (
        [-1, -1, 1],
        ("a", "b"),
    )
    path = file("1:1\n2:1\n2:1\n")
    with pytest.raises(DataError, match=r"2 labels, but 3 samples\n  at .*labels.txt"):
        read_samples(path, labels=file("a\nb\n", "labels.txt"))
    for text, says in (
        ("a\n\nb\n", "the label is missing"),
        ("1\nNaN\n2\n", "the label is 'NaN', not finite"),
    ):
        apart = file(text, "labels.txt")
        with pytest.raises(DataError, match=says) as error:
            read_samples(path, labels=apart)
        assert error.value.where == f"{apart}:2"
        assert labels_and_classes(read_samples(path, labels=apart, on_bad_row="skip"))[0] == [-1, 1]
    left = read_samples(
        path, labels=file("a\n\nnan\n", "labels.txt"), on_bad_row="skip", classes=("a", "b")
    )
    assert left.edges.skipped == 2 and left.label.tolist() == [-1]
    apart = file(b"a\n\xff\nb\n", "labels.txt")
    with pytest.raises(DataError, match="not UTF-8") as error:
        read_samples(path, labels=apart)
    assert error.value.where == f"{apart}:2"
    apart = file("a\nb\nc", "labels.txt")
    with pytest.raises(DataError, match="3 kinds of labels") as error:
        read_samples(path, labels=apart)
    assert error.value.where == f"{apart}:3"
    fails("has labels itself", file(SVM), labels=apart)
    assert labels_and_classes(
        read_samples(file("x,z\n1,1\n2,2\n1,1\n", "s.csv"), labels=file("1\n2\n2", "labels.txt"))
    )[0] == [-1, 1, 1]


@pytest.mark.parametrize(
    ("array", "classes"),
    [
        (np.array([1, 0, 1]), ("0", "1")),
        (np.array([1.5, -1, 1.5], ">f4"), ("-1", "1.5")),
        (np.array([True, False, True]), ("false", "true")),
        (np.array(["yes", "no", "yes"]), ("no", "yes")),
        (np.array([b"yes", b"no", b"yes"]), ("no", "yes")),
    ],
)
def test_labels_of_numpy(file, tmp_path, array, classes):
    np.save(tmp_path / "y.npy", array)
    assert labels_and_classes(read_samples(file("1:1\n" * 3), labels=tmp_path / "y.npy")) == (
        [1, -1, 1],
        classes,
    )


def test_arrays_that_are_none(file, tmp_path):
    def assert_refused(content, says):
        (tmp_path / "y.npy").write_bytes(content)
        with pytest.raises(DataError, match=says):
            read_samples(file("1:1\n2:1\n"), labels=tmp_path / "y.npy")

    def npy_bytes(array):
        stream = io.BytesIO()
        np.save(stream, array)
        return stream.getvalue()

    assert_refused(
        npy_bytes(np.array([1, "a"], object)), "an array of object of shape .2,. is not read here"
    )
    assert_refused(
        npy_bytes(np.ones((2, 2))), r"an array of float64 of shape \(2, 2\) is not read here"
    )
    assert_refused(npy_bytes(np.float64(1)), "labels are one column")
    assert_refused(npy_bytes(np.ones(2, complex)), "labels are one column")
    assert_refused(
        npy_bytes(np.ones(2)).replace(b"(2,)", b"(7,)"),
        r"shape \(7,\) of float64 takes 56 bytes, but 16 follow",
    )
    assert_refused(npy_bytes(np.ones(2))[:-1], "takes 16 bytes, but 15 follow(?s:.*)cut short")
    assert_refused(npy_bytes(np.ones(2))[:40], "no readable array of numpy")
    assert_refused(b"1\n2\n", "no readable array of numpy")
    assert_refused(npy_bytes(np.array([np.nan, 1])), "the label is 'nan', not finite")


# ---- matrices

DENSE = np.array([[0, 2, 0, 0.5], [0, 0, 0, 0], [-1, 0, 0, 3]])
DENSE_ENTRIES = {(1, 1, 2), (1, 3, 0.5), (3, 0, -1), (3, 3, 3)}


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("compressed", [True, False])
def test_matrices(file, tmp_path, form, compressed):
    apart = file("1\n0\n1\n", "labels.txt")
    for matrix in (
        sp.csr_matrix(DENSE).asformat(form),
        sp.csr_array(DENSE).asformat(form),
        sp.csr_array(DENSE.astype("f4")).asformat(form),
    ):
        sp.save_npz(tmp_path / "x.npz", matrix, compressed=compressed)
        samples = read_samples(tmp_path / "x.npz", labels=apart)
        assert (
            entries(samples) == DENSE_ENTRIES
            and labels_and_classes(samples) == ([1, -1, 1], ("0", "1"))
            and len(samples.edges.ids["sample"]) == 3
        )
    bare = read_samples(tmp_path / "x.npz", require_labels=False)
    assert entries(bare) == DENSE_ENTRIES and len(bare.label) == 0
    fails("has no labels", tmp_path / "x.npz")
    short = file("1\n0\n", "two.txt")
    with pytest.raises(DataError, match="2 labels, but 3 samples\n  at .*two.txt"):
        read_samples(tmp_path / "x.npz", labels=short)
    sp.save_npz(
        tmp_path / "x.npz", sp.csr_array(np.where(DENSE == 2, np.nan, DENSE)).asformat(form)
    )
    fails("value of feature 1 is 'nan', not finite", tmp_path / "x.npz", "row 1", labels=apart)
    left = read_samples(tmp_path / "x.npz", labels=apart, on_bad_row="skip")
    assert (
        entries(left) == {(3, 0, -1), (3, 3, 3)}
        and left.label.tolist() == [-1, 1]
        and left.edges.skipped == 1
    )


def test_entries_that_stand_twice(tmp_path):
    row, column, value = (
        np.array([1, 0, 1, 1, 0]),
        np.array([2, 1, 0, 2, 1]),
        np.array([1.0, 2, 3, 4, -2]),
    )
    sp.save_npz(tmp_path / "x.npz", sp.coo_array((value, (row, column)), (2, 2**40)))
    samples = read_samples(tmp_path / "x.npz", require_labels=False)
    assert entries(samples) == {(2, 0, 3), (2, 2, 5)} and len(samples.edges) == 2
    sp.save_npz(
        tmp_path / "x.npz", sp.csr_array((value, np.array([2, 1, 2, 1, 0]), np.array([0, 3, 5])))
    )
    samples = read_samples(tmp_path / "x.npz", require_labels=False)
    assert (
        entries(samples) == {(1, 1, 2), (1, 2, 4), (2, 0, -2), (2, 1, 4)}
        and len(samples.edges) == 4
    )


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["csr", "csc", "coo"]))
def test_matrices_are_what_scipy_reads(tmp_path_factory, seed, form):
    path = tmp_path_factory.mktemp("m") / "x.npz"
    random = np.random.default_rng(seed)
    shape = random.integers(1, 9, 2)
    sp.save_npz(path, sp.random_array(tuple(shape), density=0.5, rng=random).asformat(form))
    matrix = sp.load_npz(path).tocoo()
    expected = {
        (r + 1, c, np.float32(v))
        for r, c, v in zip(matrix.row, matrix.col, matrix.data, strict=True)
        if v
    }
    if expected:
        samples = read_samples(path, require_labels=False)
        assert entries(samples) == expected and len(samples.edges.ids["sample"]) == shape[0]


def test_matrices_that_are_none(tmp_path):
    path = tmp_path / "x.npz"
    good = {
        "format": np.array(b"csr"),
        "shape": [2, 3],
        "data": [1.0, 1],
        "indices": [0, 2],
        "indptr": [0, 1, 2],
    }

    def assert_refused(says, where="", **change):
        np.savez(
            path, **{name: array for name, array in (good | change).items() if array is not None}
        )
        assert fails(says, path, where, require_labels=False)  # some advice

    np.savez(path, **good)
    assert entries(read_samples(path, require_labels=False)) == {(1, 0, 1), (2, 2, 1)}
    assert_refused("holds a matrix of form bsr", format=np.array(b"bsr"))
    assert_refused("holds no sparse matrix", format=None)
    assert_refused("holds no sparse matrix", indptr=None)
    assert_refused("is the shape of no matrix", "shape", shape=[2])
    assert_refused("is the shape of no matrix", "shape", shape=[2, -1])
    assert_refused("is the shape of no matrix", "shape", shape=[2**31, 1])
    assert_refused("no bounds of 2 parts", "indptr", indptr=[0, 2])
    assert_refused("no bounds of 2 parts of 2 entries", "indptr", indptr=[0, 1, 3])
    assert_refused("no bounds of 2 parts", "indptr", indptr=[0, 2, 1])
    assert_refused("no bounds of 2 parts", "indptr", indptr=[1, 1, 2])
    assert_refused("no bounds of 2,000,000,000 parts", "indptr", shape=[2_000_000_000, 3])
    assert_refused("column 0 .. 3 in a matrix of 2 x 3", indices=[0, 3])
    assert_refused("column -1 .. 0 in a matrix of 2 x 3", indices=[0, -1])
    assert_refused("instead of a row of numbers", "data", data=np.ones(2, complex))
    assert_refused("instead of a row of numbers", "indices", indices=[0.0, 1.0])
    coo = {"format": np.array(b"coo"), "row": [0, 1], "col": [0, 1]}
    assert_refused("1 rows, 2 columns and 2 values", **coo | {"row": [0]})
    assert_refused("row 0 .. 2 in a matrix", **coo | {"row": [0, 2]})
    assert_refused("2,000,000,000 rows, but only 2 entries", **coo, shape=[2_000_000_000, 3])
    for content in (b"", b"PK\x03\x04", path.read_bytes()[:-30]):
        path.write_bytes(content)
        fails("no readable .npz file", path, form="npz")


def test_archives_that_lie(tmp_path):
    path = tmp_path / "x.npz"
    stream = io.BytesIO()
    np.save(stream, np.ones(2))
    lie = stream.getvalue().replace(b"(2,), }    ", b"(1" + b"0" * 3 + b",), } ")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.npy", lie)
    fails("takes 8,000 bytes, but 16 follow", path, "data", form="npz", require_labels=False)
    size = 10**9  # a gigabyte out of some bytes
    claimed = stream.getvalue().replace(b"(2,), }         ", b"(124999984,), } ")
    assert b"(124999984,), }" in claimed
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", claimed)
    path.write_bytes(
        path.read_bytes().replace(len(claimed).to_bytes(4, "little"), size.to_bytes(4, "little"))
    )
    fails("no array can be packed so", path, "data", form="npz", require_labels=False)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("data.npy", stream.getvalue())
    fails("no array can be packed so", path, "data", form="npz", require_labels=False)
    np.savez(path, data=np.array([1, "a"], object))
    fails(
        "an array of object of shape (2,) is not read here",
        path,
        "data",
        form="npz",
        require_labels=False,
    )
