"""numba's files of compiled code, with a digest at the end of each that is checked before it is
loaded.

A file that was cut, or in which a bit has changed, is loaded by numba without a word: it computes
something else, or crashes. And as such files are pickles, whoever writes one runs code as the user
who loads it. So a file is loaded only if it is whole, and the user's own or root's, and files are
kept only in folders of the user's own.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    UserWideCacheLocator,
)

DIGEST = 16
"""Bytes of a digest: BLAKE2b of the file's name and of all before."""


class _HomeLocator(UserWideCacheLocator):
    """The user's cache folder, if there is one: for a user without a home, numba makes a folder
    "~" in the current one.
    """

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~")
        return super().from_function(py_func, py_file) if os.path.isabs(home) else None


def _restrict_to_owner(kind: Any) -> Any:
    """Return a `kind` of locator that passes over folders of others: users who share an
    installation would compile each other's files anew in turn.
    """

    class OwnFolderLocator(kind):  # type: ignore[misc]
        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:
            found = super().from_function(py_func, py_file)
            own = found is not None and os.stat(found.get_cache_path()).st_uid == os.getuid()
            return found if own else None

    return OwnFolderLocator


class _CachePlaces(CompileResultCacheImpl):
    _locator_classes = [
        _restrict_to_owner(_HomeLocator if each is UserWideCacheLocator else each)
        for each in CompileResultCacheImpl._locator_classes
    ]


class SealedCache(FunctionCache):
    """numba's cache of one function, of sealed files.

    Raises RuntimeError where there is no place for files.
    """

    _impl_class = _CachePlaces

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _SealedFiles(
            locator.get_cache_path(),
            # a name of its own: numba's own files have no digest, and those of earlier versions of
            # tux, ".sealed", no signature
            f"{self._impl.filename_base}.signed",
            locator.get_source_stamp(),
        )

    def has_files(self) -> bool:
        """Return whether there are files of the function."""
        return os.path.lexists(self._cache_file._index_path)


class _SealedFiles(IndexDataCacheFile):
    """The index and the data of one function. What lies behind a pickle, numba does not read."""

    def save(self, key: Any, data: Any) -> None:
        """Save data with the key of their signature. The index names files by numbers, so where it
        was lost, or two processes have written it at once, a file may be that of another signature.
        """
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """Load the data of a signature; None if there are none."""
        found = super().load(key)
        return found[1] if found and found[0] == key else None

    def _load_index(self) -> Any:
        try:
            return super()._load_index() if _may_load(Path(self._index_path)) else {}
        except (AttributeError, ImportError):  # it names a class that this version no longer has
            return {}

    def _load_data(self, name: str) -> Any:
        path = Path(self._data_path(name))
        if not _may_load(path):
            raise FileNotFoundError(path)  # by which numba compiles anew
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            written = io.BytesIO()
            yield written
            content = written.getvalue()
            file.write(content + _digest(Path(filepath), content))


def _digest(path: Path, content: bytes) -> bytes:
    name = path.name.encode()
    return hashlib.blake2b(name + b"\0" + content, digest_size=DIGEST).digest()


def _may_load(path: Path) -> bool:
    """Return whether there is such a file and it may be loaded; if one may not, a warning tells
    why.
    """
    try:
        status = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
    except FileNotFoundError:
        return False
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
    else:
        if status.st_uid not in (os.getuid(), 0):
            reason = "belongs to another user"
        elif data[-DIGEST:] == _digest(path, data[:-DIGEST]):
            return True
        else:
            reason = "is damaged"
    warn_not_used(path, reason)
    return False


def warn_not_used(path: Path, reason: str) -> None:
    """Warn that a file of compiled code is not used."""
    warnings.warn(f"{path} {reason}: its function is compiled anew", stacklevel=2)
