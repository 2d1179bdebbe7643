"""The launcher of one incarnation of a job: leads the workers of all machines through their epochs,
and brings back records and the model.

Whatever happens to it or to a worker, no process, socket file or folder is left: workers whose
launcher is gone end by themselves, and the launcher ends the others when one is lost.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tux.base.errors import PeerLost
from tux.base.signals import check_ending, handle_pause, ignore_ending, note_ending
from tux.checkpoint.saved import epoch_in, segments_in
from tux.checkpoint.segments import ListSegment
from tux.checkpoint.spool import SpooledLists
from tux.cluster.checkpoint.keeper import Checkpointing, Keeper
from tux.cluster.checkpoint.remote_files import RemoteFiles
from tux.cluster.checkpoint.worker_marks import DISK_SECONDS
from tux.cluster.job.collected_model import CollectedModel
from tux.cluster.job.ending import LauncherEnding
from tux.cluster.job.job import Job
from tux.cluster.job.leader import Leader
from tux.cluster.job.local_processes import LEAVING_SECONDS
from tux.cluster.job.local_workers import LocalWorkers
from tux.cluster.rendezvous import joining
from tux.cluster.transport.control import (
    At,
    Bye,
    Control,
    End,
    Failure,
    Hello,
    Join,
    MarkPassed,
    MarkReached,
    Record,
    SendModel,
    StateKept,
    StateNotKept,
    TrainingEnd,
    Until,
    WorkSample,
    as_error,
    control_in,
    epoch_of,
)
from tux.engine.model import RunModel
from tux.engine.model_shares import ModelTables
from tux.engine.profile import WorkerProfile, merge_profiles
from tux.engine.records import merge_records
from tux.engine.timeline import Sample
from tux.graph.edge_memory import EdgeMemory
from tux.graph.edge_pieces import Pieces, edges_of_parts
from tux.messages.message import BadMessage, Kind, Message, checking


class Launcher(Leader):
    """The workers of the first or only machine, and the leader of the workers of all machines.
    `tables` are those of the model, which `give_model_to` gives away.
    """

    job: Job
    here: LocalWorkers

    def __init__(
        self,
        job: Job,
        folder: Path,
        ranks: Sequence[int],
        tables: ModelTables,
        phase: Callable[[str], None] = lambda name: None,
        warn: Callable[[str], None] = lambda text: None,
        keeper: Keeper | None = None,
    ) -> None:
        super().__init__(job, LocalWorkers(job, folder, ranks), phase, warn)
        self._checkpointing = None
        if keeper and job.checkpoint_every:
            remote = {*range(job.workers)} - {*ranks}
            self._checkpointing = Checkpointing(
                job.workers, job.checkpoint_every, keeper, self._say, warn, remote=remote
            )
        self._earlier: dict[int, list[ListSegment]] = {}  # lists before this start, by worker
        self._tables = tables
        self._take: Callable[[RunModel], None] = lambda model: None
        self.seconds, self.best_epoch, self.ended_early = 0.0, 0, False
        self.has_model = True
        self._held: dict[int, EdgeMemory] = {}  # by worker
        self._profiles: dict[int, WorkerProfile] = {}  # by worker
        self._asked: Callable[[], float | None] = lambda: None
        self._tell: Callable[[], None] = lambda: None
        self._sampled: Callable[[int, Sample], None] = lambda rank, sample: None
        self._trains, self._over, self._ending = False, False, LauncherEnding(job.workers)
        self._saw_end = False  # of a worker process, at the last look
        self._pausing = ExitStack()
        self._files = RemoteFiles(job, ranks, self._checkpointing, self.socket_thread.send)

    # ---- in the socket thread

    def _answer_outsider(self, frames: list[Any]) -> bool:
        """Answer frames that are not of this job, if they are the command of another machine, which
        asks for the nonce; return whether they are. If it has lost workers of this incarnation, all
        are lost; if it ends before it has joined, the user is told.
        """
        sockets = self.socket_thread.reactor.sockets
        if joining.turn_away(sockets, frames, self.job):
            return True
        if not isinstance(join := joining.decode_control(frames, self.job.meeting), Join):
            return False
        if join.leaves and not join.nonce:
            self._refusals.note_departure(join.lost, join.address)
            joining.answer(sockets, join, Bye(), self.job.meeting)
            return True
        if join.lost and join.nonce == self.job.nonce:
            self.socket_thread.inbox.put(PeerLost(join.lost, do="see what its machine says"))
            return True
        answer = (
            Bye("its job has all workers already")
            if self._attendance.is_complete
            else self.job.welcome()
        )
        joining.answer(sockets, join, answer, self.job.meeting)
        return True

    # ---- start

    def start(self) -> None:
        """Start the workers and wait until all, on any machine, have said hello. PeerLost, Refused
        or DeadlinePassed if they don't.
        """
        self._pausing.enter_context(handle_pause(self.pause, self.resume))
        self.here.start()
        self.socket_thread.start()
        self._meet()

    def _handle_early(self, message: Message, control: Control | None) -> None:
        """Note the edges of a worker that is ready; send the state from which it goes on to one
        that lacks it.
        """
        if isinstance(control, Hello) and control.ready:
            self._held[message.source] = control.held
        elif isinstance(control, Hello):
            self._files.give(message)
        elif message.kind is Kind.TAKEN:
            self._files.send_next_piece(message)

    # ---- epochs

    def end_when(self, asked: Callable[[], float | None], tell: Callable[[], None]) -> None:
        """Let the workers end with the epoch under way once `asked` gives seconds since a wish to
        end; `tell` is called once then.
        """
        self._asked, self._tell = asked, tell

    def sample_to(self, tell: Callable[[int, Sample], None]) -> None:
        """Let `tell` be called with the rank and the sample whenever a worker sends one."""
        self._sampled = tell

    def give_model_to(self, take: Callable[[RunModel], None]) -> None:
        """Let `take` be called with the model when training has ended. It reads the model while the
        workers wait.
        """
        self._take = take

    def epochs(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield the records of the job's epochs, all workers' in one, then give the model away. The
        arguments are those of the job.
        """
        self._send_addresses()
        if self._checkpointing:
            self._checkpointing.start(time.monotonic())
        first = epoch_in(self.job.resume[0]) + 1 if self.job.resume else min(most, 1)
        # now: the checkpoint may be gone when the lists are read
        self._earlier = {rank: segments_in(each) for rank, each in enumerate(self.job.resume)}
        with self.socket_thread.naming_hosts():
            yield from self._records(first)
            if self._checkpointing:
                self._checkpointing.end(DISK_SECONDS)
            self._take(CollectedModel(self.job, self._tables, self._collect))
        self._refusals.warn(self.socket_thread.reactor, end=True)

    def _records(self, first: int) -> Iterator[dict[str, Any]]:
        """Yield the records of the epochs from the `first`, which is 0 in a run of none, until all
        workers have ended the last one, and have sent their states.
        """
        records: dict[int, dict[int, dict[str, float]]] = defaultdict(dict)  # by epoch and worker
        last = [first - 1] * self.job.workers  # the epoch of the last record, by worker
        training = set(range(self.job.workers))
        self._trains = True
        while training or (self._checkpointing and self._checkpointing.receives):
            waiting_for = f"epoch {min(last) + 1}" if training else "states of other machines"
            message = self._receive(self.job.deadline, waiting_for)
            match control_in(message):
                case Record() as record:
                    epoch = last[message.source] = epoch_of(message, record, last[message.source])
                    records[epoch][message.source] = record.fields
                    if len(records[epoch]) == self.job.workers:
                        yield merge_records(records.pop(epoch))
                case TrainingEnd(seconds, best_epoch, ended_early, profile):
                    if profile is not None:
                        self._profiles[message.source] = profile
                    self.ended_early |= ended_early
                    self.seconds, self.best_epoch = max(self.seconds, seconds), best_epoch
                    training.discard(message.source)
                case control:
                    self._note(message, control)

    def _collect(self, asked: SendModel, install: Callable[[Message], bool]) -> None:
        """Ask all workers for a range of the model, and have `install` take what they send until it
        says that this is all.
        """
        self._tell_all(asked)
        over = False
        while not over:
            message = self._receive(self.job.deadline, "the model")
            if message.kind is Kind.MODEL_ROWS:
                over = install(message)
            else:
                self._note(message, control_in(message))

    def _note(self, message: Message, control: Control | None) -> None:
        """Handle a message that may come at any time from workers that train or have trained."""
        match control:
            case WorkSample(sample):
                self._sampled(message.source, sample)
            case MarkPassed() | MarkReached() | StateKept() | StateNotKept():
                self._keep(message, control)
            case At(epoch):
                with checking(message):
                    until = self._ending.at(message.source, epoch)
                if until is not None:
                    self._tell_all(Until(until))
            case None if message.kind is Kind.PIECE:
                self._files.take(message)
            case None:
                raise BadMessage(message, "it is not for the launcher")

    def edge_memory(self) -> EdgeMemory:
        """Return how many edges all workers hold for training, and the bytes that they take."""
        return EdgeMemory.total(self._held.values())

    def profile(self) -> WorkerProfile | None:
        """Return the profile of all workers in one, if the run has one."""
        return merge_profiles([each for _, each in sorted(self._profiles.items())])

    def _keep(
        self, message: Message, control: MarkPassed | MarkReached | StateKept | StateNotKept
    ) -> None:
        """Handle the message of a worker about its state."""
        if self._checkpointing is None:
            raise BadMessage(message, "no states are kept")
        with checking(message):
            self._checkpointing.handle(message.source, control, time.monotonic())

    def lists(self) -> SpooledLists | None:
        """Return the lists that no stage uses, of all workers, if there are any and they are
        wanted.
        """
        return self.job.all_lists(self._earlier, self.here.ranks[0])

    def edges(self) -> Pieces:
        """Return the edges trained on, which are read when they are asked for; none where other
        machines have some of them.
        """
        if len(self.here.ranks) < self.job.workers:
            return ()
        return edges_of_parts(self._tables.program, Path(self.job.graph), self.job.workers)

    # ---- end

    def close(
        self,
        why: str = "",
        *,
        again: bool = False,
        interrupted: bool = False,
        patience: float = LEAVING_SECONDS,
    ) -> None:
        """Say goodbye to the workers that have said hello, and end all. `why`: before its time;
        `again`: they are started again; `interrupted`: the user has ended the job.
        """
        if self._over:
            return
        with note_ending() if again else ignore_ending():
            self._over = True
            met = [rank for rank in range(self.job.workers) if self.socket_thread.addresses[rank]]
            for rank in met:
                self._say(Bye(why, again, interrupted), rank)
            self._pausing.close()
            self.here.end(patience, met)
            if self._checkpointing:
                self._checkpointing.end(patience)
            # workers on another machine may not have it yet
            self.socket_thread.close(0.5 if len(self.here.ranks) < self.job.workers else 0)

    def wait_for_disk(self) -> bool:
        """Wait for the disk; return whether nothing of a checkpoint is being written any more."""
        return self._checkpointing is None or self._checkpointing.end(DISK_SECONDS)

    # ---- messages

    def _receive(self, seconds: float, waiting_for: str) -> Message:
        """Receive the next message; raise the error of a worker that fails."""
        self._saw_end = False
        message = super()._receive(seconds, waiting_for)
        self._look_at_run()
        self.here.check_folders()
        if isinstance(failure := control_in(message), Failure):
            raise as_error(failure)
        return message

    def _look_around(self) -> None:
        """Look, where no message has come, at the run and at the processes of this machine."""
        self._look_at_run()
        before, self._saw_end = self._saw_end, self.here.any_ended()
        if before or not self._saw_end:  # the last message of one that has ended is here soon
            self.here.check()

    def _look_at_run(self) -> None:
        """Check two things that no message tells: whether a checkpoint has become whole, and
        whether the user has asked to end. Then the workers end, or KeyboardInterrupt if none trains
        yet.
        """
        check_ending()
        if self._checkpointing:
            self._checkpointing.look()
        if self._asked() is None or self._ending.asked:
            return
        if not self._trains:
            raise KeyboardInterrupt
        self._ending.asked = True
        self._tell_all(End())
        self._tell()
