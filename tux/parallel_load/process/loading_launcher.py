"""The launcher of machine 0 while the machines load their shares: it leads the loaders of all.

It knows the loaders that have said hello, that have read their shares, and that have done all. It
carries no data. It takes the error of a share only when all shares before it are read: so the user
gets the error that one process would have met first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

from tux.base.errors import DataError, DeadlinePassed, MustReadWhole, PeerLost, TuxError
from tux.base.signals import handle_pause, last_signal, note_ending
from tux.base.text import plural
from tux.cluster.job.leader import Leader
from tux.cluster.job.local_processes import LEAVING_SECONDS
from tux.cluster.recovery.restarts import is_loss
from tux.cluster.rendezvous import joining
from tux.cluster.rendezvous.attendance import MachineLeft
from tux.cluster.rendezvous.meeting import Meeting
from tux.cluster.rendezvous.member import ending_error
from tux.cluster.transport.control import (
    Bye,
    Control,
    Failure,
    HasLoaded,
    HasRead,
    Hello,
    Join,
    NotYet,
    ReadWhole,
    Welcome,
    as_error,
    as_failure,
    control_in,
)
from tux.messages.message import BadMessage, Message
from tux.parallel_load.process.loading_again import Losses
from tux.parallel_load.process.local_loaders import LocalLoaders

ALONE = 10.0
"""Seconds after which all machines read the whole input, when one has asked for the job, so has its
parts, and not all loaders have come: it may also be what is left of an older run.
"""

CLOSING = 10.0
"""Seconds in which the sockets must be closed: the next launcher uses the same address."""

JOINERS = 0.05
"""Seconds between two looks whether all machines that lost loaders have asked."""


class LoadingLauncher(Leader):
    """The leader of the loaders of a meeting, of which `here` are this machine's. `phase(text)`
    shows the work that goes on, and `warn(text)` a warning. `nonces`: of all meetings of this run
    so far.
    """

    job: Meeting
    here: LocalLoaders

    def __init__(
        self,
        meeting: Meeting,
        here: LocalLoaders,
        phase: Callable[[str], None],
        warn: Callable[[str], None],
        nonces: Collection[bytes] = (),
    ) -> None:
        super().__init__(meeting, here, phase, warn)
        self._nonces = nonces
        self._asked_for_job: float | None = None  # when a machine has done so first
        self._joiners: set[str] = set()  # addresses of machines that have lost their loaders
        self._over: Failure | None = None  # the answer to these at the end

    def lead(self, losses: Losses) -> bool:
        """Start the loaders of this machine, and wait until all of all machines have loaded. Return
        whether they have; False where some are lost and `losses` allow that all load anew.

        Raises the error of the first that fails, PeerLost for one that is lost, Refused for one
        that does not fit or sends a message that no loader sends, NotJoined, MustReadWhole, and
        DiskError if a folder of the job is gone.
        """
        try:
            with handle_pause(self.pause, self.resume), self.socket_thread.naming_hosts():
                self.socket_thread.start()
                self.here.start()
                self._meet()
                self._send_addresses()
                self._wait_for_all()
        except MustReadWhole:
            self._close(ReadWhole())
            raise
        except BaseException as error:
            again = last_signal() is None and losses.may_load_again(error)
            self._end(error, again=again)
            if again and self.socket_thread.wait_until_closed(CLOSING):
                return False
            raise
        self._close(Bye())
        return True

    # ---- in the socket thread

    def _answer_outsider(self, frames: list[Any]) -> bool:
        """Answer frames from outside this meeting if they are a question of another machine, and
        return whether they are. A machine that asks for the job has its parts, and loads no share;
        see `ALONE`.
        """
        sockets, meeting = self.socket_thread.reactor.sockets, self.job
        if isinstance(join := joining.decode_control(frames, meeting.meeting), Join):
            if answer := self._answer(join):
                joining.answer(sockets, join, answer, meeting.meeting)
            return True
        if isinstance(join := joining.decode_control(frames, meeting.other_meeting), Join):
            if join.leaves:  # before it has joined
                self._refusals.note_departure(join.lost, join.address)
                joining.answer(sockets, join, Bye(), meeting.other_meeting)
                return True
            joining.answer(sockets, join, NotYet(), meeting.other_meeting)
            self._asked_for_job = self._asked_for_job or time.monotonic()
            return True
        return False

    def _answer(self, join: Join) -> Control | None:
        """Return the answer to a machine that asks to load; None: no answer yet. One that has
        joined may have lost a loader, or leave.
        """
        if join.leaves:
            if join.nonce in self._nonces:
                self.socket_thread.inbox.put(MachineLeft(join.lost, do="see what its machine says"))
            return None
        if self._over:
            self._joiners.discard(join.address)
            return self._over
        if join.lost and join.nonce == self.job.nonce:
            self._joiners.add(join.address)
            self.socket_thread.inbox.put(PeerLost(join.lost, do="see what its machine says"))
            return None
        if self._attendance.is_complete:
            return Bye("all machines have come, and load already")
        return Welcome(self.job.nonce)

    # ---- in the main thread

    def _handle_early(self, message: Message, control: Control | None) -> None:
        if not isinstance(control, Hello):
            raise BadMessage(message, "not all loaders have said hello")

    def _wait_for_all(self) -> None:
        """Wait until all have loaded."""
        reading, loading = ({*range(self.job.workers)} for _ in range(2))
        failures: dict[int, Failure] = {}
        while loading:
            n = plural(len(reading), "loader")
            doing = f"{n} of {self.job.workers} to read" if reading else "loaders to exchange"
            self._phase(f"load: wait for {doing}")
            message = self._receive(self.job.deadline, doing)
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

    def _look_around(self) -> None:
        """Look at the processes of this machine. MustReadWhole where the others load no shares."""
        super()._look_around()
        asked = self._asked_for_job
        if asked and not self._attendance.is_complete and time.monotonic() - asked > ALONE:
            raise MustReadWhole

    def _end(self, error: BaseException, *, again: bool) -> None:
        """End the loaders before their time, for good or for all to load anew."""
        why = getattr(error, "what", "") or "its command was ended"
        bye = Bye(why, again, isinstance(error, KeyboardInterrupt))
        told: TuxError = ending_error(bye)
        if isinstance(error, PeerLost | DeadlinePassed) and is_loss(error):
            told = error
        if not again:
            self._over = as_failure(told)
        self._close(bye, 0.0 if again else LEAVING_SECONDS)

    def _close(self, control: Control, patience: float = LEAVING_SECONDS) -> None:
        """Tell all loaders that it is over, and end those of this machine. Machines that have lost
        theirs are told when they ask again, unless all load anew.
        """
        with note_ending():
            self._tell_all(control)
            limit = time.monotonic() + LEAVING_SECONDS
            while self._over and self._joiners and time.monotonic() < limit:
                time.sleep(JOINERS)
            # loaders of another machine may not have the message yet
            self.socket_thread.close(LEAVING_SECONDS)
            self.here.end(patience)
            self._refusals.warn(self.socket_thread.reactor, end=True)
