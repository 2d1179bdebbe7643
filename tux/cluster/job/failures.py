"""The error for which a process of a job has ended, left in a folder for the command that has
started it.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import msgspec

from tux.cluster.transport.control import Failure


def failure_path(folder: Path, rank: int) -> Path:
    """Return the file in which a process leaves why it has failed."""
    return folder / f"failed-{rank}.json"


def failure_of(folder: Path, rank: int) -> Failure | None:
    """Read why a process has failed, as it has left it in the job's folder."""
    try:
        return msgspec.json.decode(failure_path(folder, rank).read_bytes(), type=Failure)
    except (OSError, msgspec.DecodeError):
        return None


def leave_failure(folder: Path, rank: int, failure: Failure) -> None:
    """Write down why this process has failed. Several threads may do so, of which one then ends the
    process: the file is whole all the same.
    """
    part = folder / f"failed-{rank}.{threading.get_ident()}.part"
    with suppress(OSError):  # the folder is gone: then the command knows why
        part.write_bytes(msgspec.json.encode(failure))
        os.replace(part, failure_path(folder, rank))


def forget_failure(folder: Path, rank: int) -> None:
    """Remove the failure that a process of an older incarnation has left."""
    with suppress(OSError):
        failure_path(folder, rank).unlink()
