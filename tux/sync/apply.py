"""An Apply between workers: mirrors send, masters fold and run the UDF, mirrors install the answer.

up      Contribution: block, pass, round; touched rows; weights; changes and deltas of the rows
down    Answer: the blocks that any worker sent; touched rows; value and shared fields of the rows

Touched rows of a block are the same in every pass. So they are found once, sent once, and kept.

Both are in `tux.messages.payloads`. What a worker and its own server send each other is handed over
as it is.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

import numpy as np

from tux.clock.block import Block
from tux.clock.steps import Fold, Rows
from tux.graph.routes import ALL
from tux.messages.encoding import Arrays, Flagged, choose_rows, pack, pick_changed_fields
from tux.messages.message import Kind, Message
from tux.messages.payloads import Answer, Contribution
from tux.messages.touched import RoutePlaces, kept_rows_arrays
from tux.sync.fields import NO_ROWS
from tux.sync.master_tables import MasterTables
from tux.sync.row_sets import AllRows, TouchedRows
from tux.sync.touched_masters import TouchedMasters, find_places

if TYPE_CHECKING:
    from tux.engine.partition import Partition

KEPT = 4
"""Numbers, for each edge here, of touched masters that are kept from pass to pass: about as much
memory as edges take.
"""


class ApplySync(Fold[Contribution]):
    """The step of an Apply on a type that the partition cuts."""

    is_apply = True

    def __init__(
        self,
        partition: Partition,
        over: str,
        rows: AllRows,
        kernel: Any,
        writes: Container[str] | None = None,
        *,
        gather: bool,
        sees_context: bool,
        adds_to_context: bool,
        again: bool,
    ) -> None:
        """Take the fields that the UDF may change as `writes`, if they are known. `again`: each
        block of a mini-batch has all rows.
        """
        self.table, self.has_function = over, kernel is not None
        self.sees_context, self.adds_to_context = sees_context, adds_to_context
        self._partition, self._rows, self._kernel, self._sends_changes = (
            partition,
            rows,
            kernel,
            gather,
        )
        self._writes = writes
        self._again = again
        # this worker's own part comes last: the others' parts are on their way meanwhile
        self._homes = [
            *(w for w in range(partition.workers) if w != partition.rank),
            partition.rank,
        ]
        self._weights = rows.count_edges(partition, over).astype(np.float32)
        self._sent_before: set[tuple[int, int]] = set()  # homes and blocks, of touched rows
        self._own_masters: dict[int, np.ndarray] = {}  # of touched rows, by block
        self._kept: dict[int, TouchedMasters] = {}  # by block
        self._left = KEPT * len(partition.graph.edges)
        self.sync_id = partition.register(self)

    def unsent_rows(self, block: Block | None) -> tuple[str, Rows] | None:
        """Return the type and the rows whose changes mirrors send; None if they send nothing."""
        return (self.table, self._rows.here(block)) if self._sends_changes else None

    def send(self, clock: int, block: Block | None) -> int:
        """Send each home this worker's contribution to the block; return the number of answers to
        come.
        """
        partition, mirrors = self._partition, self._partition.mirrors[self.table]
        number = block.number if block else ALL
        head = number, partition.pass_number, block.round if block else 0
        for home in self._homes:
            about, weights = self._rows_to_send(home, number)
            rows = about
            if not self._sends_changes:
                rows, weights = NO_ROWS, weights[:0] if weights is not None else None
            fields = mirrors.take(rows, (self.sync_id, home))
            message = Message(Kind.CONTRIBUTION, partition.rank, home, clock, self.sync_id)
            if home == partition.rank:
                masters = self._masters_of(about, number)
                sent = pick_changed_fields(fields, masters if self._sends_changes else NO_ROWS)
                message = message._replace(payload=Contribution(*head, masters, weights, sent))
            else:
                partition.bytes_dense[self.table] += len(rows) * mirrors.row_bytes
                touched = self._encode_rows(about, home, number) if self._rows.masked else []
                arrays = Contribution.arrays(head, touched, weights, pack(fields))
                message = message._replace(arrays=arrays)
            partition.enqueue(message, self.table)
        return partition.workers

    def _rows_to_send(self, home: int, number: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the rows of block `number` whose changes `home` gets, and their weights where a
        field of the table needs them.
        """
        if isinstance(self._rows, TouchedRows):
            return self._rows.rows_to_send(home, number)
        rows = self._rows.up(home, (number,))
        weighted = self._partition.server.needs_weights(self.table)
        return rows, self._weights[rows] if weighted else None

    def _masters_of(self, rows: np.ndarray, number: int) -> np.ndarray:
        """Return the numbers of this worker's own masters of its `rows` in a block."""
        if not self._rows.masked:
            return self._rows.down(self._partition.rank, (number,))
        if number not in self._own_masters:
            route = self._rows.up(self._partition.rank, (number,))
            at, _ = find_places(route, rows)
            self._own_masters[number] = self._rows.down(self._partition.rank, (number,))[at]
        return self._own_masters[number]

    def _encode_rows(self, rows: np.ndarray, home: int, number: int) -> Arrays:
        """Return the arrays that tell the home which rows of a block a contribution is about: the
        first time their places in the route, later a mark that they are as before.
        """
        if (home, number) in self._sent_before:
            return kept_rows_arrays()
        self._sent_before.add((home, number))
        route = self._rows.up(home, (number,))
        return RoutePlaces(find_places(route, rows)[0], len(route)).message_arrays(keep=True)

    def read(self, server: MasterTables, message: Message) -> Contribution:
        """Read and check a contribution. This runs on the home."""
        if message.payload is not None:
            own: Contribution = message.payload
            return own
        masters = server.masters[self.table]
        return Contribution.read(
            message,
            self._rows,
            masters.up,
            gather=self._sends_changes,
            weighted=masters.needs_weights,
        )

    def serve(
        self, server: MasterTables, clock: int, contributions: list[Contribution]
    ) -> list[Arrays | Answer]:
        """Fold the contributions, run the UDF, and answer each worker with what it holds of the
        blocks. This runs on the home.
        """
        masters = server.masters[self.table]
        masters.fold(
            (sent.rows if self._sends_changes else NO_ROWS, sent.fields, sent.weights)
            for sent in contributions
        )
        numbers = np.array(sorted({sent.number for sent in contributions}), np.int32)
        if self._rows.masked:
            touched = self._touched_masters(server, contributions, numbers)
            fields = self._apply_to(server, contributions[0], touched.rows)
            answers = self._answers_about(server, touched, numbers, fields)
        else:
            self._apply(server, contributions[0], numbers)
            answers = [self._answer(server, worker, numbers) for worker in range(server.workers)]
        masters.clear_dirty()
        return answers

    def _touched_masters(
        self, server: MasterTables, contributions: list[Contribution], numbers: np.ndarray
    ) -> TouchedMasters:
        """Return the masters that contributions to these blocks are about."""
        number = int(numbers[0])
        if len(numbers) == 1 and number in self._kept:
            return self._kept[number]
        rows = [sent.rows for sent in contributions]
        return TouchedMasters.of(rows, self._rows, server.rank, numbers)

    def _apply_to(
        self, server: MasterTables, first: Contribution, rows: np.ndarray
    ) -> list[Flagged]:
        """Run the UDF on these masters, and clear their deltas. Returns their fields."""
        masters, kernel = server.masters[self.table], self._kernel
        if kernel is None:
            fields = masters.values_and_flags(rows)
        else:
            salt, number = first.number + 1, first.pass_number
            fields = masters.change_and_flag(
                lambda: kernel(rows, 0, len(rows), salt=salt, pass_number=number),
                rows,
                self._writes,
            )
        server.tables[self.table].clear_deltas(rows)
        return fields

    def _apply(self, server: MasterTables, first: Contribution, numbers: np.ndarray) -> None:
        """Run the UDF on the blocks' masters, and clear their deltas."""
        table, masters = server.tables[self.table], server.masters[self.table]
        salt = first.number + 1 if self._again else first.round
        for number in numbers:
            lo, hi = self._rows.masters(int(number))
            if self._kernel is not None:
                with masters.changing(np.arange(lo, hi, dtype=np.int32), self._writes):
                    self._kernel((), lo, hi, salt=salt, pass_number=first.pass_number)
            table.clear_deltas(slice(lo, hi))

    def _answer(self, server: MasterTables, worker: int, numbers: np.ndarray) -> Arrays | Answer:
        """Return the answer to a worker: the fields of all its rows in these blocks."""
        masters, rows = server.masters[self.table], self._rows.down(worker, numbers)
        fields = masters.values_and_flags(rows)
        if worker == server.rank:
            return Answer(pick_changed_fields(fields, self._rows.up(worker, numbers)))
        server.bytes_dense[self.table] += len(rows) * masters.row_bytes
        return Answer.arrays(numbers, [], pack(fields))

    def _answers_about(
        self,
        server: MasterTables,
        touched: TouchedMasters,
        numbers: np.ndarray,
        fields: list[Flagged],
    ) -> list[Arrays | Answer]:
        """Return the answer to each worker: the fields of its rows among those `touched`, whose
        `fields` are these.
        """
        masters, number = server.masters[self.table], int(numbers[0])
        before = len(numbers) == 1 and number in self._kept
        keep = not before and len(numbers) == 1 and touched.size <= self._left
        if keep:
            self._kept[number] = touched
            self._left -= touched.size
        answers: list[Arrays | Answer] = []
        for partition, held in enumerate(touched.held):
            told = choose_rows(fields, held)
            if partition == server.rank:
                answers.append(Answer(pick_changed_fields(told, touched.own)))
                continue
            server.bytes_dense[self.table] += len(held) * masters.row_bytes
            said = kept_rows_arrays()
            if not before:
                route = self._rows.down(partition, numbers)
                at, _ = find_places(route, touched.rows)
                said = RoutePlaces(at, len(route)).message_arrays(keep=keep)
            answers.append(Answer.arrays(numbers, said, pack(told)))
        return answers

    def install(self, message: Message) -> None:
        """Take the answer of one home. This runs on the worker."""
        mirrors = self._partition.mirrors[self.table]
        answer: Answer = message.payload
        if answer is None:
            answer = Answer.read(message, self._rows, mirrors.down)
        mirrors.install((self.sync_id, message.source), answer.fields)
