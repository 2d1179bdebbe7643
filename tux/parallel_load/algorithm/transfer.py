"""Messages between loaders of several machines: which bytes are sent when, and which may come.
State machines without sockets and files.

The message of a round from one loader to another is a file of the sender. It travels in pieces. At
most WINDOW pieces are under way from one loader to another: the receiver acknowledges each when it
is on its disk. So memory is bounded, whatever size a message is said to have.

A loader comes to a round when it has the messages of all others of the round before. So no message
is more than one round ahead of its receiver, and its disk holds those of two rounds at most.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

PIECE = 1 << 20
"""Bytes that are sent at a time."""

WINDOW = 4
"""Pieces that may be under way from one loader to another."""


class MessagePiece(NamedTuple):
    """A piece: `size` bytes from `begin` on of the message of a round, which has `total` bytes."""

    number: int
    begin: int
    size: int
    total: int

    @property
    def is_last(self) -> bool:
        """True if it ends its message."""
        return self.begin + self.size == self.total


class PieceSender:
    """The sender's side of the messages to one loader."""

    def __init__(self) -> None:
        self._waiting: deque[MessagePiece] = deque()  # of each message, what has not been sent
        self._under_way: deque[MessagePiece] = deque()

    def add(self, number: int, total: int) -> None:
        """Add the message of a round, of at least one byte, to those to be sent."""
        self._waiting.append(MessagePiece(number, 0, total, total))

    def next(self) -> MessagePiece | None:
        """Return the piece to send now; None if there is none, or as many are under way as may
        be.
        """
        if not self._waiting or len(self._under_way) == WINDOW:
            return None
        number, begin, left, total = self._waiting.popleft()
        piece = MessagePiece(number, begin, min(left, PIECE), total)
        if not piece.is_last:
            rest = MessagePiece(number, begin + piece.size, left - piece.size, total)
            self._waiting.appendleft(rest)
        self._under_way.append(piece)
        return piece

    def acknowledge(self, number: int) -> bool:
        """Note that the receiver has the first of the pieces that are under way; return whether
        this was the last of its message. Raise ValueError if none of this round is under way.
        """
        if not self._under_way or self._under_way[0].number != number:
            raise ValueError(f"no piece of round {number} is under way")
        return self._under_way.popleft().is_last


class PieceReceiver:
    """The receiver's side of the messages from one loader."""

    def __init__(self) -> None:
        self._number, self._total, self._left = 0, 0, 0

    def take(self, own: int, number: int, total: int, size: int) -> bool:
        """Take a piece of `size` bytes, of the message of a round that has `total`, while this
        loader is in the round `own`; return whether it is the last of its message.

        Raise ValueError for a piece that no loader sends.
        """
        if number != self._number:
            raise ValueError(f"a piece of round {number}, and one of {self._number} is next")
        if number > own + 1:
            raise ValueError(f"a piece of round {number}, but this loader is in round {own}")
        if not self._left:
            self._total = self._left = max(total, 0)
        if total != self._total:
            raise ValueError(f"its message has {total:,} bytes, and had {self._total:,}")
        if not size or size != min(self._left, PIECE):
            raise ValueError(f"a piece of {size:,} bytes, and {self._left:,} are left")
        self._left -= size
        if self._left:
            return False
        self._number += 1
        return True
