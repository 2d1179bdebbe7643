"""Loaders of several machines in one process, over real sockets: messages of any size arrive whole
and in their rounds, and their files are gone afterwards.
"""

import errno
import threading

import numpy as np
import pytest
from support.machines.members import SOON

from tux.base.errors import DataError, DiskError, PeerLost, TuxError
from tux.cluster.rendezvous.meeting import Meeting
from tux.cluster.transport import heartbeat
from tux.cluster.transport.control import Bye, Go, HasLoaded, HasRead, Hello, control_in, pack
from tux.cluster.transport.socket_thread import SocketThread
from tux.messages.message import BadMessage, Kind
from tux.parallel_load.algorithm.columns import BadColumns
from tux.parallel_load.algorithm.transfer import PIECE, WINDOW
from tux.parallel_load.process.loader_member import FarMailbox, LoadingMember, explain_error

SIZES = [0, 1, PIECE - 200, PIECE, (WINDOW + 2) * PIECE]


def meeting(folder, number, n, each, **changed):
    fields = dict(
        workers=n,
        workers_here=each,
        launcher=f"ipc://{folder}/launcher",
        listen=f"ipc://{folder}/socket-{number}",
        secret=None,
        nonce=b"1",
        traits={},
        deadline=SOON,
    )
    return Meeting(**fields | changed)


def lead(folder, n, heard):
    """Lead as the launcher does: tell who is where, and that it is over when all have loaded."""
    where = meeting(folder, 0, n, 1)
    thread = SocketThread(
        n,
        [""] * n + [where.launcher],
        where.number,
        lambda message: message.kind is Kind.BEAT,
        partners=range(n),
    )
    thread.start()
    left = {kind: set(range(n)) for kind in (Hello, HasRead, HasLoaded)}
    while any(left.values()):
        message = thread.receive(SOON, "a loader")
        control = control_in(message)
        heard.append(control)
        left[type(control)].discard(message.source)
        if isinstance(control, Hello):
            thread.addresses[message.source] = control.address
            if not left[Hello]:
                for number in range(n):
                    thread.post(pack(Go(thread.addresses[:n]), n, number))
    for number in range(n):
        thread.post(pack(Bye(), n, number))
    thread.close(5.0)


def message(number, source, dest):
    """Return the arrays that one loader sends another in a round."""
    rng = np.random.default_rng([number, source, dest])
    size = SIZES[(number + source + 2 * dest) % len(SIZES)]
    return [rng.integers(0, 256, size).astype(np.uint8), np.arange(number, dtype=np.int32)]


def rounds(me, n):
    """Check each message of each round. Return the number of rounds."""
    for number in range(len(SIZES)):
        inbox = yield [message(number, me, dest) for dest in range(n)]
        for source, got in enumerate(inbox):
            for one, other in zip(got, message(number, source, me), strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other)
    return len(SIZES)


@pytest.mark.parametrize(("n", "each"), [(2, 1), pytest.param(4, 2, marks=pytest.mark.long)])
def test_messages_of_any_size_arrive_in_their_rounds(tmp_path, n, each):
    heard, done = [], {}
    folders = [tmp_path / str(at // each) for at in range(n)]
    for folder in {*folders}:
        folder.mkdir()

    def load(number):
        with LoadingMember(meeting(tmp_path, number, n, each), folders[number], number) as member:
            member.has_read()
            done[number] = FarMailbox(member).carry(rounds(number, n))

    threads = [threading.Thread(target=load, args=[at], daemon=True) for at in range(n)]
    threads.append(threading.Thread(target=lead, args=[tmp_path, n, heard], daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * SOON)
    assert done == dict.fromkeys(range(n), len(SIZES))
    assert len(heard) == 3 * n
    left = sorted(path.name for folder in {*folders} for path in folder.iterdir())
    met = [f"met-{number}" for number in range(n)]
    assert left == met + [f"round-{len(SIZES) - 1}.{number}" for number in range(n)]


def test_a_loader_whose_launcher_is_gone_has_lost_it(tmp_path, monkeypatch):
    """However long it may wait for the others."""
    monkeypatch.setattr(heartbeat, "SILENCE", 1.0)
    asks = meeting(tmp_path, 1, 2, 1, launcher="tcp://127.0.0.1:9", deadline=1e6)
    with pytest.raises(PeerLost, match="machine 0 at 127.0.0.1:9 has been silent for 1 s"):
        with LoadingMember(asks, tmp_path, 1):
            pass


def test_what_another_machine_tells_is_refused_by_the_name_of_its_loader(tmp_path):
    member = LoadingMember(meeting(tmp_path, 0, 4, 2), tmp_path, 0)
    try:
        box = FarMailbox(member)
        far = box._refusal_error(4, BadColumns(3, "an array is missing"))
        damaged = box._damage_error(4, 3, ValueError("an array of '|O8'"))
        near = box._refusal_error(4, BadColumns(1, "an array is missing"))
    finally:
        member.socket_thread.close(0.0)
    begins = "a PIECE message of loader 3 was refused: in round 4, "
    assert isinstance(far, BadMessage) and isinstance(damaged, BadMessage)
    assert far.what == f"{begins}an array is missing" and far.where.startswith("loader 3 on ")
    assert damaged.what == f"{begins}it is damaged: an array of '|O8'"
    assert isinstance(near, DataError)
    assert near.what == "what loader 1 tells in round 4 does not fit: an array is missing"


def test_what_the_machine_lacks_is_no_fault_of_tux(tmp_path):
    memory = explain_error(MemoryError("Unable to allocate 4 GiB"), 3, tmp_path)
    assert memory.what == "out of memory: Unable to allocate 4 GiB"
    assert memory.where == "loader 3" and "more memory" in memory.do
    full = explain_error(OSError(errno.ENOSPC, "full", "spool"), 3, tmp_path)
    assert isinstance(full, DiskError) and full.what.startswith("spool cannot be written")
    fault = explain_error(KeyError("x"), 3, tmp_path)
    assert type(fault) is TuxError and "a fault of tux" in fault.do
    bad = DiskError("the disk is full")
    assert explain_error(bad, 3, tmp_path) is bad
    gone = explain_error(bad, 3, tmp_path / "gone")
    assert isinstance(gone, PeerLost) and "is gone" in gone.what
