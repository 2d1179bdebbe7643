"""The loader processes of one machine: started, watched, paused and ended by the command that the
user has given there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tux.base.crash import ADVICE, CRASHES
from tux.base.errors import PeerLost, Refused, StartsAgain, TuxError
from tux.base.processes import is_stopped
from tux.cluster.job import job_folder
from tux.cluster.job.local_workers import how_ended
from tux.cluster.job.worker_process import failure_of
from tux.cluster.transport.control import as_error
from tux.cluster.transport.heartbeat import SILENCE

AGAIN = "load again; if it took too much memory, more --workers take less each"


class LocalLoaders:
    """The loaders `numbers` of the job in the folder `graph`, started by `command`; they leave in
    `folder` why they failed. `host`: of this machine, where there are several.
    """

    def __init__(
        self,
        graph: Path,
        folder: Path,
        numbers: Sequence[int],
        command: Sequence[str],
        host: str = "",
    ) -> None:
        self._graph, self._folder, self._command = graph, folder, [*command]
        self.numbers, self._host = numbers, host
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self._stopped: dict[int, float] = {}  # the time since when a process is stopped

    def start(self) -> None:
        """Start the processes."""
        for number in self.numbers:
            each = [*self._command, str(self._graph), str(number), str(os.getpid())]
            # a session of its own: Ctrl-C is for this process, from the loader's first moment
            self.processes[number] = subprocess.Popen(
                each, stdin=subprocess.DEVNULL, start_new_session=True
            )

    @property
    def is_done(self) -> bool:
        """True if all have ended well."""
        return all(process.poll() == 0 for process in self.processes.values())

    def check(self) -> None:
        """Raise the error of a process that has failed; PeerLost for one that has left none, or is
        stopped for long; DiskError if a folder of the job is gone.
        """
        if self.failures():
            raise self._first_error()
        self.check_running()

    def check_running(self) -> None:
        """Raise DiskError if a folder of the job is gone; PeerLost for a process that is stopped
        for long.
        """
        self._check_folders()
        for number, process in self.processes.items():
            if process.returncode is not None or not is_stopped(process.pid):
                self._stopped.pop(number, None)
            elif time.monotonic() - self._stopped.setdefault(number, time.monotonic()) > SILENCE:
                raise PeerLost(
                    f"{self._name(number)} has been stopped for {SILENCE:.0f} s", do="load again"
                )

    def failures(self) -> dict[int, TuxError]:
        """Return the errors of processes that have ended before their time, by number. DiskError if
        a folder of the job is gone: then they have ended for that.
        """
        failed = [number for number, process in self.processes.items() if process.poll()]
        if failed:
            self._check_folders()
        return {number: self._error_of(number) for number in failed}

    def _error_of(self, number: int) -> TuxError:
        """Return the error that a process has left, if it has ended by itself; else PeerLost."""
        code = self.processes[number].returncode
        if code > 0 and (failure := failure_of(self._folder, number)):
            return as_error(failure)
        do = ADVICE if -code in CRASHES else AGAIN
        return PeerLost(f"{self._name(number)} {how_ended(code)}", do=do)

    def _first_error(self) -> TuxError:
        """Return the error of a process that has failed. Of several errors, one of this machine is
        preferred to the word of machine 0.
        """
        if not self._find_killed():
            self.wait(1.0)
        failures = self.failures()
        return failures[
            min(self._find_killed() or failures, key=lambda n: _is_from_launcher(failures[n]))
        ]

    def _find_killed(self) -> list[int]:
        """Return the numbers of processes that were ended from outside, or have crashed."""
        return [number for number, each in self.processes.items() if (each.returncode or 0) < 0]

    def _check_folders(self) -> None:
        job_folder.check(self._graph, self._folder)

    def _name(self, number: int) -> str:
        where = f" on {self._host}" if self._host else ""
        return f"loader {number}{where} (process {self.processes[number].pid})"

    def send(self, number: int) -> None:
        """Send a signal to all."""
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def pause(self) -> None:
        """Stop the processes, until `resume`."""
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the processes go on."""
        self.send(signal.SIGCONT)

    def wait(self, seconds: float) -> None:
        """Wait until all have ended, at most so long."""
        limit = time.monotonic() + seconds
        for process in self.processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, limit - time.monotonic()))

    def end(self, patience: float = 0.0) -> None:
        """Kill the processes; before that they have so many seconds to leave by themselves."""
        self.wait(patience)
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()


def _is_from_launcher(error: TuxError) -> bool:
    """Return whether machine 0 has told a loader why it ends."""
    return isinstance(error, Refused | StartsAgain)
