"""Calls from the driver to machines that the engine cannot call: each machine connects to the
driver, and serves what comes from there.

Both ends have sockets of `tux.cluster.transport.wire`, so that what they say is encrypted, and only
who holds the secret is heard. The secret is drawn for each start, and reaches the machines by the
engine.
"""

from __future__ import annotations

import itertools
import queue
import secrets
import socket
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Self

import msgspec

from tux.backends.contract import LEASE, SILENCE, MachineLost, answer_of
from tux.backends.machine_command import MachineCommand
from tux.base.errors import Refused
from tux.cluster.transport.wire import Sockets

MAX_MESSAGE_BYTES = 1 << 28
"""Bytes of a message."""

SLOW = 300.0
"""Seconds that a call may take, on a machine that gives signs of life."""

SIGN = 2.0
"""Seconds between two signs of life."""

POLL = 500
"""Milliseconds for which a thread waits at its sockets at a time."""

THREADS = 8
"""Calls that a machine serves at a time."""

LAST = "end"
"""The method that is called though all machines count as lost: Spark ends a stage that has lost a
task, and for some seconds the other tasks still answer.
"""

DRIVER = 0
"""The member that the driver is to a machine."""


class MachineHello(msgspec.Struct, tag=True, frozen=True):
    """A machine is there, and listens at `endpoint`. `rows` is how many it has spooled so far;
    `ready`: it has them all, and serves.
    """

    rank: int
    endpoint: str
    host: str
    rows: int
    ready: bool


class MachineCall(msgspec.Struct, tag=True, frozen=True):
    """The driver calls a method of a machine's MachineCommand."""

    number: int
    method: str
    arguments: list[Any]


class MachineReply(msgspec.Struct, tag=True, frozen=True):
    """The return value of `MachineCommand.serve` for a call."""

    number: int
    reply: list[Any]


class Stay(msgspec.Struct, tag=True, frozen=True):
    """The driver is there, and has nothing to ask. It does not renew the lease of the command."""


class Leave(msgspec.Struct, tag=True, frozen=True):
    """The driver needs the machine no more."""


Said = MachineHello | MachineCall | MachineReply | Stay | Leave
_decoder = msgspec.msgpack.Decoder(Said)


class Calls:
    """The driver's end. A thread of its own holds the sockets; `ask` may be called by any."""

    def __init__(self, host: str, own: str = "") -> None:
        """Listen at `host`, the address of the driver as the machines see it, on its interface
        `own`, "" for that of `host`.
        """
        self.secret = secrets.token_bytes(32)
        self._sockets = _sockets(own or host, self.secret)
        self.address = f"tcp://{host}:{self._sockets.endpoint.rpartition(':')[2]}"
        self.machines: dict[int, MachineHello] = {}
        self.moved = time.monotonic()  # when a machine was last further than before
        self._heard: dict[int, float] = {}  # when each machine last gave a sign of life
        self.lost: MachineLost | None = None  # why all machines are
        self._numbers = itertools.count()
        # calls that wait, by number: the method, and where its answer goes
        self._waiting: dict[int, tuple[str, queue.Queue[list[Any] | MachineLost]]] = {}
        self._outgoing: deque[tuple[int, Said]] = deque()
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._told: dict[int, float] = {}  # when each machine was last sent something
        self._is_leaving = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def ask(self, rank: int, method: str, *arguments: Any) -> Any:
        """See `tux.backends.contract.Machine.ask`."""
        number, answer = next(self._numbers), queue.Queue[list[Any] | MachineLost](1)
        with self._lock:
            if self.lost is not None and (method != LAST or self._closing.is_set()):
                raise MachineLost(self.lost.what)
            self._waiting[number] = method, answer
        self._send(rank, MachineCall(number, method, [*arguments]))
        try:
            reply = self._await(rank, answer)
        finally:
            with self._lock:
                self._waiting.pop(number, None)
        if isinstance(reply, MachineLost):
            raise MachineLost(reply.what)
        return answer_of(reply)

    def _await(
        self, rank: int, answer: queue.Queue[list[Any] | MachineLost]
    ) -> list[Any] | MachineLost:
        """Wait for the answer to a call, as long as the machine gives signs of life."""
        begun = time.monotonic()
        while True:
            with suppress(queue.Empty):
                return answer.get(timeout=0.5)
            silent = time.monotonic() - max(self._heard[rank], begun)
            if silent > SILENCE:
                return MachineLost(f"it has been silent for {SILENCE:.0f} s")
            if time.monotonic() - begun > SLOW:
                return MachineLost(f"it has not answered for {SLOW:.0f} s")

    def lose(self, why: str, *, all_calls: bool = False) -> None:
        """Count all machines as lost: every call but LAST, also one that waits, raises MachineLost;
        with `all_calls`, LAST does so too.
        """
        with self._lock:
            self.lost = self.lost or MachineLost(why)
            for method, answer in self._waiting.values():
                if answer.empty() and (all_calls or method != LAST):
                    answer.put(self.lost)

    def leave(self) -> None:
        """Let all machines leave."""
        self._is_leaving = True
        for rank in [*self.machines]:
            self._send(rank, Leave())

    def close(self) -> None:
        """Close the sockets. May be called twice."""
        self._closing.set()
        self.lose("the run is over", all_calls=True)
        self._sockets.wake()
        self._thread.join()

    def _send(self, rank: int, what: Said) -> None:
        self._outgoing.append((rank, what))
        self._sockets.wake()

    def _serve(self) -> None:
        """Run the loop of the thread that holds the sockets. If it fails, all machines are lost."""
        try:
            while not self._closing.is_set():
                self._sockets.poll(POLL)
                while (frames := self._sockets.receive()) is not None:
                    self._take(_decoder.decode(frames[0]))
                self._stay()
                self._empty()
            self._empty()
        except Exception as error:  # such as a message that cannot be read
            self._closing.set()
            why = f"{type(error).__name__}: {error}"
            self.lose(f"the driver has lost its connection to the machines: {why}", all_calls=True)
        finally:
            self._sockets.close(1.0)

    def _stay(self) -> None:
        """Tell each machine that was not sent anything for a while that the driver is there: it
        leaves by itself when it hears nothing for LEASE seconds.
        """
        if self._is_leaving:  # what nobody takes would hold up the end of the sockets
            return
        silent = time.monotonic() - SIGN
        for rank in [*self.machines]:
            if self._told.get(rank, silent) <= silent:
                self._outgoing.append((rank, Stay()))

    def _empty(self) -> None:
        """Send what waits to be sent; it waits on while this process may open no more files."""
        while self._outgoing:
            rank, what = self._outgoing[0]
            if not self._sockets.dealers.connect(rank, self.machines[rank].endpoint):
                return
            self._outgoing.popleft()
            self._sockets.dealers.send(rank, [msgspec.msgpack.encode(what)])
            self._told[rank] = time.monotonic()

    def _take(self, what: Said) -> None:
        match what:
            case MachineHello(rank, endpoint):
                before, self._heard[rank] = self.machines.get(rank), time.monotonic()
                if before and before.endpoint != endpoint:
                    return self.lose(f"machine {rank} was started twice")
                if what != before:
                    self.machines[rank], self.moved = what, time.monotonic()
            case MachineReply(number, reply):
                with self._lock:
                    _, answer = self._waiting.get(number, ("", None))
                    if answer is not None and answer.empty():
                        answer.put(reply)
        return None


