"""The steps by which a Generate pulls rows and pushes their changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tux.clock.block import Block
from tux.clock.steps import Pull, Sync
from tux.messages.message import Kind, Message
from tux.stages.pull.pull_rows import PullClient
from tux.sync.master_tables import MasterTables


class PullRows(Pull):
    """Ask the masters for the rows that a block's lists name."""

    def __init__(
        self, client: PullClient, lists_of: Callable[[Block], dict[str, np.ndarray]]
    ) -> None:
        self._client, self._lists_of, self.table = client, lists_of, client.over
        self.sync_id = client.sync_id = client.partition.register(self)

    def send(self, clock: int, block: Block | None) -> int:
        """Ask the masters; return the number of answers to come."""
        assert block is not None
        return self._client.pull(clock, block, self._lists_of(block))

    def install(self, message: Message) -> None:
        """Keep one home's answer until the rows are laid out."""
        self._client.install(message)

    def handle(self, server: MasterTables, message: Message) -> list[Message]:
        """Answer a pull or a push on the home; return the answers that can be given now."""
        return self._client.handle(server, message)


class ClientSync(Sync):
    """A step that sends messages of a pull client, under the number of the step that pulls, which
    installs the answers.
    """

    answer = Kind.PULL_ANSWER

    def __init__(self, client: PullClient) -> None:
        self._client, self.table, self.sync_id = client, client.over, client.sync_id

    def install(self, message: Message) -> None:
        """Raise RuntimeError: no answer comes to this step."""
        raise RuntimeError(f"an answer about {self.table} came to a step that asks for nothing")


class PushChanges(ClientSync):
    """Send the masters the changes of a block."""

    def send(self, clock: int, block: Block | None) -> int:
        """Push the changes; no answer comes."""
        assert block is not None
        return self._client.push(clock, block)


class PushKept(ClientSync):
    """Send the masters all changes that are kept, in a step that pulls nothing."""

    def send(self, clock: int, block: Block | None) -> int:
        """Push the changes; no answer comes."""
        return self._client.push_kept(clock)


class ClosingPull(ClientSync):
    """Ask the masters to answer when they hold all changes."""

    def send(self, clock: int, block: Block | None) -> int:
        """Ask the masters; return the number of answers to come."""
        return self._client.pull_nothing(clock)


class ClosingPush(ClientSync):
    """Send the masters a push without changes, which ends the step of `ClosingPull`."""

    def send(self, clock: int, block: Block | None) -> int:
        """Push nothing; no answer comes."""
        return self._client.push_nothing(clock)
