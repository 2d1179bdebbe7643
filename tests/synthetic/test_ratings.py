"""Synthetic ratings: exact sizes, the shape of the degrees, and a truth that is the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from tux.arrays.arrow import read_parquet
from tux.base.errors import DiskError, UsageError
from tux.synthetic import ratings


@st.composite
def shapes(draw):
    users, items = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    return users, items, draw(st.integers(users, users * items))


@settings(max_examples=examples(60), deadline=None)
@given(shapes(), st.integers(-(2**70), 2**70), st.integers(1, 500))
def test_counts_are_exact_and_pairs_differ(shape, seed, chunk):
    users, items, count = shape
    data = ratings.ratings(*shape, seed=seed, chunk=chunk).arrays()
    assert {name: column.dtype for name, column in data.items()} == {
        "user": np.int32,
        "item": np.int32,
        "rating": np.float32,
    }
    pairs = data["user"].astype(int) * (items + 1) + data["item"]
    assert len(pairs) == count
    assert (np.diff(pairs) > 0).all()  # in order, and no pair twice
    assert set(data["user"]) == set(range(1, users + 1))
    assert data["item"].min() >= 1 and data["item"].max() <= items


def test_chunks_hold_whole_users_and_keep_their_size():
    data = ratings.ratings(300, 200, 6_000, chunk=500)
    chunks = list(data)
    assert len(chunks) >= 12
    assert max(len(chunk["user"]) for chunk in chunks) <= 500
    assert all(a["user"][-1] + 1 == b["user"][0] for a, b in zip(chunks, chunks[1:], strict=False))


def test_same_seed_same_data_whatever_the_chunk():
    one, other = (
        ratings.ratings(300, 200, 9_000, test_share=0.2, seed=7, chunk=chunk).arrays()
        for chunk in (17, 1 << 20)
    )
    assert all((one[name] == other[name]).all() for name in one)
    again = ratings.ratings(300, 200, 9_000, test_share=0.2, seed=8).arrays()
    assert not np.array_equal(one["item"], again["item"]) and not np.array_equal(
        one["rating"], again["rating"]
    )


def test_same_pairs_whatever_the_noise_and_the_share():
    plain = ratings.ratings(100, 80, 2_000).arrays()
    other = ratings.ratings(100, 80, 2_000, noise=0.1, test_share=0.3).arrays()
    assert (plain["item"] == other["item"]).all() and "test" not in plain


def test_degrees_have_heavy_tails():
    users, items, count = 4_000, 1_500, 200_000
    data = ratings.ratings(users, items, count).arrays()
    for name, size, others in (("user", users, items), ("item", items, users)):
        degree = np.bincount(data[name], minlength=size + 1)[1:]
        top = np.sort(degree)[-size // 100 :].sum() / count
        assert degree.max() > 8 * degree.mean() and degree.mean() > 1.4 * np.median(degree)
        assert 0.05 < top < 0.3  # a uniform choice would give the top hundredth about 0.01
        assert degree.max() < 0.9 * others
    popular = np.bincount(data["item"]).max()
    assert 0.4 * users < popular < 0.6 * users


def test_popularity_does_not_follow_the_ids():
    data = ratings.ratings(4_000, 1_500, 100_000).arrays()
    degree = np.bincount(data["item"], minlength=1_501)[1:]
    assert abs(np.corrcoef(degree, np.arange(1_500))[0, 1]) < 0.1


def test_both_ways_to_draw_agree():
    data = ratings.ratings(4_000, 60, 40_000)
    ids, degree = np.arange(1, 4_001), np.full(4_000, 10)
    drawn = data._reject(ids, degree), data._race(ids, degree, np.arange(4_000))
    share = [np.bincount(pairs & 0xFFFF, minlength=60) / 4_000 for pairs in drawn]
    deviation = np.sqrt(share[0] * (1 - share[0]) * 2 / 4_000) + 1e-3
    assert np.abs((share[0] - share[1]) / deviation).max() < 4.5
    assert share[0].max() > 5 * share[0].min()


@pytest.mark.slow(after=3)
@pytest.mark.parametrize(("noise", "step"), [(0.5, 0.5), (0.3, 1.0), (0.0, 0.5), (1.0, 0.0)])
def test_the_truth_has_the_stated_error(noise, step):
    data = ratings.ratings(3_000, 800, 400_000, noise=noise, step=step)
    made = data.arrays()
    error = made["rating"] - data.truth(made["user"], made["item"])
    assert np.sqrt(np.mean(error**2)) == pytest.approx(data.floor, rel=0.01)
    assert data.floor == pytest.approx(np.sqrt(noise**2 + step**2 / 12), rel=0.05)
    assert abs(error.mean()) < 0.02


def test_stars():
    half, whole, real = (
        ratings.ratings(500, 200, 20_000, step=step).arrays()["rating"] for step in (0.5, 1, 0)
    )
    assert set(half) == set(np.arange(1, 5.5, 0.5)) and set(whole) == {1, 2, 3, 4, 5}
    assert len(np.unique(real)) > 19_000
    assert 3.2 < half.mean() < 3.8 and 0.7 < half.std() < 1.1


@pytest.mark.slow
def test_the_planted_matrix_has_its_rank_and_is_found_again():
    users, items, rank = 300, 200, 3
    data = ratings.ratings(users, items, 45_000, rank=rank, noise=0.2, step=0)
    grid = np.indices((users, items)).reshape(2, -1) + 1
    truth = data.truth(*grid).reshape(users, items)
    assert np.linalg.matrix_rank(truth, tol=1e-2) == rank + 2  # and the two biases
    made = data.arrays()
    filled, known = (
        np.full((users, items), made["rating"].mean()),
        (made["user"] - 1, made["item"] - 1),
    )
    for _ in range(60):  # fill in, cut to the rank, repeat (hard-impute)
        filled[known] = made["rating"]
        u, s, v = np.linalg.svd(filled, full_matrices=False)
        filled = (u[:, : rank + 2] * s[: rank + 2]) @ v[: rank + 2]
    unseen = np.ones((users, items), bool)
    unseen[known] = False
    assert 1 - np.var((filled - truth)[unseen]) / np.var(truth[unseen]) > 0.9


def test_split_is_a_partition():
    data = ratings.ratings(1_000, 500, 40_000, test_share=0.1)
    whole, (train, held) = data.arrays(), data.split()
    assert abs(len(held["user"]) / 40_000 - 0.1) < 0.01
    assert (held["user"] == whole["user"][whole["test"]]).all() and len(train["item"]) + len(
        held["item"]
    ) == 40_000
    assert list(train) == list(held) == ["user", "item", "rating"]
    assert len(ratings.ratings(10, 10, 50).split()[1]["user"]) == 0


def test_the_demonstration_is_the_default():
    train, held = ratings.ratings(test_share=0.1).split()
    assert len(train["user"]) + len(held["user"]) == 100_000
    assert train["user"].max() == 2_000 and train["item"].max() <= 1_000


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"users": 0}, "users is 0"),
        ({"items": -3}, "items is -3"),
        ({"ratings": 0}, "ratings is 0"),
        ({"rank": 0}, "rank is 0"),
        ({"chunk": 0}, "chunk is 0"),
        ({"items": 2**31}, "32-bit"),
        ({"ratings": 19}, "too few"),
        ({"ratings": 201}, "do not fit 20 users x 10 items"),
        ({"noise": -1.0}, "noise is -1.0"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"step": 0.3}, "step is 0.3"),
        ({"test_share": 1.0}, "test share is 1.0"),
    ],
)
def test_impossible_requests(change, says):
    with pytest.raises(UsageError, match=says) as told:
        ratings.ratings(**({"users": 20, "items": 10, "ratings": 100} | change))
    assert told.value.do


def test_parquet_files_hold_the_split(tmp_path):
    data = ratings.ratings(200, 100, 4_000, test_share=0.1, chunk=300)
    rows = ratings.write_ratings(data, tmp_path / "train.parquet", tmp_path / "test.parquet")
    for part, name, count in zip(data.split(), ("train", "test"), rows, strict=True):
        read = read_parquet(tmp_path / f"{name}.parquet")
        assert list(read) == ["user", "item", "rating"] and len(read["user"]) == count
        assert all(
            read[column].dtype == part[column].dtype and (read[column] == part[column]).all()
            for column in part
        )


@pytest.mark.parametrize(
    ("name", "separator"), [("r.csv", ","), ("r.tsv", "\t"), ("r.txt.gz", "\t")]
)
def test_text_files(tmp_path, name, separator):
    data = ratings.ratings(50, 40, 500, chunk=90)
    assert ratings.write_ratings(data, tmp_path / name) == (500, 0)
    read = np.loadtxt(tmp_path / name, delimiter=separator, skiprows=1)
    assert (read.T == list(data.arrays().values())).all()


def test_files_that_cannot_be(tmp_path):
    plain, held = ratings.ratings(20, 10, 100), ratings.ratings(20, 10, 100, test_share=0.1)
    out = tmp_path / "a.csv"
    for data, files, says in (
        (plain, (tmp_path / "a.xls",), "kind of file"),
        (plain, (out, tmp_path / "b.csv"), "no test share"),
        (held, (out,), "no test file"),
        (held, (out, tmp_path / "." / "a.csv"), "both"),
        (held, (out, tmp_path / "b"), "kind of file"),
    ):
        with pytest.raises(UsageError, match=says):
            ratings.write_ratings(data, *files)
    with pytest.raises(DiskError):
        ratings.write_ratings(plain, tmp_path / "missing" / "a.csv")
    assert not list(tmp_path.iterdir())
