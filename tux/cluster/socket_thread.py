"""The socket thread of a member. It is the only thread that uses the sockets: it sends and receives
messages, runs the worker's server role, and exchanges heartbeats.

So masters fold and answer while the worker computes. The thread never touches rows that kernels
read: answers queue in `inbox` until the worker takes them.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from tux.base.errors import DeadlinePassed, PeerLost, Refused
from tux.cluster import heartbeat
from tux.cluster.control import Beat, pack
from tux.cluster.heartbeat import Heartbeat
from tux.cluster.sequence import Sequences
from tux.cluster.wire import Sockets
from tux.protocol.frames import checksum, decode, encode
from tux.protocol.message import BadMessage, Kind, Message

ANY = 2**32 - 1
"""The largest number of a member that a frame can have."""


class SocketThread:
    """The socket thread of one member of a job: workers 0 .. n - 1, and the launcher as number n.

    `handle(message)` runs in the thread for each message that arrives; it returns True to keep the
    message from the inbox. `partners` are the members that get a heartbeat from this one, and whose
    silence `receive` raises as PeerLost, unless `excused(member, seconds)`: a silence of so many
    seconds has a reason. `largest`: bytes of a buffer. `foreign(message)` gets, in the thread, the
    messages of this job that are not between its members as this one counts them.
    """

    def __init__(
        self,
        number: int,
        addresses: list[str],
        job: int,
        handle: Callable[[Message], bool],
        *,
        partners: Sequence[int],
        largest: int,
        secret: bytes | None = None,
        excused: Callable[[int, float], bool] = lambda member, seconds: False,
        foreign: Callable[[Message], None] = lambda message: None,
    ) -> None:
        self.number, self.addresses, self.job, self.handle = number, addresses, job, handle
        self.partners = list(partners)
        self._excused, self._foreign = excused, foreign
        self.inbox: SimpleQueue[Message | Exception] = SimpleQueue()
        self.outbox: deque[Message] = deque()
        self._own: deque[Message] = deque()  # to this member itself: remote messages go first
        self._held: list[Message] = []  # for members that cannot be reached yet
        # connections and messages from outside the job, and what the last one was
        self.refused, self.last_refused = 0, ""
        self.sequences = Sequences(len(addresses))
        self.heartbeat = Heartbeat(time.monotonic())
        self.sockets = Sockets(addresses[number], largest, secret, self._refuse)
        self._stop = threading.Event()
        checksum([b""])  # compiles, or loads, what the first message must not wait for
        self._thread = threading.Thread(target=self._loop, name="tux sockets", daemon=True)

    @property
    def endpoint(self) -> str:
        """The address at which this member listens, its port chosen."""
        return self.sockets.endpoint

    def start(self) -> None:
        """Begin to send and receive."""
        self._thread.start()

    def meet(self, addresses: Sequence[str]) -> None:
        """The addresses of all workers are known."""
        self.addresses[: len(addresses)] = addresses
        self.sockets.wake()

    def send(self, message: Message) -> None:
        """Queue a message for the thread. Its arrays must not be written after this call."""
        (self._own if message.dest == self.number else self.outbox).append(message)
        self.sockets.wake()

    def receive(self, seconds: float, waiting_for: str) -> Message:
        """The next message for the worker. DeadlinePassed, naming what was waited for, after
        `seconds`; the thread's errors as they are.
        """
        # counted by short waits, not by the clock, which also runs while this process is stopped
        left = seconds
        while True:
            try:
                message = self.inbox.get(timeout=min(left, heartbeat.HEARTBEAT))
                break
            except Empty:
                left -= heartbeat.HEARTBEAT
                if left <= 0:
                    raise DeadlinePassed(
                        f"waited {seconds:.0f} s for {waiting_for}", where=self._name(self.number)
                    ) from None
        if isinstance(message, Exception):
            raise message
        return message

    def arrived(self) -> Iterator[Message]:
        """The messages for the worker that are there; the thread's errors as they are."""
        while not self.inbox.empty():
            message = self.inbox.get()
            if isinstance(message, Exception):
                raise message
            yield message

    @contextmanager
    def naming_hosts(self) -> Iterator[None]:
        """A BadMessage of the body gets the sender's number and host as its `where`."""
        try:
            yield
        except BadMessage as error:
            error.where = self._place(error.source)
            raise

    def close(self, flush: float = 5.0) -> None:
        """Send what is left, for at most `flush` seconds, and end the thread."""
        self._stop.set()
        self.sockets.wake()
        if self._thread.ident is not None:
            self._thread.join(flush + 1)
        self.sockets.close(flush)

    # ---- in the thread

    def answer(self, address: str, message: Message) -> None:
        """Send one message to a process that is no member as this one counts them; `message` is
        numbered as it counts.
        """
        self.sockets.send_once(address, encode(message, self.job))

    def _loop(self) -> None:
        self.sockets.begin()
        try:
            while not self._stop.is_set() or self.outbox or self._own:
                try:
                    with self.naming_hosts():
                        self._round()
                # whatever it is, the worker must hear of it: nobody else will
                except Exception as error:
                    self.inbox.put(error)
                    # nothing more is handled, but what the worker still sends is sent
                    self.sockets.stop_receiving()
        finally:
            self.sockets.end()

    def _round(self) -> None:
        """Send queued messages, handle those that have arrived, and send the answers."""
        events = self.sockets.poll(int(heartbeat.HEARTBEAT * 500))
        if events.woken:
            self._send_all()
        if events.arrived:
            self._take()
        self._send_all()
        while self._own:
            self._dispatch(self._own.popleft())
            self._send_all()
        self._beat()

    def _send_all(self) -> None:
        """Send the messages to other members. Those that had to wait go first."""
        held, self._held = self._held, []
        for message in held:
            self._deliver(message)
        while self.outbox:
            self._deliver(self.outbox.popleft())

    def _deliver(self, message: Message) -> None:
        """Send a message by the socket of its member, or hold it until there is one."""
        dest = message.dest
        if not self.addresses[dest]:
            # The member has not said hello: control messages to it are dropped. Other messages are
            # answers to a member that knows all addresses before this one does.
            if message.kind is not Kind.CONTROL:
                self._held.append(message)
            return
        overtakes = any(held.dest == dest for held in self._held)
        if overtakes or not self.sockets.connect(dest, self.addresses[dest]):
            self._held.append(message)
            return
        self.sockets.send(dest, encode(self.sequences.numbered(message), self.job))

    def _take(self) -> None:
        """All messages that have arrived. What is not of this job is counted and dropped; the
        job goes on.
        """
        while (frames := self.sockets.receive()) is not None:
            try:
                message = self._checked(decode(frames, self.job, ANY))
            except Refused as error:
                self._refuse(error.what.replace(" was refused", ""))
                continue
            self.sequences.accept(message, self._name(self.number))
            self.heartbeat.heard[message.source] = time.monotonic()
            self._dispatch(message)

    def _checked(self, message: Message) -> Message:
        """The message, if it is for this member and from another one; else it is shown to
        `foreign`, and Refused.
        """
        if (
            message.dest == self.number != message.source  # own messages come by no socket
            and self.sequences.is_from_member(message)
        ):
            return message
        self._foreign(message)
        raise Refused(
            f"a message from worker {message.source} to {message.dest} was refused by {self.number}"
        )

    def _dispatch(self, message: Message) -> None:
        if not self.handle(message):
            self.inbox.put(message)

    def _refuse(self, what: str) -> None:
        self.refused, self.last_refused = self.refused + 1, what

    def _beat(self) -> None:
        """If a heartbeat is due, send it to the partners, and check that theirs have come."""
        now = time.monotonic()
        if not self.heartbeat.due(now):
            return
        beat = Beat(refused=self.refused, last_refused=self.last_refused)
        for partner in self.partners:
            if self.addresses[partner]:
                self._deliver(pack(beat, self.number, partner))
            seconds = self.heartbeat.silence(partner, now)
            if seconds > heartbeat.SILENCE and not self._excused(partner, seconds):
                self.heartbeat.heard[partner] = now
                self.inbox.put(
                    PeerLost(
                        f"{self._name(partner)} has been silent for {heartbeat.SILENCE:.0f} s",
                        do="it died, hangs, or is cut off",
                    )
                )

    def _place(self, number: int) -> str:
        """A member and its host, as far as they are known."""
        address = self.addresses[number] if number < len(self.addresses) else ""
        host = address.removeprefix("tcp://").rpartition(":")[0]
        if not address.startswith("tcp://"):
            host = "this machine" if address else "an unknown host"
        return f"{self._name(number)} on {host}"

    def _name(self, number: int) -> str:
        return "the launcher" if number == len(self.addresses) - 1 else f"worker {number}"
