"""The way in which another machine learns the number of a job, and whether it goes on from a
checkpoint: its command asks the launcher of machine 0, and then starts its workers.

Every message of a job has the job's number. It is a hash of bytes that all machines share and of a
nonce that machine 0 draws for each incarnation; so messages of an older one, or of an older job
with the same key, are refused. A machine that has no nonce yet asks under a number without one.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from socket import gethostname

from tux.base.errors import (
    DataError,
    DeadlinePassed,
    DiskError,
    MustReadWhole,
    PeerLost,
    Refused,
    UsageError,
)
from tux.base.signals import check_ending, ignore_ending
from tux.cluster.rendezvous.meeting import Rendezvous, meeting_number
from tux.cluster.rendezvous.place import Place
from tux.cluster.transport import heartbeat
from tux.cluster.transport.control import (
    LONGEST,
    Bye,
    Control,
    Failure,
    Join,
    NotYet,
    ReadWhole,
    Welcome,
    as_error,
    pack,
    unpack,
)
from tux.cluster.transport.wire import Sockets
from tux.messages.frames import MAX_FRAME_BYTES, decode, encode
from tux.messages.message import Kind

LOOK = 0.1
"""Seconds for which answers are waited for at a time."""

TELLS = 3
"""The number of times that machine 0 is told, once a heartbeat, that this machine ends."""

ANY = 2**32 - 1
"""The largest number of a member that a frame can have."""

NOWHERE = 0
"""The member's number in messages of a machine that has not joined: it is not looked at."""

ABSENT = (
    "start machine 0 too; see that --rdzv is its address, that no firewall is between, and that "
    "all have the same key"
)


def decode_control(frames: list[object], meeting: int) -> Control | None:
    """Decode the control message that frames carry under the number without a nonce; None if they
    carry none.
    """
    with suppress(Refused):
        message = decode(frames, meeting, ANY)
        if message.kind is Kind.CONTROL:
            return unpack(message)
    return None


def encode_control(control: Control, meeting: int) -> list[object]:
    """Encode `control` as frames under the number without a nonce."""
    return encode(pack(control, NOWHERE, NOWHERE), meeting)


def answer(sockets: Sockets, join: Join, control: Control, meeting: int) -> None:
    """Answer a machine that asks, if its message has a valid address."""
    with suppress(Refused):
        sockets.send_once(join.address, encode_control(control, meeting))


def turn_away(sockets: Sockets, frames: list[object], job: Rendezvous) -> bool:
    """Return whether frames are the question of a machine that wants to load its share of the data,
    when there are workers already; it is told to read all of it.
    """
    if not isinstance(join := decode_control(frames, job.other_meeting), Join):
        return False
    answer(sockets, join, ReadWhole(), job.other_meeting)
    return True


def leave(job: Rendezvous, why: str) -> None:
    """Tell machine 0 at once that this machine, which has joined, leaves. If machine 0 cannot be
    reached within a second, it finds out by the silence.
    """
    with suppress(Refused):
        sockets = Sockets(job.listen, MAX_FRAME_BYTES, job.secret, lambda what: None)
        join = Join(sockets.endpoint, job.nonce, why[:LONGEST], leaves=True)
        sockets.send_once(job.launcher, encode_control(join, job.meeting))
        sockets.close(0)


@contextmanager
def telling_machine_0(place: Place | None) -> Iterator[None]:
    """Tell machine 0 why the body has ended, where `place` is another machine: by the user, or by
    an error that would come again, before this machine has joined.
    """
    try:
        yield
    except (UsageError, DataError, DiskError, KeyboardInterrupt) as error:
        if place and place.rank:
            why = getattr(error, "what", "the user has ended it there")
            told_as = f"machine {place.rank} ({gethostname()}) has ended: {why}"
            with ignore_ending(), suppress(Refused, UsageError):
                _tell(place, told_as)
        raise


