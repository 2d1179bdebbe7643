"""Labels of samples that may not be what is meant: told or refused."""

import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.messages import message
from support.programs.sampled import labels_and_classes

from tux.base.errors import DataError
from tux.io.samples.samples import read_samples


@pytest.mark.parametrize("names", ["x,y,kind", "X,Y,kind", "id,y,x"])
def test_labels_that_may_be_coordinates_are_told(file, names):
    notes = read_samples(file(f"{names}\n1,0,3\n3,1,4\n", "s.csv")).edges.notes
    assert any("beside x; see --label" in note for note in notes)
    assert not read_samples(file("x,y\n1,0\n3,1\n", "s.csv")).edges.notes


@pytest.mark.parametrize(
    "labels",
    [
        *(("1,2", "0"), ("3", "1,2,3"), ("0,1", "1,0"), ("0,0", "0"), ("1,5", "2,5")),
        *(("a,b", "a"), ("-1", "-1,2"), ("1;2", "1"), ("1.0,2.0", "1.0")),
    ],
)
def test_several_labels_of_a_row_are_refused(file, labels):
    text = "".join(f"{label} {at}:1\n" for at, label in enumerate(labels, 1))
    for multiclass in (False, True):
        with pytest.raises(DataError, match=message("labels-with-a-comma-or")) as error:
            read_samples(file(text, "s.svm"), multiclass=multiclass)
        assert error.value.where.endswith(f":{1 + (not re.search('[,;]', labels[0]))}")


@pytest.mark.parametrize(
    ("first", "do"),
    [
        ("label", "'label', may be a name: remove it"),
        ("1", "one label for"),
        ("-1.5", "one label for"),
    ],
)
def test_a_name_before_labels_is_told(file, first, do):
    labels = file(f"{first}\n1\n0\n", "y.txt")
    with pytest.raises(DataError, match="3 labels, but 2 samples") as error:
        read_samples(file("1:1\n2:1\n", "x.svm"), labels=labels)
    assert do in error.value.do


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ('"a"\n"b"\n', ("a", "b")),
        ('"1"\r\n"0"\r\n', ("0", "1")),
        ('"a ""x"""\n"b"\n', ('a "x"', "b")),
        ('"a"\nb\n', ('"a"', "b")),
    ],
)
def test_quotes_around_labels(file, labels, classes):
    samples = read_samples(file("1:1\n2:1\n", "x.svm"), labels=file(labels, "y.txt"))
    assert samples.classes == classes


@pytest.mark.parametrize("coded", [False, True])
def test_decimals_of_parquet_are_labels(tmp_path, coded):
    labels = pa.array([Decimal("1.50"), Decimal("-2"), None, Decimal("1.50")])
    table = {"a": [1, 2, 3, 4], "y": labels.dictionary_encode() if coded else labels}
    pq.write_table(pa.table(table), tmp_path / "s.parquet")
    samples = read_samples(tmp_path / "s.parquet", on_bad_row="skip")
    assert labels_and_classes(samples) == ([1, -1, 1], ("-2", "1.5"))
