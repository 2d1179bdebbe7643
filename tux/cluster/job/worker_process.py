"""A worker process: ``python -m tux.cluster.job.worker_process FOLDER RANK LAUNCHER``.

It finds its part and the program in the job's folder, and trains with its peers. LAUNCHER is the
number of the process that started it.

The main thread runs stages; the socket thread (`tux.cluster.transport.socket_thread`) serves
masters meanwhile and keeps in touch with the launcher. While the main thread waits, it does so
itself. Heartbeats are sent by a third thread (`tux.cluster.transport.beat_thread`), from the start
of the process. A worker whose launcher is gone ends by itself, and removes the job's folder.
"""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tux.arrays.disk_columns import limited_memory
from tux.base.disk import machine_error
from tux.base.errors import DeadlinePassed, Refused, TuxError
from tux.base.parallel import use_threads
from tux.base.processes import watch_parent
from tux.checkpoint.saved import SavedState, load, save
from tux.checkpoint.snapshot import State
from tux.cluster.checkpoint.worker_files import WorkerFiles
from tux.cluster.checkpoint.worker_marks import WorkerMarks, copy_if_small
from tux.cluster.job.failures import leave_failure
from tux.cluster.job.job import Job
from tux.cluster.rendezvous.member import Member, ending_error
from tux.cluster.transport.control import (
    Bye,
    Control,
    End,
    Go,
    Keep,
    Pass,
    Record,
    SendModel,
    TrainingEnd,
    Until,
    WorkSample,
    as_failure,
    control_in,
    pack,
)
from tux.engine.model_shares import ModelShare
from tux.engine.training import Training
from tux.engine.transport import Transport
from tux.engine.worker import Worker
from tux.graph import store
from tux.messages.message import BadMessage, Kind, Message, checking
from tux.program import sources


