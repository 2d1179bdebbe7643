"""The folders of a job on one machine: one that its processes share, and one for the parts. They
are removed when the job ends.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tux.base.disk import writing
from tux.base.errors import DiskError, TuxError, UsageError
from tux.base.signals import handle_ending
from tux.cluster.job.left_folders import remove_left, sign_folder

REMOVE_FOLDERS = (
    "import shutil, sys; sys.stdin.read(); [shutil.rmtree(folder, ignore_errors=True) for folder "
    "in sys.argv[1:]]"
)
"""The program of a process that removes folders when the process at the other end of its standard
input has ended, whatever ended it.
"""

IN_JOB = "TUX_IN_JOB"
"""The variable of the environment that processes of a job have: these start no job."""

LONGEST_SOCKET = 107
"""Bytes of the name of a socket's file, as the system allows."""

SHORT_FOLDERS = ("/tmp", "/var/tmp")
"""Folders for sockets, where the name of the usual temporary folder is too long."""

_jobs: dict[Path, tuple[subprocess.Popen[bytes], Path, Callable[[], None]]] = {}


def make(room: Path | None) -> tuple[Path, Path]:
    """Make a new folder that only the user may enter, and one for the parts, in it or in `room`;
    both are removed when this process has ended, whatever ended it. A folder that stays in `room`
    when the machine loses its power has a name that `tux.base.disk.remove_parts` knows. Folders
    that older jobs have left are removed (`tux.cluster.job.left_folders`).

    From now to `remove`, the signals that ask to end are handled as `tux.base.signals` says.
    UsageError within another job; TuxError if there is no folder for sockets; DiskError.
    """
    # a script without this guard would start jobs within jobs, whatever errors it catches
    if _jobs or IN_JOB in os.environ:
        raise UsageError(
            "a program's file starts a job while it is imported",
            do='put run(...) under if __name__ == "__main__"',
        )
    usual = tempfile.gettempdir()
    base = _socket_folder(usual)
    remove_left(base)
    restore = handle_ending()
    # The process that removes them starts first: this one may be killed at any moment.
    folder = Path(base) / f"tux-job-{secrets.token_hex(4)}"
    # a name of its own: the process that removes an older job's parts may still run, or have died
    graph = (room or folder).resolve() / f".parts.{secrets.token_hex(4)}.part"
    if room is None and base != usual:  # there may be little space in `base`
        graph = Path(usual).resolve() / f"{folder.name}.parts"
    command = [sys.executable, "-I", "-S", "-c", REMOVE_FOLDERS, str(folder), str(graph)]
    try:
        cleaner = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        try:
            _make_both(folder, graph)
        except BaseException:
            cleaner.kill()  # a folder that is there already is another's
            cleaner.communicate()
            raise
    except BaseException:
        restore()
        raise
    _jobs[folder] = cleaner, graph, restore
    return folder, graph


def _make_both(folder: Path, graph: Path) -> None:
    """Make a job's folder and the one for its parts, or neither. DiskError."""
    with writing(folder):
        folder.mkdir(mode=0o700)
    try:
        with writing(folder):
            sign_folder(folder, graph)
        with writing(graph):
            graph.mkdir(mode=0o700)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _socket_folder(usual: str) -> str:
    """Return the `usual` temporary folder, or one with a shorter name if sockets need that."""
    rest = len("/tux-job-xxxxxxxx/launcher")
    for base in (usual, *SHORT_FOLDERS):
        if len(os.fsencode(base)) + rest <= LONGEST_SOCKET and os.access(base, os.W_OK | os.X_OK):
            return base
    raise TuxError(
        f"the temporary folder's name is too long for sockets: {usual}",
        do="set TMPDIR to a shorter one",
    )


def remove(folder: Path) -> None:
    """Remove the folders of a job, and put the signal handlers back."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder in _jobs:
        cleaner, graph, restore = _jobs.pop(folder)
        shutil.rmtree(graph, ignore_errors=True)
        cleaner.communicate()
        restore()


def check(*folders: Path) -> None:
    """Raise DiskError if one of a job's folders was removed by somebody else: workers would wait
    for sockets and files in it.
    """
    for folder in folders:
        if not folder.is_dir():
            raise DiskError(
                f"the temporary folder of this job was removed: {folder}",
                do=(
                    "start the job again; if a clean-up of temporary files removes it, set TMPDIR "
                    "to another folder"
                ),
            )
