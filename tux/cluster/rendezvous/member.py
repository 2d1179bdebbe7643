"""A process of a job as a member of it, a worker or a loader: it meets the others through the
launcher, hears whether it pauses, and ends when it says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from socket import gethostname
from typing import Any

from tux.base.errors import Interrupted, PeerLost, Refused, StartsAgain
from tux.base.processes import is_stopped
from tux.cluster.rendezvous.meeting import Rendezvous
from tux.cluster.transport import heartbeat
from tux.cluster.transport.control import Beat, Bye, Control, Hello, beat_in, control_in, pack
from tux.cluster.transport.socket_thread import SocketThread
from tux.graph.edge_memory import EdgeMemory
from tux.messages.message import BadMessage, Kind, Message


class Member:
    """Member `rank` of a job; `role`: the word for it. `reactor`: further arguments of
    `tux.cluster.transport.reactor.Reactor`.
    """

    def __init__(self, job: Rendezvous, rank: int, role: str, **reactor: Any) -> None:
        self.job, self.rank, self.launcher, self._role = job, rank, job.workers, role
        self._paused = False
        addresses = [""] * job.workers + [job.launcher]
        addresses[rank] = job.listen.format(rank)
        self.socket_thread = SocketThread(
            rank,
            addresses,
            job.number,
            self._handle,
            partners=[member for member in range(job.workers + 1) if member != rank],
            secret=job.secret,
            excused=self._is_excused,
            role=role,
            **reactor,
        )

    @property
    def _launcher_is_here(self) -> bool:
        """True if the launcher is a process of this machine, the parent of this one."""
        return 0 in self.job.near(self.rank)

    def say_hello(self, *, ready: bool = True, held: EdgeMemory | None = None) -> None:
        """Tell the launcher that this member is there, whether it is ready to begin, and the edges
        that are `held` by a worker.
        """
        where = gethostname(), self.socket_thread.endpoint
        self.say(Hello(self.job.traits, os.getpid(), *where, ready, held or EdgeMemory()))

    def say(self, control: Control) -> None:
        """Send a control message to the launcher. Any thread may do so."""
        self.socket_thread.post(pack(control, self.rank, self.launcher))

    def wait_for_launcher(self, wait: Callable[[float], bool]) -> None:
        """Wait for the launcher's word before the work begins: `wait(seconds)` returns whether it
        has come within so many seconds.

        The launcher decides how long to wait for the others. Once it has heard hello, it sends
        heartbeats, and this member waits as long as the launcher lives. PeerLost where none comes:
        the launcher died when it had taken this machine, or is that of a later incarnation, which
        does not hear this member.
        """
        far = self.job.launcher.startswith("tcp://") and not self._launcher_is_here
        silence = heartbeat.SILENCE if far else heartbeat.STARTING
        left, waited = silence, 0.0
        while not wait(heartbeat.HEARTBEAT):
            waited += heartbeat.HEARTBEAT
            heard = self.launcher in self.socket_thread.reactor.heartbeat.heard
            if not heard and not self._is_excused(self.launcher, waited):
                left -= heartbeat.HEARTBEAT
            if left <= 0:
                raise PeerLost(
                    f"machine 0 at {self.job.place_of_launcher} has been silent for "
                    f"{silence:.0f} s",
                    where=f"{self._role} {self.rank}",
                    do="it died, hangs, or is cut off",
                )

    # ---- in the socket thread

    def _handle(self, message: Message) -> bool:
        """Handle a message in a round of the reactor: heartbeats end here. Return False if the main
        thread waits for it.
        """
        match message.kind:
            case Kind.CONTROL:
                control = control_in(message)
                if message.source != self.launcher:
                    raise BadMessage(message, "the sender is not the launcher")
                return self._handle_control(message, control)
            case Kind.BEAT:
                if message.source == self.launcher:
                    self._hear_launcher(beat_in(message))
                return True
        return self._handle_data(message)

    def _handle_control(self, message: Message, control: Control | None) -> bool:
        """Handle a control message of the launcher; return True if the main thread does not need
        it.
        """
        raise NotImplementedError

    def _handle_data(self, message: Message) -> bool:
        """Handle another message; return True if the main thread does not need it."""
        raise NotImplementedError

    def _hear_launcher(self, beat: Beat) -> None:
        """Take a heartbeat of the launcher. After a pause, members that it has just continued may
        be heard a little later.
        """
        if self._paused and not beat.paused:
            self.socket_thread.reactor.heartbeat.forgive(time.monotonic())
        self._paused = beat.paused

    def _is_excused(self, member: int, seconds: float) -> bool:
        """Return whether a member is silent because the user has stopped the launcher, by Ctrl-Z or
        SIGSTOP; Ctrl-Z stops the processes of its machine too.

        A launcher has sent a message before it is stopped by Ctrl-Z, and is waited for no longer
        than any wait may take.
        """
        if member == self.launcher and self._launcher_is_here and is_stopped(os.getppid()):
            return True
        return self._paused and seconds < self.job.deadline


def ending_error(bye: Bye) -> Refused | StartsAgain | Interrupted:
    """Make the error of a job or an incarnation that the launcher has ended before its time."""
    why = f"{': ' * bool(bye.why)}{bye.why}"
    if bye.again:
        return StartsAgain(f"machine 0 starts all workers again{why}")
    kind = Interrupted if bye.interrupted else Refused
    return kind(f"machine 0 ended the job{why}", do="see what it says there")
