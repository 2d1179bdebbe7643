"""Files that travel between the launcher and the workers of other machines. A file is sent in
pieces, each when the one before has been taken: so one piece at a time is in memory, and other
messages pass between two.

    PIECE   the next bytes of the file
    TAKEN   they are in the receiver's copy, so the next may come

What a file holds is its `Content`:

    LISTS   a worker's lists, sent to the launcher at the end of the run; where states are kept,
            what is new of them before each state
    STATE   a worker's state: sent to the launcher for a checkpoint, and back from it when the job
            goes on from one

The size of a state is told before its first piece, and the receiver takes no more.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tux.base.disk import writing
from tux.base.errors import DataError
from tux.checkpoint.shard import error_text

PIECE = 1 << 20  # bytes that are sent at a time, and that other messages may have to wait for


class OutgoingFile:
    """The sender's side of a file."""

    def __init__(self, path: Path) -> None:
        self.path, self._at = path, 0
        # of the bytes that are sent; None: as many as the file has when the first is read
        self.end: int | None = None

    def next(self) -> np.ndarray | None:
        """Read the next piece, at most (PIECE,) uint8; None behind the last, also if the file is
        gone then. DataError if the file cannot be read.
        """
        if self._at == self.end:
            return None
        try:
            with open(self.path, "rb") as file:
                if self.end is None:
                    self.end = os.fstat(file.fileno()).st_size
                file.seek(self._at)
                content = file.read(min(PIECE, self.end - self._at))
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be read: {error_text(error)}", do="look at the disk"
            ) from None
        self._at += len(content)
        return np.frombuffer(content, np.uint8) if content else None


class IncomingFile:
    """The receiver's side of a file of `size` bytes. It grows at `path`, where no file is yet, and
    where nothing else looks before `take` has said that it is whole.
    """

    def __init__(self, path: Path, size: int) -> None:
        """Begin a file. ValueError for a file without bytes, of which no piece would come."""
        if not size:
            raise ValueError("its file has no bytes")
        self.path, self._left = path, size

    def take(self, piece: np.ndarray) -> bool:
        """Write a piece; return whether it is the last. ValueError if there are more bytes than the
        file was to have; DiskError.
        """
        if len(piece) > self._left:
            raise ValueError(f"its file has {len(piece) - self._left:,} more bytes than was told")
        append_piece(self.path, piece)
        self._left -= len(piece)
        return self._left == 0


def append_piece(path: Path, piece: np.ndarray) -> None:
    """Add a piece to the copy of a file. DiskError."""
    with writing(path), open(path, "ab") as file:
        file.write(np.ascontiguousarray(piece).view(np.uint8).data)
