"""The server role of a worker: masters of cut vertex types, and its copy of the context. This is
where contributions of mirrors are collected and folded, and answered. Owns no socket, thread or
time.

    CONTRIBUTION  a worker's part of a synchronisation; when all workers have sent theirs, they are
                  folded, and each worker gets an ANSWER
    TOTALS        its own worker's context: when the Applies up to its clock that add to it are
                  folded here, and the contexts of earlier clocks have gone on, this server's share
                  is added, and it goes to the special worker as a CONTRIBUTION
    ANSWER        the context's new value, which the server notes before its worker goes on with it
    PULL_REQUEST  rows that a worker does not keep, and
    PUSH          their changes: see `tux.sync.pull`

How a complete set of contributions is folded is the synchronisation's own business (`Fold.serve`).
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tux.clock.clock import PendingContributions
from tux.clock.steps import Fold, Pull, Sync
from tux.clock.trace import ClockEvent, Trace
from tux.messages.encoding import NEVER, Arrays, fill_elements, pack
from tux.messages.message import BadMessage, Kind, Message, checking
from tux.messages.payloads import Answer, Totals
from tux.program.merging import combine_values
from tux.rows.table import RowTable
from tux.sync.fields import DOWN, UP
from tux.sync.gathered import TotalsByClock
from tux.sync.master_tables import MasterTables

SENT_BY_WORKERS = (
    Kind.CONTRIBUTION,
    Kind.TOTALS,
    Kind.PULL_REQUEST,
    Kind.PUSH,
    Kind.ANSWER,
    Kind.PULL_ANSWER,
    Kind.EVAL_ROWS,
)


SPANS = 160
"""Spans of time of a server's work that are kept."""


