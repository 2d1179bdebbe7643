"""The reactor of a member: it sends and receives messages, hands them to the worker's server role,
and takes heartbeats. It has no thread of its own: whoever holds the sockets
(`tux.cluster.transport.hand_over`) runs its rounds.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from tux.base.errors import PeerLost, Refused
from tux.cluster.rendezvous.joining import ANY
from tux.cluster.transport import heartbeat
from tux.cluster.transport.control import beat_in
from tux.cluster.transport.heartbeat import Activity, Heartbeat
from tux.cluster.transport.sequence import Sequences
from tux.cluster.transport.wire import Sockets
from tux.messages.frames import MAX_FRAME_BYTES, checksum, decode, encode
from tux.messages.message import BadMessage, Kind, Message


class Reactor:
    """The reactor of one member of a job: workers 0 .. n - 1, and the launcher as number n.

    `handle(message)` is called for each message that arrives; it returns True to keep the message
    from `deliver`, which otherwise gets it. `deliver` also gets the errors of rounds. `partners`
    are the members whose silence is delivered as PeerLost, unless `excused(member, seconds)`: a
    silence of so many seconds has a reason. They get a probe once an interval, by which they find
    that a message before it was lost. `largest`: bytes of a frame. `foreign(message)` gets the
    messages of this job that are not between its members as this one counts them; `outside(frames)`
    gets frames that are not of this job, and returns True for those that are not counted as
    refused. `role`: the word for a member in messages.
    """

    def __init__(
        self,
        number: int,
        addresses: list[str],
        job: int,
        handle: Callable[[Message], bool],
        deliver: Callable[[Message | Exception], None],
        *,
        partners: Sequence[int],
        largest: int = MAX_FRAME_BYTES,
        secret: bytes | None = None,
        excused: Callable[[int, float], bool] = lambda member, seconds: False,
        foreign: Callable[[Message], None] = lambda message: None,
        outside: Callable[[list[Any]], bool] = lambda frames: False,
        role: str = "worker",
    ) -> None:
        self.number, self.addresses, self.job, self.handle = number, addresses, job, handle
        self.partners, self._deliver = list(partners), deliver
        self._excused, self._foreign, self._outside, self._role = excused, foreign, outside, role
        self.outbox: deque[Message] = deque()
        self._own: deque[Message] = deque()  # to this member itself: remote messages go first
        self._held: list[Message] = []  # for members that cannot be reached yet
        # connections and messages from outside the job, and the last one in words
        self.refused, self.last_refused = 0, ""
        self.sequences = Sequences(len(addresses))
        self.heartbeat, self.activity = Heartbeat(time.monotonic()), Activity()
        self.sockets = Sockets(addresses[number], largest, secret, self._refuse)
        self._dealers = self.sockets.dealers
        checksum([b""])  # compiles, or loads, the kernel that the first message needs

    # ---- in any thread

    def queue(self, message: Message) -> None:
        """Queue a message for the next round. Its arrays must not be written after this call."""
        (self._own if message.dest == self.number else self.outbox).append(message)

    @property
    def has_queued(self) -> bool:
        """True if messages wait for a round."""
        return bool(self.outbox or self._own)

    def name_host(self, error: BadMessage) -> None:
        """Add the name of the message's sender, and its host, to the error."""
        error.name(f"{self._role} {error.source}", self._place(error.source))

    # ---- with the sockets

    def round(self, milliseconds: int) -> None:
        """Send all queued messages, wait at most so long until messages arrive, handle them, and
        send the answers.
        """
        try:
            self._send_all()
            self._handle_own()
            if self.sockets.poll(milliseconds):
                self._take()
            self._send_all()
            self._handle_own()
            self._probe()
        # whatever it is, the worker must hear of it: nobody else will
        except Exception as error:
            self._fail(error)

    def flush(self) -> None:
        """Send all queued messages to other members."""
        try:
            self._send_all()
        except Exception as error:
            self._fail(error)

    def settle(self) -> None:
        """Send all queued messages, and handle this member's messages to itself."""
        try:
            self._send_all()
            self._handle_own()
        except Exception as error:
            self._fail(error)

    def answer(self, address: str, message: Message) -> None:
        """Send one message to a process that is no member as this one counts them; `message` is
        numbered as it counts.
        """
        self.sockets.send_once(address, encode(message, self.job))

    def _fail(self, error: Exception) -> None:
        """Deliver the error, and handle nothing more. Messages of the worker are still sent."""
        if isinstance(error, BadMessage):
            self.name_host(error)
        self._deliver(error)
        self.sockets.stop_receiving()

    def _handle_own(self) -> None:
        while self._own:
            self._dispatch(self._own.popleft())

    def _send_all(self) -> None:
        """Send the messages to other members. Those that had to wait go first."""
        if self._held:
            held, self._held = self._held, []
            for message in held:
                self._send(message)
        while self.outbox:
            self._send(self.outbox.popleft())

    def _send(self, message: Message) -> None:
        """Send a message by the socket of its member, or hold it until there is one."""
        dest = message.dest
        if not self.addresses[dest]:
            # The member has not said hello: control messages to it are dropped. Other messages are
            # answers to a member that knows all addresses before this one does.
            if message.kind is not Kind.CONTROL and message.kind is not Kind.PROBE:
                self._held.append(message)
            return
        overtakes = any(held.dest == dest for held in self._held)
        if overtakes or not self._dealers.connect(dest, self.addresses[dest]):
            self._held.append(message)
            return
        self._dealers.send(dest, encode(self.sequences.number_message(message), self.job))

    def _take(self) -> None:
        """Handle all messages that have arrived. Frames that are not of this job are counted and
        dropped; the job goes on.
        """
        while (frames := self.sockets.receive()) is not None:
            try:
                message = self._check_members(decode(frames, self.job, ANY))
            except Refused as error:
                if not self._outside(frames):
                    self._refuse(error.what.replace(" was refused", ""))
                continue
            self.heartbeat.heard[message.source] = time.monotonic()
            if message.kind is Kind.BEAT:
                self.heartbeat.work += beat_in(message).works
                self.handle(message)
                continue
            self.sequences.accept(message, self.name(self.number))
            if message.kind is not Kind.PROBE:
                self._dispatch(message)

    def _check_members(self, message: Message) -> Message:
        """Return the message, if it is for this member and from another one; else it is shown to
        `foreign`, and Refused.
        """
        if (
            message.dest == self.number != message.source  # own messages come by no socket
            and self._is_from_member(message)
        ):
            return message
        self._foreign(message)
        raise Refused(
            f"a message from {self._role} {message.source} to {message.dest} was refused by "
            f"{self.number}"
        )

    def _is_from_member(self, message: Message) -> bool:
        """Return whether the source is a member, and the number not that of a second process."""
        if message.kind is not Kind.BEAT:
            return self.sequences.is_from_member(message)
        source = message.source
        return source < len(self.addresses) and self.heartbeat.is_new(source, message.sequence)

    def _dispatch(self, message: Message) -> None:
        """Handle a message. Messages to others that this causes leave at once: they are waited
        for.
        """
        self.activity.handled += 1
        if not self.handle(message):
            self._deliver(message)
        self.activity.handled += 1
        if self.outbox:
            self._send_all()

    def _refuse(self, what: str) -> None:
        self.refused, self.last_refused = self.refused + 1, what

    def _probe(self) -> None:
        """Send a probe to the partners, if one is due, and check that they have been heard."""
        now = time.monotonic()
        if not self.heartbeat.is_due(now):
            return
        for partner in self.partners:
            if self.addresses[partner]:
                self._send(Message(Kind.PROBE, self.number, partner))
            seconds = self.heartbeat.silence(partner, now)
            if seconds > heartbeat.SILENCE and not self._excused(partner, seconds):
                self.heartbeat.heard[partner] = now
                self._deliver(
                    PeerLost(
                        f"{self.name(partner)} has been silent for {heartbeat.SILENCE:.0f} s",
                        do="it died, hangs, or is cut off",
                    )
                )

    def _place(self, number: int) -> str:
        """Name a member and its host, as far as they are known."""
        address = self.addresses[number] if number < len(self.addresses) else ""
        host = address.removeprefix("tcp://").rpartition(":")[0]
        if not address.startswith("tcp://"):
            host = "this machine" if address else "an unknown host"
        return f"{self.name(number)} on {host}"

    def name(self, number: int) -> str:
        """Return the name of a member in messages."""
        return "the launcher" if number == len(self.addresses) - 1 else f"{self._role} {number}"
