"""The worker processes of this machine: started, watched, paused and ended by the command that
the user has given here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Container, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from tux.base.crash import ADVICE, CRASHES
from tux.base.errors import PeerLost
from tux.base.processes import is_stopped
from tux.base.signals import handle_pause, note_ending
from tux.cluster.job import job_folder
from tux.cluster.job.job import Job
from tux.cluster.job.worker_process import failure_of, forget_failure
from tux.cluster.transport.control import as_error
from tux.cluster.transport.heartbeat import SILENCE

ANEW = "the job cannot go on without it; start it anew"


def how_ended(code: int) -> str:
    """Describe the end of a process, by its exit code as `subprocess` gives it."""
    if code >= 0:
        return f"ended with exit code {code}"
    names = {each.value: each.name for each in signal.Signals}
    return f"was killed by signal {-code}{f' ({names[-code]})' if -code in names else ''}"


def crash_advice(code: int) -> str:
    """Advise what to do about a process that crashed; "" for another."""
    return ADVICE if -code in CRASHES else ""


class LocalWorkers:
    """The worker processes of this machine."""

    def __init__(self, job: Job, folder: Path, ranks: Sequence[int]) -> None:
        self.job, self.folder, self.ranks = job, folder, ranks
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.stopped: dict[int, float] = {}  # since when, of those processes that are
        self._pausing = ExitStack()

    def start(self) -> None:
        """Start the processes. Failures that older ones have left are removed."""
        self.stopped.clear()
        # -P: files in the user's folder hide no modules
        command = [sys.executable, "-P", "-m", "tux.cluster.job.worker_process", str(self.folder)]
        self._pausing.enter_context(handle_pause(self.pause, self.resume))
        for rank in self.ranks:
            forget_failure(self.folder, rank)
            each = [*command, str(rank), str(os.getpid())]
            self.processes[rank] = subprocess.Popen(
                each, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def check(self) -> None:
        """Raise PeerLost if a process has ended, or is stopped for long.

        If it has left its reason in the folder, that is raised; DiskError if the folder is gone.
        """
        self.check_folders()
        for rank, process in self.processes.items():
            code = process.poll()
            if code is not None:
                self.raise_reason(rank)
                raise PeerLost(
                    f"worker {rank} (process {process.pid}) {how_ended(code)}",
                    do=crash_advice(code) or ANEW,
                )
        self.check_stopped()

    def check_stopped(self) -> None:
        """Raise PeerLost if a process is stopped for long. A process that is only starting sends no
        heartbeats to be missed, and one that is stopped cannot leave.
        """
        for rank, process in self.processes.items():
            if process.returncode is not None or not is_stopped(process.pid):
                self.stopped.pop(rank, None)
            elif time.monotonic() - self.stopped.setdefault(rank, time.monotonic()) > SILENCE:
                raise PeerLost(
                    f"worker {rank} (process {process.pid}) has been stopped for {SILENCE:.0f} s",
                    do=ANEW,
                )

    def any_ended(self) -> bool:
        """Return whether a process has ended."""
        return any(process.poll() is not None for process in self.processes.values())

    def check_folders(self) -> None:
        """Raise DiskError if a folder of the job is gone."""
        job_folder.check(self.folder, Path(self.job.graph))

    def raise_reason(self, rank: int) -> None:
        """Raise the error of a worker that has ended, if it has left one."""
        if (failure := failure_of(self.folder, rank)) is not None:
            raise as_error(failure)

    def pause(self) -> None:
        """Stop the workers of this machine, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the workers go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def end(self, leaving: Container[int] | None = None, patience: float = 2.0) -> None:
        """End the workers. The `leaving` (None: all) have `patience` seconds to leave by
        themselves.
        """
        limit = time.monotonic() + patience
        with note_ending():
            self._pausing.close()
            for rank, process in self.processes.items():
                if leaving is not None and rank not in leaving:
                    process.kill()
            for process in self.processes.values():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, limit - time.monotonic()))
            # all are killed before one is waited for: each may take long to be gone
            for process in self.processes.values():
                process.kill()
            for process in self.processes.values():
                process.wait()
