"""An Apply between workers: mirrors send, masters fold and run the UDF, mirrors install the answer.

up      Contribution: block, pass, round; touched rows; weights; changes and deltas of the rows
down    Answer: the blocks that any worker sent; touched rows; value and shared fields of the rows

Both are in `tux.protocol.payloads`. What a worker and its own server send each other is handed over
as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.engine.worker import Worker
from tux.graph.routes import ALL
from tux.protocol.block import Block
from tux.protocol.encoding import Arrays, pack, picked
from tux.protocol.message import Kind, Message
from tux.protocol.payloads import Answer, Contribution
from tux.protocol.replicas import NO_ROWS
from tux.protocol.server import Server
from tux.protocol.steps import Fold, Rows
from tux.protocol.touched import Touched
from tux.stages.row_sets import AllRows, TouchedRows, places


class ApplySync(Fold[Contribution]):
    """The step of an Apply on a type that the partition cuts."""

    is_apply = True
    reads_masters = False

    def __init__(
        self,
        worker: Worker,
        over: str,
        rows: AllRows,
        kernel: Any,
        *,
        gather: bool,
        adds_to_context: bool,
        again: bool,
    ) -> None:
        """`again`: each block of a mini-batch has all rows."""
        self.table, self.has_function, self.adds_to_context = (
            over,
            kernel is not None,
            adds_to_context,
        )
        self._worker, self._rows, self._kernel, self._gather = worker, rows, kernel, gather
        self._again = again
        # this worker's own part comes last: the others' parts are on their way meanwhile
        self._homes = [*(w for w in range(worker.workers) if w != worker.rank), worker.rank]
        self._weights = worker.graph.counts(over).astype(np.float32)
        self.sync_id = worker.register(self)

    def unsent_rows(self, block: Block | None) -> tuple[str, Rows] | None:
        """What mirrors send."""
        return (self.table, self._rows.here(block)) if self._gather else None

    def send(self, clock: int, block: Block | None) -> int:
        """Each home gets this worker's contribution to the block; returns the number of answers
        to come.
        """
        worker, block_rows = self._worker, self._rows
        mirrors, number = worker.mirrors[self.table], block.number if block else ALL
        numbers = (number,)
        head = number, worker.pass_number, block.round if block else 0
        weighted = worker.server.needs_weights(self.table)
        for home in self._homes:
            rows, touched, weights = block_rows.up(home, numbers), None, None
            if isinstance(block_rows, TouchedRows):
                at, which = places(rows, block_rows.here(block))
                touched, rows = Touched(at, len(rows)), rows[at]
                weights = block_rows.edges_into(block)[which] if weighted else None
            elif weighted:
                weights = self._weights[rows]
            if not self._gather:
                rows, weights = NO_ROWS, weights[:0] if weights is not None else None
            fields = mirrors.take(rows, (self.sync_id, home))
            arrays: Arrays = []
            own = None
            if home == worker.rank:
                masters = block_rows.down(home, numbers)
                masters = masters[touched.places] if touched is not None else masters
                sent = picked(fields, masters if self._gather else NO_ROWS)
                own = Contribution(*head, masters, weights, sent)
            else:
                worker.bytes_dense[self.table] += len(rows) * mirrors.row_bytes
                arrays = Contribution.arrays(head, touched, weights, pack(fields))
            worker.enqueue(
                Message(
                    Kind.CONTRIBUTION,
                    worker.rank,
                    home,
                    clock,
                    self.sync_id,
                    arrays,
                    payload=own,
                ),
                self.table,
            )
        return worker.workers

    def read(self, server: Server, message: Message) -> Contribution:
        """On the home: what a contribution carries, checked."""
        if message.payload is not None:
            own: Contribution = message.payload
            return own
        masters = server.masters[self.table]
        return Contribution.read(
            message, self._rows, masters.up, gather=self._gather, weighted=masters.needs_weights
        )

    def serve(
        self, server: Server, clock: int, contributions: list[Contribution]
    ) -> list[Arrays | Answer]:
        """On the home: fold, run the UDF, answer each worker with what it holds of the blocks."""
        masters = server.masters[self.table]
        masters.fold(
            (sent.rows if self._gather else NO_ROWS, sent.fields, sent.weights)
            for sent in contributions
        )
        numbers = np.array(sorted({sent.number for sent in contributions}), np.int32)
        touched = (
            np.unique(np.concatenate([sent.rows for sent in contributions]))
            if self._rows.masked
            else None  # rows are known by their blocks
        )
        self._apply(server, contributions[0], numbers, touched)
        answers = [
            self._answer(server, worker, numbers, touched) for worker in range(server.workers)
        ]
        masters.clear_dirty()
        return answers

    def _apply(
        self, server: Server, first: Contribution, numbers: np.ndarray, touched: np.ndarray | None
    ) -> None:
        """Run the UDF on the blocks' masters, or those `touched`, and clear their deltas."""
        table, masters = server.tables[self.table], server.masters[self.table]
        if touched is not None:
            rows = touched.astype(np.int64)
            if self._kernel is not None:
                with masters.changing(rows):
                    salt, number = first.number + 1, first.pass_number
                    self._kernel(rows, 0, len(rows), salt=salt, pass_number=number)
            table.clear_deltas(rows)
            return
        salt = first.number + 1 if self._again else first.round
        for number in numbers:
            lo, hi = self._rows.masters(int(number))
            if self._kernel is not None:
                with masters.changing(np.arange(lo, hi, dtype=np.int32)):
                    self._kernel((), lo, hi, salt=salt, pass_number=first.pass_number)
            table.clear_deltas(slice(lo, hi))

    def _answer(
        self, server: Server, worker: int, numbers: np.ndarray, touched: np.ndarray | None
    ) -> Arrays | Answer:
        masters, rows = server.masters[self.table], self._rows.down(worker, numbers)
        said = None
        if touched is not None:
            at, _ = places(rows, touched)
            said, rows = Touched(at, len(rows)), rows[at]
        fields = masters.flagged(rows)
        if worker == server.rank:
            own = self._rows.up(worker, numbers)
            return Answer(picked(fields, own[said.places] if said is not None else own))
        server.bytes_dense[self.table] += len(rows) * masters.row_bytes
        return Answer.arrays(numbers, said, pack(fields))

    def install(self, message: Message) -> None:
        """On the worker: take the answer of one home."""
        mirrors = self._worker.mirrors[self.table]
        answer: Answer = message.payload
        if answer is None:
            answer = Answer.read(message, self._rows, mirrors.down)
        mirrors.install((self.sync_id, message.source), answer.fields)
