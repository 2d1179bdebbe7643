"""Lists on disk as a part of a worker's state: files that lie beside the checkpoints, and that
several of them share.

Each start of a worker writes to a file of its own, which is never cut or written anew. A state
names the files that hold the lists so far, in their order, and how much of each: a `ListSegment`.
What was written later stands behind it, and is not read. So a checkpoint costs only what is new,
one that is older than others stays whole, and a worker that should have ended cannot damage what
another one goes on from.
"""

from __future__ import annotations

import io
import os
import re
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from tux.base.disk import sync
from tux.checkpoint.shard import PIECE, Count, Shard, checkpoint_damage, hash_bytes, unreadable

NAME = re.compile(r"\d{4,}-[0-9a-f]{16}", re.ASCII)


class ListSegment(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The first `size` bytes of a file, and their CRC-32."""

    name: str
    size: Count
    crc32: str  # eight digits


def list_file_name(rank: int, start: bytes) -> str:
    """Return the name of the file of a worker; `start`: random bytes of this start of the
    workers.
    """
    return f"{rank:04d}-{hash_bytes(start)[:16]}"


def create_file(path: Path) -> BinaryIO:
    """Create a new file, to be written and read, whose name is on the disk. OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        file = stack.enter_context(open(path, "xb+"))
        for folder in [*path.absolute().parents][:3]:  # that of lists, of checkpoints, of the run
            sync(folder)
        stack.pop_all()  # the caller closes it
    return file


def segments_of_shard(held: Shard) -> list[ListSegment]:
    """Read the segments that a worker's file of a checkpoint names. DataError if they make no
    sense.
    """
    state = held.head.get("state")
    named = state.get("lists", []) if isinstance(state, dict) else []
    try:
        segments = msgspec.convert(named, list[ListSegment])
    except msgspec.ValidationError as error:
        raise checkpoint_damage(held.path, str(error)) from None
    if not all(NAME.fullmatch(each.name) for each in segments):
        raise checkpoint_damage(held.path, "its lists have a name that tux gives to none")
    return segments


def check(folder: Path, segments: Sequence[ListSegment]) -> None:
    """Read all bytes of the segments. DataError if one differs from what was written; DiskError if
    one cannot be read.
    """
    for each in segments:
        path, total, left = folder / each.name, 0, each.size
        try:
            with open(path, "rb") as file:
                while left and (piece := file.read(min(PIECE, left))):
                    total, left = zlib.crc32(piece, total), left - len(piece)
        except OSError as error:
            raise unreadable(path, error) from None
        if left:
            raise checkpoint_damage(path, f"{each.size - left:,} bytes instead of {each.size:,}")
        if f"{total:08x}" != each.crc32:
            raise checkpoint_damage(path, "its lists are not what was written")


def join_files(parts: Sequence[tuple[Path, int]]) -> BinaryIO:
    """Open the first bytes of several files, so many of each, as one file to be read. OSError."""
    return io.BufferedReader(_JoinedFiles(parts))


class _JoinedFiles(io.RawIOBase):
    """A file that consists of the parts one after the other."""

    def __init__(self, parts: Sequence[tuple[Path, int]]) -> None:
        self._files: list[BinaryIO] = []
        try:
            for path, _ in parts:
                self._files.append(open(path, "rb", buffering=0))  # noqa: SIM115  see `close`
        except BaseException:
            self.close()
            raise
        self._ends, self._at = [*accumulate(size for _, size in parts)], 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        end = self._ends[-1] if self._ends else 0
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: end}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes of one part."""
        part = bisect_right(self._ends, self._at)
        if part == len(self._ends):
            return 0
        begin = self._ends[part - 1] if part else 0
        view = memoryview(buffer).cast("B")[: self._ends[part] - self._at]
        read = os.preadv(self._files[part].fileno(), [view], self._at - begin)
        self._at += read
        return read

    def close(self) -> None:
        for file in self._files:
            file.close()
        super().close()