class DriverLine:
    """A machine's end: tells the driver that it is there, and serves its calls. As a context."""

    def __init__(self, command: MachineCommand, driver: str, secret: bytes, rank: int) -> None:
        self._command, self._rank, self._rows = command, rank, 0
        self.host = own_address(driver)
        self._sockets = Sockets(
            f"tcp://{self.host}:*", MAX_MESSAGE_BYTES, secret, lambda what: None
        )
        self._sockets.dealers.connect(DRIVER, driver)
        self._replies: deque[MachineReply] = deque()
        self._told = float("-inf")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sockets.close(1.0)

    def report_rows(self, rows: int) -> None:
        """Tell that so many more rows have been spooled; a sign of life, also to the guard."""
        self._rows += rows
        if time.monotonic() - self._told > SIGN:
            self._tell(ready=False)

    def serve(self) -> None:
        """Serve calls until the driver lets this machine leave. MachineLost if nothing has been
        heard of it for LEASE seconds.
        """
        self._tell(ready=True)
        heard = time.monotonic()
        with ThreadPoolExecutor(THREADS) as pool:
            while time.monotonic() - heard < LEASE:
                self._sockets.poll(POLL)
                while (frames := self._sockets.receive()) is not None:
                    heard = time.monotonic()
                    match _decoder.decode(frames[0]):
                        case MachineCall() as call:
                            pool.submit(self._answer, call)
                        case Leave():
                            return
                while self._replies:
                    self._send(self._replies.popleft())
                if time.monotonic() - self._told > SIGN:
                    self._tell(ready=True)
        raise MachineLost(f"nothing was heard of the driver for {LEASE:.0f} s")

    def _answer(self, call: MachineCall) -> None:
        reply = self._command.serve(call.method, *call.arguments)
        self._replies.append(MachineReply(call.number, reply))
        self._sockets.wake()

    def _tell(self, *, ready: bool) -> None:
        self._told = time.monotonic()
        if not ready:
            self._command.stay()
        self._send(MachineHello(self._rank, self._sockets.endpoint, self.host, self._rows, ready))

    def _send(self, what: Said) -> None:
        self._sockets.dealers.send(DRIVER, [msgspec.msgpack.encode(what)])


def _sockets(host: str, secret: bytes) -> Sockets:
    """Return sockets that listen at the interface of an address; at all interfaces where this
    machine has no such address, as behind an address translation.
    """
    with suppress(OSError, Refused):
        return Sockets(
            f"tcp://{socket.gethostbyname(host)}:*", MAX_MESSAGE_BYTES, secret, lambda what: None
        )
    return Sockets("tcp://*:*", MAX_MESSAGE_BYTES, secret, lambda what: None)


def own_address(driver: str) -> str:
    """Return the address of this machine's interface that leads to the driver."""
    host, _, port = driver.removeprefix("tcp://").rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))
        return str(probe.getsockname()[0])
