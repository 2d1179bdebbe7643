"""Crosses of columns: the features of small tables, equal from every source; and refusals."""

import numpy as np
import pandas as pd
import pytest
from support.programs.sampled import entries, fails, writer

from tux.base.errors import UsageError
from tux.inputs.memory import frame_of
from tux.io.bags.hashed import hash_words
from tux.io.samples.crossed import JoinedWords, Words, join_crossed, split_crossed
from tux.io.samples.memory import read_memory_samples
from tux.io.samples.samples import read_samples

TABLE = "y,town,size,kind\n0,Oslo,4.0,a\n1,,04,b:c\n1,Rome,,a\n0,Oslo,0,a\n"
BOTH = (("town", "kind"), ("kind", "size", "town"))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return writer(tmp_path_factory.mktemp("crossed"))


def list_crossed(samples):
    return {entry for entry in entries(samples) if ":" in entry[1].partition("=")[0]}


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("a", "b"), "a:b"),
        (("a:b", "c"), '"a:b":c'),
        (('say "x"', "", "c"), '"say ""x"""::c'),
        (("a b", "c=d"), "a b:c=d"),
    ],
)
def test_names_are_written_and_read(names, text):
    assert join_crossed(names) == text and split_crossed(text) == names


def test_words_of_columns_together():
    left = Words(np.array([0, 1, 1, -1, 0], np.int32), ["x", "y:z"])
    right = Words.of_numbers(np.array([2.5, 0, -0.0, 1, 0]), np.array([0, 0, 0, 0, 1], bool))
    codes, texts = JoinedWords.of([left, right]).cross()
    told = [texts[code] if code >= 0 else None for code in codes.tolist()]
    assert told == ["x:2.5", '"y:z":0', '"y:z":0', None, None]
    assert JoinedWords.of([left._replace(codes=np.full(2, -1, np.int32))] * 2).cross().texts == []


def test_the_values_of_columns_together_are_features(file):
    """A number is written in one way, 0 is a value, and a missing value makes no feature."""
    samples = read_samples(file(TABLE, "s.csv"), cross=BOTH)
    assert list_crossed(samples) == {
        (1, "town:kind=Oslo:a", 1),
        (3, "town:kind=Rome:a", 1),
        (4, "town:kind=Oslo:a", 1),
        (1, "kind:size:town=a:4:Oslo", 1),
        (4, "kind:size:town=a:0:Oslo", 1),
    }
    assert entries(samples) - list_crossed(samples) == entries(read_samples(file(TABLE, "s.csv")))
    assert samples.edges.notes == ("missing numbers count as 0: 1 of column size",)


@pytest.mark.parametrize("bits", [0, 30])
def test_every_form_of_data_has_the_same_features(file, bits):
    how = {"cross": BOTH, "hash_bits": bits}
    text = read_samples(file(TABLE, "s.csv"), **how)
    table = pd.read_csv(file(TABLE, "s.csv"))
    table.to_parquet(parquet := file(b"", "s.parquet"))
    assert entries(read_samples(parquet, **how)) == entries(text)
    held = read_memory_samples(frame_of(table, index=False), "the table", **how)
    assert {(row + 1, *rest) for row, *rest in entries(held)} == entries(text)
    if bits:
        names = ["town:kind=Oslo:a", "kind:size:town=a:0:Oslo"]
        found = zip(*map(np.ndarray.tolist, hash_words(names, bits)), strict=True)
        assert {(4, *each) for each in found} <= entries(text)


def test_other_samples_have_the_same_crosses(file):
    train = read_samples(file(TABLE, "s.csv"), cross=BOTH)
    new = file("kind,town,size\na,Rome,4\na,Oslo,4\n", "new.csv")
    how = {"against": train.edges.ids, "unknown": "skip", "require_labels": False}
    found = read_samples(new, cross=BOTH, classes=train.classes, **how)
    assert list_crossed(found) == {
        (1, "town:kind=Rome:a", 1),
        (2, "town:kind=Oslo:a", 1),
        (2, "kind:size:town=a:4:Oslo", 1),
    }
    assert found.unknown == 1 and not found.edges.notes


@pytest.mark.parametrize(
    ("cross", "says", "do"),
    [
        (("town", "colour"), "no column 'colour', which the cross town:colour needs", "town, size"),
        (("town", "y"), "the cross town:y is to have column 'y', which is no feature", "labels"),
        (("town", "rownames"), "column 'rownames', which is no feature", "numbers of rows"),
        (("a", "b"), "there is a column called 'a:b' already", "Rename"),
    ],
)
def test_what_cannot_be_crossed(file, cross, says, do):
    path = file("rownames,y,town,size,a:b,a,b\n1,0,Oslo,1,2,3,4\n2,1,Rome,1,2,3,4\n", "s.csv")
    assert do in fails(says, path, cross=(cross,))
    assert "once" in fails("there is a cross called 'a:size'", path, cross=(("a", "size"),) * 2)


def test_data_without_columns(file):
    with pytest.raises(UsageError, match="has no columns with names, so none to cross") as error:
        read_samples(file("1 1:2\n0 2:1\n"), cross=BOTH)
    assert "town, kind" in error.value.do
    with pytest.raises(UsageError, match="so none to cross"):
        read_memory_samples(np.eye(2), "the array", y=[0, 1], cross=BOTH)
