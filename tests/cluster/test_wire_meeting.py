"""A member that answers before it knows where the others are: nothing is lost, and the order
stays.
"""

import numpy as np

from tux.cluster.transport.socket_thread import SocketThread
from tux.messages.message import Kind, Message

JOB = 77


def test_what_is_said_before_the_addresses_are_known_arrives_after(tmp_path):
    addresses = [f"ipc://{tmp_path}/a", f"ipc://{tmp_path}/b", f"ipc://{tmp_path}/l"]
    early = SocketThread(
        0,
        [addresses[0], "", addresses[2]],
        JOB,
        lambda message: False,
        partners=[],
        largest=1 << 16,
    )
    other = SocketThread(1, addresses, JOB, lambda message: False, partners=[], largest=1 << 16)
    try:
        early.start()
        other.start()
        for number in range(5):
            early.send(Message(Kind.PULL_ANSWER, 0, 1, clock=number, arrays=[np.arange(3)]))
        early.send(Message(Kind.PULL_ANSWER, 0, 0, clock=9))  # handled after the five before it
        assert early.receive(10, "its own message").clock == 9
        early.meet([addresses[0], addresses[1]])
        early.send(Message(Kind.PULL_ANSWER, 0, 1, clock=5))
        assert [other.receive(10, "the early ones").clock for _ in range(6)] == list(range(6))
    finally:
        early.close(0.5)
        other.close(0.5)
