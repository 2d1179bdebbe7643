"""The loader processes of one machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tux.base.errors import Refused, StartsAgain, TuxError
from tux.cluster.job.local_processes import LocalProcesses


class LocalLoaders(LocalProcesses):
    """The loaders `ranks` of the job in the folder `graph`, started by `command`; they leave in
    `folder` why they failed. `host`: of this machine, where there are several.
    """

    role = "loader"
    if_lost = "load again; if it took too much memory, more --workers take less each"
    if_stopped = "load again"

    def __init__(
        self,
        graph: Path,
        folder: Path,
        ranks: Sequence[int],
        command: Sequence[str],
        host: str = "",
    ) -> None:
        super().__init__(folder, ranks)
        self._graph, self._command, self.host = graph, command, host

    @property
    def folders(self) -> Sequence[Path]:
        """The folders of the job, without which no loader can go on."""
        return self._graph, self.folder

    def start(self) -> None:
        """Start the processes."""
        self.start_each(*self._command, str(self._graph))

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
        self.check_folders()
        self.check_stopped()

    def failures(self) -> dict[int, TuxError]:
        """Return the errors of processes that have ended before their time, by rank. DiskError if a
        folder of the job is gone: then they have ended for that.
        """
        failed = [rank for rank, process in self.processes.items() if process.poll()]
        if failed:
            self.check_folders()
        return {rank: self.error_of(rank) for rank in failed}

    def _first_error(self) -> TuxError:
        """Return the error of a process that has failed. Of several errors, one of this machine is
        preferred to the word of machine 0.
        """
        if not self._find_killed():
            self.wait_for_end(1.0)
        failures = self.failures()
        return failures[
            min(self._find_killed() or failures, key=lambda n: _is_from_launcher(failures[n]))
        ]

    def _find_killed(self) -> list[int]:
        """Return the ranks of processes that were ended from outside, or have crashed."""
        return [rank for rank, each in self.processes.items() if (each.returncode or 0) < 0]


def _is_from_launcher(error: TuxError) -> bool:
    """Return whether machine 0 has told a loader why it ends."""
    return isinstance(error, Refused | StartsAgain)
