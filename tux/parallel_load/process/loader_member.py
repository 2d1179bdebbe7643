"""A loader as a member of a job of several machines: it meets the others, sends them its messages,
and takes theirs.

Messages to loaders of the same machine are files in the folder that they share. Messages to another
machine are files too, which travel in pieces (`tux.parallel_load.algorithm.transfer`). The socket
thread writes the pieces that arrive, and sends the next piece when one has been taken, while the
main thread reads or computes. Another thread ends this process when a member is lost, or when the
launcher says that the job is over before its time.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from socket import gethostname
from typing import Self

import numpy as np

from tux.base.disk import machine_error, writing
from tux.base.errors import DataError, MustReadWhole, PeerLost, StartsAgain, TuxError
from tux.base.processes import is_stopped
from tux.cluster.checkpoint.pieces import append_piece
from tux.cluster.job.job import STARTING
from tux.cluster.job.worker_process import ending_error, leave_failure
from tux.cluster.rendezvous.meeting import Meeting
from tux.cluster.transport import heartbeat
from tux.cluster.transport.control import (
    Bye,
    Control,
    Failure,
    Go,
    HasLoaded,
    HasRead,
    Hello,
    ReadWhole,
    as_failure,
    beat_in,
    control_in,
    pack,
)
from tux.cluster.transport.heartbeat import Deadline
from tux.cluster.transport.socket_thread import SocketThread
from tux.messages.message import BadMessage, Kind, Message, checking
from tux.messages.piece import RoundPiece
from tux.parallel_load.algorithm import rounds
from tux.parallel_load.algorithm.columns import BadColumns
from tux.parallel_load.algorithm.mailbox import LONGEST_NAP, Mailbox
from tux.parallel_load.algorithm.transfer import PIECE, MessagePiece, PieceReceiver, PieceSender

LAST_WORD_SECONDS = 2.0
"""Seconds in which the last message of a loader must have left."""

MOST_BYTES = PIECE + (1 << 16)
"""Bytes of the largest frame that a loader takes: a piece, and the headers around it."""


def met_path(folder: Path, number: int) -> Path:
    """Return the file, in the folder of its job, that a loader makes when it has met the others."""
    return folder / f"met-{number}"


def explain_error(error: BaseException, number: int, folder: Path) -> TuxError:
    """Turn an error of a loader, whose files are in `folder`, into one for the user."""
    if not folder.exists():  # this is the cause of any error
        return PeerLost(
            f"the folder of loader {number} on {gethostname()} is gone: its command has ended, or "
            "somebody has removed it",
            do="load again",
        )
    if isinstance(error, TuxError):
        return error
    told = machine_error(error) or TuxError(
        f"{type(error).__name__}: {error}",
        do="this is a fault of tux itself; --debug shows the traceback",
    )
    told.where = f"loader {number}"
    told.__cause__ = error
    return told


def early_end_error(control: Control | None) -> TuxError:
    """Return the error with which a loader ends before its time, by the word of the launcher."""
    match control:
        case ReadWhole():
            return MustReadWhole()
        case Bye(why, again=True):
            return StartsAgain(f"machine 0 loads the data anew: {why}")
        case Bye():
            return ending_error(control)
    return ending_error(Bye())


class Member:
    """Loader `number` of a meeting, with its files in `folder`. It is a context: entering it meets
    the others; leaving it waits until all have loaded, or after an error tells the launcher.
    """

    def __init__(self, meeting: Meeting, folder: Path, number: int) -> None:
        self.meeting, self.folder, self.number, self.round = meeting, folder, number, 0
        self.near = meeting.near(number)
        far = [other for other in range(meeting.workers) if other not in self.near]
        self._sending = {other: PieceSender() for other in far}
        self._receiving = {other: PieceReceiver() for other in far}
        self._lock = threading.Lock()  # of the two before it
        self._met, self._over = threading.Event(), threading.Event()
        self._failure: Failure | None = None  # of the main thread, which the launcher knows
        self._paused = False
        addresses = [""] * meeting.workers + [meeting.launcher]
        addresses[number] = meeting.listen
        self.thread = SocketThread(
            number,
            addresses,
            meeting.number,
            self._handle,
            partners=[member for member in range(meeting.workers + 1) if member != number],
            largest=MOST_BYTES,
            secret=meeting.secret,
            excused=self._is_excused,
            role="loader",
        )

    def __enter__(self) -> Self:
        self.thread.start()
        threading.Thread(target=self._end_early, name="tux end", daemon=True).start()
        hello = Hello(self.meeting.traits, os.getpid(), gethostname(), self.thread.endpoint)
        self._say(hello)
        try:
            self._wait_for_all()
        except PeerLost:
            self.thread.close(0.0)
            raise
        path = met_path(self.folder, self.number)
        with writing(path):
            path.touch()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._say(HasLoaded())
        else:
            self._fail(as_failure(explain_error(error, self.number, self.folder)))
        self.thread.reactor.activity.begin_wait()
        self._over.wait()
        self.thread.close(0.0)  # nobody waits for anything more

    def has_read(self) -> None:
        """Tell the launcher that the share of the input is read."""
        self._say(HasRead())

    def send(self, number: int, to: int, path: Path) -> None:
        """Send the file of a round's message to a loader of another machine; it is removed when the
        loader has it. DataError if it cannot be read.
        """
        with self._lock:
            self._sending[to].add(number, path.stat().st_size)
            self._send_pieces(to)

    def file(self, number: int, sender: int, receiver: int) -> Path:
        """Return the path of the file of a round's message from one machine to another, on each of
        them.
        """
        return self.folder / f"far-{number}.{sender}.{receiver}"

    # ---- the meeting

    def _say(self, control: Control) -> None:
        self.thread.post(pack(control, self.number, self.meeting.workers))

    def _wait_for_all(self) -> None:
        """Wait until the launcher has heard of all loaders. The launcher decides how long to wait
        for them. Once it has heard hello, it sends heartbeats; PeerLost where none comes. A worker
        waits in the same way (`tux.cluster.job.worker_process`).
        """
        launcher = self.meeting.workers
        far = self.meeting.launcher.startswith("tcp://") and 0 not in self.near
        silence = heartbeat.SILENCE if far else STARTING
        left, waited = silence, 0.0
        self.thread.reactor.activity.begin_wait()
        while not self._met.wait(heartbeat.HEARTBEAT):
            waited += heartbeat.HEARTBEAT
            heard = launcher in self.thread.reactor.heartbeat.heard
            left -= 0 if heard or self._is_excused(launcher, waited) else heartbeat.HEARTBEAT
            if left <= 0:
                address = self.meeting.launcher.removeprefix("tcp://")
                raise PeerLost(
                    f"machine 0 at {address} has been silent for {silence:.0f} s",
                    where=f"loader {self.number}",
                    do="it died, hangs, or is cut off",
                )
        self.thread.reactor.activity.end_wait()

    # ---- the end

    def _fail(self, failure: Failure) -> None:
        """Tell the launcher why this loader has failed, and stay until it ends all: others still
        read, and the first fault of the input is raised.
        """
        with self._lock:
            self._failure = failure
        leave_failure(self.folder, self.number, failure)
        self._say(failure)

    def _end_early(self) -> None:
        """Wait for the message that ends the job; nothing else is in the inbox."""
        item = self.thread.inbox.get()
        if isinstance(item, Message):
            control = control_in(item)
            if isinstance(control, Bye) and not control.why and not control.again:
                with self._lock:
                    if self._failure is None:
                        self._over.set()
                        return
            error, told = early_end_error(control), None
        else:
            error = explain_error(item, self.number, self.folder)
            told = as_failure(error)
        with self._lock:
            failure = self._failure
        if failure is None or isinstance(error, StartsAgain):  # its fault is met again then
            failure = as_failure(error)
        if told:
            self._say(told)
        leave_failure(self.folder, self.number, failure)
        self.thread.close(LAST_WORD_SECONDS if told else 0.0)
        os._exit(failure.code)

    # ---- in the socket thread

    def _handle(self, message: Message) -> bool:
        """Take a message; return False for one that ends the job."""
        match message.kind:
            case Kind.BEAT:
                if message.source == self.meeting.workers:
                    self._hear_launcher(paused=beat_in(message).paused)
            case Kind.PIECE:
                self._take(message)
            case Kind.TAKEN:
                self._send_next(message)
            case Kind.CONTROL:
                return self._handle_control(message)
            case _:
                raise BadMessage(message, "it is not for a loader")
        return True

    def _is_excused(self, member: int, seconds: float) -> bool:
        """Return whether a member is silent because the user has stopped the launcher and the
        loaders of its machine.
        """
        launcher = self.meeting.workers
        if member == launcher and 0 in self.near and is_stopped(os.getppid()):
            return True
        return self._paused and seconds < self.meeting.deadline

    def _hear_launcher(self, *, paused: bool) -> None:
        if self._paused and not paused:
            self.thread.reactor.heartbeat.forgive(time.monotonic())
        self._paused = paused

    def _handle_control(self, message: Message) -> bool:
        if message.source != self.meeting.workers:
            raise BadMessage(message, "the sender is not the launcher")
        match control_in(message):
            case Go(addresses) if len(addresses) == self.meeting.workers:
                self.thread.meet(addresses)
                self._met.set()
                return True
            case Bye() | ReadWhole():
                return False
        raise BadMessage(message, "it is not for a loader")

    def _take(self, message: Message) -> None:
        """Write a piece of a message. The message appears under its name when it is whole.
        DiskError.
        """
        piece, source = RoundPiece.read(message, PIECE), message.source
        with self._lock, checking(message):
            if source not in self._receiving:
                raise ValueError("its messages are here already")
            receiving = self._receiving[source]
            whole = receiving.take(self.round, piece.number, piece.total, len(piece.content))
        path = self.file(piece.number, source, self.number)
        part = path.with_name(f"{path.name}.part")
        append_piece(part, piece.content)
        if whole:
            with writing(path):
                os.replace(part, path)
        self.thread.post(Message(Kind.TAKEN, self.number, source, clock=piece.number))

    def _send_next(self, message: Message) -> None:
        """Send the next piece, as the receiver has written one."""
        to, number = message.source, message.clock
        with self._lock:
            with checking(message):
                if to not in self._sending:
                    raise ValueError("nothing is sent there")
                whole = self._sending[to].acknowledge(number)
            if whole:
                self.file(number, self.number, to).unlink(missing_ok=True)
            self._send_pieces(to)

    def _send_pieces(self, to: int) -> None:
        """Send as many pieces as may be under way at a time."""
        while (piece := self._sending[to].next()) is not None:
            content = np.frombuffer(self._content(piece, to), np.uint8)
            said = RoundPiece(piece.number, piece.total, content)
            self.thread.post(said.message(self.number, to))

    def _content(self, piece: MessagePiece, to: int) -> bytes:
        path = self.file(piece.number, self.number, to)
        try:
            with open(path, "rb") as file:
                file.seek(piece.begin)
                content = file.read(piece.size)
        except OSError as error:
            raise DataError(
                f"{path} cannot be read: {error.strerror}", do="look at the disk"
            ) from None
        if len(content) != piece.size:
            raise DataError(f"{path} has become shorter", do="look at the disk")
        return content


class FarMailbox(Mailbox):
    """The mailbox of a loader which is a `member` of a job of several machines."""

    def __init__(self, member: Member) -> None:
        meeting = member.meeting
        super().__init__(member.folder, meeting.workers, member.number, meeting.deadline)
        self._member = member

    def path(self, number: int, sender: int) -> Path:
        """Return the file of a round, or of its message from another machine."""
        if sender in self._member.near:
            return super().path(number, sender)
        return self._member.file(number, sender, self.me)

    def _send(self, number: int, outbox: rounds.Messages) -> None:
        self._member.round = number
        near = self._member.near
        super()._send(number, [own if to in near else [] for to, own in enumerate(outbox)])
        for to in range(self.loaders):
            if to not in near:
                path = self._member.file(number, self.me, to)
                self._write(path, [own if to == at else [] for at, own in enumerate(outbox)])
                self._member.send(number, to, path)

    def _receive(self, number: int, sender: int) -> rounds.Message:
        message = super()._receive(number, sender)
        if sender not in self._member.near:  # it is mapped, and nobody else reads it
            self.path(number, sender).unlink(missing_ok=True)
        return message

    def _refusal_error(self, number: int, bad: BadColumns) -> TuxError:
        """Return the error for a bad message. It names the other machine, if the message is from
        another.
        """
        if bad.sender in self._member.near:
            return super()._refusal_error(number, bad)
        message = Message(Kind.PIECE, bad.sender, self.me, clock=number)
        error = BadMessage(message, f"in round {number}, {bad.why}")
        self._member.thread.reactor.name_host(error)
        return error

    def _damage_error(self, number: int, sender: int, error: Exception) -> TuxError:
        """Return the error for a damaged file. It names the other machine, if the message is from
        another.
        """
        if sender in self._member.near or isinstance(error, OSError):
            return super()._damage_error(number, sender, error)
        return self._refusal_error(number, BadColumns(sender, f"it is damaged: {error}"))

    def _wait(self, path: Path, number: int, sender: int) -> None:
        """Wait until a file is there. Only the time in which no other member works counts."""
        reactor = self._member.thread.reactor
        deadline, nap = Deadline(self.deadline, reactor.heartbeat), 0.0005
        reactor.activity.begin_wait()
        try:
            while not path.exists():
                time.sleep(nap)
                deadline.count_wait(nap)
                nap = min(2 * nap, LONGEST_NAP)
                if deadline.left <= 0:
                    raise self._late(number, sender)
        finally:
            reactor.activity.end_wait()
