"""Pieces of files as messages: what a PIECE and a TAKEN carry. How files travel is in
`tux.cluster.pieces`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tux.protocol.message import Message, checking


class Content(IntEnum):
    """What a file holds that travels in pieces: the `sync_id` of their messages."""

    LISTS = 0
    """The lists of a worker that no stage uses."""
    STATE = 1
    """The state of a worker."""


class Piece(NamedTuple):
    """A piece of a file."""

    of: Content
    content: np.ndarray  # (n,) uint8

    @staticmethod
    def read(message: Message, most: int) -> Piece:
        """The piece that a message carries, of at most so many bytes. BadMessage if it has none."""
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
    """What the file holds that a PIECE or TAKEN is of. BadMessage if it is of none."""
    with checking(message):
        if message.sync_id not in (Content.LISTS, Content.STATE):
            raise ValueError("it is of no file")
    return Content(message.sync_id)
