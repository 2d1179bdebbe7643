"""The numbers of messages from one member to another: they find lost messages, and second
processes that claim to be a member.
"""

from __future__ import annotations

from tux.base.errors import PeerLost
from tux.messages.message import Message


class Sequences:
    """The numbers of the messages that one member sends to each other, and of those that arrive,
    which it checks.
    """

    def __init__(self, members: int) -> None:
        self.next = [0] * members  # by member, of the next message to it
        self.expected = [0] * members  # by member, of the next message from it

    def number_message(self, message: Message) -> Message:
        """Give a message its number."""
        number = self.next[message.dest]
        self.next[message.dest] += 1
        return Message(
            message.kind,
            message.source,
            message.dest,
            message.clock,
            message.sync_id,
            message.arrays,
            number,
        )

    def is_from_member(self, message: Message) -> bool:
        """Return whether the source is a member. A second process with the same number is not: its
        messages are numbered from 0 again.
        """
        source = message.source
        return source < len(self.expected) and message.sequence >= self.expected[source]

    def accept(self, message: Message, where: str) -> None:
        """Check the number of a member's message that has arrived; PeerLost if one before it is
        missing.
        """
        expected = self.expected[message.source]
        if message.sequence != expected:
            raise PeerLost(
                f"message {expected} of worker {message.source} is missing: "
                f"{message.sequence} came",
                where=where,
            )
        self.expected[message.source] += 1
