"""Connections from outside a job: they are counted and told, and do not keep the files that a
member needs.
"""

import errno
import socket
import time

import numpy as np
import pytest
import zmq

from tux.cluster import wire
from tux.cluster.socket_thread import SocketThread
from tux.protocol.message import Kind, Message

JOB = 77
SOON = 20.0  # seconds in which everything here has long happened


@pytest.fixture
def member():
    """A member that listens on a free port, started: ``member(number, addresses, secret)``."""
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
    until(lambda: one.refused)
    assert "without this job's key" in one.last_refused and one.inbox.empty()
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
    until(lambda: one.refused)


def test_messages_wait_until_there_is_a_file_for_their_socket(member, monkeypatch):
    """They keep their order, and a missing file is no error of the member."""
    one, two = member(), member(1, ("", "tcp://127.0.0.1:*"))
    dealer, tries = two.sockets._dealer, []

    def scarce(address):
        tries.append(address)
        if len(tries) < 3:
            raise zmq.ZMQError(errno.EMFILE)
        return dealer(address)

    monkeypatch.setattr(two.sockets, "_dealer", scarce)
    two.meet([one.endpoint])
    for value in range(5):
        two.send(up(value))
    assert [one.receive(SOON, "a message").arrays[0][0] for _ in range(5)] == list(range(5))
    assert two.inbox.empty() and len(tries) == 3
