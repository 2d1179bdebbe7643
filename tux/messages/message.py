"""Messages between the members of a job: their kinds, and the content of each.

Their form as bytes is in `tux.messages.frames`, the fields of their arrays in
`tux.messages.payloads` and, for control messages, in `tux.cluster.transport.control`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from tux.base.errors import Refused


class Kind(IntEnum):
    """The kind of a message. Its number is the byte that stands for it in a frame."""

    CONTRIBUTION = 0
    """A worker to a server: its part of a synchronisation (mirrors' changes and deltas)."""
    ANSWER = 1
    """A server to a worker: the values of the masters after a synchronisation."""
    TOTALS = 2
    """A worker to its own server: its context, to which the server adds before it goes on."""
    EVAL_ROWS = 3
    """A worker to a worker: rows of masters that only held-out edges need there."""
    MODEL_ROWS = 4
    """A worker to the launcher: a part of the model. The last one has clock 1."""
    PIECE = 5
    """Between the launcher and a worker of another machine: a piece of a file. `sync_id` says
    which (`tux.messages.piece.Content`). Between loaders: a piece of the message of the round
    `clock`, behind the bytes that it has in all."""
    TAKEN = 6
    """The answer to a piece: the next may come. Its `sync_id` and its `clock` are those of the
    piece."""
    CONTROL = 7
    """Between the launcher and a worker: start, end, records, errors."""
    PULL_REQUEST = 8
    """A worker to a server: which rows it needs."""
    PULL_ANSWER = 9
    """A server to a worker: these rows."""
    PUSH = 10
    """A worker to a server: changes of rows that it has pulled."""
    BEAT = 11
    """A heartbeat. It travels beside the other messages, and is not numbered as they are."""
    PROBE = 12
    """It says nothing, but has a number: one that is missing before it was lost."""


class Message(NamedTuple):
    """One message. `source` and `dest` are members of the job: workers by rank, then the launcher.

    `clock` and `sync_id` say which synchronisation it belongs to (of a part of the model, `sync_id`
    is the number of the vertex type); `sequence` numbers the messages from `source` to `dest`
    without gaps.
    """

    kind: Kind
    source: int
    dest: int
    clock: int = 0
    sync_id: int = 0
    arrays: Sequence[np.ndarray] = ()
    sequence: int = 0
    payload: Any = None
    """An object that a member hands to itself instead of arrays. No bytes are made of it."""

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays)


class BadMessage(Refused):
    """A message of a member of the job that is not as its kind requires. `source` is the member.
    The reactor adds its name and its host, which it knows.
    """

    def __init__(self, message: Message, why: str) -> None:
        self.source, self._kind, self._why = message.source, message.kind.name, why
        super().__init__(self._describe(f"worker {message.source}"))

    def name(self, sender: str, where: str) -> None:
        """Put the name of the sender, and where it is, into the text of the error."""
        super().__init__(self._describe(sender), where=where)

    def _describe(self, sender: str) -> str:
        return f"a {self._kind} message of {sender} was refused: {self._why}"


class checking:
    """A context that turns a ValueError of its body into a BadMessage, which names the sender of
    `message`.

    It is a class, as it is entered for each message: a generator with contextlib takes longer.
    """

    __slots__ = ("_message",)

    def __init__(self, message: Message) -> None:
        self._message = message

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValueError):
            raise BadMessage(self._message, str(error)) from None
