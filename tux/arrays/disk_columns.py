"""Columns of edges on disk: large arrays that lie in files without names, which are mapped, where
the memory of the process is too small for them.

They are arrays like others. The system reads a page of a file when it is touched, and writes it
when it has changed. A thread looks how much memory the process holds; above what it may hold, the
memory that shows these files is given back. The order of work is not changed by it, only its time.
The files are gone when their arrays are, and when the process ends, in whatever way.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from mmap import MADV_DONTNEED, mmap
from pathlib import Path

import numpy as np

from tux.arrays.mapped_files import MappedFile
from tux.base.disk import FULL, disk_error
from tux.base.errors import DiskError, UsageError
from tux.base.limits import allow_many_files
from tux.base.memory import anonymous, resident

LARGE = 1 << 20
"""Bytes of an array from which on it lies on disk."""

HELD = 0.5
"""The share of the memory that is left beside rows in which columns lie that are not on disk. The
rest is for arrays that are made meanwhile, and for what is shown of the files.
"""

SPARE = 3 * 10**8
"""Bytes for kernels that are compiled, and for edges that are read ahead."""

LOOK = 0.02
"""Seconds between two looks at the memory of the process."""

KEPT = 0.9
"""The share of its memory up to which a process keeps columns: what it has beside them grows, and
above the limit all columns are given back, which costs more than it spares.
"""

COPIED = 1 << 22
"""Entries or rows that are copied at a time."""


class _Disk:
    """The folder of the files, and the thread that keeps the process within `most` bytes."""

    def __init__(self, folder: Path, most: int) -> None:
        self.folder, self.most = folder, most
        self.rows = 0  # bytes of rows that are yet to be made
        self._begin = anonymous()
        self._files: weakref.WeakSet[MappedFile] = weakref.WeakSet()
        # of files that may stay in memory: the share that does
        self._shares: weakref.WeakKeyDictionary[MappedFile, float] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def has_room(self, size: int) -> bool:
        """Return whether a column of so many bytes is to lie in memory."""
        room = self.most - self._begin - SPARE - self.rows
        return max(anonymous() - self._begin, 0) + size <= HELD * room

    def add(self, file: MappedFile) -> None:
        """Give back the memory of this file, too, where it is too much."""
        with self._lock:
            self._files.add(file)
            if self._thread is None and not self._over.is_set():
                thread = threading.Thread(target=self._watch, name="tux memory", daemon=True)
                thread.start()
                self._thread = thread

    def share_of(self, files: Sequence[MappedFile]) -> float:
        """Return the share of files that may stay in memory now, the same of each, beside what the
        process has and what may stay of others.
        """
        others = sum(share * len(file) for file, share in self._shares.items() if file not in files)
        left = max(int(KEPT * self.most) - anonymous() - others, 0)
        share = min(left / max(sum(map(len, files)), 1), 1.0)
        self._shares.update(dict.fromkeys(files, share))
        return share

    def end(self) -> None:
        """End the thread. The files stay as long as their arrays."""
        with self._lock:
            self._over.set()
        if self._thread:
            self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(LOOK):
            if resident() > self.most:
                self._give_back()

    def _give_back(self) -> None:
        """Give back the memory of files until the process is within its limit. Of the files it
        holds none longer than that: they end with their arrays.
        """
        with self._lock:
            files = [*self._files]
        # first those of which no kernel keeps a part
        for file in sorted(files, key=lambda each: each in self._shares):
            if resident() > self.most:
                file.hide(0, len(file))


_disk: list[_Disk] = []
os.register_at_fork(after_in_child=_disk.clear)  # a child has no such thread


@contextmanager
def limited_memory(folder: str | os.PathLike[str] | None, most: int | None) -> Iterator[None]:
    """Have the process hold at most `most` bytes of memory: large arrays of edges made meanwhile
    lie on disk where too little is left, in a `folder`, None: that of temporary files. None:
    nothing changes. UsageError where the system is not Linux.
    """
    if most is None:
        yield
        return
    if sys.platform != "linux":
        raise UsageError("--memory needs Linux", do="leave it out: all edges are in memory then")
    disk = _Disk(Path(folder or tempfile.gettempdir()), most)
    _disk.append(disk)
    try:
        yield
    finally:
        _disk.remove(disk)
        disk.end()


@contextmanager
def rows_to_come(size: int) -> Iterator[None]:
    """Leave so many bytes of memory to rows, which are made meanwhile."""
    own = _disk[-1:]
    for disk in own:
        disk.rows = size
    try:
        yield
    finally:
        for disk in own:
            disk.rows = 0


def is_for_disk(size: int) -> bool:
    """Return whether an array of edges of so many bytes, if it is made now, lies on disk."""
    return _disk_for(size) is not None


def _disk_for(size: int) -> _Disk | None:
    """Return the disk on which an array of edges of so many bytes lies; None: in memory. Another
    thread may end its run, and with it its disk, at any time.
    """
    last = _disk[-1:] if size >= LARGE else []
    return next((disk for disk in last if not disk.has_room(size)), None)


def memory_left() -> int:
    """Return the bytes of memory that the process may take for columns that lie on disk."""
    return max(_disk[-1].most - anonymous(), 0) if _disk else sys.maxsize


def share_in_memory(files: Sequence[MappedFile]) -> float:
    """Return the share of columns on disk that may stay in memory now, the same of each of
    `files`.
    """
    return _disk[-1].share_of(files) if _disk else 1.0


def empty_column(shape: int | tuple[int, ...], dtype: np.typing.DTypeLike) -> np.ndarray:
    """Make an uninitialised array of edges, (m, ...), where such arrays lie now. DiskError if there
    is no room on the disk.
    """
    kind, shape = np.dtype(dtype), (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * kind.itemsize
    disk = _disk_for(size)
    return _empty_on(disk, shape, kind) if disk else np.empty(shape, kind)


def _empty_on(disk: _Disk, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    folder, size = disk.folder, math.prod(shape) * kind.itemsize
    allow_many_files()
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, size)  # so that no page lacks room later
            mapped = MappedFile(file.fileno(), size)
    except OSError as error:
        if error.errno not in FULL:
            raise disk_error(folder, error) from None
        raise DiskError(
            f"{folder} has no room for {size / 1e6:,.0f} MB of edges, which do not fit in memory",
            do="free space there, name another disk by --out or TMPDIR, or give more by --memory",
        ) from None
    disk.add(mapped)
    return np.ndarray(shape, kind, buffer=mapped)


def map_column(
    path: Path, dtype: np.typing.DTypeLike, shape: tuple[int, ...], offset: int
) -> np.ndarray:
    """Map an array of edges, (m, ...), that lies in a file from the byte `offset` on, and cannot be
    written. Raises OSError, and ValueError where the file is shorter.
    """
    kind = np.dtype(dtype)
    allow_many_files()
    with open(path, "rb") as file:
        size = offset + math.prod(shape) * kind.itemsize
        mapped = MappedFile(file.fileno(), size, kept=True)
    for disk in _disk[-1:]:
        disk.add(mapped)
    return np.ndarray(shape, kind, buffer=mapped, offset=offset)


def map_again(array: np.ndarray) -> np.ndarray:
    """Map the file of a column that numpy has mapped in a way in which its memory can be given back
    while the process has a limit; else return the column.
    """
    if not (_disk and isinstance(array, np.memmap) and isinstance(array.base, mmap)):
        return array
    array.base.madvise(MADV_DONTNEED)
    return map_column(Path(str(array.filename)), array.dtype, array.shape, array.offset)


def store_column(array: np.ndarray, dtype: np.typing.DTypeLike | None = None) -> np.ndarray:
    """Return an array of edges, of another `dtype` if one is given, as one that lies where such
    arrays lie now: itself, or a copy.
    """
    kind = array.dtype if dtype is None else np.dtype(dtype)
    if array.dtype == kind and array.flags.c_contiguous:
        if file_of(array) or not is_for_disk(array.nbytes):
            return array
    return _copy(array, empty_column(array.shape, kind))


def _copy(array: np.ndarray, out: np.ndarray) -> np.ndarray:
    for rows in row_slices(len(array)):
        out[rows] = array[rows]
    return out


def row_slices(rows: int) -> Iterator[slice]:
    """Cut so many rows into slices that are worked on one after the other."""
    for first in range(0, rows, COPIED):
        yield slice(first, min(first + COPIED, rows))


def fill_column(
    rows: int, dtype: np.typing.DTypeLike, of: Callable[[slice], np.ndarray]
) -> np.ndarray:
    """Make a column (rows,) of edges slice by slice: `of` returns the numbers of a slice."""
    out = empty_column(rows, dtype)
    for some in row_slices(rows):
        out[some] = of(some)
    return out


def kept_rows(column: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the entries of a column (m,) where `kept` (m,) is True."""
    out, done = empty_column(int(np.count_nonzero(kept)), column.dtype), 0
    for rows in row_slices(len(column)):
        some = column[rows][kept[rows]]
        out[done : done + len(some)] = some
        done += len(some)
    return out


def make_room(array: np.ndarray) -> np.ndarray:
    """Return a column as it is, or, where columns in memory leave too little to the rows that are
    to come, a copy on disk.
    """
    small = array.nbytes < LARGE or not array.flags.c_contiguous
    if small or file_of(array) or (disk := _disk_for(LARGE)) is None:
        return array
    return _copy(array, _empty_on(disk, array.shape, array.dtype))


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
