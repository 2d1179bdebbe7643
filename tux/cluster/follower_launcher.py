"""The launcher of a machine other than the first: when machine 0 is there, it starts its workers,
which answer to the launcher of machine 0, and waits until they have ended.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress

from tux.base.errors import PeerLost
from tux.base.signals import check_ending
from tux.cluster.joining import ask, joined
from tux.cluster.local_workers import LocalWorkers, crash_advice, how_ended


class FollowerLauncher(LocalWorkers):
    """The workers of a machine other than the first; the launcher of machine 0 leads them."""

    def start(self) -> None:
        """Ask machine 0 for what a worker here must know, and start the workers."""
        self.job = joined(self.job, ask(self.job))
        self.job.write(self.folder)
        super().start()

    def pause(self) -> None:
        """Do nothing: the launcher of machine 0 would treat stopped workers as lost."""

    def wait(self) -> None:
        """Until all have left. The error of the first that failed, when the others cannot go on
        without it.
        """
        while running := [process for process in self.processes.values() if process.poll() is None]:
            check_ending()
            self.check_folders()
            self.check_left()
            with suppress(subprocess.TimeoutExpired):
                running[0].wait(0.5)
        self.check_left()

    def check_left(self) -> None:
        """The error of a process that has ended; PeerLost with its exit code where it has not
        left one.
        """
        for rank, process in self.processes.items():
            if process.poll():
                self.raise_reason(rank)
                raise PeerLost(
                    f"worker {rank} on this machine {how_ended(process.returncode)}",
                    do=crash_advice(process.returncode) or "see what machine 0 says",
                )
