"""The use of the sockets: a main thread that waits serves itself, and hands the sockets over before
it computes for long.
"""

import threading
import time

import pytest
from support.machines.members import SOON, assert_delivers, until, up, value_of
from support.messages import message

from tux.base.errors import DataError, DeadlinePassed, PeerLost
from tux.cluster.transport import hand_over, heartbeat
from tux.cluster.transport.hand_over import WAITING_COMPUTE_SECONDS, Absence, HandOver
from tux.messages.message import Kind, Message

# ---- how long the main thread will be away


def test_an_absence_is_as_long_as_the_longest_of_the_last_ones():
    absence, now = Absence(), 0.0

    def be_absent(seconds):
        nonlocal now
        absence.begin(now)
        now += seconds
        absence.end(now)
        return absence.is_short

    assert not absence.is_short, "nothing is known yet"
    while not be_absent(WAITING_COMPUTE_SECONDS / 10):
        assert now < 1, "short ones are believed after a while"
    assert not be_absent(4 * WAITING_COMPUTE_SECONDS)
    assert [be_absent(0) for _ in range(3)] == [False, False, True]
    absence.end(now + 100)  # it was not away
    assert absence.is_short


# ---- whose turn it is


def test_the_thread_has_its_turn_until_the_main_thread_takes_the_sockets():
    woken = []
    turns = HandOver(lambda: woken.append(True))
    assert not turns.take_if_free() and not woken
    turns.await_turn()
    assert not turns.take(0.01) and woken, "the thread is asked to end its round"
    turns.leave()
    assert turns.take(SOON)
    turns.leave()
    assert turns.take_if_free()
    turns.leave()
    turns.hand_over()
    turns.await_turn()
    assert not turns.take_if_free()


def test_sockets_that_are_kept_and_not_used_are_taken(monkeypatch):
    """A main thread that is in a round keeps them however long it takes."""
    monkeypatch.setattr(hand_over, "IDLE_SOCKET_SECONDS", 0.001)
    turns, begun = HandOver(lambda: None), threading.Event()
    assert turns.take(SOON)
    thread = threading.Thread(target=lambda: (turns.await_turn(), begun.set()), daemon=True)
    thread.start()
    assert not begun.wait(0.05)
    turns.leave()
    assert begun.wait(SOON)
    thread.join()


# ---- over sockets


def taking_turns(member, count):
    """Return the values of `count` messages, while the main thread serves, computes, and looks what
    has arrived, in turns.
    """
    out = []
    while len(out) < count:
        if len(out) % 3 == 0:
            member.computes()
        elif len(out) % 3 == 1:
            member._absence._expected = 1.0  # as if it had computed for long
            member.computes()
            out += [value_of(message) for message in member.take_arrived()]
        if len(out) < count:
            out.append(value_of(member.serve(SOON, "the next")))
    return out


