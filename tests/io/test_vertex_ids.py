"""Ids one a row, from text with and without a header, Parquet and numpy's arrays."""

import numpy as np
import pytest

from tux.arrays.arrow import STRING, write_parquet
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.io.vertices.ids import read_ids

WORDS, NUMBERS = Ids(np.array(["ann", "bob", "x7"], STRING)), Ids(np.array([3, 5, 900]))


@pytest.mark.parametrize(
    ("text", "known", "ids"),
    [
        ("3\n5\n3\n", NUMBERS, [3, 5, 3]),
        ("user\n3\n5\n", NUMBERS, [3, 5]),
        ("user_id,age\n3,40\n5,41\n", NUMBERS, [3, 5]),
        ("age\tid\n40\t3\n41\t5\n", NUMBERS, [3, 5]),
        ("Kunde\n3\n5\n", NUMBERS, [3, 5]),  # a word above numbers alone
        ("Kunde,rating,item\nann,1,7\nbob,2,8\n", WORDS, ["ann", "bob"]),  # as training says
        ("ann\nbob\n", WORDS, ["ann", "bob"]),
        ("bob\n", WORDS, ["bob"]),
        ("carl\n", WORDS, ["carl"]),
        ("x7\n1\n2\n", WORDS, ["x7", "1", "2"]),  # the first is known
        ("ann,40\nbob,41\n", WORDS, ["ann", "bob"]),
        ("# some\n\nann\n", WORDS, ["ann"]),
    ],
)
def test_of_text(tmp_path, text, known, ids):
    path = tmp_path / "users.csv"
    path.write_text(text)
    assert read_ids(path, "user", known, ["Kunde"] if "rating" in text else []).tolist() == ids


def test_of_columns(tmp_path):
    columns = {"age": np.array([40, 41]), "User": np.array(["b", "a"], STRING)}
    write_parquet(tmp_path / "users.parquet", columns)
    assert read_ids(tmp_path / "users.parquet", "user", WORDS).tolist() == ["b", "a"]
    assert read_ids(tmp_path / "users.parquet", "page", WORDS).tolist() == [40, 41]
    np.savez(tmp_path / "users.npz", id=np.array([5, 3, 5]))
    assert read_ids(tmp_path / "users.npz", "user", NUMBERS).tolist() == [5, 3, 5]


def test_mistakes(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "wide.csv").write_text("user,age\nann,3\nbob\n")
    write_parquet(tmp_path / "lists.parquet", {"id": np.ones((2, 3))})
    for name, words in (
        ("empty.csv", "is empty"),
        ("wide.csv", "1 column instead of 2"),
        ("lists.parquet", "has lists where ids"),
        ("none.csv", "none.csv"),
    ):
        with pytest.raises(DataError, match=words) as caught:
            read_ids(tmp_path / name, "user", WORDS)
        assert "--on-bad-row" not in caught.value.do
