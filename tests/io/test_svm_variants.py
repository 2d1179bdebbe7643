"""libsvm text as others write it: features from 0, weights of labels, queries of ranking."""

import numpy as np
import pytest
from support.messages import message

from tux.base.errors import DataError
from tux.io.bags.bags import read_bags
from tux.io.formats.detect import Format, detect_format
from tux.io.samples.samples import read_samples

ZERO = "features are numbered from 0, as feature 0 occurs"
QUERY = "qid, the query of each row, is left out: rows are not ranked"
WEIGHTS = "each row begins with its label and its weight, as label:weight"


def entries(samples):
    """Return the entries of samples by row and feature."""
    ids = samples.edges.ids
    row, feature = ids["sample"].values, ids["feature"].values
    ends = zip(row[samples.edges.src], feature[samples.edges.dst], strict=True)
    values = samples.edges.fields["value"].tolist()
    return {(int(a), int(b)): value for (a, b), value in zip(ends, values, strict=True)}


PLAIN = {(1, 1): 0.5, (1, 3): 2.0, (2, 2): 1.0}


@pytest.mark.parametrize("name", ["a.svm", "a.txt"])
@pytest.mark.parametrize(
    ("text", "found", "notes"),
    [
        ("1 0:4 1:2 2:1 3:1\n0 1:1 2:1 3:1\n", {(1, 0): 4, (2, 1): 1}, (ZERO,)),
        ("0 1:1 2:1 3:1\n1 0:4 1:2 2:1\n", {(2, 0): 4, (1, 1): 1}, (ZERO,)),
        ("-1 0:0 2:1 3:1\n+1 1:1 2:1 5:2\n", {(1, 0): 0, (2, 5): 2}, (ZERO,)),
        ("1 2:1 0:4 3:1\n0 1:1 2:1 3:1\n", {(1, 0): 4}, (ZERO,)),
        ("1 qid:1 1:0.5 2:1\n0 qid:1 1:7 2:1 3:1\n", {(1, 1): 0.5, (2, 1): 7}, (QUERY,)),
        ("2 qid:10 1:1 2:1 3:0 # doc 1\n0\tqid:10\t1:2 5:1\r\n", {(2, 1): 2}, (QUERY,)),
        ("1  qid:3  1:1 2:2\n0 1:2 2:2 3:4\n", {(1, 1): 1, (2, 3): 4}, (QUERY,)),
        ("1 qid:3\n0 qid:3 1:2 2:2 3:1\n", {(2, 1): 2}, (QUERY,)),
        ("1 qid:1 0:0.5 2:1\n0 qid:2 1:7 2:1 3:1\n", {(1, 0): 0.5}, (ZERO, QUERY)),
        ("1 qid:1 1:1 2:1\n" * 9 + "0 qid:2 1:7 2:1 3:1\n", {(10, 1): 7}, (QUERY,)),
        ("0 1:1 2:1 3:1\n1 1:2 3:1\n", {(1, 1): 1}, ()),
    ],
)
def test_features_from_zero_and_queries(file, text, found, notes, name):
    path = file(text, name)
    assert detect_format(path) is Format.SVM
    samples = read_samples(path)
    assert found.items() <= entries(samples).items() and samples.edges.notes == notes
    assert len(samples.classes) == 2 and (samples.weight == 1).all()


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("1:2 1:1 2:1\n0:1 1:2 2:1 3:1\n" * 2, [2, 1]),
        ("0:0.5 2:1 3:1 4:1\n1:3 1:1 2:1\n" * 2, [0.5, 3]),
        ("-1:2 1:1 2:1\n1:1 1:2 2:1 3:1\n", [2, 1]),
        ("+1:1e-1 5:1 7:1\n-1:.5 1:2 2:1 3:1\n", [0.1, 0.5]),
        ("1:0 1:1 2:1 # note\n0:4 1:2 2:1 3:1\n" * 3, [0, 4]),
        ("2:1.5 1:1 2:1 9:1\n4:2.5 1:2 2:1 3:1\n" * 2, [1.5, 2.5]),
        ("1:2 qid:1 1:1 2:1\n0:1 qid:1 1:2 2:1 3:1\n" * 2, [2, 1]),
        ("1:1.0 101:1.2 102:0.03\n0:2.5 1:2.1 300:4\n0:2.5 0:1.3 1:0.3\n1:1 0:1\n", [1, 2.5]),
        ("1:2 1:1 2:1\r\n0:1 1:2 2:1 3:1\r\n" * 2, [2, 1]),
        ("1.5:2 1:1 2:1 7:1\n2.5:1 1:2 2:1 3:1\n", [2, 1]),
    ],
)
@pytest.mark.parametrize("name", ["a.svm", "a.txt"])
def test_weights_of_labels(file, text, weights, name):
    samples = read_samples(file(text, name))
    assert samples.weight[:2].tolist() == np.float32(weights).tolist()
    assert WEIGHTS in samples.edges.notes and len(samples.classes) == 2
    assert not any(":" in name for name in samples.classes)
    values = read_samples(file(text, name), numeric=True)
    assert values.label[0] == float(text.split(":")[0])


