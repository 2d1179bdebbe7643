"""The rows of a table of pairs that are held out to judge a model by: a rule, and what it chooses.

A rule sees the user of each row as a number, ascending by id, and the times. It chooses the same
rows for the same seed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np

from tux.arrays.arrow import CodedColumn, Column
from tux.base.errors import DataError, UsageError
from tux.base.random import draw_share, draws, key
from tux.io.source.text import NUMBER, quote_word

By = Literal["random", "user", "leave-one-out", "time"]
WAYS: tuple[By, ...] = get_args(By)
SHARE = 0.1  # of the rows, if none is given
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PIECE = 1 << 20  # rows that are drawn at a time


@dataclass(frozen=True)
class HeldOutRule:
    """The rule by which rows are held out.

    - random: each row with probability `share`.
    - user: all rows of a user, with probability `share`.
    - leave-one-out: one row of each user who has two or more, the latest one by the column `time`,
      of equal times the last; if no column is named, a random one.
    - time: the latest rows by the column `time`. The cut is between two different times, where the
      rows held out are nearest to `share`.

    `seed`: another one makes other draws. Raises UsageError for what does not fit together.
    """

    by: By = "random"
    share: float | None = None
    time: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.by not in WAYS:
            raise UsageError(f"--by {self.by} is no rule", do=f"there are: {', '.join(WAYS)}")
        if self.time is not None and not isinstance(self.time, str):
            raise UsageError(f"--time is {self.time!r}", do="give the name of a column")
        if not isinstance(self.known_share, Real) or not isinstance(self.seed, Integral):
            raise UsageError("--test-share and --seed are numbers", do="give numbers")
        if self.share is not None and self.by == "leave-one-out":
            raise UsageError(
                "--test-share with --by leave-one-out",
                do="leave it out: one row of each user is held out",
            )
        if not 0 < self.known_share < 1:
            raise UsageError(
                f"--test-share is {self.known_share:g}", do="give a share above 0 and below 1"
            )
        if self.by == "time" and self.time is None:
            raise UsageError(
                "--by time without --time COLUMN", do="name the column of times with --time"
            )
        if self.time is not None and self.by not in ("time", "leave-one-out"):
            raise UsageError(
                f"--time with --by {self.by}",
                do="leave it out, or say --by time or --by leave-one-out",
            )

    @property
    def known_share(self) -> float:
        """The share that is given, or the usual one."""
        return SHARE if self.share is None else self.share

    def choose(self, user: np.ndarray, time: np.ndarray | None) -> np.ndarray:
        """Choose the rows that are held out, (m,) bool, from the number of each row's user (m,) and
        the times (m,). Raises DataError if this would be none or all.
        """
        if self.by == "random":
            held = self._draw("rows", len(user))
        elif self.by == "user":
            held = self._draw("users", int(user.max()) + 1)[user]
        elif self.by == "leave-one-out":
            held = self._one_of_each(user, time)
        else:
            assert time is not None
            held = self._latest(time)
        if not held.any() or held.all():
            which = "all rows" if held.any() else "no row"
            raise DataError(f"{which} of {len(held):,} would be held out by {self.by}", do=DO)
        return held

    def _draw(self, what: str, count: int) -> np.ndarray:
        stream = key(self.seed, "split", what)
        numbers = np.arange(count)
        pieces = [numbers[at : at + PIECE] for at in range(0, count, PIECE)]
        return np.concatenate([draw_share(stream, each, self.known_share) for each in pieces])

    def _one_of_each(self, user: np.ndarray, time: np.ndarray | None) -> np.ndarray:
        if time is None:
            time = draws(key(self.seed, "split", "rows"), np.arange(len(user)))
        order = np.lexsort((time, user))  # stable: of equal times the later row comes last
        ends = np.flatnonzero(np.diff(user[order], append=-1))
        several = np.diff(ends, prepend=-1) > 1
        held = np.zeros(len(user), np.bool_)
        held[order[ends[several]]] = True
        return held

    def _latest(self, time: np.ndarray) -> np.ndarray:
        times, counts = np.unique(time, return_counts=True)
        later = len(time) - np.cumsum(counts)[:-1]  # rows above each time but the last
        if not len(later):
            return np.zeros(len(time), np.bool_)
        cut = np.abs(later - self.known_share * len(time)).argmin()
        return np.asarray(time > times[cut])


WHOLE = re.compile(r"[-+]?\d{1,18}")
"""A whole number that 64 bits hold."""

FINER = re.compile(r"[.,]\d{6}(\d+)")
"""A part of a second that is written with more than six digits."""

DO = "give more rows, or another share or seed"


def times_of(column: Column, name: str, path: str) -> np.ndarray:
    """Return a column of times as numbers that ascend with them: numbers as they are, and of words
    that are numbers, or dates and times as ISO 8601 writes them, those without a zone as UTC, the
    places in their order. All digits count. Raises DataError for another word.
    """
    if not isinstance(column, CodedColumn):
        return np.asarray(column)
    words = column.values.tolist()
    if all(map(WHOLE.fullmatch, words)):
        return np.array([*map(int, words)], np.int64)[column.codes]
    numeric = all(map(NUMBER.fullmatch, words))
    if numeric and not all(map(math.isfinite, map(float, words))):
        raise DataError(f"a value of {name} is not finite", where=path)
    try:
        return _places([*map(Decimal if numeric else _instant, words)])[column.codes]
    except ValueError:
        others = [word for word in words if not NUMBER.fullmatch(word)]
        wrong = next((word for word in others if not _is_date(word)), others[0])
        raise DataError(
            f"{name} is {quote_word(wrong)}, no date or number as the others are",
            where=path,
            do="Write times as numbers, or as 2026-01-31 or 2026-01-31 12:30:00.",
        ) from None


def _places(values: Sequence[Any]) -> np.ndarray:
    """Return the place of each of some values (n,) among those that differ, in their order."""
    places = {value: place for place, value in enumerate(sorted(set(values)))}
    return np.array([places[value] for value in values], np.int64)


def _instant(word: str) -> tuple[int, str]:
    """Return a date or time in microseconds since 1970, and the further digits of its second."""
    time = datetime.fromisoformat(word)
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH
    finer = FINER.search(word)
    return since // timedelta(microseconds=1), finer[1].rstrip("0") if finer else ""


def _is_date(word: str) -> bool:
    try:
        _instant(word)
    except ValueError:
        return False
    return True