def test_no_message_is_lost_or_comes_twice_in_a_hand_over(join, ipc, monkeypatch):
    monkeypatch.setattr(hand_over, "IDLE_SOCKET_SECONDS", 0.0)  # the thread takes what it can
    kept = []

    def echo(message):
        """Send back as an answer what comes as TOTALS, as a server."""
        if message.kind is not Kind.TOTALS:
            return False
        kept.append(message)
        two.send(Message(Kind.ANSWER, 1, message.source, arrays=message.arrays))
        return True

    one, two = join(ipc(2), handle={1: echo})
    values = range(600)
    theirs = []
    other = threading.Thread(target=lambda: theirs.extend(taking_turns(two, len(values))))
    other.start()
    for value in values:
        one.send(Message(Kind.TOTALS, 0, 1, arrays=up(1, value).arrays))
        one.send(up(1, value))
        if value % 2:
            one.send(up(0, value))
    mine = taking_turns(one, len(values) + len(values) // 2)
    other.join()
    assert theirs == list(values) and len(kept) == len(values)
    assert sorted(mine) == sorted([*values, *(value for value in values if value % 2)])
    assert one.inbox.empty() and two.inbox.empty()


@pytest.fixture
def keep_sockets(monkeypatch):
    """Let the main thread of a member take its sockets; it keeps them until it hands them over."""
    monkeypatch.setattr(hand_over, "IDLE_SOCKET_SECONDS", SOON)

    def take(member):
        assert member._hand_over.take(SOON)
        member._hand_over.leave()

    return take


def test_a_main_thread_that_waits_serves_itself(join, ipc, keep_sockets):
    """The handler runs where the worker waits; while it computes, in the socket thread."""
    threads = []

    def handle(message):
        threads.append(threading.current_thread())
        return message.kind is Kind.TOTALS

    one, two = join(ipc(2), handle={1: handle})
    keep_sockets(two)
    one.send(Message(Kind.TOTALS, 0, 1))
    one.send(up(1, 5))
    assert value_of(two.serve(SOON, "a message")) == 5
    assert threads == [threading.current_thread()] * 2
    two.computes()  # for long, as far as is known
    one.send(Message(Kind.TOTALS, 0, 1))
    until(lambda: len(threads) == 3, "a message")
    assert threads[-1] is two._thread


def test_a_message_to_itself_needs_no_other_thread(join, ipc, keep_sockets):
    threads = []
    (member,) = join(ipc(1), handle={0: lambda _: threads.append(threading.current_thread())})
    keep_sockets(member)
    member.send(up(0, 2))
    assert value_of(member.serve(SOON, "a message")) == 2
    assert threads == [threading.current_thread()]


def test_what_is_sent_between_two_waits_leaves_at_once(join, ipc, keep_sockets):
    one, two = join(ipc(2))
    keep_sockets(one)
    one.send(up(1, 3))
    assert value_of(two.receive(SOON, "a message")) == 3


def test_an_error_while_the_main_thread_serves_is_raised_there_and_it_can_still_speak(join, ipc):
    def handle(message):
        raise DataError("bad", where="here")

    one, two = join(ipc(2), handle={1: handle})
    one.send(up(1))
    with pytest.raises(DataError, match="bad") as error:
        two.serve(SOON, "a message")
    assert any(entry.name == "handle" for entry in error.traceback)
    assert_delivers(two, one)


def test_a_deadline_and_a_silence_are_told_to_who_serves(join, ipc, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.05)
    monkeypatch.setattr(heartbeat, "SILENCE", 1.0)
    one, two = join(ipc(2), partners=range(2))
    two.reactor.activity.begin_wait()  # it does not work
    with pytest.raises(DeadlinePassed, match="worker 3, clock 7"):
        one.serve(0.3, "worker 3, clock 7")
    until(lambda: 1 in one.reactor.heartbeat.heard, "a sign of life")
    two.close(0.1)
    with pytest.raises(PeerLost, match=message("has-been-silent-for-s")):
        one.serve(SOON, "anything")


def test_a_deadline_counts_a_busy_socket_thread(join, ipc):
    held = threading.Event()
    (member,) = join(ipc(1), handle={0: lambda message: held.wait(SOON) and False})
    member.send(up(0, 4))
    until(lambda: member._round.thread and not member.reactor.has_queued, "its own message")
    with pytest.raises(DeadlinePassed):
        member.serve(0.05, "anything")
    held.set()
    assert value_of(member.serve(SOON, "a message")) == 4


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_end_while_the_main_thread_serves_leaves_nothing(join, ipc, tmp_path, interrupt):
    def handle(message):
        if threading.current_thread() is not threading.main_thread():
            return False
        raise interrupt

    one, two = join(ipc(2), handle={1: handle})
    two.send(up(1))
    with pytest.raises(interrupt):
        while True:
            two.serve(SOON, "a message")
            two.send(up(1))
    two.send(up(0, 9, 1))
    two.close(0.5)
    assert value_of(one.receive(SOON, "what was sent at the end")) == 9
    assert not two._thread.is_alive() and len(list(tmp_path.iterdir())) == 1


def test_closing_sends_what_the_main_thread_has_left(join, ipc, keep_sockets):
    one, two = join(ipc(2))
    keep_sockets(one)
    for value in range(100):
        one.reactor.queue(up(1, value))
    one.close()
    assert [value_of(two.serve(SOON, "the next")) for _ in range(100)] == list(range(100))


def test_heartbeats_go_on_while_the_main_thread_is_away(join, ipc, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.05)
    one, two = join(ipc(2), partners=range(2))
    assert one._hand_over.take(SOON)
    one._hand_over.leave()  # and it does not come back
    before = time.monotonic()
    until(lambda: two.reactor.heartbeat.heard.get(0, 0) > before + 0.2, "heartbeats")
