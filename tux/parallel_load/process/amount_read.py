"""The amount that a loader has read of several inputs, one after the other."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tux.base.disk import writing
from tux.io.source.text import Tell


class Progress(msgspec.Struct):
    """The amount of its share that a loader has read: bytes of text, unpacked, and pieces of
    files.
    """

    size: int = 0
    pieces: float = 0.0


def progress_writer(path: Path) -> Tell:
    """Return a function that writes down in a file how much a loader has read, after each of its
    large blocks.
    """
    part = path.with_suffix(".part")

    def tell(size: int, pieces: float) -> None:
        with writing(path):
            part.write_bytes(msgspec.json.encode(Progress(size, pieces)))
            os.replace(part, path)

    return tell


class AmountRead:
    """The amount that a loader has read of its inputs, for a function that is called with it."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._before, self._now = (0, 0.0), (0, 0.0)

    def tell(self, size: int, pieces: float) -> None:
        """Tell the amount read of this input, and all before."""
        self._now = (self._before[0] + size, self._before[1] + pieces)
        self._tell(*self._now)

    def begin_next(self) -> None:
        """Count what follows as another input."""
        self._before = self._now
