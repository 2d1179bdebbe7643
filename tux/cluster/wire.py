"""Messages over ZeroMQ: the one file that imports zmq, and the one thread that owns a worker's
sockets.

A worker binds one ROUTER socket, to which its peers and the launcher connect, and connects one
DEALER to each of them; so messages from one peer arrive in the order in which they were sent. The
thread also runs the worker's server role, so masters fold and answer while the worker computes. It
never touches rows that kernels read: answers queue in `inbox` until the worker takes them.

Buffers are sent without a copy. That is sound because whoever sends a message gives its arrays
away: they were made for it and are not written again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

import zmq
import zmq.utils.z85
from zmq.utils.monitor import recv_monitor_message

from tux.base.errors import DeadlinePassed, PeerLost, Refused
from tux.cluster.control import Beat, pack
from tux.protocol.message import Message, checksum, decode, encode

HEARTBEAT = 1.0
"""Seconds between signs of life that the launcher and its workers exchange."""

SILENCE = 8.0
"""Seconds without a sign of life after which the other side counts as lost."""


HANDSHAKE = 10.0
"""Seconds that a connection may take to show who it is; one that says nothing does not keep its
file longer.
"""

FAILED_HANDSHAKES = (
    zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
    | zmq.Event.HANDSHAKE_FAILED_AUTH
)

ANY = 2**32 - 1
"""The largest number of a member that a frame can have."""


def allow_many_files() -> None:
    """Let this process open as many files as the system allows it at most: each connection of a
    stranger is one.
    """
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def key_pair(secret: bytes, role: str) -> tuple[bytes, bytes]:
    """The CURVE key pair (public, secret; Z85) by which all members of a job "listen" or
    "connect"; all know its secret.
    """
    own = zmq.utils.z85.encode(
        hashlib.blake2b(secret, digest_size=32, person=f"tux {role}".encode()).digest()
    )
    return zmq.curve_public(own), own


class Post:
    """The socket thread of one member of a job: workers 0 .. n - 1, and the launcher as number n.

    `handle(message)` runs in the thread for each message that arrives; it returns True to keep the
    message from the inbox. `partners` are the members that get a heartbeat from this one, and whose
    silence is told as PeerLost through `receive`, unless `excused(member, seconds)` says that a
    silence of so many seconds has a reason. `largest`: bytes of a buffer. `foreign(message)` is
    shown, in the thread, what is of this job but not between its members as this one counts them.
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
        self.number, self.addresses, self.job, self.handle, self.partners = (
            number,
            addresses,
            job,
            handle,
            list(partners),
        )
        self._excused, self._foreign = excused, foreign
        self.inbox: SimpleQueue[Message | Exception] = SimpleQueue()
        self.outbox: deque[Message] = deque()
        # to this member itself: what has a way to go leaves first
        self._own: deque[Message] = deque()
        self._held: list[Message] = []  # for members of which no address is known yet
        self.heard: dict[int, float] = {}  # when each member was last heard, of those that were
        # connections and messages from outside the job, and what the last one was
        self.refused, self.last_refused = 0, ""
        self._sequence = [0] * len(addresses)
        self._expected = [0] * len(addresses)
        self._context = zmq.Context()
        self._largest = largest
        self._keys = (
            {role: key_pair(secret, role) for role in ("listen", "connect")} if secret else {}
        )
        self._gate = self._open_gate() if secret else None
        self._stop = threading.Event()
        self._last_beat = self._last_round = time.monotonic() - HEARTBEAT
        self._wake_address = f"inproc://wake-{number}-{os.getpid()}"
        self._wake = self._context.socket(zmq.PAIR)
        self._wake.bind(self._wake_address)
        self._wake_lock = threading.Lock()
        allow_many_files()
        self._router = self._bind()
        remote = addresses[number].startswith("tcp://")
        self._monitor: Any = self._router.get_monitor_socket(FAILED_HANDSHAKES) if remote else None
        checksum([b""])  # compiles, or loads, what the first message must not wait for
        self._peers: dict[int, Any] = {}
        self._thread = threading.Thread(target=self._loop, name="tux post", daemon=True)

    def _bind(self) -> Any:
        router = self._context.socket(zmq.ROUTER)
        router.setsockopt(zmq.LINGER, 0)
        router.setsockopt(zmq.MAXMSGSIZE, self._largest)
        router.setsockopt(zmq.HANDSHAKE_IVL, int(HANDSHAKE * 1000))
        router.setsockopt(zmq.RCVHWM, 0)
        if self._keys:
            router.curve_server = True
            router.curve_secretkey = self._keys["listen"][1]
            router.zap_domain = b"tux"
        try:
            router.bind(self.addresses[self.number])
        except zmq.ZMQError as error:
            self._context.destroy(linger=0)
            raise Refused(
                f"cannot listen on {self.addresses[self.number]}: {error.strerror}",
                do="choose another address or port",
            ) from None
        return router

    @property
    def endpoint(self) -> str:
        """The address at which this member listens, its port chosen."""
        return self._router.getsockopt(zmq.LAST_ENDPOINT).decode().rstrip("\x00")

    def _open_gate(self) -> Any:
        """The socket at which ZeroMQ asks about each connection (ZAP, RFC 27): CURVE alone would
        accept any client that knows our key.
        """
        gate = self._context.socket(zmq.REP)
        gate.setsockopt(zmq.LINGER, 0)
        gate.bind("inproc://zeromq.zap.01")
        return gate

    def _admit(self) -> None:
        """Let in who holds the key of a member of this job."""
        version, request, _, address, _, mechanism, *credentials = self._gate.recv_multipart()  # type: ignore[union-attr]
        known = (
            mechanism == b"CURVE"
            and credentials[:1]
            and zmq.utils.z85.encode(credentials[0]) == self._keys["connect"][0]
        )
        if not known:
            self._refuse(
                f"a connection from {address.decode(errors='replace')} without this job's key"
            )
        answer = [b"200", b"OK"] if known else [b"400", b"not of this job"]
        self._gate.send_multipart([version, request, *answer, b"", b""])  # type: ignore[union-attr]

    def _refuse(self, what: str) -> None:
        self.refused, self.last_refused = self.refused + 1, what

    def _count_handshakes(self) -> None:
        """Count the connections that ended before they had shown who they are. An unread monitor
        would block all connections.
        """
        while self._monitor.poll(0):
            recv_monitor_message(self._monitor)
            self._refuse("a connection without this job's key, or that is not tux's")

    def start(self) -> None:
        """Begin to send and receive."""
        self._thread.start()

    def meet(self, addresses: Sequence[str]) -> None:
        """The addresses of all workers are known."""
        self.addresses[: len(addresses)] = addresses
        self._ring()

    def send(self, message: Message) -> None:
        """Give a message to the thread; its arrays must not be written any more."""
        (self._own if message.dest == self.number else self.outbox).append(message)
        self._ring()

    def _ring(self) -> None:
        """Wake the thread; if that many rings are waiting already, it will wake anyhow."""
        with self._wake_lock, suppress(zmq.Again):
            self._wake.send(b"", zmq.DONTWAIT)

    def receive(self, seconds: float, waiting_for: str) -> Message:
        """The next message for the worker. DeadlinePassed, naming what was waited for, after
        `seconds`; the thread's errors as they are.
        """
        # counted by short waits, not by the clock, which also runs while this process is stopped
        left = seconds
        while True:
            try:
                got = self.inbox.get(timeout=min(left, HEARTBEAT))
                break
            except Empty:
                left -= HEARTBEAT
                if left <= 0:
                    raise DeadlinePassed(
                        f"waited {seconds:.0f} s for {waiting_for}", where=self._here
                    ) from None
        if isinstance(got, Exception):
            raise got
        return got

    def arrived(self) -> Iterator[Message]:
        """The messages for the worker that are there; the thread's errors as they are."""
        while not self.inbox.empty():
            got = self.inbox.get()
            if isinstance(got, Exception):
                raise got
            yield got

    def close(self, flush: float = 5.0) -> None:
        """Send what is left, for at most `flush` seconds, and end the thread."""
        self._stop.set()
        self._ring()
        if self._thread.ident is not None:
            self._thread.join(flush + 1)
        self._wake.close(0)
        for peer in self._peers.values():
            peer.close(int(flush * 1000))
        if self._monitor is not None:
            self._router.disable_monitor()
            self._monitor.close(0)
        self._router.close(0)
        if self._gate is not None:
            self._gate.close(0)
        self._context.term()
        if self.addresses[self.number].startswith("ipc://"):  # ZeroMQ leaves the file
            with suppress(OSError):
                os.unlink(self.addresses[self.number].removeprefix("ipc://"))

    def _loop(self) -> None:
        bell = self._context.socket(zmq.PAIR)
        bell.connect(self._wake_address)
        poller = zmq.Poller()
        poller.register(bell, zmq.POLLIN)
        poller.register(self._router, zmq.POLLIN)
        if self._gate is not None:
            poller.register(self._gate, zmq.POLLIN)
        if self._monitor is not None:
            poller.register(self._monitor, zmq.POLLIN)
        try:
            while not self._stop.is_set() or self.outbox or self._own:
                try:
                    self._round(bell, dict(poller.poll(int(HEARTBEAT * 500))))
                # whatever it is, the worker must hear of it: nobody else will
                except Exception as error:
                    self.inbox.put(error)
                    # no more is handled, but what the worker says of it is still sent
                    if self._router in poller:
                        poller.unregister(self._router)
        finally:
            bell.close(0)

    def _round(self, bell: Any, ready: dict[Any, int]) -> None:
        """Send what is to be sent, take what has come, and send what that asks for."""
        if bell in ready:
            self._drain(bell)
            self._send_all()
        if self._gate is not None and self._gate in ready:
            self._admit()
        if self._monitor is not None and self._monitor in ready:
            self._count_handshakes()
        if self._router in ready:
            self._take()
        self._send_all()
        while self._own:
            self._arrived(self._own.popleft())
            self._send_all()
        self._beat()

    def _send_all(self) -> None:
        """What is for others: first what had to wait for an address."""
        held, self._held = self._held, []
        for message in held:
            self._deliver(message)
        while self.outbox:
            self._deliver(self.outbox.popleft())

    def _beat(self) -> None:
        """Once a second: tell the partners that this member lives, and see that they do."""
        now = time.monotonic()
        unheard = now - self._last_round - HEARTBEAT
        self._last_round = now
        # this process was stopped, or a handler was busy: the others are not to blame for that time
        if unheard > HEARTBEAT:
            self.heard = {member: min(now, last + unheard) for member, last in self.heard.items()}
        if now - self._last_beat < HEARTBEAT:
            return
        self._last_beat = now
        for partner in self.partners:
            if self.addresses[partner]:
                self._deliver(
                    pack(
                        Beat(refused=self.refused, last_refused=self.last_refused),
                        self.number,
                        partner,
                    )
                )
            silence = now - self.heard.get(partner, now)
            if silence > SILENCE and not self._excused(partner, silence):
                self.heard[partner] = now
                self.inbox.put(
                    PeerLost(
                        f"{self._name(partner)} has been silent for {SILENCE:.0f} s",
                        do="it died, hangs, or is cut off",
                    )
                )

    def _name(self, number: int) -> str:
        return "the launcher" if number == len(self.addresses) - 1 else f"worker {number}"

    @property
    def _here(self) -> str:
        return self._name(self.number)

    @staticmethod
    def _drain(bell: Any) -> None:
        try:
            while True:
                bell.recv(zmq.DONTWAIT)
        except zmq.Again:
            pass

    def _deliver(self, message: Message) -> None:
        """To the peer's socket, or kept until that has an address."""
        if not self.addresses[message.dest]:
            if message.kind != "control":  # an answer to one that has met all before we did
                self._held.append(message)
            return  # only the end of a job is told to those that were never heard of
        if any(held.dest == message.dest for held in self._held) or not self._connected(
            message.dest
        ):
            self._held.append(message)  # it must not overtake
            return
        numbered = Message(
            message.kind,
            message.source,
            message.dest,
            message.clock,
            message.sync_id,
            message.arrays,
            self._sequence[message.dest],
        )
        self._sequence[message.dest] += 1
        self._peers[message.dest].send_multipart(encode(numbered, self.job), copy=False)

    def _connected(self, number: int) -> bool:
        """Whether there is a socket for a member, made now if need be; False while the process may
        open no more files.

        Idle connections of strangers take files too, until their handshake is over; then it works.
        """
        if number not in self._peers:
            try:
                self._peers[number] = self._dealer(self.addresses[number])
            except zmq.ZMQError as error:
                if error.errno != errno.EMFILE:
                    raise
        return number in self._peers

    def _dealer(self, address: str) -> Any:
        """A new socket, connected to a member."""
        dealer = self._context.socket(zmq.DEALER)
        dealer.setsockopt(zmq.LINGER, 5000)
        dealer.setsockopt(zmq.SNDHWM, 0)
        if self._keys:
            dealer.curve_serverkey = self._keys["listen"][0]
            dealer.curve_publickey, dealer.curve_secretkey = self._keys["connect"]
        dealer.connect(address)
        return dealer

    def answer(self, address: str, message: Message) -> None:
        """Send one message, in the thread, to who is no member as this one counts them;
        `message` is numbered as it counts.
        """
        dealer = self._dealer(address)
        dealer.send_multipart(encode(message, self.job))
        dealer.close(1000)

    def _take(self) -> None:
        """All messages that have arrived. What is not of this job is counted and dropped; the
        job goes on.
        """
        while True:
            try:
                _, *frames = self._router.recv_multipart(zmq.DONTWAIT, copy=False)
            except zmq.Again:
                return
            try:
                message = decode([frame.buffer for frame in frames], self.job, ANY)
                if not self._is_member(message):
                    self._foreign(message)
                    raise Refused(
                        f"a message from worker {message.source} to {message.dest} was refused by "
                        f"{self.number}"
                    )
            except Refused as error:
                self._refuse(error.what.replace(" was refused", ""))
                continue
            if message.sequence != self._expected[message.source]:
                lost = (
                    f"message {self._expected[message.source]} of worker {message.source} is "
                    f"missing: {message.sequence} came"
                )
                raise PeerLost(lost, where=self._here)
            self._expected[message.source] += 1
            self.heard[message.source] = time.monotonic()
            self._arrived(message)

    def _is_member(self, message: Message) -> bool:
        """Whether a message is for this member, and from one; not from a second process that
        takes itself for one, and counts anew.
        """
        known = message.dest == self.number and message.source < len(self.addresses)
        return known and message.sequence >= self._expected[message.source]

    def _arrived(self, message: Message) -> None:
        if not self.handle(message):
            self.inbox.put(message)
