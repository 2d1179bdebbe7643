"""The loader processes of one of several machines: started, watched, paused and ended by the
command that the user has given there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from socket import gethostname

from tux.base.crash import ADVICE, CRASHES
from tux.base.errors import PeerLost, Refused, TuxError
from tux.base.processes import is_stopped
from tux.cluster.control import as_error
from tux.cluster.heartbeat import SILENCE
from tux.cluster.local_workers import how_ended
from tux.cluster.worker_process import failure_of

AGAIN = "load again; if it took too much memory, more --workers take less each"


class LocalLoaders:
    """The loaders `numbers` of the job in the folder `graph`, started by `command`; they leave why
    they failed in `folder`.
    """

    def __init__(
        self, graph: Path, folder: Path, numbers: Sequence[int], command: Sequence[str]
    ) -> None:
        self._graph, self._folder, self._command = graph, folder, [*command]
        self.numbers = numbers
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self._stopped: dict[int, float] = {}  # since when, of those processes that are

    def start(self) -> None:
        """Start the processes."""
        for number in self.numbers:
            each = [*self._command, str(self._graph), str(number), str(os.getpid())]
            # a session of its own: Ctrl-C is for this process
            self.processes[number] = subprocess.Popen(
                each, stdin=subprocess.DEVNULL, start_new_session=True
            )

    @property
    def ended(self) -> bool:
        """Whether all have ended well."""
        return all(process.poll() == 0 for process in self.processes.values())

    def check(self) -> None:
        """The error of a process that has failed; PeerLost for one that has left none, or is
        stopped for long.
        """
        if any(process.poll() for process in self.processes.values()):
            raise self._reason()
        for number, process in self.processes.items():
            if process.returncode is not None or not is_stopped(process.pid):
                self._stopped.pop(number, None)
            elif time.monotonic() - self._stopped.setdefault(number, time.monotonic()) > SILENCE:
                raise PeerLost(
                    f"{self._name(number)} has been stopped for {SILENCE:.0f} s", do="load again"
                )

    def _reason(self) -> TuxError:
        """Why processes have failed: of several reasons, one that is no other machine's."""
        lost = next((n for n, each in self.processes.items() if (each.returncode or 0) < 0), None)
        if lost is not None:
            code = self.processes[lost].returncode
            do = ADVICE if -code in CRASHES else AGAIN
            return PeerLost(f"{self._name(lost)} {how_ended(code)}", do=do)
        self.wait(1.0)
        left = [failure_of(self._folder, number) for number in self.numbers]
        found = sorted((f for f in left if f), key=lambda f: f.code == Refused.exit_code)
        if found:
            return as_error(found[0])
        number, process = next((n, each) for n, each in self.processes.items() if each.returncode)
        return PeerLost(f"{self._name(number)} {how_ended(process.returncode)}", do=AGAIN)

    def _name(self, number: int) -> str:
        return f"loader {number} on {gethostname()} (process {self.processes[number].pid})"

    def send(self, number: int) -> None:
        """Send a signal to all."""
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def pause(self) -> None:
        """Stop them, until `resume`."""
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let them go on."""
        self.send(signal.SIGCONT)

    def wait(self, seconds: float) -> None:
        """Wait until all have ended, at most so long."""
        limit = time.monotonic() + seconds
        for process in self.processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, limit - time.monotonic()))

    def end(self, patience: float = 0.0) -> None:
        """End them; they have so many seconds to leave by themselves."""
        self.wait(patience)
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
