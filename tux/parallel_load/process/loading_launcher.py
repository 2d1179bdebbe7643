"""The launcher of machine 0 while the machines load their shares: it leads the loaders of all.

It is member number `workers` of their meeting, and knows the loaders that have said hello, that
have read their shares, and that have done all. It carries no data. It takes the error of a share
only when all shares before it are read: so the user gets the error that one process would have met
first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

from tux.base.errors import DataError, DeadlinePassed, MustReadWhole, PeerLost, TuxError
from tux.base.signals import check_ending, handle_pause, last_signal, note_ending
from tux.base.text import plural
from tux.cluster.job.worker_process import ending_error
from tux.cluster.recovery.restarts import is_loss
from tux.cluster.rendezvous import joining
from tux.cluster.rendezvous.attendance import Attendance, MachineLeft
from tux.cluster.rendezvous.meeting import Meeting
from tux.cluster.transport.control import (
    Bye,
    Control,
    Failure,
    Go,
    HasLoaded,
    HasRead,
    Hello,
    Join,
    NotYet,
    ReadWhole,
    Welcome,
    as_error,
    as_failure,
    beat_in,
    control_in,
    pack,
)
from tux.cluster.transport.heartbeat import Deadline
from tux.cluster.transport.refusals import Refusals
from tux.cluster.transport.socket_thread import SocketThread
from tux.messages.message import BadMessage, Kind, Message
from tux.parallel_load.process.loading_again import Losses
from tux.parallel_load.process.local_loaders import LocalLoaders

LOOK = 0.2
"""Seconds between two looks at the processes of this machine."""

ALONE = 10.0
"""Seconds after which all machines read the whole input, when one has asked for the job, so has its
parts, and not all loaders have come: it may also be what is left of an older run.
"""

LOADER_END_SECONDS = 2.0
"""Seconds that loaders have to hear that it is over, and to leave; and machines that have lost
theirs, and ask to join again.
"""

CLOSING = 10.0
"""Seconds in which the sockets must be closed: the next launcher uses the same address."""

JOINERS = 0.05
"""Seconds between two looks whether all machines that lost loaders have asked."""

LONGER = "all wait for each other; if the network is slow, give it longer: --timeout SECONDS"


class LoadingLauncher:
    """The leader of the loaders of a meeting, of which `here` are this machine's. `phase(text)`
    shows the work that goes on, and `warn(text)` a warning. `nonces`: of all meetings of this run
    so far.
    """

    def __init__(
        self,
        meeting: Meeting,
        here: LocalLoaders,
        phase: Callable[[str], None],
        warn: Callable[[str], None],
        nonces: Collection[bytes] = (),
    ) -> None:
        self.meeting, self._here, self._phase, self._nonces = meeting, here, phase, nonces
        self._refusals = Refusals(warn, "loader")
        self._attendance = Attendance(
            meeting.workers, here.numbers, meeting.traits, meeting.launcher, "loader"
        )
        self._asked_for_job: float | None = None  # when a machine has done so first
        self._joiners: set[str] = set()  # addresses of machines that have lost their loaders
        self._over: Failure | None = None  # the answer to these at the end
        self.thread: SocketThread = SocketThread(
            meeting.workers,
            [""] * meeting.workers + [meeting.launcher],
            meeting.number,
            self._handle,
            partners=range(meeting.workers),
            secret=meeting.secret,
            foreign=lambda message: self._attendance.answer_foreign(self.thread, message),
            outside=self._answer_outsider,
            role="loader",
        )

    def lead(self, losses: Losses) -> bool:
        """Start the loaders of this machine, and wait until all of all machines have loaded. Return
        whether they have; False where some are lost and `losses` allow that all load anew.

        Raises the error of the first that fails, PeerLost for one that is lost, Refused for one
        that does not fit or sends a message that no loader sends, NotJoined, MustReadWhole, and
        DiskError if a folder of the job is gone.
        """
        try:
            with handle_pause(self._pause, self._resume), self.thread.naming_hosts():
                self.thread.start()
                self._here.start()
                self._meet()
                self._wait_for_all()
        except MustReadWhole:
            self._close(ReadWhole())
            raise
        except BaseException as error:
            again = last_signal() is None and losses.may_load_again(error)
            self._end(error, again=again)
            if again and self.thread.wait_until_closed(CLOSING):
                return False
            raise
        self._close(Bye())
        return True

    # ---- in the socket thread

    def _handle(self, message: Message) -> bool:
        """Take heartbeats; every other message is left to the main thread."""
        if message.kind is not Kind.BEAT:
            return False
        self._refusals.note(message.source, beat_in(message))
        return True

    def _answer_outsider(self, frames: list[Any]) -> bool:
        """Answer frames from outside this meeting if they are a question of another machine, and
        return whether they are. A machine that asks for the job has its parts, and loads no share;
        see `ALONE`.
        """
        sockets, meeting = self.thread.reactor.sockets, self.meeting
        if isinstance(join := joining.decode_control(frames, meeting.meeting), Join):
            if answer := self._answer(join):
                joining.answer(sockets, join, answer, meeting.meeting)
            return True
        if isinstance(join := joining.decode_control(frames, meeting.training), Join):
            if join.leaves:  # before it has joined
                self._refusals.note_departure(join.lost, join.address)
                joining.answer(sockets, join, Bye(), meeting.training)
                return True
            joining.answer(sockets, join, NotYet(), meeting.training)
            self._asked_for_job = self._asked_for_job or time.monotonic()
            return True
        return False

    def _answer(self, join: Join) -> Control | None:
        """Return the answer to a machine that asks to load; None: no answer yet. One that has
        joined may have lost a loader, or leave.
        """
        if join.leaves:
            if join.nonce in self._nonces:
                self.thread.inbox.put(MachineLeft(join.lost, do="see what its machine says"))
            return None
        if self._over:
            self._joiners.discard(join.address)
            return self._over
        if join.lost and join.nonce == self.meeting.nonce:
            self._joiners.add(join.address)
            self.thread.inbox.put(PeerLost(join.lost, do="see what its machine says"))
            return None
        if self._attendance.is_complete:
            return Bye("all machines have come, and load already")
        return Welcome(self.meeting.nonce)

    # ---- in the main thread

    def _meet(self) -> None:
        """Wait until all loaders have said hello, and send each the addresses of all."""
        attendance = self._attendance
        while not attendance.is_complete:
            message = attendance.receive(self._receive, self.meeting.deadline, self._phase)
            hello = control_in(message)
            if isinstance(hello, Failure):
                raise as_error(hello)
            if not isinstance(hello, Hello):
                raise BadMessage(message, "not all loaders have said hello")
            attendance.note_hello(message.source, hello, self.thread.addresses)
        self._tell_all(Go(self.thread.addresses[: self.meeting.workers]))

    def _wait_for_all(self) -> None:
        """Wait until all have loaded."""
        reading, loading = ({*range(self.meeting.workers)} for _ in range(2))
        failures: dict[int, Failure] = {}
        while loading:
            n = plural(len(reading), "loader")
            doing = f"{n} of {self.meeting.workers} to read" if reading else "loaders to exchange"
            self._phase(f"load: wait for {doing}")
            message = self._receive(self.meeting.deadline, doing)
            match control_in(message):
                case HasRead():
                    reading.discard(message.source)
                case HasLoaded():
                    loading.discard(message.source)
                case Failure() as failure:
                    if failure.code != DataError.exit_code:
                        raise as_error(failure)
                    failures[message.source] = failure
                    reading.discard(message.source)
                case _:
                    raise BadMessage(message, "loaders do not say this")
            if failures and not any(number < min(failures) for number in reading):
                raise as_error(failures[min(failures)])

    def _receive(self, seconds: float, waiting_for: str) -> Message:
        """Return the next message; raise the error of a loader of this machine as soon as its
        process ends. DeadlinePassed after `seconds` in which no loader works.
        """
        deadline = Deadline(seconds, self.thread.reactor.heartbeat)
        while True:
            self._refusals.warn(self.thread.reactor)
            check_ending()
            try:
                return self.thread.receive(LOOK, waiting_for)
            except DeadlinePassed:
                self._here.check()
                asked = self._asked_for_job
                if asked and not self._attendance.is_complete and time.monotonic() - asked > ALONE:
                    raise MustReadWhole from None
                deadline.count_wait(LOOK)
                if deadline.left <= 0:
                    raise DeadlinePassed(
                        f"waited {seconds:.0f} s for {waiting_for}, and no loader was at work",
                        where="the launcher",
                        do=LONGER,
                    ) from None

    def _tell_all(self, control: Control) -> None:
        for number in range(self.meeting.workers):
            self.thread.post(pack(control, self.meeting.workers, number))

    def _pause(self) -> None:
        self.thread.pause()
        self._here.pause()

    def _resume(self) -> None:
        self._here.resume()
        self.thread.resume()

    def _end(self, error: BaseException, *, again: bool) -> None:
        """End the loaders before their time, for good or for all to load anew."""
        why = getattr(error, "what", "") or "its command was ended"
        bye = Bye(why, again, isinstance(error, KeyboardInterrupt))
        told: TuxError = ending_error(bye)
        if isinstance(error, PeerLost | DeadlinePassed) and is_loss(error):
            told = error
        if not again:
            self._over = as_failure(told)
        self._close(bye, 0.0 if again else LOADER_END_SECONDS)

    def _close(self, control: Control, patience: float = LOADER_END_SECONDS) -> None:
        """Tell all loaders that it is over, and end those of this machine. Machines that have lost
        theirs are told when they ask again, unless all load anew.
        """
        with note_ending():
            self._tell_all(control)
            limit = time.monotonic() + LOADER_END_SECONDS
            while self._over and self._joiners and time.monotonic() < limit:
                time.sleep(JOINERS)
            # loaders of another machine may not have the message yet
            self.thread.close(LOADER_END_SECONDS)
            self._here.end(patience)
            self._refusals.warn(self.thread.reactor, end=True)
