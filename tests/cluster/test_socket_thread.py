"""Members of a job over real sockets: order, size, silence, and an end that leaves nothing."""

import threading
import time

import numpy as np
import pytest
from support.machines.members import JOB, SMALL, SOON, assert_delivers, until, up, value_of
from support.messages import message

from tux.base.errors import DataError, DeadlinePassed, PeerLost, Refused
from tux.cluster.transport import heartbeat
from tux.cluster.transport.socket_thread import SocketThread
from tux.messages.message import Kind, Message

# ---- members among themselves


def test_messages_of_each_sender_keep_their_order(join, ipc):
    members = join(ipc(3))

    def chatter(member):
        for value in range(500):
            for dest in range(3):
                member.send(up(dest, value, member.number))

    threads = [threading.Thread(target=chatter, args=[member]) for member in members]
    for thread in threads:
        thread.start()
    for member in members:
        heard = {0: [], 1: [], 2: []}
        for _ in range(1500):
            message = member.receive(SOON, "the next")
            heard[message.source].append(
                (message.sequence if message.source != member.number else None, value_of(message))
            )
        for source, values in heard.items():
            assert values == [(None if source == member.number else n, n) for n in range(500)]
    for thread in threads:
        thread.join()
    assert all(member.inbox.empty() and not member.reactor.refused for member in members)


def test_more_messages_than_any_queue_holds(join, ipc):
    """While a handler is busy thousands may wait to be sent; the thread that sends them neither
    waits nor fails.
    """
    held = threading.Event()
    one, two = join(ipc(2), handle={0: lambda message: held.wait(SOON) and False})
    one.send(up(0))
    for value in range(5000):
        one.send(up(1, value))
    held.set()
    assert [value_of(two.receive(SOON, "the next")) for _ in range(5000)] == list(range(5000))


def test_big_arrays_arrive_whole(join, ipc):
    one, two = join(ipc(2), largest=1 << 25)
    rng = np.random.default_rng(0)
    sent = [
        rng.random((1000, 2048), "f4"),
        rng.integers(0, 2**62, 3_000_000),
        np.empty((0, 5)),
        rng.random((64, 64)).T,
        np.array(3.5),
    ]
    one.send(Message(Kind.MODEL_ROWS, 0, 1, 5, 9, sent))
    one.send(up(1, 3))
    received = two.receive(SOON, "rows")
    assert (received.kind, received.clock, received.sync_id) == (Kind.MODEL_ROWS, 5, 9)
    for mine, other in zip(received.arrays, sent, strict=True):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape) and np.array_equal(
            mine, other
        )
    assert value_of(two.receive(SOON, "the next")) == 3


def test_messages_wait_for_members_that_start_later(join, ipc):
    addresses = ipc(2)
    (one,) = join(addresses, members=[0])
    for value in range(3):
        one.send(up(1, value))
    time.sleep(0.2)
    (two,) = join(addresses, members=[1])
    assert [value_of(two.receive(SOON, "the next")) for _ in range(3)] == [0, 1, 2]


def test_what_a_handler_keeps_is_not_in_the_inbox(join, ipc):
    one, two = join(ipc(2), handle={1: lambda message: message.kind is Kind.TOTALS})
    for kind in (Kind.TOTALS, Kind.CONTRIBUTION, Kind.TOTALS, Kind.ANSWER):
        one.send(Message(kind, 0, 1))
    assert [two.receive(SOON, "the next").kind for _ in range(2)] == [
        Kind.CONTRIBUTION,
        Kind.ANSWER,
    ]


def test_an_error_in_a_handler_reaches_the_worker_which_can_still_speak(join, ipc):
    def handle(message):
        raise (
            ZeroDivisionError("in an Apply function")
            if value_of(message)
            else DataError("bad", where="here")
        )

    for value, kind in ((1, ZeroDivisionError), (0, DataError)):
        one, two = join([f"{address}-{value}" for address in ipc(2)], handle={1: handle})
        one.send(up(1, value))
        with pytest.raises(kind) as error:
            two.receive(SOON, "the next")
        assert any(entry.name == "handle" for entry in error.traceback), "the place must be found"
        assert_delivers(two, one)


def test_a_wait_has_a_name_and_an_end(join, ipc):
    (member,) = join(ipc(1))
    with pytest.raises(DeadlinePassed, match="worker 3, clock 7") as error:
        member.receive(0.05, "worker 3, clock 7")
    assert error.value.exit_code == 5


def test_a_gap_in_a_sequence_ends_the_job(join, ipc):
    one, two = join(ipc(2))
    assert_delivers(one, two)
    one.reactor.sequences.next[1] += 1
    one.send(up(1))
    with pytest.raises(PeerLost, match=message("message-of-worker-is-missing", "1", "0", "2")):
        two.receive(SOON, "the next")


def test_a_loss_shows_before_the_next_message(join, ipc, monkeypatch):
    """At slack 0 the next message never comes: it waits for the answer to the lost one."""
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.05)
    one, two = join(ipc(2), partners=range(2))
    assert_delivers(one, two)
    one.reactor.sequences.next[1] += 1  # as if a connection had been reset
    with pytest.raises(PeerLost, match=message("message-of-worker-is-missing", "0")):
        two.receive(SOON, "anything")


# ---- silence


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.05)
    # longer than a busy machine stops a thread that gives signs of life
    monkeypatch.setattr(heartbeat, "SILENCE", 2.0)


