"""The folders of jobs all of whose processes were killed at once, so that none could remove them: a
later job of the same user removes them.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from tux.base.processes import Process, this_process

OWNER = "owner.json"
NAMES = "tux-job-????????"


class Owner(msgspec.Struct):
    """The process that has made a job's folder, and the `parts` folder beside it, if there is one.

    `host`, `space`, `start`: see `tux.base.processes.Process`.
    """

    process: int
    host: str
    space: str
    parts: str
    start: str = ""


def sign_folder(folder: Path, parts: Path) -> None:
    """Write the owner of a job's folder into it. OSError."""
    me = this_process()
    owner = Owner(me.number, me.host, me.space, str(parts), me.start)
    (folder / OWNER).write_bytes(msgspec.json.encode(owner))


def remove_left(base: str) -> None:
    """Remove the folders of jobs in the temporary folder `base` that this user has made, and whose
    process of this machine is dead. A folder that cannot be read or removed stays.
    """
    for folder in Path(base).glob(NAMES):
        with suppress(OSError, msgspec.DecodeError):
            if not _is_own(folder):
                continue
            owner = msgspec.json.decode((folder / OWNER).read_bytes(), type=Owner)
            maker = Process(owner.process, owner.host, owner.space, owner.start)
            if owner.process <= 0 or not maker.is_near or maker.is_alive:
                continue
            parts = Path(owner.parts)
            # parts in a run's folder are removed when that run goes on
            with suppress(OSError):  # they may be gone already
                if parts.name == f"{folder.name}.parts" and _is_own(parts):
                    shutil.rmtree(parts, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    """Return whether it is a folder, and no link to one, of this user that nobody else may
    enter.
    """
    found = os.lstat(folder)
    private = not stat.S_IMODE(found.st_mode) & 0o077
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and private
