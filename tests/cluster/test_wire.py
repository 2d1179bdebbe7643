"""Connections and frames that are not of the job: they are refused and counted, and the job goes
on.
"""

import socket
import struct
import time
from contextlib import contextmanager

import numpy as np
import pytest
import zmq
from support.machines.members import JOB, SMALL, SOON, assert_delivers, until, up

from tux.cluster.transport.wire import Sockets
from tux.messages import frames
from tux.messages.frames import checksum, encode


def resident():
    """Return the bytes of memory that this process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def make_frames(*, descriptors=(), buffers=(), job=JOB, source=0, dest=1, sequence=0, total=None):
    """Make frames of a message that claims whatever it is given, with a right checksum unless
    another is given.
    """
    described = b"".join(struct.pack("<BB4Q", *each) for each in descriptors)
    fixed = (
        frames.MAGIC,
        frames.VERSION,
        0,
        len(descriptors),
        job,
        source,
        dest,
        0,
        0,
        sequence,
    )
    right = checksum([frames._HEADER.pack(*fixed, 0) + described, *buffers])
    return [
        frames._HEADER.pack(*fixed, right if total is None else total) + described,
        *buffers,
    ]


@contextmanager
def stranger(address, identity=None):
    """Yield a socket that connects to a member and is none itself."""
    context = zmq.Context()
    dealer = context.socket(zmq.DEALER)
    dealer.setsockopt(zmq.LINGER, 1000)
    if identity:
        dealer.setsockopt(zmq.IDENTITY, identity)
    dealer.connect(address)
    yield dealer
    dealer.close()
    context.term()


def raw(address, content):
    """Send bytes to a TCP address as they are, and read until the other side has closed or
    nothing comes.
    """
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=SOON) as plain:
        plain.settimeout(0.3)
        try:
            for start in range(0, len(content), 1 << 16):
                plain.sendall(content[start : start + (1 << 16)])
            while plain.recv(4096):
                pass
        except (TimeoutError, ConnectionError):
            pass


FOREIGN = {
    "another job": encode(up(1), JOB + 1),
    "bad checksum": make_frames(descriptors=[(9, 1, 1, 0, 0, 0)], buffers=[bytes(4)], total=12345),
    "absurd size": make_frames(descriptors=[(9, 1, 2**40, 0, 0, 0)], buffers=[bytes(4)]),
    "absurd product": make_frames(descriptors=[(9, 4, 2**32, 2**32, 2, 2)], buffers=[b""]),
    "absurd shape of nothing": make_frames(descriptors=[(9, 2, 0, 2**63, 0, 0)], buffers=[b""]),
    "unknown source": make_frames(source=3),
    "far source": make_frames(source=2**32 - 1),
    "another's message": make_frames(dest=0),
    "nobody's message": make_frames(dest=9),
    "noise": [bytes(np.random.default_rng(1).integers(0, 256, 200, np.uint8)), b"more"],
    "empty": [b""],
    "many empty": [b""] * 500,
    "HTTP": [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"],
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_stranger_is_refused_and_counted(join, ipc, content):
    addresses = ipc(3)
    members = join(addresses)
    assert_delivers(members[0], members[1])
    with stranger(addresses[1]) as dealer:
        for _ in range(3):
            dealer.send_multipart(content)
        until(lambda: members[1].reactor.refused == 3, "a refusal")
    for one, other in (
        (members[0], members[1]),
        (members[2], members[1]),
        (members[1], members[0]),
    ):
        assert_delivers(one, other)
    assert (
        members[1].inbox.empty() and members[0].reactor.refused == members[2].reactor.refused == 0
    )


def test_a_stranger_cannot_take_a_members_place(join, ipc):
    """Sockets of one identity would keep each other out; members have none."""
    addresses = ipc(2)
    (two,) = join(addresses, members=[1])
    with stranger(addresses[1], identity=b"0") as dealer:
        dealer.send(b"")
        until(lambda: two.reactor.refused == 1, "a refusal")
        (one,) = join(addresses, members=[0])
        assert_delivers(one, two)


@pytest.mark.parametrize(
    "content",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" + bytes(512),
        bytes(np.random.default_rng(2).integers(0, 256, 1 << 16, np.uint8)),
        bytes(1 << 16),
        b"\xff",
        b"\xff"
        + bytes(8)
        + b"\x7f\x03\x00NULL"
        + bytes(16)
        + bytes(32)
        + b"\x06"
        + struct.pack(">Q", 2**62)
        + bytes(1 << 16),
    ],
    ids=["HTTP", "TLS", "noise", "zeros", "one byte", "greeting and 2^62 bytes announced"],
)
def test_other_protocols_on_a_port(join, tcp, content):
    addresses = tcp(2)
    one, two = join(addresses)
    assert_delivers(one, two)
    before = resident()
    for _ in range(3):
        raw(addresses[1], content)
    assert_delivers(one, two)
    assert_delivers(two, one)
    assert two.inbox.empty() and resident() - before < 1 << 26


def test_a_frame_larger_than_any_message_is_never_held(join, ipc):
    addresses = ipc(2)
    one, two = join(addresses)
    assert two.reactor.sockets._router.getsockopt(zmq.MAXMSGSIZE) == SMALL
    assert_delivers(one, two)
    content = bytes(1 << 28)
    before = resident()
    for _ in range(2):
        with stranger(addresses[1]) as dealer:
            dealer.send(content, copy=False)
            time.sleep(0.2)
    assert resident() - before < 1 << 27
    assert_delivers(one, two)
    assert two.reactor.refused == 0, "it must not have arrived at all"


@pytest.mark.parametrize("secret", [None, bytes(32)], ids=["plain", "encrypted"])
def test_the_largest_frame_arrives(secret):
    largest = 4096
    ends = [Sockets("tcp://127.0.0.1:*", largest, secret, lambda text: None) for _ in range(2)]
    ends[0].dealers.connect(1, ends[1].endpoint)
    sent = [[b"head", bytes([number]) * largest] for number in range(2)]
    for frames_sent in sent:
        ends[0].dealers.send(1, frames_sent)
    found = []

    def receive():
        for end in ends:
            end.poll(10)
        while (received := ends[1].receive()) is not None:
            found.append([bytes(frame) for frame in received])
        return len(found) == len(sent)

    until(receive, "the last message")
    for end in ends:
        end.close(0)
    assert found == sent
