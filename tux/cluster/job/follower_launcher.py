"""The launcher of a machine other than the first: when machine 0 is there, it starts its workers,
which answer to the launcher of machine 0, and waits until they have ended. When machine 0 starts
all workers again, or one of this machine is lost, it joins the next incarnation.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from socket import gethostname
from typing import Self

from tux.base.errors import DeadlinePassed, PeerLost, StartsAgain, TuxError
from tux.base.signals import check_ending, ignore_ending
from tux.cluster.job import job_folder
from tux.cluster.job.job import Job
from tux.cluster.job.local_processes import LEAVING_SECONDS
from tux.cluster.job.local_workers import LocalWorkers
from tux.cluster.rendezvous.joining import ask, ask_again, leave
from tux.cluster.transport.control import Welcome


class FollowerLauncher(LocalWorkers):
    """The workers of a machine other than the first; the launcher of machine 0 leads them. As a
    context: entering starts them, leaving ends them and removes the job's folder. Ctrl-Z stops this
    process alone: the launcher of machine 0 would treat stopped workers as lost.
    """

    if_lost = if_stopped = "see what machine 0 says"

    def __init__(
        self,
        job: Job,
        folder: Path,
        ranks: Sequence[int],
        warn: Callable[[str], None] = lambda text: None,
        phase: Callable[[str], None] = lambda name: None,
    ) -> None:
        super().__init__(job, folder, ranks)
        self.host = gethostname()
        self._warn, self._phase = warn, phase

    def __enter__(self) -> Self:
        self._phase(f"wait for machine 0 at {self.job.place_of_launcher}")
        try:
            self._join(ask(self.job, self.job.rejoin if self.job.restarts else 0.0))
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        with ignore_ending():
            if isinstance(error, KeyboardInterrupt) and self.processes:
                machine = self.ranks[0] // len(self.ranks)
                leave(self.job, f"machine {machine} ({self.host}) was ended there by the user")
            self.end(LEAVING_SECONDS)
            job_folder.remove(self.folder)

    def _join(self, welcome: Welcome) -> None:
        """Start the workers of an incarnation."""
        self.job = self.job.join(welcome)
        self.job.write(self.folder)
        self.start()

    def wait(self) -> None:
        """Wait until all have left. Raise the error of the first that failed, when the others
        cannot go on without it.
        """
        while True:
            try:
                self._watch()
                return
            except (PeerLost, DeadlinePassed, StartsAgain) as error:
                if not self.job.restarts:
                    raise
                self._join_again(error)

    def _join_again(self, error: TuxError) -> None:
        """End the workers, and start those of the next incarnation when machine 0 does so."""
        self._warn(f"{error.what}; this machine joins again")
        self._phase("wait for machine 0 to start all workers again")
        self.end(0.0)
        self._join(ask_again(self.job, error.what))
        self._phase("train with machine 0")

    def _watch(self) -> None:
        """Wait until all workers of an incarnation have left. Raise the error of the first that
        failed.
        """
        while running := [process for process in self.processes.values() if process.poll() is None]:
            check_ending()
            self.check_folders()
            self.check_left()
            self.check_stopped()
            with suppress(subprocess.TimeoutExpired):
                running[0].wait(0.5)
        self.check_left()

    def check_left(self) -> None:
        """Raise the error of a process that has ended before its time; PeerLost with its exit code
        where it has not left one.
        """
        for rank, process in self.processes.items():
            if process.poll():
                raise self.error_of(rank)
