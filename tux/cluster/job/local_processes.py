"""The processes of a job on this machine: started, watched, paused and ended by the command that
the user has given here. Workers and loaders are such processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Container, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from tux.base.crash import CRASHES, crash_advice
from tux.base.errors import PeerLost, TuxError
from tux.base.processes import is_stopped
from tux.base.signals import note_ending
from tux.cluster.job import job_folder
from tux.cluster.job.failures import failure_of, forget_failure
from tux.cluster.transport.control import as_error
from tux.cluster.transport.heartbeat import SILENCE

LEAVING_SECONDS = 2.0
"""Seconds that processes have to hear that their job is over, and to leave."""


class LocalProcesses:
    """The processes of this machine, by rank. They leave in `folder` why they failed."""

    role: ClassVar[str]
    """The word for one of them."""

    if_lost: ClassVar[str]
    """The advice where one has ended before its time."""

    if_stopped: ClassVar[str]
    """The advice where one is stopped for long."""

    host = ""
    """The name of this machine, where messages need it."""

    def __init__(self, folder: Path, ranks: Sequence[int]) -> None:
        self.folder, self.ranks = folder, ranks
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self._stopped: dict[int, float] = {}  # since when, of those processes that are

    @property
    def folders(self) -> Sequence[Path]:
        """The folders of the job, without which no process can go on."""
        return (self.folder,)

    def start_each(self, *command: str) -> None:
        """Start the processes: the `command` gets the rank and the number of this process. Failures
        that older ones have left are removed.
        """
        self._stopped.clear()
        for rank in self.ranks:
            forget_failure(self.folder, rank)
            # a session of its own: Ctrl-C is for this process, from its first moment
            self.processes[rank] = subprocess.Popen(
                [*command, str(rank), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=os.environ | {job_folder.IN_JOB: "1"},
            )

    # ---- watch

    def check(self) -> None:
        """Raise the error of a process that has ended before its time; PeerLost if one is stopped
        for long. DiskError if a folder of the job is gone.
        """
        raise NotImplementedError

    def check_folders(self) -> None:
        """Raise DiskError if a folder of the job is gone."""
        job_folder.check(*self.folders)

    def check_stopped(self) -> None:
        """Raise PeerLost if a process is stopped for long. A process that is only starting sends no
        heartbeats to be missed, and one that is stopped cannot leave.
        """
        for rank, process in self.processes.items():
            if process.returncode is not None or not is_stopped(process.pid):
                self._stopped.pop(rank, None)
            elif time.monotonic() - self._stopped.setdefault(rank, time.monotonic()) > SILENCE:
                raise PeerLost(
                    f"{self._name(rank)} has been stopped for {SILENCE:.0f} s", do=self.if_stopped
                )

    def error_of(self, rank: int) -> TuxError:
        """Return the error that a process which has ended has left; PeerLost if it has left
        none.
        """
        if failure := failure_of(self.folder, rank):
            return as_error(failure)
        code = self.processes[rank].returncode
        do = crash_advice(-code) if -code in CRASHES else self.if_lost
        return PeerLost(f"{self._name(rank)} {_describe_end(code)}", do=do)

    def _name(self, rank: int) -> str:
        where = f" on {self.host}" if self.host else ""
        return f"{self.role} {rank}{where} (process {self.processes[rank].pid})"

    # ---- pause and end

    def pause(self) -> None:
        """Stop the processes, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the processes go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def wait_for_end(self, seconds: float) -> None:
        """Wait until all have ended, at most so long."""
        limit = time.monotonic() + seconds
        for process in self.processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, limit - time.monotonic()))

    def end(self, patience: float, leaving: Container[int] | None = None) -> None:
        """End the processes. The `leaving` (None: all) have `patience` seconds to leave by
        themselves.
        """
        with note_ending():
            for rank, process in self.processes.items():
                if leaving is not None and rank not in leaving:
                    process.kill()
            self.wait_for_end(patience)
            # all are killed before one is waited for: each may take long to be gone
            for process in self.processes.values():
                process.kill()
            for process in self.processes.values():
                process.wait()


def _describe_end(code: int) -> str:
    """Describe the end of a process, by its exit code as `subprocess` gives it."""
    if code >= 0:
        return f"ended with exit code {code}"
    names = {each.value: each.name for each in signal.Signals}
    return f"was killed by signal {-code}{f' ({names[-code]})' if -code in names else ''}"
