"""Synthetic data with known truth: ratings of items by users.

Every random number is a hash of (seed, purpose, id, counter), so the data do not depend on the
chunk size, and any user's part can be made alone. Memory is O(users + items + chunk), and
everything is plain numpy: there is no compile time.

A rating is ``stars(MEAN + b_u + b_i + p_u . q_i + noise * z)``. The number of ratings of a user and
the popularity of an item follow power laws; a user's items are drawn without replacement, each draw
in proportion to popularity.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tux.arrays.arrow import WRITTEN, Write, parquet_writer, text_writer
from tux.base.errors import UsageError
from tux.base.random import GOLDEN, key, mix, permutation
from tux.synthetic.sizes import apportion_total, power_law_quantiles

Chunk = dict[str, NDArray]
"""Column name -> array; all columns of a chunk have the same length."""

MEAN, USER_SPREAD, ITEM_SPREAD, TASTE_SPREAD = 3.5, 0.3, 0.4, 0.5
"""Stars: the mean of all scores, and the standard deviations of b_u, of b_i, and of p_u . q_i."""

USER_TAIL, ITEM_TAIL = 2.0, 1.0
"""Exponents a of the tails of users' degrees and items' popularity, P(x > t) ~ t^-a, before the cap
(all items, all users) bends them.

