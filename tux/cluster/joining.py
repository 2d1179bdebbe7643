"""How another machine learns the number of a job, and whether it goes on from a checkpoint: its
command asks the launcher of machine 0, and then starts its workers.

Every message of a job has the job's number. It is a hash of what all machines share and of a nonce
that machine 0 draws at each start; so what is left of an older job with the same key is refused.
A machine that has no nonce yet asks under a number without one.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from tux.base.errors import DeadlinePassed, Refused
from tux.base.signals import check_ending
from tux.cluster import heartbeat
from tux.cluster.control import Bye, Control, Join, Welcome, pack, unpack
from tux.cluster.wire import Sockets
from tux.engine.saved import Saved
from tux.protocol.frames import LARGEST, decode, encode
from tux.protocol.message import Kind

if TYPE_CHECKING:
    from tux.cluster.job import Job

ANY = 2**32 - 1
"""The largest number of a member that a frame can have."""

NOWHERE = 0
"""The member's number in messages of a machine that has not joined: it is not looked at."""

ABSENT = (
    "start machine 0 too; see that --rdzv is its address, that no firewall is between, and that "
    "all have the same key"
)


def number(shared: bytes, nonce: bytes) -> int:
    """The number in every frame of a job whose machines share some bytes; without a nonce (b""),
    the one under which they ask for it.
    """
    digest = hashlib.blake2b(shared, digest_size=8, key=nonce, person=b"tux job").digest()
    return int.from_bytes(digest, "little") >> 1


def heard(frames: list[object], job: Job) -> Control | None:
    """The control message that frames carry under the number without a nonce; None if they carry
    none.
    """
    with suppress(Refused):
        message = decode(frames, job.meeting, ANY)
        if message.kind is Kind.CONTROL:
            return unpack(message)
    return None


def told(control: Control, job: Job) -> list[object]:
    """`control` as frames under the number without a nonce."""
    return encode(pack(control, NOWHERE, NOWHERE), job.meeting)


def welcome(job: Job) -> Welcome:
    """What the launcher of machine 0 tells a machine that joins."""
    return Welcome(job.nonce, [each.digest for each in job.resume])


def joined(job: Job, answer: Welcome) -> Job:
    """The job of a machine that machine 0 has welcomed. The launcher has the files of the states
    from which it goes on.
    """
    resume = [Saved("", digest) for digest in answer.resume]
    if len(resume) != job.workers:  # none, or of other numbers of workers, which Hello tells
        resume = []
    return msgspec.structs.replace(job, nonce=answer.nonce, resume=resume)


def ask(job: Job) -> Welcome:
    """What the launcher of machine 0 tells this machine, which joins. Waits as long as the deadline
    of the job: the launcher may not be there yet, or an older one may be.
    """
    sockets = Sockets(job.listen, LARGEST, job.secret, lambda what: None)
    try:
        # one question waits at a time, however long machine 0 is not there
        dealers = sockets.more_dealers(1)
        dealers.connect(job.workers, job.launcher)
        left = job.deadline
        while left > 0:
            check_ending()
            dealers.offer(job.workers, told(Join(sockets.endpoint), job))
            end = time.monotonic() + heartbeat.HEARTBEAT
            while (rest := end - time.monotonic()) > 0:
                if not sockets.poll(max(int(1000 * rest), 1)):
                    continue
                while (frames := sockets.receive()) is not None:
                    match heard(frames, job):
                        case Welcome() as answer:
                            return answer
                        case Bye(why):
                            raise Refused(
                                f"machine 0 does not take this machine: {why}",
                                do="give each machine its own --node-rank, and start each once",
                            )
            left -= heartbeat.HEARTBEAT
    finally:
        dealers.close(0)
        sockets.close(0)
    where = job.launcher.removeprefix("tcp://")
    raise DeadlinePassed(
        f"no answer from machine 0 at {where}", where="the command of this machine", do=ABSENT
    )
