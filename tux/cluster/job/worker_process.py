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
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from tux.base.errors import DeadlinePassed, Interrupted, PeerLost, Refused, StartsAgain, TuxError
from tux.base.parallel import use_threads
from tux.base.processes import is_stopped
from tux.checkpoint.saved import SavedState, load, save
from tux.checkpoint.snapshot import State
from tux.cluster.checkpoint.worker_files import WorkerFiles
from tux.cluster.checkpoint.worker_marks import WorkerMarks, copy_if_small
from tux.cluster.job.job import STARTING, Job
from tux.cluster.transport.control import (
    Beat,
    Bye,
    Control,
    End,
    Failure,
    Go,
    Hello,
    Keep,
    Pass,
    Record,
    TrainingEnd,
    Until,
    WorkSample,
    as_failure,
    beat_in,
    control_in,
    pack,
)
from tux.cluster.transport.heartbeat import HEARTBEAT, SILENCE
from tux.cluster.transport.socket_thread import SocketThread
from tux.engine.model import model_messages
from tux.engine.training import Training
from tux.engine.transport import Transport
from tux.engine.worker import Worker
from tux.graph import store
from tux.messages.message import BadMessage, Kind, Message
from tux.program import sources


class Peer(Transport):
    """One worker of a job, from its first message to its last, and the transport of its worker."""

    def __init__(self, folder: Path, rank: int, job: Job) -> None:
        self.folder, self.rank, self.job = folder, rank, job
        self.launcher = self.job.workers
        self.worker: Worker | None = None
        self.marks: WorkerMarks | None = None
        # messages of workers that have met all to this one, which has not; None once it has
        self._early: list[Message] | None = []
        addresses = [""] * job.workers + [job.launcher]
        addresses[rank] = job.listen.format(rank)
        self._paused = self.over = False
        self.files = WorkerFiles(job, rank, lambda message: self.socket_thread.post(message))
        self.socket_thread = SocketThread(
            rank,
            addresses,
            job.number,
            self._handle,
            partners=[member for member in range(job.workers + 1) if member != rank],
            secret=job.secret,
            excused=self._is_excused,
        )

    def _handle(self, message: Message) -> bool:
        """Handle a message in a round of the reactor: heartbeats end here, the server's messages at
        the server; the rest is the worker's, but not before Go.
        """
        if message.kind is Kind.CONTROL:
            return self._handle_control(message)
        if message.kind is Kind.BEAT:
            if message.source == self.launcher:
                self._hear_launcher(beat_in(message))
            return True
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

    def _hear_launcher(self, beat: Beat) -> None:
        """Take a heartbeat of the launcher. After a pause, members that it has just continued may
        be heard a little later.
        """
        if self._paused and not beat.paused:
            self.socket_thread.reactor.heartbeat.forgive(time.monotonic())
        self._paused = beat.paused

    def _handle_control(self, message: Message) -> bool:
        """Handle a control message; return True if the worker does not need it."""
        control = control_in(message)
        if message.source != self.launcher:
            raise BadMessage(message, "the sender is not the launcher")
        match control:
            case Bye():
                self.over = True
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

    def _is_excused(self, member: int, seconds: float) -> bool:
        """Return whether a member is silent because the user has stopped the launcher, by Ctrl-Z or
        SIGSTOP; Ctrl-Z stops the workers of its machine too.

        A launcher on another machine has sent a message before it, and is waited for no longer than
        any wait may take.
        """
        if self.job.launcher_here:
            return member == self.launcher and is_stopped(os.getppid())
        return self._paused and seconds < self.job.deadline

    def say(self, control: Control) -> None:
        """Send a control message to the launcher."""
        self.socket_thread.send(pack(control, self.rank, self.launcher))

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
        ready. DeadlinePassed after `seconds`.

        Once the launcher has heard Hello, it sends heartbeats, and decides how long the others are
        waited for: this worker waits as long as the launcher lives. PeerLost where none comes: the
        launcher died when it had taken this machine, or is that of a later incarnation, which does
        not hear this worker.
        """
        where = f"worker {self.rank}"
        silence = SILENCE if self.job.launcher.startswith("tcp://") else STARTING
        left, waited = silence, 0.0
        while True:
            try:
                return self.socket_thread.receive(HEARTBEAT, waiting_for)
            except DeadlinePassed:
                waited += HEARTBEAT
                heard = self.launcher in self.socket_thread.reactor.heartbeat.heard
                if not heard and not self._is_excused(self.launcher, waited):
                    left -= HEARTBEAT
                if left <= 0:
                    address = self.job.launcher.removeprefix("tcp://")
                    raise PeerLost(
                        f"machine 0 at {address} has been silent for {silence:.0f} s",
                        where=where,
                        do="it died, hangs, or is cut off",
                    ) from None
                if waited >= seconds:
                    text = f"waited {waited:.0f} s for {waiting_for}"
                    raise DeadlinePassed(text, where=where) from None

    def run(self) -> None:
        """Run the worker: load, say hello, train when all are ready, send the rows of the masters,
        and stay until the launcher has them.
        """
        job, thread = self.job, self.socket_thread
        worker = self.worker = job.worker(self.rank, self)
        training = Training(worker)
        most = self._keep_states(training)
        worker.timeline.tell_to(lambda sample: self.say(WorkSample(sample)))
        self._say_hello(ready=True)
        thread.meet(self._meet())
        for record in training.epochs(
            most, every=job.every, patience=job.patience, keep_best=job.keep_best
        ):
            self.say(Record(record))
        if self.marks:
            self.marks.finish()
        self.say(TrainingEnd(training.seconds, training.best_epoch, training.ended_early))
        self._send_lists(worker)
        for message in model_messages(worker, self.launcher):
            thread.send(message)
        with suppress(Refused):  # the goodbye
            while True:
                self.receive()

    def _say_hello(self, *, ready: bool) -> None:
        where = socket.gethostname(), self.socket_thread.endpoint
        self.say(Hello(self.job.traits, os.getpid(), *where, ready))

    def _state_before(self, saved: SavedState, part: str) -> State:
        """Return the state from which this worker goes on. Where the launcher has its file, ask for
        a copy, which takes space on the disk no longer than the state is used.
        """
        if saved.path:
            return load(saved, part)

        def ask() -> None:
            self._say_hello(ready=False)

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
            lambda: training.worker.epoch,
            self.files.begin,
        )
        training.marks = marks
        training.end_when(marks.ending_seconds)
        return last

    def _send_lists(self, worker: Worker) -> None:
        """Flush the file of lists, where the launcher finds it, or send the lists there."""
        if worker.spool and worker.spool.flush() and self.job.lists == "sent":
            self.files.send_lists(self.receive)


def ending_error(bye: Bye) -> Refused | StartsAgain | Interrupted:
    """Make the error of a job or an incarnation that the launcher has ended before its time."""
    why = f"{': ' * bool(bye.why)}{bye.why}"
    if bye.again:
        return StartsAgain(f"machine 0 starts all workers again{why}")
    kind = Interrupted if bye.interrupted else Refused
    return kind(f"machine 0 ended the job{why}", do="see what it says there")


def failure_of(folder: Path, rank: int) -> Failure | None:
    """Read why a worker has failed, as it has left it in the job's folder."""
    try:
        return msgspec.json.decode((folder / f"failed-{rank}.json").read_bytes(), type=Failure)
    except (OSError, msgspec.DecodeError):
        return None


