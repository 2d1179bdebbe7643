"""The worker processes of this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tux.cluster.job.job import Job
from tux.cluster.job.local_processes import LocalProcesses


class LocalWorkers(LocalProcesses):
    """The worker processes of this machine."""

    role = "worker"
    if_lost = if_stopped = "the job cannot go on without it; start it anew"

    def __init__(self, job: Job, folder: Path, ranks: Sequence[int]) -> None:
        super().__init__(folder, ranks)
        self.job = job

    @property
    def folders(self) -> Sequence[Path]:
        """The folders of the job, without which no worker can go on."""
        return self.folder, Path(self.job.graph)

    def start(self) -> None:
        """Start the processes."""
        # -P: files in the user's folder hide no modules
        module = "tux.cluster.job.worker_process"
        self.start_each(sys.executable, "-P", "-m", module, str(self.folder))

    def check(self) -> None:
        """Raise the error of a process that has ended; PeerLost if it has left none, or if one is
        stopped for long. DiskError if a folder is gone.
        """
        self.check_folders()
        for rank, process in self.processes.items():
            if process.poll() is not None:
                raise self.error_of(rank)
        self.check_stopped()

    def any_ended(self) -> bool:
        """Return whether a process has ended."""
        return any(process.poll() is not None for process in self.processes.values())
