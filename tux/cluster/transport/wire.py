"""The sockets of one member of a job, over ZeroMQ, and the admission of connections. The one file
that imports zmq.

A member binds one ROUTER socket, to which the others connect, and connects one DEALER to each of
them; so messages from one member arrive in the order in which they were sent. With a job's secret,
connections are encrypted (CURVE), and only those that hold the job's key are admitted (ZAP).

Buffers are sent without a copy. That is sound because the sender of a message gives its arrays
away: they were made for it and are not written again.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import zmq
import zmq.utils.z85
from zmq.utils.monitor import recv_monitor_message

from tux.base.errors import Refused
from tux.base.limits import allow_many_files, check_threads

HANDSHAKE = 10.0
"""Seconds that a connection may take to show who it is; one that sends nothing does not keep its
file longer.
"""

SEAL = 33
"""Bytes that encryption (CURVE) adds to a frame: a number, flags and a checksum."""

FAILED_HANDSHAKES = (
    zmq.Event.HANDSHAKE_FAILED_NO_DETAIL
    | zmq.Event.HANDSHAKE_FAILED_PROTOCOL
    | zmq.Event.HANDSHAKE_FAILED_AUTH
)


THREADS = 3
"""Threads: the two of ZeroMQ, which ends the process if it cannot start them, and one more."""

# as plain numbers: to combine members of an enumeration takes longer than a call of ZeroMQ
_AT_ONCE, _EVENTS, _READABLE = int(zmq.DONTWAIT), int(zmq.EVENTS), int(zmq.POLLIN)


def key_pair(secret: bytes, role: str) -> tuple[bytes, bytes]:
    """Make the CURVE key pair (public, secret; Z85) by which all members of a job "listen" or
    "connect"; all know its secret.
    """
    own = zmq.utils.z85.encode(
        hashlib.blake2b(secret, digest_size=32, person=f"tux {role}".encode()).digest()
    )
    return zmq.curve_public(own), own


class Sockets:
    """The sockets of the member that listens at `address`. One thread at a time uses them; a lock
    must be between two of them. `wake` may be called by any thread.

    `largest`: bytes of a frame. `refuse(text)` is called for each connection from outside the job.
    """

    def __init__(
        self, address: str, largest: int, secret: bytes | None, refuse: Callable[[str], None]
    ) -> None:
        self._address, self._refuse = address, refuse
        check_threads(THREADS)
        self._context = zmq.Context()
        self._keys = (
            {role: key_pair(secret, role) for role in ("listen", "connect")} if secret else {}
        )
        self._zap: Any = self._open_zap() if secret else None
        self._wake, self._woken = self._context.socket(zmq.PAIR), self._context.socket(zmq.PAIR)
        self._wake.bind("inproc://wake")
        self._woken.connect("inproc://wake")
        self._wake_lock = threading.Lock()
        allow_many_files()
        self._router = self._listen(largest)
        remote = address.startswith("tcp://")
        self._monitor: Any = self._router.get_monitor_socket(FAILED_HANDSHAKES) if remote else None
        self.dealers = self.more_dealers()
        self._poller = zmq.Poller()
        for each in (self._woken, self._router, self._zap, self._monitor):
            if each is not None:
                self._poller.register(each, zmq.POLLIN)

    def _listen(self, largest: int) -> Any:
        router = self._context.socket(zmq.ROUTER)
        router.setsockopt(zmq.LINGER, 0)
        router.setsockopt(zmq.MAXMSGSIZE, largest + (SEAL if self._keys else 0))
        router.setsockopt(zmq.HANDSHAKE_IVL, int(HANDSHAKE * 1000))
        router.setsockopt(zmq.RCVHWM, 0)
        if self._keys:
            router.curve_server = True
            router.curve_secretkey = self._keys["listen"][1]
            router.zap_domain = b"tux"
        try:
            router.bind(self._address)
        except zmq.ZMQError as error:
            self._context.destroy(linger=0)
            raise Refused(
                f"cannot listen on {self._address}: {zmq.strerror(error.errno or 0)}",
                do="end what listens there, or name another address or port of machine 0: --rdzv",
            ) from None
        return router

    @property
    def endpoint(self) -> str:
        """The address at which this member listens, its port chosen."""
        return self._router.getsockopt(zmq.LAST_ENDPOINT).decode().rstrip("\x00")

    # ---- connections

    def _open_zap(self) -> Any:
        """Open the socket at which ZeroMQ asks about each connection (ZAP, RFC 27): CURVE alone
        would accept any client that knows our key.
        """
        zap = self._context.socket(zmq.REP)
        zap.setsockopt(zmq.LINGER, 0)
        zap.bind("inproc://zeromq.zap.01")
        return zap

    def _admit(self) -> None:
        """Admit a connection that holds the key of a member of this job, and refuse others."""
        version, request, _, address, _, mechanism, *credentials = self._zap.recv_multipart()
        is_member = (
            mechanism == b"CURVE"
            and credentials[:1]
            and zmq.utils.z85.encode(credentials[0]) == self._keys["connect"][0]
        )
        if not is_member:
            self._refuse(
                f"a connection from {address.decode(errors='replace')} without this job's key"
            )
        answer = [b"200", b"OK"] if is_member else [b"400", b"not of this job"]
        self._zap.send_multipart([version, request, *answer, b"", b""])

    def _count_failed_handshakes(self) -> None:
        """Count the connections that ended before they had shown their key. An unread monitor would
        block all connections.
        """
        while self._monitor.poll(0):
            recv_monitor_message(self._monitor)
            self._refuse("a connection without this job's key, or that is not tux's")

    # ---- messages

    def wake(self) -> None:
        """Let `poll` return, in whatever thread; if that many calls are waiting already, it will
        return anyhow. Nothing happens once the sockets are closed.
        """
        with self._wake_lock, suppress(zmq.Again):
            if not self._wake.closed:
                self._wake.send(b"", _AT_ONCE)

    def poll(self, milliseconds: int) -> bool:
        """Wait until something happens, and admit or refuse new connections. Return whether frames
        have arrived.
        """
        ready = dict(self._poller.poll(milliseconds))
        if self._woken in ready:
            while _has_message(self._woken):
                self._woken.recv(_AT_ONCE)
        if self._zap is not None and self._zap in ready:
            self._admit()
        if self._monitor is not None and self._monitor in ready:
            self._count_failed_handshakes()
        return self._router in ready

    def receive(self) -> list[Any] | None:
        """Return the frames of the next message that has arrived; None if there is none."""
        if not _has_message(self._router):
            return None
        frame, frames = self._router.recv(_AT_ONCE, copy=False), []  # first, its sender
        while frame.more:
            frame = self._router.recv(_AT_ONCE, copy=False)
            frames.append(frame.buffer)
        return frames

    def stop_receiving(self) -> None:
        """Stop to receive. Messages that are still to be sent are sent."""
        if self._router in self._poller:
            self._poller.unregister(self._router)

    def more_dealers(self, most_waiting: int = 0) -> Dealers:
        """Make sockets to other members for one more thread, which has to close them before
        `close`.
        """
        return Dealers(self._context, self._keys, most_waiting)

    def send_once(self, address: str, frames: Sequence[Any]) -> None:
        """Send frames to a process that is no member; nothing is sent while the process may open no
        more files.
        """
        try:
            dealer = self.dealers.dealer(address)
        except zmq.ZMQError as error:
            if error.errno != errno.EMFILE:
                raise
            return
        dealer.send_multipart(frames)
        dealer.close(1000)

    def close(self, flush: float) -> None:
        """Send the messages that are left, for at most `flush` seconds, and close all sockets."""
        with self._wake_lock:
            self._wake.close(0)
        self._woken.close(0)
        self.dealers.close(flush)
        if self._monitor is not None:
            self._router.disable_monitor()
            self._monitor.close(0)
        self._router.close(0)
        if self._zap is not None:
            self._zap.close(0)
        self._context.term()
        if self._address.startswith("ipc://"):  # ZeroMQ leaves the file
            with suppress(OSError):
                os.unlink(self._address.removeprefix("ipc://"))


class Dealers:
    """The sockets by which one thread sends to other members. `most_waiting`: messages that wait
    for a member, 0 for any number.
    """

    def __init__(self, context: Any, keys: dict[str, tuple[bytes, bytes]], most_waiting: int):
        self._context, self._keys, self._most_waiting = context, keys, most_waiting
        self._by_member: dict[int, Any] = {}

    def connect(self, member: int, address: str) -> bool:
        """Connect to a member, if there is no socket for it yet. Return whether there is one now:
        there is none while the process may open no more files.

        Idle connections of strangers take files too, until their handshake is over; then it works.
        """
        if member not in self._by_member:
            try:
                self._by_member[member] = self.dealer(address)
            except zmq.ZMQError as error:
                if error.errno != errno.EMFILE:
                    raise
        return member in self._by_member

    def dealer(self, address: str) -> Any:
        """Make a new socket, connected to a member. Refused if `address` is no address."""
        dealer = self._context.socket(zmq.DEALER)
        dealer.setsockopt(zmq.LINGER, 5000)
        dealer.setsockopt(zmq.SNDHWM, self._most_waiting)
        if self._keys:
            dealer.curve_serverkey = self._keys["listen"][0]
            dealer.curve_publickey, dealer.curve_secretkey = self._keys["connect"]
        try:
            dealer.connect(address)
        except zmq.ZMQError as error:
            dealer.close(0)
            if error.errno == errno.EMFILE:
                raise
            raise Refused(f"{address!r:.99} is no address of a member: {error.strerror}") from None
        return dealer

    def send(self, member: int, frames: Sequence[Any]) -> None:
        """Send frames to a member that is connected."""
        if len(frames) == 1:
            self._by_member[member].send(frames[0], copy=False)
        else:
            self._by_member[member].send_multipart(frames, copy=False)

    def offer(self, member: int, frames: Sequence[Any]) -> None:
        """Send frames, unless too many messages wait for the member already."""
        with suppress(zmq.Again):
            self._by_member[member].send_multipart(frames, _AT_ONCE)

    def close(self, flush: float) -> None:
        """Send the messages that are left, for at most `flush` seconds after this call."""
        for dealer in self._by_member.values():
            dealer.close(int(flush * 1000))


def _has_message(socket: Any) -> bool:
    """Return whether a socket has a message. To ask takes less time than a failing call."""
    return bool(int(socket.getsockopt(_EVENTS)) & _READABLE)
