"""Small inputs that fuzzing has found: each is a value, or an error of tux in words."""

import io
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp

from tux.arrays.arrow import read_parquet
from tux.arrays.ids import Ids
from tux.arrays.npy import read_npy
from tux.base.errors import DataError
from tux.io.bags.bags import read_bags
from tux.io.edges.read import read_edges
from tux.io.formats.detect import Format, detect_format
from tux.io.samples.samples import read_samples
from tux.io.source.text import NUMBER, NUMERIC
from tux.io.vertices.columns import WantedField
from tux.io.vertices.labels import read_vertex_labels
from tux.io.vertices.table import read_vertices

LONG = 5_000  # digits: more than int() takes
MARKET = "%%MatrixMarket matrix coordinate {} general\n"
ENDS = ("user", "item")


def assert_refused(read, words, where=""):
    """Assert that reading raises a DataError with these words, each part of it one short line."""
    with pytest.raises(DataError, match=words) as told:
        read()
    for line in (told.value.what, told.value.where, told.value.do):
        assert len(line.splitlines()) <= 1 and len(line) <= 2000
    assert where in told.value.where


# ---- numbers of very many digits


@pytest.mark.parametrize("name", ["bags.txt", "bags.svm"])
def test_a_head_of_very_many_digits_is_no_number_of_pairs(file, name):
    path = file(("9" * LONG + " 0:1 1:1 2:1 3:1 4:1\n") * 3, name)
    assert detect_format(path) in (Format.SVM, Format.TEXT)


@pytest.mark.parametrize(
    ("rows", "words", "line"),
    [
        ("9" * LONG + " 3 1\n1 1 1\n", "no line of sizes", 2),
        ("3 3 1\n" + "9" * LONG + " 1 1\n", "row '9+[.]{3}' of a matrix", 3),
        ("3 3 1\n1 ² 1\n", "column '²' of a matrix", 3),
        ("3 3 1\n1 1 " + "9" * LONG + "\n", "the value '9+[.]{3}' is no finite number", 3),
    ],
)
def test_numbers_of_a_matrix(file, rows, words, line):
    path = file(MARKET.format("real") + rows, "matrix.mtx")
    assert_refused(lambda: read_edges(path, ENDS, {"value": "f4"}), words, f":{line}")


def test_a_whole_number_of_an_edge(file):
    path = file("1,2,3\n1,3," + "9" * LONG + "\n")
    assert_refused(
        lambda: read_edges(path, ENDS, {"value": "i4"}), r"is 9+\.\.\., beyond int32", ":2"
    )


@pytest.mark.parametrize(("form", "first"), [("svm", ""), ("lda-c", "2 ")])
def test_a_column_with_very_many_zeros_before_it(file, form, first):
    path = file(f"{first}{'0' * LONG}2:1 x\n")
    assert_refused(lambda: read_bags(path, form=form), "'x' is no word:count", ":1")


def test_a_word_of_docword_with_very_many_zeros_before_it(file):
    path = file(f"2\n2\n1\n{'0' * LONG}9 1 1\n")
    assert_refused(
        lambda: read_bags(path, form="docword"), "document 0+... , but|document 0+", ":4"
    )


def test_a_label_of_very_many_digits_is_a_word(file):
    labels = read_vertex_labels(file("7 " + "9" * LONG + "\n"), Ids.of([7])[0])
    assert labels.names.tolist() == ["9" * LONG]


def test_words_of_very_many_digits_are_seen_to_be_no_numbers():
    """In a time that grows with their length alone, not with its square."""
    word = "0" * 500_000 + "b"
    assert not NUMBER.fullmatch(word) and not NUMERIC.fullmatch(word)


@pytest.mark.parametrize("number", ["1", "1.", ".5", "1.5", "-0", "+1e5", "1.e-3", "nan", "-Inf"])
def test_what_a_number_is(number):
    assert NUMBER.fullmatch(number)


@pytest.mark.parametrize("word", ["", ".", "-", "e5", "1e", "1.5.", "1..5", "0x1", "٣", "1_0"])
def test_what_no_number_is(word):
    assert not NUMBER.fullmatch(word)


# ---- numbers that the field cannot hold


@pytest.mark.parametrize(
    ("number", "dtype"),
    [("1e300", "f4"), ("2.5", "i4"), ("2147483648", "i4"), ("-1", "u1"), ("9.3e18", "i8")],
)
def test_a_number_of_a_matrix_that_the_field_cannot_hold(file, number, dtype):
    path = file(MARKET.format("real") + f"2 2 1\n1 2 {number}\n", "matrix.mtx")
    assert_refused(
        lambda: read_edges(path, ENDS, {"value": dtype}), f"value is .*, which {dtype[0]}"
    )


def test_a_weight_of_a_metis_graph_that_the_field_cannot_hold(file):
    path = file("2 1 001\n2 300\n1 300\n", "graph.metis")
    assert read_edges(path, ("a", "a"), {"w": "u2"}).fields["w"].tolist() == [300, 300]
    assert_refused(
        lambda: read_edges(path, ("a", "a"), {"w": "i1"}), "w is 300, which int8 cannot hold"
    )