In Netflix's shape the busiest user then has rated 16,310 of 17,770 items, the median user 104, and
the best known item is rated by 47% of the users.
"""

FLOOR_SAMPLE = 1 << 18
"""Ratings on which the noise floor is measured: its standard error is 1 / sqrt(2 *
FLOOR_SAMPLE), 0.14%.
"""

_ITEM_BITS = np.int64(32)  # a pair is one integer: user << 32 | item
_LIMIT = 2**31 - 1


def ratings(
    users: int = 2_000,
    items: int = 1_000,
    ratings: int = 100_000,
    *,
    rank: int = 8,
    noise: float = 0.5,
    step: float = 0.5,
    test_share: float = 0.0,
    seed: int = 0,
    chunk: int = 1 << 20,
) -> SyntheticRatings:
    """Plan `ratings` ratings of `items` items by `users` users, of planted rank `rank`; the
    defaults make a small demonstration.

    noise: standard deviation, in stars, of the part of a rating that no model can predict. step:
    ratings are rounded to multiples of it and kept within 1..5 (0.5 or 1); 0 leaves them real
    numbers. test_share: probability of a rating to be held out. seed: other seeds make other data
    of the same shape. chunk: ratings made at a time (more only if a single user has more).

    Raises UsageError for sizes that cannot be: every user has at least one rating, and rates an
    item at most once.
    """
    _check(users, items, ratings, rank, noise, step, test_share, chunk)
    degree = apportion_total(power_law_quantiles(users, USER_TAIL), ratings, 1, items)[
        permutation(key(seed, "ratings", "degree"), users)
    ]
    size = 1 << max(20, items.bit_length() + 3)
    slots = apportion_total(
        power_law_quantiles(items, ITEM_TAIL), size, 1, -(-size * users // ratings)
    )[permutation(key(seed, "ratings", "popularity"), items)]
    item_terms = _terms(seed, "item", np.arange(1, items + 1), rank)
    scale = np.arange(1, rank + 1) ** -0.5  # a spectrum that decays, as that of real ratings does
    item_terms[0] *= ITEM_SPREAD
    item_terms[1:] *= (TASTE_SPREAD * scale / np.sqrt(np.sum(scale**2))).astype(np.float32)[:, None]
    return SyntheticRatings(seed, noise, step, test_share, chunk, degree, slots, item_terms)


@dataclass(frozen=True, eq=False)
class SyntheticRatings:
    """Ratings of known truth. They are made anew each time they are iterated over, and are the same
    each time.
    """

    seed: int
    noise: float
    step: float
    test_share: float
    chunk: int
    degree: NDArray[np.int64]  # (users,) ratings of each user
    slots: NDArray[np.int64]  # (items,) popularity of each item, in parts of slots.sum()
    item_terms: NDArray[np.float32]  # (1 + rank, items) b_i, then q_i

    def __iter__(self) -> Iterator[Chunk]:
        """Yield chunks of whole users: user, item (int32, from 1) and rating (float32), in order of
        user and then of item.

        With a test share there is a fourth column, test (bool): the rating is held out.
        """
        ends = np.cumsum(self.degree)
        first, before = 0, 0
        while first < len(ends):
            last = max(int(np.searchsorted(ends, before + self.chunk, "right")), first + 1)
            yield self._make(first, last)
            first, before = last, int(ends[last - 1])

    def arrays(self) -> Chunk:
        """Return all ratings as one chunk; for sizes that fit in memory (12 bytes a rating, 13 with
        a test share).
        """
        parts = list(self)
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def split(self) -> tuple[Chunk, Chunk]:
        """Split all ratings into two chunks of user, item and rating: those to train on, and those
        held out.
        """
        return split_test_rows(self.arrays())

    def truth(self, user: NDArray, item: NDArray) -> NDArray[np.float32]:
        """Return the planted scores of pairs of ids (n,), in stars: the prediction of a perfect
        model, neither rounded nor kept within 1..5.
        """
        ids, local = np.unique(user, return_inverse=True)
        return self._scores(ids, local, np.asarray(item) - 1)

    @cached_property
    def floor(self) -> float:
        """The RMSE of the truth itself, in stars, which comes from noise, rounding and the limits
        1..5: the aim of a model of this form.

        A model that also knew the rounding and the limits would come less than 1% lower at the
        default noise. It is measured on the first FLOOR_SAMPLE ratings, and so is exact for data of
        that size or less; without the limits it would be sqrt(noise^2 + step^2 / 12).
        """
        head = self._make(
            0, max(int(np.searchsorted(np.cumsum(self.degree), FLOOR_SAMPLE, "right")), 1)
        )
        return float(
            np.sqrt(
                np.mean(
                    (head["rating"] - self.truth(head["user"], head["item"])) ** 2, dtype=np.float64
                )
            )
        )

    def _make(self, first: int, last: int) -> Chunk:
        """Make the chunk of users first + 1 .. last."""
        ids = np.arange(first + 1, last + 1)
        pairs = self._choose(ids, self.degree[first:last])
        local, item = pairs >> _ITEM_BITS, pairs & np.int64(_LIMIT)
        score = self._scores(ids, local, item)
        score += np.float32(self.noise) * _normal(
            _draw(_streams(self.seed, "noise", ids)[local], item)
        )
        if self.step:
            score = np.clip(np.rint(score / np.float32(self.step)) * np.float32(self.step), 1, 5)
        columns = {
            "user": ids[local].astype(np.int32),
            "item": (item + 1).astype(np.int32),
            "rating": score,
        }
        if self.test_share:
            columns["test"] = _draw(_streams(self.seed, "test", ids)[local], item) < np.uint64(
                self.test_share * 2.0**64
            )
        return columns

    def _scores(self, ids: NDArray, local: NDArray, item: NDArray) -> NDArray[np.float32]:
        """Compute the truth of the pairs (ids[local], item + 1), each (n,): MEAN + b_u + b_i + p_u
        . q_i.
        """
        mine = _terms(self.seed, "user", ids, len(self.item_terms) - 1)
        score = (
            np.float32(MEAN) + np.float32(USER_SPREAD) * mine[0][local] + self.item_terms[0][item]
        )
        for p, q in zip(mine[1:], self.item_terms[1:], strict=True):
            score += p[local] * q[item]
        return score

    def _choose(self, ids: NDArray, degree: NDArray) -> NDArray[np.int64]:
        """Draw degree[k] different items for each user. Returns sorted pairs (index in ids) << 32 |
        (item index).

        Both ways draw one item after the other in proportion to popularity among those not yet
        drawn; users with a large part of all items are drawn by `_race`, as rejection would take
        long for them.
        """
        heavy = degree * 8 > len(self.slots)
        pairs = [self._reject(ids, np.where(heavy, 0, degree))]
        racers = np.flatnonzero(heavy)
        rows = max(1, self.chunk // len(self.slots))
        pairs += [
            self._race(ids, degree, racers[k : k + rows]) for k in range(0, len(racers), rows)
        ]
        chosen = np.concatenate(pairs)
        chosen.sort()
        return chosen

    def _reject(self, ids: NDArray, degree: NDArray) -> NDArray[np.int64]:
        """Draw as many items as are missing, drop those the user already has, repeat."""
        streams, drawn = _streams(self.seed, "draw", ids), np.zeros_like(degree)
        done, pairs, missing = [], np.empty(0, np.int64), degree
        while missing.any():
            who = np.repeat(np.arange(len(ids)), missing)
            turn = np.arange(len(who)) + (drawn - np.cumsum(missing) + missing)[who]
            drawn = drawn + missing
            pairs = np.concatenate(
                [
                    pairs,
                    who << _ITEM_BITS
                    | self._by_popularity[_draw(streams[who], turn) >> self._shift],
                ]
            )
            pairs.sort()
            pairs = pairs[np.diff(pairs, prepend=-1) > 0]
            who = pairs >> _ITEM_BITS
            missing = np.where(missing > 0, degree - np.bincount(who, minlength=len(ids)), 0)
            open_ = missing[who] > 0
            done.append(pairs[~open_])
            pairs = pairs[open_]
        return np.concatenate([*done, pairs])

    def _race(self, ids: NDArray, degree: NDArray, racers: NDArray) -> NDArray[np.int64]:
        """Draw the first degree[k] items to arrive at exponential times of rate popularity
        (Efraimidis & Spirakis 2006).
        """
        index = np.arange(len(self.slots))
        uniform = (
            (_draw(_streams(self.seed, "race", ids[racers])[:, None], index) >> np.uint64(11)) + 0.5
        ) * 2.0**-53
        order = np.argsort(-np.log(uniform) / self.slots, axis=1)
        return ((racers << _ITEM_BITS)[:, None] | order)[index < degree[racers][:, None]]

    @cached_property
    def _by_popularity(self) -> NDArray[np.int64]:
        """(slots.sum(),) item indices, each as often as it has slots: a uniform slot is an item
        drawn by popularity.
        """
        return np.repeat(np.arange(len(self.slots), dtype=np.int32), self.slots)

    @cached_property
    def _shift(self) -> np.uint64:
        """Bits to drop from a hash to have a slot's number; slots.sum() is a power of two."""
        return np.uint64(65 - int(self.slots.sum()).bit_length())