@pytest.mark.parametrize(
    "text",
    [
        "1:1 2:1\n1:2 3:1\n1:4 2:2 3:1\n1:1 7:1\n",
        "2:1 1:1\n3:1 1:2\n4:1 2:1\n5:1 2:1\n",
        "7:1 2:2 7:3\n9:1 1:2 2:3\n1:1 2:1 3:1\n",
        "3:1 2:1 1:1\n",
        "1:1 1:2 2:1\n",
        "1:1 2:1\nx:1 3:1\n2:1 3:1\n",
        "0:1 1:1\n0:2 2:1\n1:1 3:1\n0:5 4:1 5:1\n",
        "1:1 2:1\n" * 9 + "-1:1 2:1\n",
        "5:1\n6:1 7:1\n5:2\n6:1\n5:1\n",
        "1:1 3:1 2:1\n2:1 1:1\n" * 4,
    ],
)
def test_rows_without_labels_have_no_weights(file, text):
    path = file(text, "a.svm")
    samples = read_samples(path, require_labels=False, on_bad_row="skip")
    assert not len(samples.label) and (samples.weight == 1).all()
    with pytest.raises(DataError, match=message("has-no-labels")):
        read_samples(path, on_bad_row="skip")


GOOD = "1:2 1:1 2:1\n0:1 1:2 2:1 3:1\n" * 4


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1:-1 2:1", "weight '-1' of the sample is no finite number from 0"),
        ("1:x 2:1", "weight 'x'"),
        ("1: 2:1", "weight ''"),
        ("1:inf 2:1", "weight 'inf'"),
        ("1:nan 2:1", "weight 'nan'"),
        ("1:1e39 2:1", "weight '1e39'"),
        ("1:1:1 2:1", "weight '1:1'"),
        ("1 2:1", "weight ''"),
        ("1:1 qid:1 qid:2 2:1", "'qid:2' is no feature:value"),
        ("1:1 2:x", "'x', not a number"),
    ],
)
def test_bad_weights(file, line, says):
    path = file(f"{GOOD}{line}\n", "a.svm")
    with pytest.raises(DataError, match=says) as caught:
        read_samples(path)
    assert caught.value.where == f"{path}:9"
    samples = read_samples(path, on_bad_row="skip")
    assert samples.edges.skipped == 1 and len(samples.weight) == 8


def test_a_test_file_without_feature_zero_agrees(file):
    train = read_samples(file("1 0:4 1:2 2:1\n0 1:1 2:5 3:1\n"))
    test = read_samples(file("1 1:7 2:9 3:1\n0 2:1 3:2\n", "b.svm"), against=train.edges.ids)
    assert test.edges.unseen["feature"] == 0
    assert entries(test) == {(1, 1): 7, (1, 2): 9, (1, 3): 1, (2, 2): 1, (2, 3): 2}


def test_documents_have_no_weights(file):
    bags = read_bags(file(GOOD, "a.svm"), form="svm")
    assert "the weights of rows, as in label:weight, are left out" in bags.edges.notes
    with pytest.raises(DataError, match="word 0, but words are numbered from 1"):
        read_bags(file("1 0:1\n"), form="svm", vocab=file("a\nb\n", "vocab.txt"))


def test_what_looks_like_lda_c_keeps_its_zero(file):
    with pytest.raises(DataError, match="feature 0, but features are numbered from 1"):
        read_samples(file("2 0:1 3:2\n3 1:1 2:1 5:1\n"))
