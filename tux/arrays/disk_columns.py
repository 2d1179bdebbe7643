"""Columns of edges on disk: large arrays that lie in files without names, which are mapped.

They are arrays like others. The system reads a page of a file when it is touched, and writes it
when it has changed. A thread looks how much memory the process holds; above what it may hold, the
memory that shows these files is given back. The order of work is not changed by it, only its time.
The files are gone when their arrays are, and when the process ends, in whatever way.
"""

from __future__ import annotations

import ctypes
import math
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from mmap import MADV_DONTNEED, PAGESIZE, mmap
from pathlib import Path
from typing import Self

import numpy as np

from tux.base.disk import disk_error
from tux.base.memory import anonymous, resident

LARGE = 1 << 20
"""Bytes of an array from which on it lies on disk."""

LOOK = 0.02
"""Seconds between two looks at the memory of the process."""

POPULATE = 22
"""MADV_POPULATE_READ of Linux 5.14: read pages, and show them."""

START_WRITING = 2
"""SYNC_FILE_RANGE_WRITE: begin to write changed pages."""

_system = ctypes.CDLL(None)


class MappedFile(mmap):
    """A mapped file without a name."""

    descriptor: int
    address: int

    def __new__(cls, descriptor: int, size: int) -> Self:
        """Map a file of `size` bytes, which may be closed then."""
        own = super().__new__(cls, descriptor, size)
        own.descriptor = os.dup(descriptor)
        own.address = np.frombuffer(own, np.uint8).ctypes.data
        return own

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # by an argument, as the names of modules are gone when the process ends
        close(self.descriptor)

    def read_ahead(self, begin: int, end: int) -> None:
        """Read the bytes begin..end, and show them in memory."""
        begin -= begin % PAGESIZE
        os.posix_fadvise(self.descriptor, begin, end - begin, os.POSIX_FADV_WILLNEED)
        _system.madvise(
            ctypes.c_void_p(self.address + begin), ctypes.c_size_t(end - begin), POPULATE
        )

    def hide(self, begin: int, end: int) -> None:
        """Give back the memory that shows the pages within the bytes begin..end. The system still
        has them as far as it likes.
        """
        begin, end = _pages_within(begin, end)
        if begin < end:
            at, size = ctypes.c_void_p(self.address + begin), ctypes.c_size_t(end - begin)
            _system.madvise(at, size, MADV_DONTNEED)

    def give_back(self, begin: int, end: int) -> None:
        """Give back all memory of the pages within the bytes begin..end. Pages that have changed
        begin to be written, and stay until then.
        """
        self.hide(begin, end)
        begin, end = _pages_within(begin, end)
        if begin < end:
            offset, length = ctypes.c_int64(begin), ctypes.c_int64(end - begin)
            _system.sync_file_range(self.descriptor, offset, length, START_WRITING)
            os.posix_fadvise(self.descriptor, begin, end - begin, os.POSIX_FADV_DONTNEED)


def _pages_within(begin: int, end: int) -> tuple[int, int]:
    """Return the first byte of the first whole page, and the end of the last."""
    return -(-begin // PAGESIZE) * PAGESIZE, end - end % PAGESIZE


class _Disk:
    """The folder of the files, and the thread that keeps the process within `most` bytes."""

    def __init__(self, folder: Path, most: int) -> None:
        self.folder, self.most, self._taken = folder, most, 0
        self._files: weakref.WeakSet[MappedFile] = weakref.WeakSet()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="tux memory", daemon=True)
        self._thread.start()

    def add(self, file: MappedFile) -> None:
        """Give back the memory of this file, too, where it is too much."""
        self._files.add(file)

    def take_room(self, wanted: int) -> int:
        """Return how many bytes of memory may hold columns, at most `wanted`; others get less."""
        self._taken += (given := min(wanted, max(self.most - anonymous() - self._taken, 0)))
        return given

    def end(self) -> None:
        """End the thread. The files stay as long as their arrays."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(LOOK):
            if resident() > self.most:
                for file in list(self._files):
                    file.hide(0, len(file))


_disk: list[_Disk] = []


@contextmanager
def limited_memory(folder: str | os.PathLike[str] | None, most: int | None) -> Iterator[None]:
    """Have large arrays of edges made meanwhile lie on disk, in a `folder`, None: that of temporary
    files; and the process hold at most `most` bytes of memory, as far as these arrays allow it.
    None: nothing changes.
    """
    if most is None:
        yield
        return
    disk = _Disk(Path(folder or tempfile.gettempdir()), most)
    _disk.append(disk)
    try:
        yield
    finally:
        _disk.remove(disk)
        disk.end()


def take_room(wanted: int) -> int:
    """Return how many bytes of columns on disk may stay in memory, at most `wanted`, and count them
    as taken.
    """
    return _disk[-1].take_room(wanted) if _disk else wanted


def memory_left() -> int:
    """Return the bytes of memory that the process may take for columns that lie on disk."""
    return max(_disk[-1].most - anonymous(), 0) if _disk else 1 << 62


def is_on_disk() -> bool:
    """Return whether large arrays of edges that are made now lie on disk."""
    return bool(_disk)


def empty_column(shape: int | tuple[int, ...], dtype: np.typing.DTypeLike) -> np.ndarray:
    """Make an uninitialised array of edges, (m, ...), where such arrays lie now. DiskError if there
    is no room on the disk.
    """
    kind, shape = np.dtype(dtype), (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * kind.itemsize
    if not _disk or size < LARGE:
        return np.empty(shape, kind)
    folder = _disk[-1].folder
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, size)  # so that no page lacks room later
            mapped = MappedFile(file.fileno(), size)
    except OSError as error:
        raise disk_error(folder, error) from None
    _disk[-1].add(mapped)
    return np.ndarray(shape, kind, buffer=mapped)


def store_column(array: np.ndarray) -> np.ndarray:
    """Return an array of edges as one that lies where such arrays lie now: itself, or a copy."""
    if not _disk or array.nbytes < LARGE or file_of(array):
        return array
    out = empty_column(array.shape, array.dtype)
    out[...] = array
    return out


def file_of(array: np.ndarray) -> MappedFile | None:
    """Return the file in which an array lies, None if it lies in memory."""
    base = array.base
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, MappedFile) else None


def span_of(array: np.ndarray, lo: int, hi: int) -> tuple[int, int]:
    """Return the bytes of its file where the entries or rows lo..hi of a contiguous array lie."""
    file = file_of(array)
    assert file is not None
    first = array.ctypes.data - file.address
    each = array.strides[0]
    return first + lo * each, first + hi * each
