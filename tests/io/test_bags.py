"""Files whose rows are bags of columns: every way of writing them."""

import gzip
import os
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.messages import message
from support.oracles.bag_entries import entries, rows

from tux.base.errors import DataError, UsageError
from tux.io.bags.bags import plan_bags, read_bags
from tux.io.bags.documents import read_sequences
from tux.io.bags.entries import BagOptions
from tux.io.formats.detect import detect_format
from tux.io.source import text as io_text

ENDS = ("document", "word")
VALUE = {"value": "f8"}
REAL = os.environ.get("TUX_TEST_DATA", "")
needs_data = pytest.mark.skipif(not REAL, reason="TUX_TEST_DATA names no folder of real data")


# ---- the forms

DOCWORD = "3\n5\n4\n1 2 1\n1 5 7\n3 1 2\n3 2 1\n"
LDA_C = "2 1:1 4:7\n0\n2 0:2 1:1\n"
SVM = "+1 2:1 5:7 # the first\n-1\n+1 1:2 2:1\n"
FROM_ONE = [(1, 2, 1), (1, 5, 7), (3, 1, 2), (3, 2, 1)]
FROM_ZERO = [(row, column - 1, count) for row, column, count in FROM_ONE]
WORDS = [(1, "bb", 1), (1, "aa", 7), (3, "cc", 2), (3, "bb", 1)]


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [(DOCWORD, "docword", FROM_ONE), (LDA_C, "lda-c", FROM_ZERO), (SVM, "svm", FROM_ONE)],
)
def test_one_corpus_in_three_forms(file, text, form, expected):
    vocab = file("cc\nbb\ndd\nee\naa", "vocab.txt")
    for whole in (
        text,
        text.removesuffix("\n"),
        text.replace("\n", "\r\n"),
        text.replace(" ", "\t "),
        "\ufeff" + text,
    ):
        path = file(whole)
        assert detect_format(path).bags == form
        bags = read_bags(path)
        # the second is empty, and there
        assert entries(bags) == expected and rows(bags) == bags.rows.tolist() == [1, 2, 3]
        assert bags.edges.fields["count"].dtype == np.int32
        named = read_bags(path, vocab=vocab)
        assert entries(named) == WORDS and named.edges.ids["word"].values.tolist() == [
            "aa",
            "bb",
            "cc",
        ]
    assert entries(read_bags(path, fields={})) == [entry[:2] for entry in expected]


def test_labels(file):
    labels = lambda text, **how: (  # noqa: E731
        read_bags(file(text, "l.svm"), ENDS, VALUE, form="svm", **how).labels
    )
    assert labels(SVM).tolist() == [1, -1, 1]
    assert labels("0.1 1:1\n1e400 1:2\n").tolist() == ["0.10000000000000001", "1e400"]
    assert labels("spam 1:1\nham\n").tolist() == ["spam", "ham"]
    assert labels("1,3 1:1\n-2 1:1\n").tolist() == ["1,3", "-2"]
    assert labels("1:1\n2:1\n") is None
    assert labels("+1 1:1\n2:1\n-1\n", on_bad_row="skip").tolist() == [1, -1]
    assert labels("0.1234567890123456789012345 1:1\n").tolist() == [0.1234567890123456789012345]


def test_blank_lines_and_comments(file):
    assert rows(read_bags(file("# head\n\n1 1:1\n\n # more\n0 2:1\n"), form="svm")) == [1, 2]
    unlabelled = read_bags(file("\n# head\n1:1\n\n2:1\n \n"), form="svm")
    assert rows(unlabelled) == [1, 2, 3, 4, 5] and entries(unlabelled) == [(2, 1, 1), (4, 2, 1)]
    assert rows(read_bags(file("\n1 3:1\n\n0\n"), form="lda-c")) == [1, 2, 3, 4]
    assert rows(read_bags(file("2\n1\n1\n\n2 1 1\n\n"))) == [1, 2]
    assert rows(read_bags(file("\nsome words\n\n"), form="text")) == [1, 2, 3]


