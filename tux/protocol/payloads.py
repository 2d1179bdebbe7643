"""What the arrays of the pull protocol's messages mean, by the names of their fields; they are
checked here before they are used.

`arrays` makes a message's arrays of a payload, `read` a payload of a message's arrays; Refused if
they cannot be one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from tux.base.errors import Refused
from tux.protocol.encoding import Arrays
from tux.protocol.message import Message
from tux.rows.table import frozen


class PullRequest(NamedTuple):
    """The rows that a worker needs for a step, from masters that have folded at least so many
    steps.
    """

    step: int
    least_folded: int
    rows: np.ndarray  # (r,) integers: numbers of the masters

    def arrays(self) -> Arrays:
        """As a message's arrays."""
        return [np.array([self.step, self.least_folded], np.int64), self.rows]

    @staticmethod
    def read(message: Message) -> PullRequest:
        """The request that a message carries."""
        (step, least_folded), rest = _numbers(message, 2)
        if len(rest) != 1 or rest[0].ndim != 1 or rest[0].dtype.kind != "i":
            _refuse(message, "row numbers are missing")
        return PullRequest(step, least_folded, frozen(rest[0]))


class PullAnswer(NamedTuple):
    """The values of the rows of one request, in its order."""

    step: int
    folded: int  # steps that are in the values
    values: Arrays  # (r, width) by field

    def arrays(self) -> Arrays:
        """As a message's arrays."""
        return [np.array([self.step, self.folded], np.int64), *self.values]

    @staticmethod
    def read(message: Message) -> PullAnswer:
        """The answer that a message carries."""
        (step, folded), values = _numbers(message, 2)
        return PullAnswer(step, folded, values)


class Push(NamedTuple):
    """What a worker has changed in a step, in the rows and the order of its request."""

    step: int
    changes: Arrays  # (r, width) by field

    def arrays(self) -> Arrays:
        """As a message's arrays."""
        return [np.array([self.step], np.int64), *self.changes]

    @staticmethod
    def read(message: Message) -> Push:
        """The changes that a message carries."""
        (step,), changes = _numbers(message, 1)
        return Push(step, [frozen(change) for change in changes])


def _numbers(message: Message, count: int) -> tuple[list[int], Arrays]:
    """The numbers in the first array of a message, and the other arrays."""
    first: Sequence[np.ndarray] = message.arrays[:1]
    if not first or first[0].dtype != np.int64 or first[0].shape != (count,):
        _refuse(message, f"its first array is not {count} numbers")
    return first[0].tolist(), list(message.arrays[1:])


def _refuse(message: Message, why: str) -> NoReturn:
    raise Refused(f"a {message.kind.name} message of worker {message.source} was refused: {why}")
