"""Connections from outside a job: they are counted and told, and do not keep the files that a
member needs.
"""

import errno
import socket
import time

import numpy as np
import pytest
import zmq
from support.messages import message

from tux.base.errors import Refused
from tux.cluster.transport import wire
from tux.cluster.transport.socket_thread import SocketThread
from tux.messages.message import BadMessage, Kind, Message

JOB = 77
SOON = 20.0  # seconds in which everything here has long happened


@pytest.fixture
def member():
    """Yield a function that starts a listening member: ``member(number, addresses, secret)``."""
    started = []

    def start(number=0, addresses=("tcp://127.0.0.1:*", ""), secret=bytes(32)):
        started.append(
            SocketThread(
                number,
                [*addresses],
                JOB,
                lambda message: False,
                partners=[],
                largest=1 << 16,
                secret=secret,
            )
        )
        started[-1].start()
        return started[-1]

    yield start
    for each in started:
        each.close(0)


def until(true):
    limit = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.01)


def up(value):
    return Message(Kind.CONTRIBUTION, 1, 0, arrays=[np.full(3, value)])


def test_another_key_is_counted_and_told(member):
    one = member()
    stranger = member(1, (one.endpoint, "tcp://127.0.0.1:*"), secret=bytes(31) + b"x")
    stranger.send(up(1))
    until(lambda: one.reactor.refused)
    assert "without this job's key" in one.reactor.last_refused and one.inbox.empty()
    friend = member(1, (one.endpoint, "tcp://127.0.0.1:*"))
    friend.send(up(2))
    assert one.receive(SOON, "a message").arrays[0].tolist() == [2, 2, 2]


def test_an_idle_connection_does_not_stay(member, monkeypatch):
    monkeypatch.setattr(wire, "HANDSHAKE", 0.2)
    one = member()
    host, _, port = one.endpoint.removeprefix("tcp://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=SOON) as idle:
        while idle.recv(4096):  # its greeting, and then the end
            pass
    until(lambda: one.reactor.refused)


def test_messages_wait_until_there_is_a_file_for_their_socket(member, monkeypatch):
    """They keep their order, and a missing file is no error of the member."""
    one, two = member(), member(1, ("", "tcp://127.0.0.1:*"))
    dealer, tries = two.reactor.sockets.dealers.dealer, []

    def scarce(address):
        tries.append(address)
        if len(tries) < 3:
            raise zmq.ZMQError(errno.EMFILE)
        return dealer(address)

    monkeypatch.setattr(two.reactor.sockets.dealers, "dealer", scarce)
    two.meet([one.endpoint])
    for value in range(5):
        two.send(up(value))
    assert [one.receive(SOON, "a message").arrays[0][0] for _ in range(5)] == list(range(5))
    assert two.inbox.empty() and len(tries) == 3


def test_a_bad_message_names_the_host_of_its_sender(member, monkeypatch):
    one, two = member(), member(1, ("", "tcp://127.0.0.1:*"))

    def refuse(message):
        raise BadMessage(message, "it has no arrays")

    monkeypatch.setattr(one.reactor, "handle", refuse)
    one.meet([one.endpoint, two.endpoint])
    two.meet([one.endpoint])
    two.send(up(1))
    with pytest.raises(BadMessage, match="CONTRIBUTION message of worker 1 was refused") as error:
        one.receive(SOON, "a message")
    assert error.value.where == "the launcher on 127.0.0.1"  # the last of two members


def test_own_messages_come_by_no_socket(member):
    """A message that says it is of the member that receives it is somebody else's."""
    one, two = member(), member(1, ("", "tcp://127.0.0.1:*"))
    two.meet([one.endpoint])
    two.send(Message(Kind.CONTRIBUTION, 0, 0, arrays=[np.zeros(3)]))
    until(lambda: one.reactor.refused)
    assert "from worker 0 to 0" in one.reactor.last_refused and one.inbox.empty()


@pytest.mark.parametrize("address", ["", "a", "tcp://", "tcp://127.0.0.1:x", "udp://1.2.3.4:5"])
def test_what_is_no_address_is_refused(member, address):
    with pytest.raises(Refused, match=message("is-no-address-of-a")):
        member().reactor.sockets.send_once(address, [b"hello"])
