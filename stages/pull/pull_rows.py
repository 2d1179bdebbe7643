"""Rows that come when they are touched: the worker's side of the pull protocol, and its steps.
The masters' side is `tux.sync.pull`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tux.arrays.integers import index_dtype
from tux.base.errors import ProgramError
from tux.clock.block import Block
from tux.clock.steps import Pull, Sync
from tux.engine.partition import Partition
from tux.messages.encoding import Arrays
from tux.messages.message import Kind, Message, checking
from tux.messages.payloads import PullAnswer, PullRequest, Push
from tux.rows.table import freeze
from tux.sync.fields import of_kinds
from tux.sync.master_tables import MasterTables
from tux.sync.pull import (
    PullServer,
    UnackedChanges,
    join_aligned,
    share,
)
from tux.sync.pulled_rows import group_by_home, look_up_rows, tabulate


class PullClient:
    """A Generate's rows on one of several workers: asks the masters for them, lays them out for
    the kernel, and sends changes back.
    """

    def __init__(self, partition: Partition, over: str) -> None:
        part = partition.graph.vertices[over].part
        assert part is not None
        self.partition, self.over, self.table = partition, over, partition.tables[over]
        self._home, self._number, self._workers = (
            freeze(np.asarray(part.home)),
            freeze(np.asarray(part.number)),
            partition.workers,
        )
        self._order, self._kind = part.order, index_dtype(len(part.ids))
        self._none = freeze(np.empty(0, part.masters.dtype))
        self._fields = of_kinds(self.table, ("shared",))
        if strange := [f for f, d in self.table.declared.items() if d.kind != "shared"]:
            raise ProgramError(
                f"{over}.{strange[0]} is a {self.table.declared[strange[0]].kind} field",
                do="what is pulled is shared",
            )
        self._parts = [self._part(partition, f) for f in self._fields]
        masters = partition.server.tables[over]
        self.server = PullServer(
            [masters.arrays[f] for f in self._fields], len(part.masters), partition.workers
        )
        # steps so far; those of the blocks under way
        self._begun, self._steps = 0, dict[tuple[int, int], int]()
        # by step and home: the positions that were asked for
        self._ids: dict[int, list[np.ndarray]] = {}
        # by step and home: the answers
        self._pulled: dict[int, dict[int, PullAnswer]] = {}
        self._changes: dict[int, list[Arrays]] = {}
        self._unacked = UnackedChanges()
        self.sync_id = -1  # of the step that pulls
        self._warm()

    def _part(self, partition: Partition, field: str) -> Any:
        """Return the part of a field's changes that its masters take, as a number of the field's
        dtype.
        """
        declared = self.table.declared[field]
        return declared.dtype.type(
            share(partition.workers) if declared.combine == "sqrt_mean" else 1
        )

    def _warm(self) -> None:
        """Compile or load the functions that the first step calls, so that it does not wait for
        them.
        """
        nothing = [freeze(array[:0].copy()) for array in self.server.fields]
        server, unacked = PullServer([array.copy() for array in nothing], 0, 1), UnackedChanges()
        server.pull(0, 0, PullRequest(0, 0, self._number[self._none]))
        server.push(0, Push(0, nothing))
        unacked.note(0, [self._none], [nothing])
        ids, _ = group_by_home(self._none.copy(), self._home, self._workers)
        slots = tabulate(ids)
        unacked.add_to([array.copy() for array in nothing], slots, step=1, folded=[0])
        look_up_rows(ids, slots)

    def pull(self, clock: int, block: Block, lists: dict[str, np.ndarray]) -> int:
        """Ask every home for the rows that the block's lists touch; return the number of answers to
        come.
        """
        flat = np.concatenate([array.reshape(-1) for array in lists.values()])
        ids, counts = group_by_home(flat, self._home, self._workers)
        self._steps[block.number, block.round] = self._begun
        return self._ask(clock, np.split(ids, np.cumsum(counts)[:-1]), self.partition.most_apart)

    def pull_nothing(self, clock: int) -> int:
        """Ask every home to answer when the changes of all steps before this one are folded."""
        return self._ask(clock, [self._none] * self._workers, 0)

    def _ask(self, clock: int, ids: list[np.ndarray], slack: int) -> int:
        step, self._begun = self._begun, self._begun + 1
        self._ids[step], self._pulled[step] = ids, {}
        for home, asked in enumerate(ids):
            request = PullRequest(step, max(step - slack, 0), self._number[asked])
            self._send(Kind.PULL_REQUEST, home, clock, request.arrays(), len(asked))
        return self._workers

    def install(self, message: Message) -> None:
        """Take an answer of one home. Its bytes are counted here, by who has asked: the home may
        send it when its own worker is in the next epoch, or not there yet.
        """
        home = message.source
        asked = {
            step: len(self._ids[step][home])
            for step, pulled in self._pulled.items()
            if home not in pulled
        }
        answer = PullAnswer.read(message, self.server.fields, asked)
        self._pulled[answer.step][home] = answer
        if asked[answer.step] and home != self.partition.rank:
            self.partition.bytes_sent[self.over] += message.nbytes
            self.partition.spans.pulled[home] += message.nbytes

    def lay_out(
        self, block: Block, made: dict[str, np.ndarray]
    ) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
        """Return the rows of a block, home after home, with those changes of this worker that are
        not in them yet; and its lists as numbers of rows.
        """
        step = self._steps[block.number, block.round]
        answers = [answer for _, answer in sorted(self._pulled.pop(step).items())]
        with self.partition.timing("send"):
            rows = [
                join_aligned([answer.values[j] for answer in answers])
                for j in range(len(self._fields))
            ]
            slots = tabulate(np.concatenate(self._ids[step]))
            folded = [answer.folded for answer in answers]
            self._unacked.add_to(rows, slots, step=step, folded=folded)
            lists = {
                name: look_up_rows(array.reshape(-1), slots).reshape(array.shape)
                for name, array in made.items()
            }
        return rows, lists

    def shape_fields(self, rows: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the fields of pulled rows in the shapes that UDFs see."""
        return tuple(
            array.reshape(-1, *self.table.arrays[f].shape[1:])
            for array, f in zip(rows, self._fields, strict=True)
        )

    def ids_of(self, block: Block) -> np.ndarray:
        """Return the dense index of each pulled row of a block, (r,)."""
        positions = np.concatenate(self._ids[self._steps[block.number, block.round]])
        return freeze(self._order[positions].astype(self._kind))

    def note_changes(self, block: Block, rows: list[np.ndarray], before: list[np.ndarray]) -> None:
        """Note the changes of a block's rows, which were `before`; `before` is used up."""
        step = self._steps[block.number, block.round]
        with self.partition.timing("send"):
            for array, old in zip(rows, before, strict=True):
                np.subtract(array, old, out=old)
            cuts = np.cumsum([len(asked) for asked in self._ids[step]])[:-1]
            by_home = [np.split(old, cuts) for old in before]
            self._changes[step] = [
                [freeze(parts[home]) for parts in by_home] for home in range(self._workers)
            ]

    def push(self, clock: int, block: Block) -> int:
        """Send every home the changes of its rows, or the share of them that it takes; no answer
        comes.
        """
        step = self._steps.pop((block.number, block.round))
        changes, ids = self._changes.pop(step), self._ids.pop(step)
        if self.partition.slack:
            self._unacked.note(step, [freeze(each) for each in ids], changes)
        sent = [
            [
                each if part == 1 else each * part
                for each, part in zip(home, self._parts, strict=True)
            ]
            for home in changes
        ]
        return self._push(clock, step, ids, sent)

    def push_nothing(self, clock: int) -> int:
        """Send every home no changes: the push of the step that `pull_nothing` began."""
        step = self._begun - 1
        nothing = [array[:0] for array in self.server.fields]
        del self._pulled[step]
        return self._push(clock, step, self._ids.pop(step), [nothing] * self._workers)

    def _push(self, clock: int, step: int, ids: list[np.ndarray], changes: list[Arrays]) -> int:
        for home, arrays in enumerate(changes):
            self._send(Kind.PUSH, home, clock, Push(step, arrays).arrays(), len(ids[home]))
        return 0

    def _send(self, kind: Kind, home: int, clock: int, arrays: Arrays, rows: int) -> None:
        """Send a message about so many rows. One about none does not count: those that close the
        blocks before a state is kept have none, and records are the same without them.
        """
        message = Message(kind, self.partition.rank, home, clock, self.sync_id, arrays)
        self.partition.enqueue(message, self.over, counted=rows > 0)

    def handle(self, server: MasterTables, message: Message) -> list[Message]:
        """Answer a pull or a push on the home; return the answers that can be given now."""
        with checking(message):
            replies = (
                self.server.pull(message.source, message.clock, PullRequest.read(message))
                if message.kind is Kind.PULL_REQUEST
                else self.server.push(message.source, Push.read(message))
            )
        return [
            Message(
                Kind.PULL_ANSWER,
                server.rank,
                reply.worker,
                reply.clock,
                self.sync_id,
                reply.answer.arrays(),
            )
            for reply in replies
        ]


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