def test_a_number_of_matlab_that_the_field_cannot_hold(file):
    out = io.BytesIO()
    scipy.io.savemat(out, {"network": sp.csc_array([[0, 0.5], [0, 0]])})
    path = file(out.getvalue(), "graph.mat")
    assert read_edges(path, ENDS, {"value": "f4"}).fields["value"].tolist() == [0.5]
    assert_refused(lambda: read_edges(path, ENDS, {"value": "i4"}), "value is 0.5, which int32")


def test_sizes_of_a_matrix_that_are_no_integers(file):
    out = io.BytesIO()
    scipy.io.savemat(out, {"network": sp.csc_array([[0, 0.5], [0, 0]])})
    content = bytearray(out.getvalue())
    at = content.index((5).to_bytes(4, "little") + (8).to_bytes(4, "little"))
    content[at : at + 4] = (9).to_bytes(4, "little")  # a double instead of two integers
    content[at + 8 : at + 16] = np.array([np.nan]).tobytes()
    path = file(bytes(content), "graph.mat")
    assert_refused(
        lambda: read_edges(path, ENDS, {}), "numbers with a fraction where integers should be"
    )


def test_a_weight_that_single_precision_cannot_hold(file):
    path = file("label,a,w\n0,1,1\n1,2,3.4028236e38\n")
    assert_refused(lambda: read_samples(path, form="table", weight="w"), "weight w is '3.4", ":3")


# ---- text


def test_rows_that_are_shorter_than_their_header(file):
    path = file("source,x,target\n18446744073709551615,007\n1,2\n")
    assert_refused(lambda: read_edges(path, ENDS, {}), "2 columns instead of 3", ":2")


def test_a_blank_that_only_python_knows(file):
    path = file("id,x\na,1\x1c\nb,2\n")
    assert_refused(
        lambda: read_vertices(path, "user", [WantedField("x", np.dtype("f4"))]), "not a number"
    )


def test_names_of_columns_in_an_error_are_one_line(file):
    names = ["a\x0bb", "c\u2028d", *(f"column_{at}" for at in range(1000))]
    path = file(",".join(names) + "\n" + ",".join(map(str, range(1002))) + "\n")
    assert_refused(lambda: read_edges(path, ENDS, {}, columns="x,y"), "no column 'x'")


# ---- arrays of numpy


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def test_strings_beyond_unicode(file):
    content = npy(np.array(["a", "b"]))
    for code in (0x110000, 0xD800):
        path = file(content[:-4] + code.to_bytes(4, "little"), "words.npy")
        assert_refused(lambda path=path: read_npy(path), "no Unicode text")


def test_an_old_name_of_a_dtype(file):
    content = npy(np.arange(2)).replace(b"<i8", b"<a8")
    assert_refused(lambda: read_npy(file(content, "words.npy")), "its header is damaged")


def test_bytes_are_text_in_utf_8(file):
    assert read_npy(file(npy(np.array(["ü".encode(), b"b"])), "w.npy")).tolist() == ["ü", "b"]
    assert read_npy(file(npy(np.array(["ü", "b"], ">U1")), "w.npy")).tolist() == ["ü", "b"]
    assert_refused(lambda: read_npy(file(npy(np.array([b"\xff"])), "w.npy")), "not UTF-8")


# ---- packed files


def test_strings_and_names_of_parquet_that_are_not_utf_8(file, tmp_path):
    # another program's file, without checksums, which would be told first
    pq.write_table(pa.table({"name": ["word", "other"]}), tmp_path / "good")
    content = (tmp_path / "good").read_bytes()
    assert_refused(lambda: read_parquet(file(content.replace(b"name", b"n\xd1me"))), "not UTF-8")
    assert_refused(lambda: read_parquet(file(content.replace(b"word", b"w\xd1rd"))), "not UTF-8")


@pytest.mark.parametrize("damage", ["version", "name"])
def test_zip_files_that_zipfile_cannot_read(file, damage):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("e", b"1,2\n")
    content = bytearray(out.getvalue())
    at = content.index(b"PK\x01\x02")
    if damage == "version":  # that is needed to read it
        content[at + 6] = 255
    else:  # the list of members has one without a name
        content[at + 28] = 0
        del content[at + 46]
        end = content.index(b"PK\x05\x06")
        content[end + 12] -= 1
    assert_refused(
        lambda: read_edges(file(bytes(content), "edges.csv"), ENDS, {}), "no readable zip file"
    )


def test_no_warning_comes_from_numpy(file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = file(MARKET.format("real") + "2 2 1\n1 2 1e-320\n", "matrix.mtx")
        assert read_edges(path, ENDS, {"value": "f8"}).fields["value"].tolist() == [1e-320]


@pytest.mark.parametrize(("shape", "kind"), [((10**12, 0), "<f8"), ((10**12,), "<U0")])
def test_rows_without_a_value_take_no_memory(file, shape, kind):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    content = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
    assert_refused(lambda: read_npy(file(content, "x.npy"), most=2), "has no value")
