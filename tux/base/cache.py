"""The folder where compiled kernels are kept between runs.

It is the first writable of: $TUX_CACHE_DIR, the user's cache folder, a fresh temporary folder. Only
its owner may enter it, since numba's cache files are pickles: whoever can write there can run code
as the user. So a folder that was open to others is used only if it is empty.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tux.base.disk import disk_error


@contextmanager
def cache_errors() -> Iterator[None]:
    """Turn an OSError of the body, which writes compiled kernels, into a DiskError."""
    try:
        yield
    except OSError as error:
        failure = disk_error(f"the cache of compiled kernels in {cache_folder()}", error)
        failure.do = "free space there, or set TUX_CACHE_DIR to a folder on another disk"
        raise failure from error


def _candidates() -> Iterator[Path]:
    if chosen := os.environ.get("TUX_CACHE_DIR"):
        yield Path(chosen)
    yield Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "tux"


def _make_private(folder: Path) -> str:
    """Make `folder` ours and private. Returns the reason why it cannot be, or ""."""
    if folder.parts[:1] == ("~",):  # no HOME, and no entry in passwd
        return "there is no home folder"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
        if status.st_uid != os.getuid():
            return "it belongs to another user"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and any(folder.iterdir()):
            return "others can write to it, and may have put files there: empty it"
        if stat.S_IMODE(status.st_mode) & 0o077:
            folder.chmod(0o700)
        if not os.access(folder, os.W_OK | os.X_OK):
            return "it is not writable"
    except OSError as error:
        return error.strerror or str(error)
    return ""


def cache_folder() -> Path:
    """Return the folder of the cache for this process and those that it starts.

    It never fails: if no folder can be kept, kernels are compiled anew, in a temporary folder,
    which is removed when this process ends. A warning names each folder that cannot be used.
    """
    return _choose_folder(
        os.environ.get("TUX_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    )


@cache
def _choose_folder(*environment: str | None) -> Path:
    refused, found = [], None
    for folder in _candidates():
        reason = _make_private(folder)
        if not reason:
            found = folder
            break
        refused.append(f"{folder}: {reason}")
    if found and not refused:
        return found
    where = found or _temporary_folder()
    os.environ["TUX_CACHE_DIR"] = str(where)  # for worker processes, which do not warn again
    warnings.warn(
        f"compiled kernels are kept in {where}{'' if found else ', and removed at the end'} "
        f"({'; '.join(refused)}); set TUX_CACHE_DIR to a folder of yours",
        stacklevel=2,
    )
    return where


def _temporary_folder() -> Path:
    """Make a new temporary folder, which is removed when this process ends."""
    folder, owner = tempfile.mkdtemp(prefix="tux-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not in a copy of this process by fork
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)