class Peer(Member, Transport):
    """One worker of a job, from its first message to its last, and the transport of its worker."""

    job: Job

    def __init__(self, folder: Path, rank: int, job: Job) -> None:
        self.folder = folder
        self.worker: Worker | None = None
        self.marks: WorkerMarks | None = None
        # messages of workers that have met all to this one, which has not; None once it has
        self._early: list[Message] | None = []
        self.over = False
        self.files = WorkerFiles(job, rank, lambda message: self.socket_thread.post(message))
        super().__init__(job, rank, "worker")

    def _handle_data(self, message: Message) -> bool:
        """Handle a message that is not about the job: the server's messages at the server; the rest
        is the worker's, but not before Go.
        """
        if message.kind is Kind.MODEL_ROWS:
            raise BadMessage(message, "it is for the launcher")
        if message.kind in (Kind.PIECE, Kind.TAKEN):
            return self.files.handle(message)
        if self.worker is None:
            raise BadMessage(message, "this worker has not said hello")
        if self.worker.server.handle(message):
            return True
        if self._early is None:
            return False
        self._early.append(message)
        return True

    def _handle_control(self, message: Message, control: Control | None) -> bool:
        match control:
            case Bye():
                self.over = True
                return False
            case SendModel():
                return False
            case Pass() | Keep() | End() | Until():
                if self.marks is None or not self.marks.take_control(control):
                    raise BadMessage(message, "this worker waits for no such word")
                return False
            case Go():
                early, self._early = self._early, None
                if early is None:
                    return False
                for each in (message, *early):
                    self.socket_thread.inbox.put(each)
        return True

    def send(self, message: Message) -> None:
        """Send a message to the member that it names."""
        self.socket_thread.send(message)

    def computes(self) -> None:
        """Have the socket thread use the sockets while the worker computes."""
        self.socket_thread.computes()

    def receive(self) -> Message:
        """Receive the worker's next message; Refused when the launcher says that the job is
        over.
        """
        clock = self.worker.all_clocks if self.worker else 0
        return self._unless_over(
            self.socket_thread.serve(self.job.deadline, f"clock {clock} to be answered")
        )

    def take_arrived(self) -> Iterator[Message]:
        """Return the messages for the worker that have arrived, without control messages."""
        arrived = map(self._unless_over, self.socket_thread.take_arrived())
        return (message for message in arrived if message.kind is not Kind.CONTROL)

    @staticmethod
    def _unless_over(message: Message) -> Message:
        if isinstance(bye := control_in(message), Bye):
            raise ending_error(bye)
        return message

    def _meet(self) -> list[str]:
        """Return the addresses of all workers, when the launcher has heard of each."""
        match control_in(self._from_launcher("the launcher")):
            case Go(addresses) if len(addresses) == self.job.workers:
                return addresses
            case Bye() as bye:
                raise ending_error(bye)
        raise ending_error(Bye())

    def _from_launcher(self, waiting_for: str, seconds: float = math.inf) -> Message:
        """Receive the launcher's next message before training: a piece of a state, or that all are
        ready. DeadlinePassed after `seconds`; PeerLost as `wait_for_launcher` says.
        """
        arrived: list[Message] = []
        waited = 0.0

        def wait(beat: float) -> bool:
            nonlocal waited
            try:
                arrived.append(self.socket_thread.receive(beat, waiting_for))
            except DeadlinePassed as passed:
                waited += beat
                if waited >= seconds:
                    passed.what = f"waited {waited:.0f} s for {waiting_for}"
                    passed.where = f"worker {self.rank}"
                    raise
            return bool(arrived)

        self.wait_for_launcher(wait)
        return arrived[0]

    def run(self) -> None:
        """Run the worker: load, say hello, train when all are ready, and send the launcher the rows
        of the masters, for which it asks.
        """
        job, thread = self.job, self.socket_thread
        worker = self.worker = job.worker(self.rank, self)
        training = Training(worker)
        most = self._keep_states(training)
        worker.timeline.tell_to(lambda sample: self.say(WorkSample(sample)))
        self.say_hello(held=worker.graph.edge_memory())
        thread.meet(self._meet())
        for record in training.epochs(
            most, every=job.eval_every, patience=job.patience, keep_best=job.keep_best
        ):
            self.say(Record(record))
        if self.marks:
            self.marks.finish()
        profile = training.profile(lines=self.rank == 0)
        self._send_lists(worker)
        if job.trace_clocks and not job.trace_folder:
            self.files.send_trace(self.receive)
        self.say(TrainingEnd(training.seconds, training.best_epoch, training.ended_early, profile))
        share = ModelShare(worker)
        with suppress(Refused):  # the goodbye
            while True:
                if isinstance(asked := control_in(message := self.receive()), SendModel):
                    self._send_model(share, message, asked)

    def close_trace(self) -> None:
        """Close the trace of the worker's clocks, if there is one."""
        if self.worker and self.worker.trace:
            self.worker.trace.close()

    def _send_model(self, share: ModelShare, message: Message, asked: SendModel) -> None:
        """Answer a question of the launcher for a range of the model."""
        with checking(message):
            answer = share.messages(asked.table, asked.first, asked.end, self.launcher)
            for each in answer:
                self.socket_thread.send(each)

    def _state_before(self, saved: SavedState, part: str) -> State:
        """Return the state from which this worker goes on. Where the launcher has its file, ask for
        a copy, which takes space on the disk no longer than the state is used.
        """
        if saved.path:
            return load(saved, part)

        def ask() -> None:
            self.say_hello(ready=False)

        def receive() -> Message:
            return self._unless_over(
                self._from_launcher("its state from machine 0", self.job.deadline)
            )

        state = load(self.files.fetch(saved.digest, ask, receive), part)
        self.files.clear()
        return state

    def _keep_states(self, training: Training) -> int:
        """Go on from the checkpoint of the job, if there is one, and keep states where it says so.
        Return the run's last epoch.
        """
        job, last = self.job, self.job.epochs
        states = job.resume or job.checkpoint_every
        part = store.digest(Path(job.graph), self.rank) if states else ""
        if job.resume:
            state = self._state_before(job.resume[self.rank], part)
            training.resume(state)
            if state.head.over:
                last = state.head.epoch
        spool = training.worker.spool
        self.marks = marks = WorkerMarks(
            self.rank,
            job.checkpoint_every,
            last,
            lambda control: self.socket_thread.post(pack(control, self.rank, self.launcher)),
            lambda path, state: save(path or self.files.new_path(), state, part, spool),
            lambda state: copy_if_small(state, job.workers_here),
            lambda: training.reached,
            self.files.begin,
        )
        training.marks = marks
        training.end_when(marks.ending_seconds)
        return last

    def _send_lists(self, worker: Worker) -> None:
        """Flush the file of lists, where the launcher finds it, or send the lists there."""
        if worker.spool and worker.spool.flush() and self.job.lists == "sent":
            self.files.send_lists(self.receive)


def main() -> int:
    """Run one worker. Return 0, or the exit code of its error, which the launcher shows."""
    folder, rank, launcher = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    # while the main thread is in Python and the socket thread serves, they alternate: 5 ms, the
    # default, is as long as several clocks
    sys.setswitchinterval(0.0005)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the launcher's to handle
    job, peer = None, None
    try:
        watch_parent(folder, launcher)
        job = Job.read(folder)
        use_threads(job.threads)
        peer = Peer(folder, rank, job)
        peer.socket_thread.start()
        most = job.limit.size if job.limit else None
        with peer.socket_thread.naming_hosts(), limited_memory(job.graph, most):
            try:
                peer.run()
            finally:
                peer.close_trace()
        failure = None
    except TuxError as error:
        failure = as_failure(error)
    except Exception as error:
        failure = as_failure(_explain_error(error, rank, job.source if peer and job else None))
    if failure:
        leave_failure(folder, rank, failure)
    if peer:
        if failure and not peer.over:
            peer.say(failure)
        # once the job is over nobody waits for messages
        peer.socket_thread.close(0.2 if failure and peer.over else 5.0)
    return failure.code if failure else 0


def _explain_error(error: Exception, rank: int, source: sources.Source | None) -> TuxError:
    """Turn an error of worker `rank`, which runs the program of `source`, into one for the user."""
    if told := machine_error(error):
        told.where = told.where or f"worker {rank}"
    else:
        told = sources.error_in_program(error, source) or TuxError(
            f"{type(error).__name__}: {error}",
            where=f"worker {rank}",
            do="this is a fault of tux itself; --debug shows the traceback",
        )
    told.__cause__ = error
    return told


if __name__ == "__main__":
    sys.exit(main())
