"""Payloads of the messages about rows that workers do not keep (`tux.sync.pull`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tux.messages.encoding import Arrays
from tux.messages.message import Message, checking
from tux.messages.payloads import check_values, demand, take_first, take_numbers
from tux.rows.table import freeze


class FieldRows(NamedTuple):
    """Some masters. A message is about the first `counts[f]` of them in field f."""

    numbers: np.ndarray  # (r,) int32
    counts: np.ndarray  # (fields,) int32

    def arrays(self) -> Arrays:
        """Return the rows as arrays of a message."""
        return [self.counts, self.numbers]

    @staticmethod
    def read_first(arrays: Sequence[np.ndarray], fields: int) -> tuple[FieldRows, Arrays]:
        """Return the rows of so many fields that the first of some arrays hold, and the other
        arrays.
        """
        counts, rest = take_first(arrays)
        numbers, rest = take_first(rest)
        demand(
            numbers.ndim == 1 and numbers.dtype == np.int32 and counts.dtype == np.int32,
            "its second and third array are not numbers of rows",
        )
        demand(
            counts.shape == (fields,)
            and (fields == 0 or (counts.min() >= 0 and counts.max() <= len(numbers))),
            f"it has {len(numbers)} rows, and other numbers of them by field",
        )
        return FieldRows(freeze(numbers), freeze(counts)), rest

    def of_field(self, field: int) -> np.ndarray:
        """Return the rows of a field."""
        return self.numbers[: self.counts[field]]


class PullRequest(NamedTuple):
    """The rows that a worker needs for a step, from masters that have folded at least
    `least_folded` steps.
    """

    step: int
    least_folded: int
    rows: FieldRows

    def arrays(self) -> Arrays:
        """Return the request as arrays of a message."""
        return [np.array([self.step, self.least_folded], np.int64), *self.rows.arrays()]

    @staticmethod
    def read(message: Message, fields: int) -> PullRequest:
        """Read the request that a message carries, for rows of so many fields."""
        with checking(message):
            (step, least_folded), rest = take_numbers(message.arrays, 2, np.int64)
            demand(0 <= least_folded <= step, f"step {step} cannot need {least_folded} steps")
            rows, rest = FieldRows.read_first(rest, fields)
            demand(not rest, "there are arrays behind its rows")
            return PullRequest(step, least_folded, rows)


class PullAnswer(NamedTuple):
    """The values of the rows of one request, in its order."""

    step: int
    folded: int  # steps that are in the values
    values: Arrays  # as they travel (`tux.sync.row_wire`)

    def arrays(self) -> Arrays:
        """Return the answer as arrays of a message."""
        return [np.array([self.step, self.folded], np.int64), *self.values]

    @staticmethod
    def read(message: Message, like: Arrays, asked: dict[int, list[int]]) -> PullAnswer:
        """Read the answer that a message carries, with arrays `like` these. `asked`: the number of
        rows in each of them, by step without an answer.
        """
        with checking(message):
            (step, folded), rest = take_numbers(message.arrays, 2, np.int64)
            demand(step in asked, f"step {step} waits for no answer")
            demand(0 <= folded <= step, f"{folded} steps cannot be folded at step {step}")
            return PullAnswer(step, folded, check_values(rest, like, asked[step]))


class Push(NamedTuple):
    """The changes of a worker that it sends at the end of a step."""

    step: int
    rows: FieldRows
    changes: Arrays  # as they travel (`tux.sync.row_wire`)
    clock: int = 0  # that of its message

    def arrays(self) -> Arrays:
        """Return the changes as arrays of a message."""
        return [np.array([self.step], np.int64), *self.rows.arrays(), *self.changes]

    @staticmethod
    def read(message: Message, fields: int) -> Push:
        """Read the changes that a message carries, of rows of so many fields."""
        with checking(message):
            (step,), rest = take_numbers(message.arrays, 1, np.int64)
            rows, changes = FieldRows.read_first(rest, fields)
            return Push(step, rows, [freeze(change) for change in changes], message.clock)
