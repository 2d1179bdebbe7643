"""Numbers of messages: a gap is found, and a second process that counts anew."""

import pytest

from tux.base.errors import PeerLost
from tux.cluster.transport.sequence import Sequences
from tux.messages.message import Kind, Message


def message(dest=1, source=0):
    return Message(Kind.CONTRIBUTION, source, dest)


def test_each_channel_is_numbered_by_itself():
    sender = Sequences(3)
    assert [sender.number_message(message(dest)).sequence for dest in (1, 1, 2, 1)] == [0, 1, 0, 2]


def test_a_missing_message_is_told():
    sender, receiver = Sequences(2), Sequences(2)
    receiver.accept(sender.number_message(message()), "worker 1")
    sender.number_message(message())
    with pytest.raises(PeerLost, match="message 1 of worker 0 is missing: 2 came") as error:
        receiver.accept(sender.number_message(message()), "worker 1")
    assert error.value.where == "worker 1"


def test_who_counts_anew_or_is_unknown_is_no_member():
    sender, receiver = Sequences(2), Sequences(2)
    first = sender.number_message(message())
    assert receiver.is_from_member(first)
    receiver.accept(first, "worker 1")
    assert not receiver.is_from_member(Sequences(2).number_message(message()))
    assert not receiver.is_from_member(message(source=2))
