"""Hashed features: against an oracle in whole numbers of Python, and equal from every source."""

import io

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from support.programs.sampled import entries, fails, writer

from tux.inputs.memory import frame_of
from tux.io.bags.entries import sum_entries
from tux.io.bags.hashed import hash_numbers, hash_words
from tux.io.samples.memory import read_memory_samples
from tux.io.samples.samples import read_samples


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return writer(tmp_path_factory.mktemp("hashed"))


def oracle(text):
    """Return the hash by FNV-1a and the finaliser of SplitMix64, of 64 bits."""
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        h = (h ^ h >> shift) * factor % 2**64
    return h ^ h >> 31


def hash_feature(text, bits):
    """Return the feature of an id, and its sign."""
    return oracle(text) % 2**bits, -1 if oracle(text) >> 63 else 1


@pytest.mark.parametrize("bits", [1, 9, 31])
def test_the_hash_of_numbers_and_words(bits):
    numbers = [0, 7, 10, 99, 123_456_789, 2**63, 2**64 - 1]
    found = hash_numbers(np.array(numbers, np.uint64), bits)
    assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == [
        hash_feature(str(number), bits) for number in numbers
    ]
    words = ["york", "", "ö ü", "7"]
    for before in ("", "city="):
        found = hash_words(words, bits, before)
        assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == [
            hash_feature(before + word, bits) for word in words
        ]


def test_words_together_are_hashed_as_one_word():
    words, codes = ["york", "7", "", "ö"], np.array([[0, 3, 2], [1, 1, 0], [2, 0, 3]])
    found = hash_words(words, 20, "a:b=", codes)
    texts = [":".join(words[code] for code in row) for row in codes.T.tolist()]
    assert [*map(np.ndarray.tolist, found)] == [
        *map(np.ndarray.tolist, hash_words(texts, 20, "a:b="))
    ]


def test_it_never_changes():
    """Models keep these numbers."""
    assert [each.tolist() for each in hash_numbers(np.array([1, 2]), 20)] == [
        [962527, 946594],
        [1, 1],
    ]
    assert [each.tolist() for each in hash_words(["york"], 20, "city=")] == [[602521], [1]]


@pytest.mark.parametrize("most", [3, 2**40, 2**64 - 1])
@pytest.mark.parametrize("ordered", [True, False])
def test_entries_are_added_up_in_their_order(most, ordered):
    draw = np.random.default_rng(most % 97)
    row = draw.integers(0, 40, 200).astype(np.int32)
    row = np.sort(row) if ordered else row
    column = draw.choice(np.array([0, 1, 2, most], np.uint64), 200)
    value = draw.random(200)
    want = {}
    for *at, each in zip(row.tolist(), column.tolist(), value.tolist(), strict=True):
        want[tuple(at)] = want.get(tuple(at), 0.0) + each
    *at, found = map(np.ndarray.tolist, sum_entries(row, column, value))
    assert [*zip(*at, strict=True)] == sorted(want)
    assert found == pytest.approx([want[key] for key in sorted(want)], rel=1e-12)


def test_features_of_one_sample_with_one_hash_are_added_up(file):
    samples = read_samples(file("+1 1:2 2:3 3:5\n-1 3:1\n"), hash_bits=1)
    want = {}
    for sample, feature, value in ((1, "1", 2), (1, "2", 3), (1, "3", 5), (2, "3", 1)):
        at, sign = hash_feature(feature, 1)
        want[sample, at] = want.get((sample, at), 0) + sign * value
    assert entries(samples) == {(*key, value) for key, value in want.items()}
    added = 4 - len(want)
    assert added and f"{added} entr" in samples.edges.notes[0]


def test_every_form_of_data_has_the_same_features(file):
    """An id is hashed as it is written, so 7 is the same as a number and as a word."""
    rng = np.random.default_rng(3)
    x = sp.random_array((40, 30), density=0.3, rng=rng, dtype=np.float32).tocsr()
    x.data = np.round(x.data * 8 + 1)
    y = np.arange(40) % 2
    lines = "".join(
        f"{label} " + " ".join(f"{x.indices[k] + 1}:{x.data[k]:g}" for k in range(*bounds)) + "\n"
        for label, bounds in zip(y, zip(x.indptr, x.indptr[1:], strict=False), strict=True)
    )
    sp.save_npz(matrix := io.BytesIO(), sp.csr_array(sp.hstack([sp.csr_array((40, 1)), x])))
    wide = pd.DataFrame(x.toarray(), columns=[str(k + 1) for k in range(30)])
    table = wide.assign(y=y)
    table.to_parquet(parquet := file(b"", "s.parquet"))
    labels = file("".join(f"{label}\n" for label in y), "y.txt")
    how = {"hash_bits": 4}
    read = [
        read_samples(file(lines, "s.svm"), **how),
        read_samples(file(matrix.getvalue(), "s.npz"), labels=labels, **how),
        read_samples(file(table.to_csv(index=False), "s.csv"), **how),
        read_samples(parquet, **how),
        read_memory_samples(frame_of(table, index=False), "the table", **how),
    ]
    first = entries(read[0])
    assert {at for _, at, _ in first} <= set(range(16)) and len(first) < x.nnz
    for samples in read[:-1]:
        assert entries(samples) == first
    assert entries(read[-1]) == {(row - 1, at, value) for row, at, value in first}


def test_words_of_tables(file):
    samples = read_samples(file("y,city,age\n0,york,3\n1,,4\n", "s.csv"), hash_bits=20)
    york, age = hash_feature("city=york", 20), hash_feature("age", 20)
    assert entries(samples) == {
        (1, york[0], york[1]),
        (1, age[0], 3 * age[1]),
        (2, age[0], 4 * age[1]),
    }


def test_a_sum_that_the_field_cannot_hold_is_a_bad_row(file):
    same = next(
        (str(a), str(b))
        for a in range(1, 20)
        for b in range(a + 1, 20)
        if hash_feature(str(a), 3) == hash_feature(str(b), 3)
    )
    large = file(f"+1 {same[0]}:3e38 {same[1]}:3e38\n-1 3:1\n")
    fails("with the same hash add up beyond float32", large, 1, hash_bits=3)
