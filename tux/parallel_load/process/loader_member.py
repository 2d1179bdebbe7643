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
from tux.cluster.checkpoint.pieces import append_piece
from tux.cluster.job.failures import leave_failure
from tux.cluster.rendezvous.meeting import Meeting
from tux.cluster.rendezvous.member import Member, ending_error
from tux.cluster.transport.control import (
    Bye,
    Control,
    Failure,
    Go,
    HasLoaded,
    HasRead,
    ReadWhole,
    as_failure,
    control_in,
)
from tux.cluster.transport.heartbeat import Deadline
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


class LoadingMember(Member):
    """Loader `rank` of a meeting, with its files in `folder`. It is a context: entering it meets
    the others; leaving it waits until all have loaded, or after an error tells the launcher.
    """

    job: Meeting

    def __init__(self, meeting: Meeting, folder: Path, rank: int) -> None:
        self.folder, self.round, self.near = folder, 0, meeting.near(rank)
        far = [other for other in range(meeting.workers) if other not in self.near]
        self._sending = {other: PieceSender() for other in far}
        self._receiving = {other: PieceReceiver() for other in far}
        self._lock = threading.Lock()  # of the two before it
        self._met, self._over = threading.Event(), threading.Event()
        self._failure: Failure | None = None  # of the main thread, which the launcher knows
        super().__init__(meeting, rank, "loader", largest=MOST_BYTES)

    def __enter__(self) -> Self:
        self.socket_thread.start()
        threading.Thread(target=self._end_early, name="tux end", daemon=True).start()
        self.say_hello()
        activity = self.socket_thread.reactor.activity
        activity.begin_wait()
        try:
            self.wait_for_launcher(self._met.wait)
        except PeerLost:
            self.socket_thread.close(0.0)
            raise
        activity.end_wait()
        path = met_path(self.folder, self.rank)
        with writing(path):
            path.touch()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.say(HasLoaded())
        else:
            self._fail(as_failure(explain_error(error, self.rank, self.folder)))
        self.socket_thread.reactor.activity.begin_wait()
        self._over.wait()
        self.socket_thread.close(0.0)  # nobody waits for anything more

    def has_read(self) -> None:
        """Tell the launcher that the share of the input is read."""
        self.say(HasRead())

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

    # ---- the end

    def _fail(self, failure: Failure) -> None:
        """Tell the launcher why this loader has failed, and stay until it ends all: others still
        read, and the first fault of the input is raised.
        """
        with self._lock:
            self._failure = failure
        leave_failure(self.folder, self.rank, failure)
        self.say(failure)

    def _end_early(self) -> None:
        """Wait for the message that ends the job; nothing else is in the inbox."""
        item = self.socket_thread.inbox.get()
        if isinstance(item, Message):
            control = control_in(item)
            if isinstance(control, Bye) and not control.why and not control.again:
                with self._lock:
                    if self._failure is None:
                        self._over.set()
                        return
            error, told = early_end_error(control), None
        else:
            error = explain_error(item, self.rank, self.folder)
            told = as_failure(error)
        with self._lock:
            failure = self._failure
        if failure is None or isinstance(error, StartsAgain):  # its fault is met again then
            failure = as_failure(error)
        if told:
            self.say(told)
        leave_failure(self.folder, self.rank, failure)
        self.socket_thread.close(LAST_WORD_SECONDS if told else 0.0)
        os._exit(failure.code)

    # ---- in the socket thread

    def _handle_data(self, message: Message) -> bool:
        """Take a piece of a message, or send the next one."""
        match message.kind:
            case Kind.PIECE:
                self._take(message)
            case Kind.TAKEN:
                self._send_next(message)
            case _:
                raise BadMessage(message, "it is not for a loader")
        return True

    def _handle_control(self, message: Message, control: Control | None) -> bool:
        """Take the addresses of all; return False for a message that ends the job."""
        match control:
            case Go(addresses) if len(addresses) == self.job.workers:
                self.socket_thread.meet(addresses)
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
        path = self.file(piece.number, source, self.rank)
        part = path.with_name(f"{path.name}.part")
        append_piece(part, piece.content)
        if whole:
            with writing(path):
                os.replace(part, path)
        self.socket_thread.post(Message(Kind.TAKEN, self.rank, source, clock=piece.number))

    def _send_next(self, message: Message) -> None:
        """Send the next piece, as the receiver has written one."""
        to, number = message.source, message.clock
        with self._lock:
            with checking(message):
                if to not in self._sending:
                    raise ValueError("nothing is sent there")
                whole = self._sending[to].acknowledge(number)
            if whole:
                self.file(number, self.rank, to).unlink(missing_ok=True)
            self._send_pieces(to)

    def _send_pieces(self, to: int) -> None:
        """Send as many pieces as may be under way at a time."""
        while (piece := self._sending[to].next()) is not None:
            content = np.frombuffer(self._content(piece, to), np.uint8)
            said = RoundPiece(piece.number, piece.total, content)
            self.socket_thread.post(said.message(self.rank, to))

    def _content(self, piece: MessagePiece, to: int) -> bytes:
        path = self.file(piece.number, self.rank, to)
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

    def __init__(self, member: LoadingMember) -> None:
        meeting = member.job
        super().__init__(member.folder, meeting.workers, member.rank, meeting.deadline)
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
        self._member.socket_thread.reactor.name_host(error)
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
        reactor = self._member.socket_thread.reactor
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