def _tell(place: Place, why: str) -> None:
    """Tell machine 0 that this machine ends, until it says that it knows, a few times: it may be
    about to listen, or to leave the address to its launcher.
    """
    meeting = meeting_number(place.secret or place.launcher.encode(), b"")
    sockets = Sockets(place.own(), MAX_FRAME_BYTES, place.secret, lambda what: None)
    join = Join(sockets.endpoint, lost=why[:LONGEST], leaves=True)
    try:
        for _ in range(TELLS):
            sockets.send_once(place.launcher, encode_control(join, meeting))
            end = time.monotonic() + heartbeat.HEARTBEAT
            while (rest := end - time.monotonic()) > 0:
                sockets.poll(max(int(1000 * min(rest, LOOK)), 1))
                while (frames := sockets.receive()) is not None:
                    if isinstance(decode_control(frames, meeting), Bye):
                        return
    finally:
        sockets.close(0)


def ask(job: Rendezvous, patience: float = 0.0) -> Welcome:
    """Ask the launcher of machine 0 to join, and return its answer. Wait as long as the deadline of
    the job, and while machine 0 is at work to start: the launcher may not be there yet, or an older
    one may be.

    MustReadWhole to loaders, where not all machines load. Refused if the job has had all workers
    for the seconds of `patience`: where lost ones are started again, machine 0 may not know yet
    that one is lost. The error of machine 0 if it ends.
    """
    refused, first = None, 0.0
    with closing(asking(job, job.deadline)) as answers:
        for answer in answers:
            match answer:
                case Welcome():
                    return answer
                case ReadWhole():
                    raise MustReadWhole
                case Failure():
                    raise as_error(answer)
                case Bye(why):
                    first = first if refused else time.monotonic()
                    refused = Refused(
                        f"machine 0 does not take this machine: {why}",
                        do="give each machine its own --node-rank, and start each once",
                    )
                    if time.monotonic() - first >= patience:
                        raise refused
    raise refused or DeadlinePassed(
        f"no answer from machine 0 at {job.place_of_launcher}",
        where="the command of this machine",
        do=ABSENT,
    )


def ask_again(job: Rendezvous, lost: str) -> Welcome:
    """Ask to join the next incarnation of a job, or the next loading of its data, and return the
    answer. This machine has ended its workers of the one before, whose launcher may still be there,
    with the same nonce, and is told why they are `lost`. PeerLost if there is no other within
    `job.rejoin` seconds in which machine 0 is not at work to start one.

    MustReadWhole to loaders, where the others have loaded. The error of machine 0 if it ends.
    """
    with closing(asking(job, job.rejoin, lost)) as answers:
        for answer in answers:
            match answer:
                case Welcome(nonce) if nonce != job.nonce:
                    return answer
                case ReadWhole():
                    raise MustReadWhole
                case Failure():
                    raise as_error(answer)
    raise PeerLost(
        f"machine 0 at {job.place_of_launcher} has not {job.again} within {job.rejoin:.0f} s",
        where="the command of this machine",
        do="see what machine 0 says; to wait longer for it: --rejoin SECONDS",
    )


def asking(job: Rendezvous, seconds: float, lost: str = "") -> Generator[Control | None]:
    """Ask machine 0, once a heartbeat; yield its answers as they come, and None in between, so that
    the caller can look at its processes. End after so many seconds, which begin anew each time that
    machine 0 says that it is at work.
    """
    sockets = Sockets(job.listen, MAX_FRAME_BYTES, job.secret, lambda what: None)
    try:
        # one question waits at a time, however long machine 0 is not there
        dealers = sockets.more_dealers(1)
        dealers.connect(job.workers, job.launcher)
        left = seconds
        while left > 0:
            check_ending()
            join = Join(sockets.endpoint, job.nonce, lost[:LONGEST])
            dealers.offer(job.workers, encode_control(join, job.meeting))
            end = time.monotonic() + heartbeat.HEARTBEAT
            while (rest := end - time.monotonic()) > 0:
                if not sockets.poll(max(int(1000 * min(rest, LOOK)), 1)):
                    yield None
                    continue
                while (frames := sockets.receive()) is not None:
                    answer = decode_control(frames, job.meeting)
                    if isinstance(answer, NotYet):
                        left = seconds + heartbeat.HEARTBEAT
                    elif answer is not None:
                        yield answer
            left -= heartbeat.HEARTBEAT
    finally:
        dealers.close(0)
        sockets.close(0)