class Server(MasterTables):
    """The server of one worker: it keeps the masters of the worker's share of each cut type, and
    those of the context (tau) if it is special (rank 0).
    """

    def __init__(
        self,
        rank: int,
        workers: int,
        tables: dict[str, RowTable],
        taus: tuple[RowTable, RowTable],
        send: Callable[[Message], None],
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(rank, workers, tables, taus)
        self.send, self._now = send, now
        self.trace: Trace | None = None
        self.totals = TotalsByClock(self.tau)
        self.syncs: list[Sync] = []
        self.bytes_sent: dict[str, int] = defaultdict(int)  # to other workers, by vertex type
        self.bytes_to = [0] * workers  # bytes_sent, by worker
        self.seconds = 0.0  # spent on folding and on Apply UDFs, while the worker goes on
        # its last spans: thread, start, end and clock
        self.spans: deque[tuple[int, float, float, int]] = deque(maxlen=SPANS)
        # of each, its worker and its payload
        self._pending: PendingContributions[tuple[int, Any]] = PendingContributions(workers)
        # by clock: the synchronisations to fold before the context goes on, and the contexts that
        # have not gone on
        self._first: dict[int, set[int]] = {}
        self._held: dict[int, Message] = {}

    def handle(self, message: Message) -> bool:
        """Handle one message; this may send others. Return True if it was for the server alone,
        False if its worker needs it (too). BadMessage if it belongs to no synchronisation of the
        program, or its arrays are none of its kind.
        """
        if message.kind in SENT_BY_WORKERS and message.source >= self.workers:
            raise BadMessage(message, "the sender is no worker")
        match message.kind:
            case Kind.CONTRIBUTION:
                self._collect(message)
            case Kind.TOTALS:
                self._take_totals(message)
            case Kind.PULL_REQUEST | Kind.PUSH:
                self._reply_to_pull(message)
            case Kind.ANSWER:
                if self._find_fold(message).table == "tau":
                    self._note_context(message)
                return False
            case _:
                return False
        return True

    def hold_context(self, clock: int, until: set[int]) -> None:
        """Let the contexts of a clock and of later ones go on when these synchronisations are
        folded here. Its worker calls this before it sends anything of them.
        """
        self._first[clock] = until

    def _find_fold(self, message: Message) -> Fold[Any]:
        """Find the synchronisation that a message belongs to, which must be a Fold."""
        sync = self._find_sync(message)
        if not isinstance(sync, Fold):
            raise _misplaced_error(message)
        return sync

    def _find_sync(self, message: Message) -> Sync:
        """Find the synchronisation that a message belongs to."""
        if message.sync_id >= len(self.syncs):
            raise _misplaced_error(message)
        return self.syncs[message.sync_id]

    def _collect(self, message: Message) -> None:
        """Take a worker's contribution. When it is the last, fold all and answer each worker."""
        sync, clock = self._find_fold(message), message.clock
        start = self._now()
        payload = sync.read(self, message)
        with checking(message):
            contributions = self._pending.add(
                (clock, message.sync_id), message.source, (message.source, payload)
            )
        if contributions is None:
            self._note_time(start, clock)
            return
        if self.trace:
            for source, _ in contributions:
                self.trace.note(ClockEvent.FOLDED, clock, source, message.sync_id, message.kind)
        answers = self._serve(sync, clock, [part for _, part in contributions])
        self._note_time(start, clock)
        self._send_answers(sync, message, answers)
        if first := self._first.get(clock):
            first.discard(message.sync_id)
            if not first:
                del self._first[clock]
                self._pass_on_contexts()

    def _send_answers(
        self, sync: Fold[Any], last: Message, answers: Sequence[Arrays | Answer]
    ) -> None:
        """Answer each worker, after the `last` contribution."""
        kind = Kind.ANSWER  # once, as to look up a member takes half as long as to note a record
        if self.trace:  # all of them first: when its own worker has its answer, it may end
            for worker in range(self.workers):
                self.trace.note(ClockEvent.ANSWERED, last.clock, worker, last.sync_id, kind)
        for worker, answer in enumerate(answers):
            arrays, own = ((), answer) if isinstance(answer, Answer) else (answer, None)
            made = Message(kind, self.rank, worker, last.clock, last.sync_id, arrays, payload=own)
            self._send(made, sync)

    def _take_totals(self, message: Message) -> None:
        """Take the worker's context, which goes on as soon as it may."""
        sync = self._find_fold(message)
        if message.source != self.rank or sync.table != "tau":
            raise _misplaced_error(message)
        self._held[message.clock] = message
        self._pass_on_contexts()

    def _pass_on_contexts(self) -> None:
        """Add this server's share to each context that may go on, and send it to the special
        worker: in the order of clocks, in which it folds them.
        """
        for clock in sorted(self._held):
            if any(earlier <= clock for earlier in self._first):
                return
            message = self._held.pop(clock)
            sync = self._find_fold(message)
            arrays = self._add_totals(sync, message)
            if self.trace:
                self.trace.note(ClockEvent.PASSED, clock, 0, message.sync_id, Kind.CONTRIBUTION)
            self._send(
                Message(Kind.CONTRIBUTION, self.rank, 0, clock, message.sync_id, arrays), sync
            )

    def _reply_to_pull(self, message: Message) -> None:
        """Take a request for rows, or changes of rows, and send the answers that are possible now.
        Their bytes are counted where they arrive.
        """
        sync = self._find_sync(message)
        if not isinstance(sync, Pull):
            raise _misplaced_error(message)
        start = self._now()
        answers = sync.handle(self, message)
        self._note_time(start, message.clock)
        for answer in answers:
            if self.trace:
                self.trace.note(
                    ClockEvent.ANSWERED, answer.clock, answer.dest, answer.sync_id, answer.kind
                )
            self.send(answer)

    def _serve(
        self, sync: Fold[Any], clock: int, contributions: list[Any]
    ) -> Sequence[Arrays | Answer]:
        """Fold the contributions and return the answer to each worker. What the function has added
        to the context is set aside for its clock.
        """
        answers = sync.serve(self, clock, contributions)
        if (
            sync.is_apply
            and sync.adds_to_context
            and any(
                isinstance(each, Fold) and not each.is_apply and each.has_function
                for each in self.syncs
            )
        ):
            self.totals.store(clock)
        return answers

    def _note_context(self, message: Message) -> None:
        """Copy the context's new value into the server's context."""
        fields = [array for _, array, _ in self.tau.columns(DOWN)]
        for array, changed in zip(fields, Answer.of_context(message, fields).fields, strict=True):
            if changed is not NEVER:
                changed.of(array)[changed.rows] = changed.values

    def _add_totals(self, sync: Fold[Any], message: Message) -> Arrays:
        """Combine the worker's context with the totals that this server has added to its own
        context up to the message's clock. The server's totals start anew.
        """
        columns, out = self.tau.columns(UP), []
        totals = Totals.read(message, [own for _, own, _ in columns])
        sync.aggregate_masters(message.clock)
        if not sync.has_function:
            return list(message.arrays)
        self.totals.restore(message.clock)
        for (_, own, field), sent in zip(columns, totals.fields, strict=True):
            total = fill_elements(sent, own, field.identity)
            if field.kind == "delta":
                total = combine_values(field, total, own)
            out.append((total, (total != field.identity).reshape(1, -1).view(np.uint8)))
        self.tau.clear_deltas()
        return pack(out)

    def _send(self, message: Message, sync: Sync) -> None:
        if message.dest != self.rank:
            self.bytes_sent[sync.table] += message.nbytes
            self.bytes_to[message.dest] += message.nbytes
        self.send(message)

    def _note_time(self, start: float, clock: int) -> None:
        """Count the time since `start` as work of the server for a clock."""
        end = self._now()
        self.seconds += end - start
        self.spans.append((threading.get_ident(), start, end, clock))

    def waiting(self) -> list[tuple[tuple[int, int], list[int]]]:
        """List the missing contributions: ((clock, synchronisation), workers)."""
        return self._pending.missing()


def _misplaced_error(message: Message) -> BadMessage:
    return BadMessage(
        message, f"{message.sync_id} is no synchronisation that has such messages here"
    )
