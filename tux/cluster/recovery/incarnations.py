"""The workers of a job, led through their epochs, and started again when one is lost.

What takes long is made once, by `tux.cluster.job.prepare`: the parts of the graph, the job, the
kernels. Each incarnation has processes, sockets and a nonce of its own: what is left of an older
one is refused by its number and counted.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import msgspec

from tux.base.disk import writing
from tux.base.errors import DeadlinePassed, Interrupted, PeerLost, TuxError
from tux.base.signals import check_ending, ignore_ending
from tux.base.text import plural
from tux.checkpoint.spool import SpooledLists
from tux.cluster.job import job_folder
from tux.cluster.job.job import Job
from tux.cluster.job.launcher import Launcher
from tux.cluster.recovery.restarts import Recovery, Restarts, Start, is_loss
from tux.cluster.rendezvous.answering import Answers
from tux.engine.model import RunModel
from tux.engine.profile import WorkerProfile
from tux.engine.timeline import Sample
from tux.graph.edge_memory import EdgeMemory
from tux.graph.edge_pieces import Pieces

CLOSING = 10.0
"""Seconds in which the sockets of an incarnation must be closed: the next one uses the same
address.
"""


class Incarnations:
    """A `Training` whose epochs run in other processes. As a context: entering starts them, leaving
    ends them and removes the job's folder.

    `launch(job)` makes the launcher of one incarnation.
    """

    def __init__(
        self,
        job: Job,
        folder: Path,
        launch: Callable[[Job], Launcher],
        recovery: Recovery | None = None,
        phase: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._job, self._folder, self._launch, self._phase = job, folder, launch, phase
        # the newest checkpoint is the one that the job goes on from, if there are any
        self._recovery = recovery
        self._restarts = Restarts(job.restarts, recovery.latest() if recovery else 0)
        self._from, self._number = Start(), 0
        self._ending: tuple[Callable[[], float | None], Callable[[], None]] | None = None
        self._sampled: Callable[[int, Sample], None] | None = None
        self._take: Callable[[RunModel], None] | None = None
        self._launcher = launch(job)

    # ---- as a Training

    @property
    def seconds(self) -> float:
        """The seconds of training."""
        return self._launcher.seconds

    @property
    def best_epoch(self) -> int:
        """The best epoch by the monitored metric; 0: none."""
        return self._launcher.best_epoch

    @property
    def ended_early(self) -> bool:
        """True if the user has ended it."""
        return self._launcher.ended_early

    @property
    def has_model(self) -> bool:
        """True if there is a model at the end."""
        return self._launcher.has_model

    def end_when(
        self,
        asked: Callable[[], float | None],
        tell: Callable[[], None] = lambda: None,
        *,
        keeps_last: bool = False,
    ) -> None:
        """Have the workers end with the epoch under way once `asked` gives seconds since a wish to
        end; `tell` is called once then.
        """
        self._ending = asked, tell
        self._launcher.end_when(asked, tell)

    def sample_to(self, tell: Callable[[int, Sample], None]) -> None:
        """Let `tell` be called with the rank and the sample whenever a worker sends one."""
        self._sampled = tell
        self._launcher.sample_to(tell)

    def give_model_to(self, take: Callable[[RunModel], None]) -> None:
        """Let `take` be called with the model when training has ended; again, if a worker is lost
        meanwhile.
        """
        self._take = take
        self._launcher.give_model_to(take)

    def epochs(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield the records of the job's epochs, all workers' in one, then give the model away
        (`give_model_to`). The arguments are those of the job. After a restart, the records of
        epochs after its start come again.
        """
        while True:
            try:
                yield from self._launcher.epochs(
                    most, every=every, patience=patience, keep_best=keep_best
                )
                return
            except (PeerLost, DeadlinePassed) as error:
                self._replace(error)
            self._start()
            self._phase(f"epoch {self._from.epochs + 1}")

    def edge_memory(self) -> EdgeMemory:
        """Return how many edges all workers hold for training, and the bytes that they take."""
        return self._launcher.edge_memory()

    def profile(self) -> WorkerProfile | None:
        """Return the profile of all workers in one, if the run has one."""
        return self._launcher.profile()

    def lists(self) -> SpooledLists | None:
        """Return the lists that no stage uses."""
        return self._launcher.lists()

    def edges(self) -> Pieces:
        """Return the edges trained on."""
        return self._launcher.edges()

    # ---- start, restart, end

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        why = error.what if isinstance(error, TuxError) else "it was interrupted" if error else ""
        with ignore_ending():
            self._launcher.close(
                why, interrupted=isinstance(error, KeyboardInterrupt | Interrupted)
            )
            job_folder.remove(self._folder)

    def _start(self) -> None:
        """Start the workers, again if one is lost meanwhile."""
        while True:
            try:
                self._launcher.start()
                return
            except (PeerLost, DeadlinePassed) as error:
                self._replace(error)

    def _replace(self, error: TuxError) -> None:
        """End all workers, and make the launcher of the next incarnation. Raise the error itself,
        if the workers are not started again.
        """
        recovery = self._recovery
        if recovery is None or not self._is_retried(error, recovery):
            raise error
        self._launcher.close(error.what, again=True, patience=0.0)
        check_ending()
        if not self._launcher.socket_thread.wait_until_closed(CLOSING):
            raise error
        answers = Answers(self._job.launcher, self._job.secret)
        answers.begin(loaded=True)
        try:
            self._prepare(error, recovery)
        finally:
            answers.end()
        self._launcher = self._launch(self._job)
        if self._take:
            self._launcher.give_model_to(self._take)
        if self._ending:
            self._launcher.end_when(*self._ending)
        if self._sampled:
            self._launcher.sample_to(self._sampled)

    def _prepare(self, error: TuxError, recovery: Recovery) -> None:
        """Choose the checkpoint from which the next incarnation goes on, and write its job. Raises
        the `error` where it cannot, or that of a checkpoint that cannot be read, which tells both.
        """
        if not self._launcher.wait_for_disk():
            raise error  # the disk hangs: a checkpoint that it may still write is no start
        try:
            start = recovery.newest()
        except TuxError as unread:
            unread.what = f"{error.what}, and all cannot be started again: {unread.what}"
            raise
        if start.states and len(start.states) != self._job.workers:  # the newer ones are damaged
            of = plural(len(start.states), "worker")
            error.what += f"; the newest checkpoint that is whole, {start.checkpoint}, is of {of}"
            raise error
        check_ending()
        if self._is_ending:  # a run with a folder only notes it
            raise KeyboardInterrupt
        self._restarts.note_start(start.checkpoint)
        recovery.go_on(start, error.what, str(self._restarts))
        self._from, self._number = start, self._number + 1
        forget_lists(self._job)
        self._job = renew_job(self._job, self._folder, self._number, start)
        self._job.write(self._folder)

    @property
    def _is_ending(self) -> bool:
        """True if the user has asked to end."""
        return self._ending is not None and self._ending[0]() is not None

    def _is_retried(self, error: TuxError, recovery: Recovery) -> bool:
        """Return whether the workers are started again; an error after the last restart says so."""
        if not self._job.restarts or self._is_ending:
            return False
        if self._restarts.allow_restart(error, recovery.latest()):
            return True
        if is_loss(error):
            error.what += self._restarts.none_left
        return False


def renew_job(job: Job, folder: Path, number: int, start: Start) -> Job:
    """Make the job of another incarnation: a new nonce, and new names of sockets on this machine,
    since the closing of an old one removes its file.
    """
    changed: dict[str, Any] = {"nonce": secrets.token_bytes(16), "resume": [*start.states]}
    changed["attempt"] = job.attempt + 1
    if job.launcher.startswith("ipc://"):
        short = number % 100  # names may not be longer than those of the first incarnation
        changed["launcher"] = f"ipc://{folder}/{short}.l"
        changed["listen"] = f"ipc://{folder}/{short}.{{}}"
    return msgspec.structs.replace(job, **changed)


def forget_lists(job: Job) -> None:
    """Remove the lists that the workers of an incarnation have written or sent, unless they are a
    part of states: then the keeper of the states removes the rest. DiskError.
    """
    if job.lists_folder:
        return
    for rank in range(job.workers):
        with writing(job.list_file(rank)):
            job.list_file(rank).unlink(missing_ok=True)
