"""The folders of jobs all of whose processes were killed at once, so that none could remove them: a
later job of the same user removes them.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from tux.base.processes import lives

OWNER = "owner.json"
NAMES = "tux-job-????????"


class Owner(msgspec.Struct):
    """The process that has made a job's folder, and the `parts` folder beside it, if there is one.

    `space`: in which numbers of processes mean the same (Linux: of a container).
    """

    process: int
    host: str
    space: str
    parts: str


def sign(folder: Path, parts: Path) -> None:
    """Write down whose a job's folder is. OSError."""
    owner = Owner(os.getpid(), socket.gethostname(), _space(), str(parts))
    (folder / OWNER).write_bytes(msgspec.json.encode(owner))


def remove_left(base: str) -> None:
    """Remove the folders of jobs in the temporary folder `base` that this user has made, and whose
    process of this machine is dead. What cannot be read or removed stays.
    """
    for folder in Path(base).glob(NAMES):
        with suppress(OSError, msgspec.DecodeError):
            if not _is_own(folder):
                continue
            owner = msgspec.json.decode((folder / OWNER).read_bytes(), type=Owner)
            here = (owner.host, owner.space) == (socket.gethostname(), _space())
            if owner.process <= 0 or not here or lives(owner.process):
                continue
            parts = Path(owner.parts)
            # those in a run's folder are removed when that run goes on
            if parts.name == f"{folder.name}.parts" and _is_own(parts):
                shutil.rmtree(parts, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    """Whether it is a folder, and no link to one, of this user that nobody else may enter."""
    found = os.lstat(folder)
    private = not stat.S_IMODE(found.st_mode) & 0o077
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and private


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
