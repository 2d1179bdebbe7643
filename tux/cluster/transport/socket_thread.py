"""The socket thread of a member, which runs the rounds of its reactor
(`tux.cluster.transport.reactor`): it sends and receives messages, and runs the worker's server
role. Heartbeats are sent by a thread of their own (`tux.cluster.transport.beat_thread`).

So masters fold and answer while the worker computes. A worker that has nothing to compute runs the
rounds itself, by `serve` (`tux.cluster.transport.hand_over`). A round never touches rows that
kernels read: answers queue in `inbox` until the worker takes them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

from tux.base.errors import DeadlinePassed
from tux.cluster.transport import heartbeat
from tux.cluster.transport.beat_thread import MOST_WAITING, BeatThread
from tux.cluster.transport.control import Beat
from tux.cluster.transport.hand_over import Absence, HandOver
from tux.cluster.transport.heartbeat import Deadline
from tux.cluster.transport.reactor import Reactor
from tux.messages.message import BadMessage, Message


class Round:
    """A round of the thread that has taken the sockets: a context. `thread` is the number of the
    thread that runs one, or 0.

    It is a class, as it is entered several times a clock: a generator with contextlib takes longer.
    """

    __slots__ = ("_hand_over", "thread")

    def __init__(self, hand_over: HandOver) -> None:
        self._hand_over, self.thread = hand_over, 0

    def __enter__(self) -> None:
        self.thread = threading.get_ident()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.thread = 0
        self._hand_over.leave()


class SocketThread:
    """The socket thread of one member of a job; `reactor` are the further arguments of its
    `Reactor`.

    The main thread waits for messages by `receive` or by `serve`. A main thread in which signals
    raise exceptions, as in the launcher's, uses `receive` alone: an exception in the middle of a
    round could lose a message.
    """

    def __init__(
        self,
        number: int,
        addresses: list[str],
        job: int,
        handle: Callable[[Message], bool],
        partners: Sequence[int],
        **reactor: Any,
    ) -> None:
        self.number, self.addresses = number, addresses
        self.inbox: SimpleQueue[Message | Exception] = SimpleQueue()
        self.reactor = Reactor(
            number, addresses, job, handle, self.inbox.put, partners=partners, **reactor
        )
        dealers = self.reactor.sockets.more_dealers(MOST_WAITING)
        self._beats = BeatThread(number, addresses, job, partners, dealers, self._beat)
        self._paused = False
        self._hand_over = HandOver(self.reactor.sockets.wake)
        self._absence = Absence()
        self._round = Round(self._hand_over)
        self._stop, self._flush = threading.Event(), 0.0
        self._thread = threading.Thread(target=self._loop, name="tux sockets", daemon=True)

    @property
    def endpoint(self) -> str:
        """The address at which this member listens, its port chosen."""
        return self.reactor.sockets.endpoint

    def start(self) -> None:
        """Begin to send and receive, and to give signs of life."""
        self._thread.start()
        self._beats.start()

    def pause(self) -> None:
        """Tell the partners that this member will be silent, because the user stops it."""
        self._paused = True
        self._beats.send_now()

    def resume(self) -> None:
        """End the pause."""
        self._paused = False

    def _beat(self) -> Beat:
        """Make the heartbeat that is due now."""
        return Beat(
            paused=self._paused,
            works=self.reactor.activity.works(),
            refused=self.reactor.refused,
            last_refused=self.reactor.last_refused,
        )

    def meet(self, addresses: list[str]) -> None:
        """Set the addresses of all workers, which are known now."""
        self.addresses[: len(addresses)] = addresses
        self.reactor.sockets.wake()

    def send(self, message: Message) -> None:
        """Send a message. Its arrays must not be written after this call."""
        self.reactor.queue(message)
        if self._round.thread == threading.get_ident():
            return  # it leaves in this round
        if not self._hand_over.take_if_free():
            self.reactor.sockets.wake()
            return
        with self._round:
            self.reactor.flush()

    def post(self, message: Message) -> None:
        """Send a message with the next round. Any thread may do so."""
        self.reactor.queue(message)
        self.reactor.sockets.wake()

    def receive(self, seconds: float, waiting_for: str) -> Message:
        """Receive the next message for the main thread. DeadlinePassed, with the reason for the
        wait, after `seconds`; errors of rounds are raised as they are.
        """
        # counted by short waits, not by the clock, which also runs while this process is stopped
        left = seconds
        self.reactor.activity.begin_wait()
        try:
            while True:
                try:
                    return _unless_error(self.inbox.get(timeout=min(left, heartbeat.HEARTBEAT)))
                except Empty:
                    left -= heartbeat.HEARTBEAT
                    if left <= 0:
                        raise self._too_late(seconds, waiting_for) from None
        finally:
            self.reactor.activity.end_wait()

    def serve(self, seconds: float, waiting_for: str) -> Message:
        """Receive a message as `receive` does, but run the rounds in this thread meanwhile, and
        keep the sockets. The deadline limits silence: it begins anew while other members work.
        """
        self._absence.end(time.thread_time())
        if self.inbox.empty():
            self.reactor.activity.begin_wait()
            try:
                self._serve(Deadline(seconds, self.reactor.heartbeat), waiting_for)
            finally:
                self.reactor.activity.end_wait()
        return _unless_error(self.inbox.get())

    def _serve(self, deadline: Deadline, waiting_for: str) -> None:
        """Run rounds until there is a message."""
        while self.inbox.empty():
            if deadline.left <= 0:
                raise self._too_late(deadline.seconds, waiting_for)
            start, left = time.monotonic(), min(deadline.left, heartbeat.HEARTBEAT)
            if self._hand_over.take(left):
                with self._round:
                    self.reactor.settle()
                    if self.inbox.empty():
                        self.reactor.round(_milliseconds(min(left, heartbeat.HEARTBEAT / 2)))
            # a round in which this process was stopped is not longer than others
            deadline.count_wait(min(time.monotonic() - start, heartbeat.HEARTBEAT))

    def take_arrived(self) -> Iterator[Message]:
        """Yield the messages for the main thread that have arrived; errors of rounds are raised as
        they are.
        """
        self._absence.end(time.thread_time())
        if self._hand_over.take_if_free():
            with self._round:
                self.reactor.round(0)
        while not self.inbox.empty():
            yield _unless_error(self.inbox.get())

    def computes(self) -> None:
        """Note that the main thread computes from now on: if it is likely to be long, the socket
        thread serves meanwhile.
        """
        if not self._absence.is_short:
            self._hand_over.hand_over()
        self._absence.begin(time.thread_time())

    @contextmanager
    def naming_hosts(self) -> Iterator[None]:
        """Give a BadMessage of the body the sender's number and host as its `where`."""
        try:
            yield
        except BadMessage as error:
            self.reactor.name_host(error)
            raise

    def close(self, flush: float = 5.0) -> None:
        """Send the messages that are left, for at most `flush` seconds, and end the thread.

        A thread that is in the midst of a handler then goes on, and closes the sockets when it is
        over: nobody may close them while they are used.
        """
        self._flush = flush
        self._stop.set()
        self._hand_over.hand_over()
        self.reactor.sockets.wake()
        if self._thread.ident is None:
            self._beats.stop()
            self.reactor.sockets.close(flush)
        else:
            self._thread.join(2 * flush + 1)

    def wait_until_closed(self, seconds: float) -> bool:
        """Wait, after `close`, at most so many seconds; return whether the sockets are closed."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        while not self._stop.is_set() or self.reactor.has_queued:
            self._hand_over.await_turn()
            with self._round:
                self.reactor.round(_milliseconds(heartbeat.HEARTBEAT / 2))
        self._beats.stop()
        self.reactor.sockets.close(self._flush)

    def _too_late(self, seconds: float, waiting_for: str) -> DeadlinePassed:
        return DeadlinePassed(
            f"waited {seconds:.0f} s for {waiting_for}", where=self.reactor.name(self.number)
        )


def _unless_error(message: Message | Exception) -> Message:
    if isinstance(message, Exception):
        raise message
    return message


def _milliseconds(seconds: float) -> int:
    return max(int(1000 * seconds), 1)
