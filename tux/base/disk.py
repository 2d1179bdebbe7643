"""Writing files: whole under their names or not at all; and what an error of the system means for
the user who has named the file or folder.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from tux.base.errors import DiskError, UsageError

DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ADVICE = {
    **dict.fromkeys(FULL, "free space there, or write to another disk"),
    **dict.fromkeys(DENIED, "choose a folder that you may write to"),
    errno.ENOENT: "make the folder first, or correct its name",
    errno.ENOTDIR: "choose a folder, not a file",
    errno.EEXIST: "choose another name, or remove what is there",
    errno.ENOTEMPTY: "choose another name, or remove what is there",
}


def disk_error(path: str | os.PathLike[str], error: OSError) -> DiskError:
    """The DiskError for an OSError that arose while `path` was written."""
    # numpy and a disk that takes a part of an array
    short = error.errno is None and "requested and" in str(error)
    number = errno.ENOSPC if short else error.errno
    # Not `strerror`: in pyarrow's errors that is a sentence about a temporary file.
    reason = os.strerror(number) if number else str(error) or type(error).__name__
    default = "look at the disk, or write to another one"
    return DiskError(f"{path} cannot be written: {reason}", do=ADVICE.get(number or 0, default))


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError of the body into a DiskError about `path`."""
    try:
        yield
    except OSError as error:
        raise disk_error(path, error) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends and removed if the block
    fails.

    So nothing half-written ever lies under the final name. An OSError inside the block becomes a
    `DiskError`.
    """
    final = Path(path)
    part = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        with writing(final):
            yield part
            os.replace(part, final)
    finally:
        part.unlink(missing_ok=True)


def check_folder(path: str | os.PathLike[str]) -> None:
    """UsageError if the folder in which a file is to be written is not there."""
    if not (folder := Path(path).parent).is_dir():
        raise UsageError(
            f"{path} cannot be written: there is no folder {folder}",
            do="make the folder first, or name another file",
        )


def check_new(folder: Path, but: Collection[str] = ()) -> None:
    """UsageError for an output folder that is a file, or has something in it besides `but`."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(
            f"output folder {folder} is a file",
            do="name a new folder with --out: several files are written into it",
        )
    if folder.exists() and set(os.listdir(folder)) - set(but):
        raise UsageError(f"output folder {folder} exists", do="name a new folder with --out")
