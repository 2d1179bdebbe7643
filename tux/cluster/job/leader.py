"""The launcher of machine 0 as the leader of the members of a job, workers or loaders of all
machines. It is member number `workers`, connected to all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tux.base.errors import DeadlinePassed
from tux.base.signals import check_ending
from tux.cluster.job.local_processes import LocalProcesses
from tux.cluster.rendezvous.attendance import Attendance
from tux.cluster.rendezvous.meeting import Rendezvous
from tux.cluster.transport.control import (
    Control,
    Failure,
    Go,
    Hello,
    as_error,
    beat_in,
    control_in,
    pack,
)
from tux.cluster.transport.heartbeat import Deadline
from tux.cluster.transport.refusals import Refusals
from tux.cluster.transport.socket_thread import SocketThread
from tux.messages.message import Kind, Message

LOOK = 0.2
"""Seconds between two looks at the processes of this machine, while a message is waited for."""

LONGER = "all wait for a message; if the network is slow, give it longer: --timeout SECONDS"


class Leader:
    """The leader of the members of a `job`, of which `here` are this machine's. `phase(text)` shows
    the work that goes on, and `warn(text)` a warning.
    """

    job: Rendezvous
    here: LocalProcesses

    def __init__(
        self,
        job: Rendezvous,
        here: LocalProcesses,
        phase: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        self.job, self.here, self._phase = job, here, phase
        self._refusals = Refusals(warn, here.role)
        self._attendance = Attendance(job.workers, here.ranks, job.traits, job.launcher, here.role)
        self.socket_thread: SocketThread = SocketThread(
            job.workers,
            [""] * job.workers + [job.launcher],
            job.number,
            self._handle,
            partners=range(job.workers),
            secret=job.secret,
            foreign=lambda message: self._attendance.answer_foreign(self.socket_thread, message),
            outside=self._answer_outsider,
            role=here.role,
        )

    # ---- in the socket thread

    def _handle(self, message: Message) -> bool:
        """Take heartbeats; every other message is left to the main thread."""
        if message.kind is not Kind.BEAT:
            return False
        self._refusals.note(message.source, beat_in(message))
        return True

    def _answer_outsider(self, frames: list[Any]) -> bool:
        """Answer frames from outside this job if they are a question of another machine, and return
        whether they are.
        """
        raise NotImplementedError

    # ---- in the main thread

    def _meet(self) -> None:
        """Wait until all members, on any machine, have said hello.

        Members of this machine are watched, so the wait for them may be long. The wait for members
        of other machines begins when all of this one are there, begins anew with each that comes,
        and ends when none has worked for the job's deadline. PeerLost, Refused or NotJoined then.
        """
        attendance = self._attendance
        while not attendance.is_complete:
            message = attendance.receive(self._receive, self.job.deadline, self._phase)
            control = control_in(message)
            if isinstance(control, Failure):
                raise as_error(control)
            if isinstance(control, Hello):
                attendance.note_hello(message.source, control, self.socket_thread.addresses)
            self._handle_early(message, control)

    def _handle_early(self, message: Message, control: Control | None) -> None:
        """Handle a message that has come before all members have said hello."""

    def _send_addresses(self) -> None:
        """Tell all members where the others are."""
        self._tell_all(Go(self.socket_thread.addresses[: self.job.workers]))

    def _say(self, control: Control, rank: int) -> None:
        self.socket_thread.send(pack(control, self.job.workers, rank))

    def _tell_all(self, control: Control) -> None:
        for rank in range(self.job.workers):
            self._say(control, rank)

    def _receive(self, seconds: float, waiting_for: str) -> Message:
        """Receive the next message; raise the error of a process of this machine as soon as it
        ends.

        DeadlinePassed after `seconds` in which no member has worked; the time that this process was
        stopped does not count.
        """
        deadline = Deadline(seconds, self.socket_thread.reactor.heartbeat)
        while True:
            self._refusals.warn(self.socket_thread.reactor)
            check_ending()
            try:
                return self.socket_thread.receive(LOOK, waiting_for)
            except DeadlinePassed:
                self._look_around()
                deadline.count_wait(LOOK)
                if deadline.left <= 0:
                    raise DeadlinePassed(
                        f"waited {seconds:.0f} s for {waiting_for}, and no {self.here.role} was at "
                        "work",
                        where="the launcher",
                        do=LONGER,
                    ) from None

    def _look_around(self) -> None:
        """Look, where no message has come, at the processes of this machine."""
        self.here.check()

    # ---- pause

    def pause(self) -> None:
        """Stop the processes of this machine; those of others are warned that they will hear
        nothing for a while.
        """
        self.socket_thread.pause()
        self.here.pause()

    def resume(self) -> None:
        """Let the processes go on."""
        self.here.resume()
        self.socket_thread.resume()