def split_test_rows(chunk: Chunk) -> tuple[Chunk, Chunk]:
    """Split a chunk by its test column, if it has one, into two without: rows to train on, and rows
    held out.
    """
    held = chunk.get("test", np.zeros(len(chunk["user"]), bool))
    columns = {name: column for name, column in chunk.items() if name != "test"}
    return {name: column[~held] for name, column in columns.items()}, {
        name: column[held] for name, column in columns.items()
    }


def write_ratings(
    data: SyntheticRatings, path: str | os.PathLike[str], test: str | os.PathLike[str] | None = None
) -> tuple[int, int]:
    """Write the ratings to `path`, and those held out to `test`, a chunk at a time. Returns the
    numbers of rows in the two files.

    The names' endings choose Parquet (.parquet), or text with a line of column names (.csv, or .tsv
    and .txt with tabs; packed if .gz, .bz2, .zst or .lz4 follows). Raises UsageError for another
    ending, for one file named twice, and for a test share without a test file or the reverse;
    DiskError if a file cannot be written; no half-written file is left.
    """
    if (test is None) != (data.test_share == 0):
        missing = "test file" if test is None else "test share"
        raise UsageError(
            f"ratings to hold out need both a test file and a test share; there is no {missing}",
            do=f"give a {missing}",
        )
    if test is not None and Path(path).resolve() == Path(test).resolve():
        raise UsageError(
            f"{path} cannot hold both the ratings and those held out", do="name two files"
        )
    rows = [0, 0]
    with ExitStack() as stack:
        writes = [stack.enter_context(_writer(name)) for name in (path, test) if name is not None]
        for chunk in data:
            for k, (write, part) in enumerate(zip(writes, split_test_rows(chunk), strict=False)):
                write(part)
                rows[k] += len(part["user"])
    return rows[0], rows[1]


