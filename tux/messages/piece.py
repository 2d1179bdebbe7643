"""Pieces of files as messages: the content of a PIECE and of a TAKEN.
`tux.cluster.checkpoint.pieces` sends files by them, and `tux.parallel_load.algorithm.transfer` the
messages between loaders.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tux.messages.message import Kind, Message, checking


class Content(IntEnum):
    """The content of a file that travels in pieces: the `sync_id` of their messages."""

    LISTS = 0
    """The lists of a worker that no stage uses."""
    STATE = 1
    """The state of a worker."""
    TRACE = 2
    """The trace of a worker's clocks."""


class Piece(NamedTuple):
    """A piece of a file."""

    of: Content
    content: np.ndarray  # (n,) uint8

    @staticmethod
    def read(message: Message, most: int) -> Piece:
        """Read the piece that a message carries, of at most `most` bytes. BadMessage if it has
        none.
        """
        of = content_of(message)
        with checking(message):
            if not message.arrays:
                raise ValueError("an array is missing")
            content, *rest = message.arrays
            if rest or content.dtype != np.uint8 or content.ndim != 1:
                raise ValueError("it is not one array of bytes")
            if not 0 < len(content) <= most:
                raise ValueError(f"it has {len(content)} bytes")
        return Piece(of, content)


def content_of(message: Message) -> Content:
    """Return the content of the file that a PIECE or TAKEN belongs to. BadMessage if it belongs to
    none.
    """
    with checking(message):
        if message.sync_id not in [*Content]:
            raise ValueError("it is of no file")
    return Content(message.sync_id)


class RoundPiece(NamedTuple):
    """A piece of the message that one loader sends to another in the round `number`. That message
    has `total` bytes in all.
    """

    number: int
    total: int
    content: np.ndarray  # (n,) uint8

    def message(self, source: int, dest: int) -> Message:
        """Make a message of the piece."""
        total = np.array([self.total], np.int64)
        return Message(Kind.PIECE, source, dest, clock=self.number, arrays=[total, self.content])

    @staticmethod
    def read(message: Message, most: int) -> RoundPiece:
        """Read the piece that a message carries, of at most `most` bytes. BadMessage if it has
        none.
        """
        with checking(message):
            if len(message.arrays) != 2:
                raise ValueError(f"it has {len(message.arrays)} arrays, not 2")
            total, content = message.arrays
            if total.dtype != np.int64 or total.shape != (1,):
                raise ValueError("the size of its message is no number")
            if content.dtype != np.uint8 or content.ndim != 1 or not 0 < len(content) <= most:
                raise ValueError("it is no piece of so many bytes")
            if message.sync_id:
                raise ValueError("it is of a file")
        return RoundPiece(message.clock, int(total[0]), content)