@pytest.mark.slow
def test_silence_is_told_with_the_name(join, ipc, impatient):
    one, two, launcher = join(ipc(3), partners=range(3))
    until(lambda: {0, 1} <= launcher.reactor.heartbeat.heard.keys(), "a sign of life of both")
    two.close(0.1)
    with pytest.raises(PeerLost, match="worker 1 has been silent") as error:
        launcher.receive(SOON, "anything")
    assert error.value.exit_code == 4
    with pytest.raises(PeerLost, match="worker 1"):
        one.receive(SOON, "anything")
    launcher.close(0.1)
    while "the launcher" not in str(error.value):
        with pytest.raises(PeerLost) as error:
            one.receive(SOON, "anything")


def test_who_lives_is_not_called_silent(join, ipc, impatient):
    members = join(ipc(3), partners=range(3))
    for member, seconds in zip(members, (1.5 * heartbeat.SILENCE, 0.01, 0.01), strict=True):
        with pytest.raises(DeadlinePassed):
            member.receive(seconds, "nothing")


def test_who_is_busy_serving_is_not_called_silent(join, ipc, impatient):
    """Heartbeats go on while a handler is in the midst of a long fold."""
    held = threading.Event()
    folds = {0: lambda message: message.kind is Kind.CONTRIBUTION and held.wait(SOON)}
    one, two = join(ipc(2), handle=folds, partners=range(2))
    two.send(up(0, 0, 1))
    until(lambda: one.reactor.activity.handled % 2, "a handler")
    begun, work = time.monotonic(), two.reactor.heartbeat.work
    until(lambda: two.reactor.heartbeat.heard.get(0, 0) > begun + heartbeat.SILENCE, "life")
    assert two.inbox.empty() and two.reactor.heartbeat.work > work
    held.set()


def test_a_wait_goes_on_while_others_work(join, ipc, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.05)
    one, two = join(ipc(2), partners=range(2))
    until(lambda: one.reactor.heartbeat.work, "a heartbeat of one that computes")

    def send():
        work = one.reactor.heartbeat.work
        until(lambda: one.reactor.heartbeat.work > work + 20, "work")
        two.send(up(0, 4, 1))

    thread = threading.Thread(target=send)
    thread.start()
    assert value_of(one.serve(0.5, "a message")) == 4  # twice as long, and more
    thread.join()


@pytest.mark.slow
def test_who_has_not_begun_is_not_called_silent(join, ipc, impatient):
    (member,) = join(ipc(2), members=[1], partners=range(2))
    with pytest.raises(DeadlinePassed):
        member.receive(1.5 * heartbeat.SILENCE, "nothing")


# ---- beginning and end


def refuses_to_listen(addresses):
    before = threading.active_count()
    with pytest.raises(Refused, match=message("cannot-listen-on")) as error:
        SocketThread(0, addresses, JOB, lambda message: False, partners=[], largest=SMALL)
    assert (
        addresses[0] in error.value.what
        and "address" in error.value.do
        and "\n" not in error.value.what
    )
    assert threading.active_count() == before


def test_an_address_in_use(join, tcp):
    addresses = tcp(2)
    one, two = join(addresses)
    refuses_to_listen(addresses)
    assert_delivers(two, one)


@pytest.mark.parametrize(
    "address",
    [
        "ipc:///nowhere/at/all",
        "tcp://203.0.113.7:5000",
        "ipc:///" + "x" * 200,
        "udp://127.0.0.1:1",
        "rubbish",
    ],
)
def test_an_address_that_cannot_be(address):
    refuses_to_listen([address])


def test_closing_leaves_no_thread_and_no_socket(join, ipc, tmp_path):
    before = threading.active_count()
    members = join(ipc(3), partners=range(3))
    assert_delivers(members[0], members[2])
    assert len(list(tmp_path.iterdir())) == 3
    for member in members:
        member.close(0.5)
    assert threading.active_count() == before
    assert list(tmp_path.iterdir()) == []


def test_closing_sends_what_is_left(join, ipc):
    one, two = join(ipc(2))
    for value in range(100):
        one.send(up(1, value))
    one.close()
    assert [value_of(two.receive(SOON, "the next")) for _ in range(100)] == list(range(100))


def test_closing_does_not_wait_for_the_dead(join, ipc):
    (one,) = join(ipc(2), members=[0])
    one.send(up(1))
    done = threading.Thread(target=one.close, args=[0.2], daemon=True)
    done.start()
    done.join(SOON)
    assert not done.is_alive()


def test_closing_leaves_the_sockets_to_a_thread_that_still_serves(join, ipc):
    held, served = threading.Event(), threading.Event()

    def handle(message):
        served.set()
        held.wait(SOON)
        one.send(up(1, 5))  # by sockets that must still be open
        return True

    one, two = join(ipc(2), handle={0: handle})
    two.send(up(0, 0, 1))
    served.wait(SOON)
    one.close(0.0)
    assert one._thread.is_alive() and not one.reactor.sockets._router.closed
    held.set()
    one._thread.join(SOON)
    assert not one._thread.is_alive() and one.reactor.sockets._router.closed
    assert one.inbox.empty(), "no error in the handler"
    one.reactor.sockets.wake()  # harmless


def test_closing_what_was_never_started_leaves_nothing(ipc, tmp_path):
    member = SocketThread(0, ipc(2), JOB, lambda message: False, partners=[], largest=SMALL)
    member.close(0.1)
    assert list(tmp_path.iterdir()) == []
