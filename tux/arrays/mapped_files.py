"""Mapped files, most of them without names: memory that lies on disk. Of Linux alone."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from mmap import ACCESS_READ, ACCESS_WRITE, MADV_DONTNEED, PAGESIZE, mmap
from typing import Self

import numpy as np

POPULATE = 22
"""MADV_POPULATE_READ of Linux 5.14: read pages, and show them."""

START_WRITING = 2
"""SYNC_FILE_RANGE_WRITE: begin to write changed pages."""

_system = ctypes.CDLL(None)


class MappedFile(mmap):
    """A mapped file without a name, or one that is `kept` and only read."""

    descriptor = -1
    address: int
    kept: bool

    def __new__(cls, descriptor: int, size: int, *, kept: bool = False) -> Self:
        """Map a file of `size` bytes, which may be closed then."""
        own = super().__new__(cls, descriptor, size, access=ACCESS_READ if kept else ACCESS_WRITE)
        own.descriptor, own.kept = os.dup(descriptor), kept
        own.address = np.frombuffer(own, np.uint8).ctypes.data
        return own

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # by an argument, as the names of modules are gone when the process ends
        if self.descriptor >= 0:
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