def leave_failure(folder: Path, rank: int, failure: Failure) -> None:
    """Write down why this worker has failed, for the command that has started it. Several threads
    may do so, of which one then ends the process: the file is whole all the same.
    """
    part = folder / f"failed-{rank}.{threading.get_ident()}.part"
    with suppress(OSError):  # the folder is gone: then the command knows why
        part.write_bytes(msgspec.json.encode(failure))
        os.replace(part, folder / f"failed-{rank}.json")


def forget_failure(folder: Path, rank: int) -> None:
    """Remove the failure that a worker of an older incarnation has left."""
    with suppress(OSError):
        (folder / f"failed-{rank}.json").unlink()


def watch_parent(folder: Path, launcher: int) -> None:
    """End this process, and remove the job's folder, when its launcher has died without saying
    so; at once if that was long ago.
    """

    def watch() -> None:
        while os.getppid() == launcher:
            time.sleep(0.5)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(4)

    if os.getppid() != launcher:
        watch()
    threading.Thread(target=watch, name="tux parent", daemon=True).start()


def main() -> int:
    """Run one worker. Return 0, or the exit code of its error, which the launcher shows."""
    folder, rank, launcher = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    # while the main thread is in Python and the socket thread serves, they alternate: 5 ms, the
    # default, is as long as several clocks
    sys.setswitchinterval(0.0005)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the launcher's to handle
    watch_parent(folder, launcher)
    job, peer = None, None
    try:
        job = Job.read(folder)
        use_threads(job.threads)
        peer = Peer(folder, rank, job)
        peer.socket_thread.start()
        with peer.socket_thread.naming_hosts():
            peer.run()
        failure = None
    except TuxError as error:
        failure = as_failure(error)
    except Exception as error:
        explained = sources.error_in_program(
            error, job.source if peer and job else None
        ) or TuxError(
            f"{type(error).__name__}: {error}",
            where=f"worker {rank}",
            do="this is a fault of tux itself; --debug shows the traceback",
        )
        explained.__cause__ = error
        failure = as_failure(explained)
    if failure:
        leave_failure(folder, rank, failure)
    if peer:
        if failure and not peer.over:
            peer.say(failure)
        # once the job is over nobody waits for messages
        peer.socket_thread.close(0.2 if failure and peer.over else 5.0)
    return failure.code if failure else 0


if __name__ == "__main__":
    sys.exit(main())
