"""Input that can be read only once, standard input, called -, and pipes; and URIs, for readers that
need a file of this machine.

Readers look at the beginning of a file before they read it, and some read it twice. So such input
is copied to a temporary file when it is first asked for, and the copy stands for it until `forget`
is called. `opened` needs no copy of what a URI names.
"""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import stat
import sys
import tempfile
from typing import Any

from tux.arrays import stores
from tux.base.errors import DataError, DiskError

STANDARD = "-"  # what standard input is called on a command line
PIECE = 1 << 20  # bytes copied at a time

_copies: dict[str, str] = {}  # path of the copy, by path


def readable(path: str | os.PathLike[str]) -> str:
    """The path of a file with the same bytes that can be read any number of times: `path` itself,
    or a copy.

    Raises `DiskError` if there is no room for a copy, and `DataError` if the input cannot be read.
    """
    name = os.fspath(path)
    if name not in _copies:
        if not _passes_by(name):
            return name
        _copies[name] = _copy(name)
    return _copies[name]


def opened(path: str | os.PathLike[str]) -> Any:
    """The bytes of a file, to read and to seek in. Raises what `readable` does, and OSError."""
    name = os.fspath(path)
    return stores.open_store(name) if stores.is_uri(name) else open(readable(name), "rb")


def openable(path: str | os.PathLike[str]) -> Any:
    """What libraries that open files themselves take: as `readable`, but the opened file of a
    URI.
    """
    return opened(path) if stores.is_uri(path) else readable(path)


def forget() -> None:
    """Remove all copies: what stands behind their names may be something else the next time."""
    while _copies:
        _, copy = _copies.popitem()
        if os.path.exists(copy):
            os.unlink(copy)


atexit.register(forget)


def shown(path: str | os.PathLike[str]) -> str:
    """What messages call an input: its file's name, or standard input."""
    return "standard input" if os.fspath(path) == STANDARD else os.path.basename(os.fspath(path))


def _passes_by(name: str) -> bool:
    """Whether the input can be read only once."""
    if name == STANDARD or stores.is_uri(name):
        return True
    try:
        mode = os.stat(name).st_mode
    except OSError:
        return False  # which opening it will tell
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _source(name: str) -> Any:
    """The input itself, opened."""
    if stores.is_uri(name):
        return stores.open_store(name)
    standard = name == STANDARD
    return open(sys.stdin.fileno() if standard else name, "rb", closefd=not standard)


def _copy(name: str) -> str:
    """The path of a new temporary file with all that comes."""
    copy = ""
    try:
        with (
            _source(name) as pipe,
            tempfile.NamedTemporaryFile(prefix="tux-input-", delete=False) as file,
        ):
            copy = file.name
            shutil.copyfileobj(pipe, file, PIECE)
        return copy
    except BaseException as error:
        if copy:
            os.unlink(copy)
        if not isinstance(error, OSError):
            raise
        what = (
            f"{shown(name)} cannot be copied to {tempfile.gettempdir()}: {error.strerror or error}"
        )
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise DiskError(
                what, do="Free space, or name another folder in the variable TMPDIR."
            ) from None
        raise DataError(what, do="Write the input to a file, and name that.") from None
