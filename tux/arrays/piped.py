"""Input that can be read only once, standard input, called -, and pipes; and URIs, for readers that
need a file of this machine.

Readers look at the beginning of a file before they read it, and some read it twice. So such input
is copied to a temporary file when it is first asked for, and the copy stands for it until
`remove_copies` is called. `open_input` needs no copy of what a URI names.

A copy takes at most nine tenths of the space that is free when it begins. It is locked by its
process, so that a later run finds the copies of processes that were killed, and removes them.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import os
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tux.arrays import stores
from tux.base.errors import DataError, DiskError

STANDARD = "-"  # the name of standard input on a command line
PIECE = 1 << 20  # bytes copied at a time
ELSEWHERE = "Free space, or name another folder in the variable TMPDIR."

COPY = "tux-input-"
"""The beginning of the names of copies."""

_copies: dict[str, IO[bytes]] = {}  # the copy, whose lock this process holds, by path


def readable_path(path: str | os.PathLike[str]) -> str:
    """Return the path of a file with the same bytes that can be read any number of times: `path`
    itself, or the path of a copy.

    Raises `DiskError` if there is no room for a copy, and `DataError` if the input cannot be read.
    """
    name = os.fspath(path)
    if name not in _copies:
        if not is_read_once(name):
            return name
        _copies[name] = _copy(name)
    return _copies[name].name


def open_input(path: str | os.PathLike[str]) -> Any:
    """Open a file for reading and seeking. Raises the errors of `readable_path`, and OSError."""
    name = os.fspath(path)
    return stores.open_uri(name) if stores.is_uri(name) else open(readable_path(name), "rb")


def path_or_file(path: str | os.PathLike[str]) -> Any:
    """Return an argument for libraries that open files themselves: the path as `readable_path`
    gives it, or the opened file of a URI.
    """
    return open_input(path) if stores.is_uri(path) else readable_path(path)


def remove_copies() -> None:
    """Remove all copies, as the input of these names may be another one the next time."""
    while _copies:
        _, copy = _copies.popitem()
        copy.close()
        with suppress(FileNotFoundError):
            os.unlink(copy.name)


atexit.register(remove_copies)


def input_name(path: str | os.PathLike[str]) -> str:
    """Return the name of an input in messages: the name of its file, or standard input."""
    return "standard input" if os.fspath(path) == STANDARD else os.path.basename(os.fspath(path))


def is_read_once(name: str) -> bool:
    """Return whether the input can be read only once."""
    if name == STANDARD or stores.is_uri(name):
        return True
    try:
        mode = os.stat(name).st_mode
    except OSError:
        return False  # opening it will raise the error
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _source(name: str) -> Any:
    """Open the input itself."""
    if stores.is_uri(name):
        return stores.open_uri(name)
    standard = name == STANDARD
    return open(sys.stdin.fileno() if standard else name, "rb", closefd=not standard)


def _copy(name: str) -> IO[bytes]:
    """Copy the whole input to a new temporary file, and return that."""
    file: IO[bytes] | None = None
    try:
        _remove_left(Path(tempfile.gettempdir()))
        with _source(name) as pipe:
            file = _locked_file()
            _fill(file, pipe, name)
        return file
    except BaseException as error:
        if file is not None:
            file.close()
            os.unlink(file.name)
        if not isinstance(error, OSError):
            raise
        what = (
            f"{input_name(name)} cannot be copied to {tempfile.gettempdir()}: "
            f"{error.strerror or error}"
        )
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise DiskError(what, do=ELSEWHERE) from None
        raise DataError(what, do="Write the input to a file, and name that.") from None


def _fill(file: IO[bytes], pipe: Any, name: str) -> None:
    """Copy the whole input to `file`. Raises DiskError if it is more than nine tenths of the free
    space, and OSError.
    """
    folder = tempfile.gettempdir()
    most, done = shutil.disk_usage(folder).free // 10 * 9, 0
    while piece := pipe.read(PIECE):
        done += len(piece)
        if done > most:
            raise DiskError(
                f"{input_name(name)} is over {most:,} bytes, nine tenths of what was free "
                f"in {folder}, "
                "where it is copied to",
                do=ELSEWHERE,
            )
        file.write(piece)
    file.flush()


def _locked_file() -> IO[bytes]:
    """Make a new temporary file, and lock it. Raises OSError."""
    while True:
        file = tempfile.NamedTemporaryFile(prefix=COPY, delete=False)
        with suppress(OSError):  # a file system without locks: nobody removes it then
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.path.exists(file.name):
            return file
        file.close()  # another process took it for left, in the moment before it was locked


def _remove_left(folder: Path) -> None:
    """Remove the copies of this user's processes that have ended, in whatever way."""
    for path in folder.glob(f"{COPY}*"):
        with suppress(OSError):
            found = os.lstat(path)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                continue
            with open(path, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held while its process lives
                os.unlink(path)