def test_columns_of_64_bits_come_back(file):
    for most in (2**63 - 1, 2**63, 2**64 - 1):
        bags = read_bags(file(f"1 3:1 {most}:2\n0 0012:1 {2**40}:1\n"), ENDS, VALUE, form="svm")
        assert [entry[1] for entry in entries(bags)] == [3, most, 12, 2**40]


def test_columns_of_any_size_in_the_blocks_of_a_file(file, monkeypatch):
    monkeypatch.setattr(io_text, "BLOCK", 64)
    sizes = [7, 2**31, 2**63 - 1, 2**63, 2**64 - 1]
    columns = [sizes[at // 20] - at % 3 for at in range(100)]
    bags = read_bags(
        file("".join(f"1 {column}:1\n" for column in columns)), ENDS, VALUE, form="svm"
    )
    assert [entry[1] for entry in entries(bags)] == columns and len(bags.edges.ids[ENDS[1]]) == len(
        set(columns)
    )


@pytest.mark.parametrize(
    "pack", [gzip.compress, lambda b: pa.compress(b, codec="zstd", asbytes=True)]
)
def test_packed(file, pack):
    for text, expected in ((DOCWORD, FROM_ONE), (LDA_C, FROM_ZERO), (SVM, FROM_ONE)):
        path = file(pack(text.encode()))
        assert detect_format(path).bags is not None and entries(read_bags(path)) == expected


def test_a_lowest_column_of_zero(file):
    path = file("1 0:5 1:1\n1 1:1\n0 1:1\n")
    with pytest.raises(DataError, match="value 0, but values are numbered from 1"):
        read_bags(path, ("row", "value"), first=1)
    assert entries(read_bags(path)) == [(1, 0, 5), (1, 1, 1), (2, 1, 1), (3, 1, 1)]


# ---- round trips

COUNTS = st.lists(
    st.dictionaries(st.integers(1, 40), st.integers(1, 2**31 - 1), max_size=8),
    min_size=1,
    max_size=12,
).filter(any)


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(COUNTS, st.integers(0, 3))
def test_counts_come_back(file, bags, small):
    formats_block, io_text.BLOCK = io_text.BLOCK, [1 << 24, 100, 30, 7][small]
    try:
        lines = [
            f"{row} {word} {count}"
            for row, bag in enumerate(bags, 1)
            for word, count in bag.items()
        ]
        docword = "\n".join([f"{len(bags)}", "40", f"{len(lines)}", *lines])
        lda_c = "\n".join(
            " ".join([f"{len(bag)}", *(f"{word - 1}:{count}" for word, count in bag.items())])
            for bag in bags
        )
        svm = "\n".join(" ".join(["-1", *(f"{word}:{bag[word]}" for word in bag)]) for bag in bags)
        expected = [
            (row, word, count) for row, bag in enumerate(bags, 1) for word, count in bag.items()
        ]
        for text, form in ((docword, "docword"), (lda_c, "lda-c"), (svm, "svm")):
            read = read_bags(file(text), form=form)
            found = [(row, word + (form == "lda-c"), count) for row, word, count in entries(read)]
            assert found == (expected if form == "docword" else sorted(expected))
            assert rows(read) == list(range(1, len(bags) + 1))
    finally:
        io_text.BLOCK = formats_block


FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: abs(x) < 1.7e308)
WRITTEN = st.one_of(
    FLOATS.map(repr),
    FLOATS.map(lambda x: f"{x:.16g}"),
    st.from_regex(r"\A[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})(e[+-]?[0-9]{1,2})?\Z"),
)


@pytest.mark.long
@settings(max_examples=examples(150), deadline=None)
@given(st.lists(WRITTEN, min_size=1, max_size=30))
def test_values_are_rounded_as_python_does(file, numbers):
    text = " ".join(["1", *(f"{at}:{number}" for at, number in enumerate(numbers, 1))])
    values = read_bags(file(text), ENDS, VALUE, form="svm").edges.fields["value"]
    assert values.tolist() == [float(number) for number in numbers]


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0")),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_text_is_cut_as_by_a_regular_expression(file, lines, stopped):
    lines = [*lines, "Straße straße élan", "the The 1984 x1 _a a"]
    stop = {"the", "straße"} if stopped else set()
    expected = [
        (row, word, count)
        for row, line in enumerate(lines, 1)
        for word, count in Counter(
            word
            for word in re.findall(r"\w\w+", line.lower())
            if not word.isdigit() and word not in stop
        ).items()
    ]
    path = file("\n".join(lines).removeprefix("\ufeff"))
    words = file("The straße\n", "stop.txt") if stopped else None
    read = read_bags(path, form="text", stop=words)
    assert entries(read) == expected and rows(read) == list(range(1, len(lines) + 1))
    asked = plan_bags(path, ("document", "word"), {}, BagOptions(form="text")).asked
    kept = read_sequences(asked, words)
    cut = [kept.names[kept.words[lo:hi]].tolist() for lo, hi in pairwise(kept.bounds)]
    again = [re.findall(r"\w\w+", line.lower()) for line in lines]
    assert cut == [[w for w in line if not w.isdigit() and w not in stop] for line in again]


def test_many_words_and_blocks(file, monkeypatch):
    monkeypatch.setattr(io_text, "BLOCK", 5000)
    lines = [f"w{row}x common w{row % 7}y {'long' * (row % 300)} common" for row in range(3000)]
    read = read_bags(file("\n".join(lines)), form="text")
    expected = [
        (row, word, n)
        for row, line in enumerate(lines, 1)
        for word, n in Counter(line.split()).items()
    ]
    assert entries(read) == expected


# ---- known and unknown columns


def test_held_out_documents(file):
    train = read_bags(file("2 5:1 3:1\n1 9:1\n"), form="lda-c").edges
    path = file("3 9:2 4:1 3:1\n1 4:6\n", "test.txt")
    against = {"word": train.ids["word"]}
    new = read_bags(path, form="lda-c", against=against)
    assert (
        new.edges.ids["word"].values.tolist() == [3, 5, 9, 4]
        and new.edges.unseen == {"word": 1}
        and new.unknown == 0
    )
    old = read_bags(path, form="lda-c", against=against, unknown="skip")
    assert entries(old) == [(1, 3, 1), (1, 9, 2)] and rows(old) == [1, 2]
    assert (old.unknown, old.unknown_sum) == (2, 7) and old.edges.ids["word"] == train.ids["word"]
    with pytest.raises(DataError, match=message("no-in-s-of", "known word", "1", "document")):
        read_bags(file("1 4:6\n"), form="lda-c", against=against, unknown="skip")
    with pytest.raises(UsageError, match=message("to-leave-out-unknown-s")):
        read_bags(path, form="lda-c", unknown="skip")


def test_text_with_a_vocabulary(file):
    known = read_bags(
        file("the cat sat\non the mat\n"), form="text", vocab=file("mat\ncat\nhat\n", "v.txt")
    )
    assert entries(known) == [(1, "cat", 1), (2, "mat", 1)] and known.unknown_sum == 4
    held_out = read_bags(
        file("cat hat"), form="text", against={"word": known.edges.ids["word"]}, unknown="skip"
    )
    assert entries(held_out) == [(1, "cat", 1)] and held_out.edges.src.dtype == np.int32


# ---- real files


@needs_data
@pytest.mark.parametrize(
    ("name", "vocab", "form", "sizes"),
    [
        (
            "corpora/kos/docword.kos.txt.gz",
            "corpora/kos/vocab.kos.txt",
            "docword",
            (3430, 6906, 353_160, 467_714),
        ),
        ("corpora/ap/ap.dat.gz", "corpora/ap/vocab.txt", "lda-c", (2246, 10_473, 302_031, 435_838)),
        ("libsvm/a9a.gz", None, "svm", (32_561, 123, 451_592, 451_592)),
        ("libsvm/farm-ads-vect.gz", None, "svm", (4143, 54_877, 817_141, 817_141)),
    ],
)
def test_published_counts(name, vocab, form, sizes):
    path = Path(REAL, name)
    if not path.exists():
        pytest.skip(f"no {name}")
    assert detect_format(path).bags == form
    edges = read_bags(path, vocab=vocab and Path(REAL, vocab)).edges
    assert (
        len(edges.ids["document"]),
        len(edges.ids["word"]),
        len(edges),
        int(edges.fields["count"].sum()),
    ) == sizes