def _writer(path: str | os.PathLike[str]) -> AbstractContextManager[Write]:
    """Return the streaming writer for the ending of a file's name."""
    name = Path(path)
    ending = (name.with_suffix("") if name.suffix in WRITTEN else name).suffix
    if name.suffix == ".parquet":
        return parquet_writer(path)
    if ending not in (".csv", ".tsv", ".txt"):
        raise UsageError(
            f"{path} does not say which kind of file to write",
            do="end its name in .parquet, .csv or .tsv",
        )
    return text_writer(path, "," if ending == ".csv" else "\t")


def _check(
    users: int,
    items: int,
    ratings: int,
    rank: int,
    noise: float,
    step: float,
    test_share: float,
    chunk: int,
) -> None:
    """Raise UsageError if there are no such data."""
    for name, size in {
        "users": users,
        "items": items,
        "ratings": ratings,
        "rank": rank,
        "chunk": chunk,
    }.items():
        if size < 1:
            raise UsageError(f"{name} is {size}", do=f"give {name} of at least 1")
    for name, size in {"users": users, "items": items}.items():
        if size > _LIMIT:
            raise UsageError(
                f"{size:,} {name} do not fit 32-bit ids", do=f"give at most {_LIMIT:,} {name}"
            )
    if ratings < users:
        raise UsageError(
            f"{ratings:,} ratings are too few for {users:,} users",
            do="give at least one rating per user",
        )
    if ratings > users * items:
        raise UsageError(
            f"{ratings:,} ratings do not fit {users:,} users x {items:,} items",
            do=f"give at most {users * items:,} ratings",
        )
    if not 0 <= noise < np.inf:
        raise UsageError(f"noise is {noise}", do="give a standard deviation in stars, 0 or more")
    if step not in (0, 0.5, 1):
        raise UsageError(
            f"step is {step}", do="give 0.5 or 1 for half or whole stars, 0 for real numbers"
        )
    if not 0 <= test_share < 1:
        raise UsageError(
            f"test share is {test_share}", do="give a share from 0 up to, but not including, 1"
        )


def _terms(seed: int, purpose: str, ids: NDArray, rank: int) -> NDArray[np.float32]:
    """Draw (1 + rank, len(ids)) standard normal numbers: bias and factors of users or items."""
    return _normal(_draw(_streams(seed, purpose, ids), np.arange(rank + 1)[:, None]))


def _streams(seed: int, purpose: str, ids: NDArray) -> NDArray[np.uint64]:
    """Return the keys (n,) of independent streams of random numbers, one for each id."""
    return mix(ids.astype(np.uint64) * GOLDEN + key(seed, "ratings", purpose))


def _draw(streams: NDArray[np.uint64], counter: NDArray) -> NDArray[np.uint64]:
    """Return number `counter` (from 0) of each stream: 64 random bits; the arrays broadcast."""
    return mix(streams + (counter.astype(np.uint64) + np.uint64(1)) * GOLDEN)


def _normal(bits: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Make standard normal numbers, up to 3.46, of random bits: the sum of four 16-bit uniform
    numbers. They are the same on every machine.
    """
    low = np.uint64(0xFFFF)
    total = (
        (bits & low)
        + ((bits >> np.uint64(16)) & low)
        + ((bits >> np.uint64(32)) & low)
        + (bits >> np.uint64(48))
    )
    return (total.astype(np.float32) - np.float32(2 * 65535)) * np.float32(3**0.5 / 65536)
