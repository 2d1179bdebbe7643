"""A lock file in a run's folder, so that only one run at a time writes there. The file exists from
the start of a run to its end.

The file is created exclusively. A file system lets only one of several processes do that, also on
disks that machines share.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tux.base.disk import check_new, make_folder, writing
from tux.base.errors import UsageError
from tux.base.processes import Process, this_process

LOCK = ".lock"
UNKNOWN = "-"
# a run that ends at this moment may remove the folder between its making and its locking
ATTEMPTS = 10
WAIT = 0.5  # seconds for which a lock may be empty while its process writes it


def claim(folder: Path) -> bool:
    """Make `folder` and lock it; returns whether it was not there before.

    Raises UsageError if another run has locked it, or something is in it; DiskError if it cannot be
    made or written to.
    """
    with writing(folder):
        if folder.exists() and not (folder / LOCK).exists():
            check_new(folder, but=(LOCK,))
        new = _lock(folder)
        try:
            check_new(folder, but=(LOCK,))  # of a run that has ended since the first look
        except BaseException:
            release(folder, remove=new)
            raise
    return new


def reclaim(folder: Path) -> None:
    """Lock the folder of a run that has stopped. A lock that a killed process of this machine has
    left is removed, and one that names no process: it was killed while it wrote it, or the power
    failed. UsageError if another run has locked it; DiskError.
    """
    with writing(folder):
        _wait_for_signature(folder / LOCK)
        if _is_left(folder / LOCK):
            # of two that do so at once, one moves the other's new lock, and puts it back
            aside = folder / f"{LOCK}.{secrets.token_hex(4)}"
            with suppress(FileNotFoundError):
                (folder / LOCK).rename(aside)
                if not _is_left(aside):
                    with suppress(FileExistsError):
                        os.link(aside, folder / LOCK)
                aside.unlink()
        try:
            _lock(folder)
        except UsageError as error:
            error.do = (
                f"wait until it has ended, or end it; if there is no such process any more, remove "
                f"{folder / LOCK}"
            )
            raise


class Holder(NamedTuple):
    """The process that has locked a folder. A process of another machine counts as living, as its
    end cannot be seen from here. Where the lock names none, as after a power failure, the number is
    0.
    """

    process: int
    host: str
    lives: bool

    def __str__(self) -> str:
        return f"process {self.process}" if self.process else "a process"


def holder(folder: Path) -> Holder | None:
    """Return the process that has locked a folder; None if there is none."""
    if (by := _read_lock(folder / LOCK)) is None:
        return None
    return Holder(by.number, by.host, not _is_dead(by))


def _read_lock(lock: Path) -> Process | None:
    """Read the process that a lock names; older versions of tux have written its number and host
    only. None if there is no lock, process 0 of this machine if it names none.
    """
    try:
        number, host, *rest = lock.read_text(encoding="utf-8").split()
        return Process(int(number), host, *("" if each == UNKNOWN else each for each in rest[:2]))
    except ValueError:
        return Process(0, socket.gethostname())
    except OSError:
        return None


def _wait_for_signature(lock: Path) -> None:
    """Wait while a lock names no process: its process may be about to write its name."""
    end = time.monotonic() + WAIT
    while (by := _read_lock(lock)) and not by.number and time.monotonic() < end:
        time.sleep(WAIT / 20)


def _is_dead(process: Process) -> bool:
    """Return whether it is a process of this machine that has ended. A process of a container that
    ran before this one, on a host of the same name, has ended.
    """
    return process.host == socket.gethostname() and not (process.is_near and process.is_alive)


def _is_left(lock: Path) -> bool:
    """Return whether a lock is that of a process of this machine that has ended."""
    by = _read_lock(lock)
    return by is not None and _is_dead(by)


def release(folder: Path, *, remove: bool) -> None:
    """Unlock a folder that this process has claimed; with `remove` it is removed if it is empty
    then.
    """
    with suppress(OSError):  # somebody has removed it, or has just claimed it
        (folder / LOCK).unlink()
        if remove:
            folder.rmdir()


def _lock(folder: Path) -> bool:
    """Make the folder and its lock, with this process's name in it; returns whether the folder is
    new.
    """
    for attempt in range(1, ATTEMPTS + 1):
        new = not folder.exists()
        make_folder(folder)
        try:
            number = os.open(folder / LOCK, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            raise _lock_error(folder) from None
        except FileNotFoundError:
            if attempt == ATTEMPTS:
                raise
        else:
            try:
                own = " ".join(str(each) or UNKNOWN for each in this_process())
                os.write(number, f"{own}\n".encode())
            except BaseException:
                release(folder, remove=new)
                raise
            finally:
                os.close(number)
            break
    return new


def _lock_error(folder: Path) -> UsageError:
    """Return the error that names the process of a lock, as far as the lock names it, and says what
    the user can do.
    """
    do = "name another with --out"
    _wait_for_signature(folder / LOCK)
    by = holder(folder)
    if by is None:  # it has just gone
        return UsageError(f"another run writes to output folder {folder}", do=do)
    if not by.lives:
        go_on = f", or go on: tux run --resume {folder}" if (folder / "run.json").exists() else ""
        what = f"output folder {folder} is left from {by}, which was killed"
        return UsageError(what, do=f"{do}, or remove this one{go_on}")
    what = f"another run writes to output folder {folder}: {by} on {by.host}"
    return UsageError(what, do=do)
