"""The speed of a disk: how fast a file is written, and read when the system has forgotten it."""

from __future__ import annotations

import os
import tempfile
import time

SIZE = 1 << 28
"""Bytes of the file."""

PIECE = 1 << 24
"""Bytes written or read at a time."""


def disk_speed(folder: str | os.PathLike[str], size: int = SIZE) -> tuple[float, float]:
    """Return the bytes a second at which a file of `size` bytes in a folder is written, up to the
    disk, and read. The file has no name, and is gone then. Raises OSError.
    """
    piece = os.urandom(PIECE)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        begun = time.perf_counter()
        for _ in range(0, size, PIECE):
            file.write(piece)
        os.fsync(file.fileno())
        written = time.perf_counter()
        if hasattr(os, "posix_fadvise"):  # else what is read may be in memory
            os.posix_fadvise(file.fileno(), 0, size, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        again = time.perf_counter()
        while file.read(PIECE):
            pass
        return size / (written - begun), size / (time.perf_counter() - again)
