"""Lists that no stage uses. Each worker writes them to a file during the run; at its end they are
read in one order, which does not depend on the number of workers.

The first line of a file is JSON: the vertex type and the widths of the lists. Then come rows of
int32, or int64 by `index_dtype` of the number of vertices, one for each vertex of each round:

    number of the vertex (its position), first list, second list, ...

A list that is shorter than its width is filled up with -1. A worker writes the vertices that it
masters in ascending order, round after round. So the files of all workers are merged by the numbers
of the vertices, a piece at a time.

Where a run keeps its states, the files are a part of these (`tux.checkpoint.segments`). A worker
that goes on from a state writes to another file, without a first line, what follows.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np

from tux.arrays.integers import index_dtype
from tux.base.disk import sync_open, writing
from tux.base.errors import DiskError, Refused
from tux.checkpoint.segments import ListSegment, create_file, join_files, list_file_name

PIECE = 1 << 22  # bytes that are read at a time
LONGEST = 1 << 16  # bytes of the first line
FILE = "the file of lists"  # in messages

Opener = Callable[[], BinaryIO]


class SpoolHead(msgspec.Struct, forbid_unknown_fields=True):
    """The first line of a file."""

    over: str  # the vertex type
    widths: dict[str, int]  # of the lists, in their order

    @property
    def row(self) -> int:
        """The number of numbers in a row."""
        return 1 + sum(self.widths.values())


class Scratch(NamedTuple):
    """The file to which a worker writes its lists."""

    open: Opener  # makes the file, when there is something to write
    name: str = ""  # of the file, as states call it; "": no state is kept
    folder: Path | None = None  # of the files that states name, if they can be read here

    @classmethod
    def in_folder(
        cls,
        folder: Path,
        rank: int,
        start: bytes,
        opened: Callable[[BinaryIO], BinaryIO] = lambda file: file,
    ) -> Scratch:
        """Make the scratch of a file in the folder of lists that states name; `start` as for
        `name_of`. The open file passes through `opened`.
        """
        name = list_file_name(rank, start)
        return cls(lambda: opened(create_file(folder / name)), name, folder)


class Spool:
    """The lists that one worker writes, to a file of `scratch`; None: nothing is written."""

    def __init__(self, over: str, widths: Mapping[str, int], scratch: Scratch | None) -> None:
        self.head, self._scratch = SpoolHead(over, dict(widths)), scratch
        self.file: BinaryIO | None = None
        self._earlier: list[ListSegment] = []  # of earlier starts
        self._size, self._sum = 0, 0  # of the bytes of this start, if states are kept
        self._lost: DiskError | None = None

    @property
    def _place(self) -> str:
        """The name of the file in messages."""
        if self._scratch is None or self._scratch.folder is None:
            return FILE
        return f"{FILE} in {self._scratch.folder}"

    def append(self, starts: np.ndarray, lists: Mapping[str, np.ndarray]) -> None:
        """Write the lists (m, width) by name of the vertices `starts` (m,). Raises DiskError."""
        if self._scratch is None:
            return
        self._check()
        with writing(self._place):
            if self.file is None:
                self.file = self._scratch.open()
                if not self._earlier:
                    self._write(self.file, memoryview(msgspec.json.encode(self.head) + b"\n"))
            rows = np.concatenate(
                [starts[:, None], *(lists[name] for name in self.head.widths)],
                axis=1,
                dtype=starts.dtype.newbyteorder("<"),
            )
            self._write(self.file, rows.data)

    def _write(self, file: BinaryIO, content: memoryview[Any]) -> None:
        file.write(content)
        if self._scratch and self._scratch.name:
            self._size += content.nbytes
            self._sum = zlib.crc32(content, self._sum)

    def flush(self) -> BinaryIO | None:
        """Flush the file, and return it; None if there is none."""
        self._check()
        with writing(self._place):
            if self.file is not None:
                self.file.flush()
        return self.file

    # ---- as a part of states

    def segments(self) -> list[ListSegment]:
        """List the segments of all lists that have been written so far, if states are kept.
        DiskError.
        """
        self.flush()
        if not self._size or not self._scratch:
            return [*self._earlier]
        return [*self._earlier, ListSegment(self._scratch.name, self._size, f"{self._sum:08x}")]

    def go_on(self, segments: Sequence[ListSegment]) -> None:
        """Write from now on behind the lists of a state."""
        self._earlier = [*segments]

    def sync(self) -> None:
        """Wait until all that has been flushed is on the disk; another thread may write meanwhile.

        DiskError. Then the spool takes no more lists: the system forgets the bytes that it could
        not write, and reports no second error.
        """
        try:
            with writing(self._place):
                if self.file is not None:
                    sync_open(self.file.fileno())
        except DiskError as error:
            self._lost = error
            raise

    def _check(self) -> None:
        """Raise DiskError if the disk has lost something."""
        if self._lost is not None:
            raise DiskError(self._lost.what, do=self._lost.do)

    def open_all(self) -> BinaryIO | None:
        """Open all lists as one file; None if there are none. DiskError."""
        file, segments = self.flush(), self.segments()
        if not self._earlier:
            return file
        assert self._scratch is not None
        assert self._scratch.folder is not None
        with writing(self._place):
            return join_files([(self._scratch.folder / each.name, each.size) for each in segments])


class SpooledLists:
    """The lists of all workers, from their files. As a context it closes these."""

    def __init__(self, files: Sequence[BinaryIO], orders: Mapping[str, np.ndarray]) -> None:
        """Read the heads of the files. `orders`: of each vertex type the dense index of each
        number, (n,). Refused for files that the workers of one run do not write.
        """
        self.files = files
        heads = [_read_head(file) for file in files]
        self.head = heads[0]
        if self.head.over not in orders:
            raise _damage_error()
        self.order = orders[self.head.over]
        self.n = n = len(self.order)
        self._kind = index_dtype(n).newbyteorder("<")
        self._starts = [file.tell() for file in files]
        self._bytes = self._kind.itemsize * self.head.row  # of a row
        counts = [_count_rows(file, self._bytes) for file in files]
        self.rounds = sum(counts) // max(n, 1)
        if any(head != self.head for head in heads) or any(
            count % max(self.rounds, 1) for count in counts
        ):
            raise _damage_error()
        self._masters = [
            self._numbers(at, count // max(self.rounds, 1)) for at, count in enumerate(counts)
        ]
        if not np.array_equal(np.sort(np.concatenate(self._masters)), np.arange(n)) or any(
            (np.diff(m) < 0).any() for m in self._masters
        ):
            raise _damage_error()

    @staticmethod
    def from_files(
        parts: Sequence[Sequence[tuple[Path, int]]], orders: Mapping[str, np.ndarray]
    ) -> SpooledLists:
        """Open the files of each worker, so many bytes of each file, as the lists of all. DiskError
        if one cannot be opened.
        """
        with writing(FILE), ExitStack() as stack:
            files = [stack.enter_context(join_files(each)) for each in parts]
            lists = SpooledLists(files, orders)
            stack.pop_all()
        return lists

    def __enter__(self) -> SpooledLists:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files:
            file.close()

    def pieces(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the lists (m, width) by name, round after round, in each round vertex after vertex
        by number. DiskError, or Refused.
        """
        size, cuts = (
            max(1, PIECE // self._bytes),
            np.cumsum([1, *self.head.widths.values()])[:-1],
        )
        for number in range(self.rounds):
            for low in range(0, self.n, size):
                rows = np.empty((min(size, self.n - low), self.head.row), self._kind)
                for at, masters in enumerate(self._masters):
                    first, last = np.searchsorted(masters, [low, low + size])
                    rows[masters[first:last] - low] = self._read_rows(
                        at, number * len(masters) + int(first), int(last - first)
                    )
                if (
                    not np.array_equal(rows[:, 0], np.arange(low, low + len(rows)))
                    or rows.min() < -1
                    or rows.max() >= self.n
                ):
                    raise _damage_error()
                yield dict(zip(self.head.widths, np.split(rows, cuts, axis=1)[1:], strict=True))

    def _numbers(self, at: int, count: int) -> np.ndarray:
        """Read the numbers of the vertices in the first rows of a file."""
        size = max(1, PIECE // self._bytes)
        pieces = [
            self._read_rows(at, low, min(size, count - low))[:, 0].copy()
            for low in range(0, count, size)
        ]
        return np.concatenate([np.empty(0, np.int32), *pieces])

    def _read_rows(self, at: int, first: int, count: int) -> np.ndarray:
        """Read rows of a file, (count, numbers in a row)."""
        with writing(FILE):
            self.files[at].seek(self._starts[at] + self._bytes * first)
            content = self.files[at].read(self._bytes * count)
        if len(content) != self._bytes * count:
            raise _damage_error()
        return np.frombuffer(content, self._kind).reshape(count, self.head.row)


def _read_head(file: BinaryIO) -> SpoolHead:
    """Read the first line; the file is then at the second."""
    file.seek(0)
    try:
        head = msgspec.json.decode(file.readline(LONGEST), type=SpoolHead)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _damage_error() from None
    if not head.widths or min(head.widths.values()) < 0:
        raise _damage_error()
    return head


def _count_rows(file: BinaryIO, size: int) -> int:
    """Count the rows that follow, of so many bytes."""
    here = file.tell()
    rows, rest = divmod(file.seek(0, os.SEEK_END) - here, size)
    if rest:
        raise _damage_error()
    return rows


def _damage_error() -> Refused:
    return Refused("the lists that workers have written are damaged", do="run it again")
