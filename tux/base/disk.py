"""Writing files and folders: whole under their names or not at all, and on the disk before they
have their names; and what an error of the system means for the user who has named them.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tux.base.errors import DiskError, TuxError, UsageError, out_of_memory
from tux.base.limits import MANY, limit_error

DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
PART = re.compile(r"\..+\.[0-9a-f]{8}\.part", re.ASCII)
"""The names of files and folders that are being written."""
LINKS = 40
"""Links that are followed from a name, at most."""
UNABLE = (errno.EINVAL, errno.ENOTSUP)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ADVICE = {
    **dict.fromkeys(FULL, "free space there, or write to another disk"),
    errno.EFBIG: "allow larger files, as by ulimit -f unlimited, or write to another disk",
    **dict.fromkeys(DENIED, "choose a folder that you may write to"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), f"allow more open files, as by {MANY}"),
    errno.ENOENT: "make the folder first, or correct its name",
    errno.ENOTDIR: "choose a folder, not a file",
    errno.EEXIST: "choose another name, or remove what is there",
    errno.ENOTEMPTY: "choose another name, or remove what is there",
}


def disk_error(path: str | os.PathLike[str], error: OSError) -> DiskError:
    """Return the DiskError for an OSError that arose while `path` was written."""
    # numpy and a disk that takes a part of an array
    short = error.errno is None and "requested and" in str(error)
    number = errno.ENOSPC if short else error.errno
    # Not `strerror`: in pyarrow's errors that is a sentence about a temporary file.
    reason = os.strerror(number) if number else str(error) or type(error).__name__
    default = "look at the disk, or write to another one"
    return DiskError(f"{path} cannot be written: {reason}", do=ADVICE.get(number or 0, default))


def machine_error(error: BaseException) -> TuxError | None:
    """Return an unexpected error in words for the user if the machine has caused it: its memory or
    a disk is full, files are not the user's, or a limit is reached. None for another error.
    """
    if isinstance(error, MemoryError):
        return out_of_memory(str(error))
    if isinstance(error, OSError) and error.errno in (*FULL, *DENIED):
        return disk_error(error.filename or "a file", error)
    return limit_error(error)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError of the body into a DiskError about `path`."""
    try:
        yield
    except OSError as error:
        raise disk_error(path, error) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`, which is renamed to `path` when the block ends, and
    removed if the block fails.

    So nothing half-written ever lies under the final name, not even after a power failure: the file
    is on the disk before it is renamed. To what is no file (`is_stream`), such as /dev/stdout, the
    bytes are written instead. An OSError inside the block becomes a `DiskError`.
    """
    final, stream = Path(path), is_stream(path)
    part = temporary_path(Path(tempfile.gettempdir(), final.name) if stream else final)
    try:
        with writing(final):
            yield part
            if stream:
                _copy_to_stream(part, final)
                return
            sync(part)
            os.replace(part, final)
            sync(final.parent)
    finally:
        with suppress(OSError):  # another error says what went wrong
            part.unlink(missing_ok=True)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is no file that could be replaced, but a pipe, a device such as
    /dev/null, or an open file of this process, such as /dev/stdout.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or _descriptor(path) is not None


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of the open file of this process that a path such as /dev/fd/1 names."""
    name = os.path.abspath(path)
    for _ in range(LINKS):
        folder, last = os.path.split(name)
        if last.isdecimal() and os.path.realpath(folder) in (f"/proc/{os.getpid()}/fd", "/dev/fd"):
            return int(last)
        if not os.path.islink(name):
            return None
        name = os.path.abspath(os.path.join(folder, os.readlink(name)))
    return None


def _copy_to_stream(part: Path, final: Path) -> None:
    """Write the bytes of a file to a pipe, a device, or an open file of this process, behind what
    is there already. Raises OSError for a disk and a socket.
    """
    mode, number = final.stat().st_mode, _descriptor(final)
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None if closed
        stream.flush()
    target: Any = final if number is None else os.dup(number)
    with open(part, "rb") as read, open(target, "wb") as out:
        shutil.copyfileobj(read, out)


@contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder as `replacing` gives a file, for a folder that does not exist yet;
    folders above it are made.
    """
    final = Path(path)
    part = temporary_path(final)
    try:
        with writing(final):
            make_folder(final.parent)
            part.mkdir()
            yield part
            for folder, _, names in os.walk(part):
                for name in names:
                    sync(Path(folder, name))
                sync(folder)
            part.rename(final)
            sync(final.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, unless they are there; the names of new ones are on the
    disk then. Raises OSError.
    """
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in new:
        with suppress(PermissionError):  # a user who may write there need not be allowed to read
            sync(each.parent)


def remove_parts(folder: Path) -> None:
    """Remove what `replacing` and `new_folder` have left in a folder, of processes that were
    killed. Another process may remove them at the same time. Raises DiskError.
    """

    def raise_unless_missing(
        function: object, path: object, error: tuple[Any, BaseException, Any]
    ) -> None:
        if not isinstance(error[1], FileNotFoundError):
            raise error[1]

    with writing(folder):
        for path in folder.iterdir():
            if not PART.fullmatch(path.name):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, onerror=raise_unless_missing)
            else:
                path.unlink(missing_ok=True)


def temporary_path(final: Path) -> Path:
    """Return a temporary name beside `final`, which `PART` matches."""
    return final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk. Raises OSError.

    Some network file systems cannot do this for a folder; then it is left to them.
    """
    number = os.open(path, os.O_RDONLY)
    try:
        sync_open(number)
    finally:
        os.close(number)


def sync_open(number: int) -> None:
    """Do `sync` for an open file with this file descriptor. Errors of all writes since it was
    opened are raised here.
    """
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in UNABLE:
            raise


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise UsageError if the folder in which a file is to be written does not exist."""
    if not (folder := Path(path).parent).is_dir():
        raise UsageError(
            f"{path} cannot be written: there is no folder {folder}",
            do="make the folder first, or name another file",
        )


def check_writable(folder: Path) -> None:
    """Raise DiskError if a new folder cannot be made under that name; those above it are made."""
    part = temporary_path(folder)
    with writing(folder):
        make_folder(folder.parent)
        part.mkdir()
        part.rmdir()


def check_new(folder: Path, but: Collection[str] = ()) -> None:
    """Raise UsageError for an output folder that is a file, or has something in it besides
    `but`.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(
            f"output folder {folder} is a file",
            do="name a new folder with --out: several files are written into it",
        )
    if folder.exists() and set(os.listdir(folder)) - set(but):
        raise UsageError(f"output folder {folder} exists", do="name a new folder with --out")
