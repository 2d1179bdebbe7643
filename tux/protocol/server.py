"""The server role of a worker: masters of cut vertex types, and its copy of the context. Handles
messages; owns no socket, thread or time.

    up      a worker's contribution to a synchronisation, here or at another server's request
    totals  its own worker's context, on the way to the special worker: this server's share is added
    down    the context's new value, which the server notes before its worker goes on with it
    pull    a request for rows that its worker does not keep, and
    push    their changes: see `tux.protocol.pull`

What a synchronisation makes of a complete set of contributions is its own business (`Fold.serve`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from tux.program.fields import COMBINE
from tux.protocol.clock import Gather
from tux.protocol.encoding import NEVER, Arrays, pack, unpack, whole
from tux.protocol.gathered import TotalsByClock
from tux.protocol.message import Message
from tux.protocol.replicas import DOWN, UP, Masters
from tux.protocol.steps import Fold, Pull, Sync
from tux.rows.table import Table

Answer = TypeVar("Answer")

ROW = np.zeros(1, np.int32)
"""The context's only row."""


class Server:
    """Keeps the masters of one worker's share of each cut type, and tau's master if it is
    special (rank 0).
    """

    def __init__(
        self,
        rank: int,
        workers: int,
        tables: dict[str, Table],
        taus: tuple[Table, Table],
        send: Callable[[Message], None],
    ) -> None:
        self.rank, self.workers, self.send = rank, workers, send
        self.tables = tables
        self.masters = {name: Masters(table) for name, table in tables.items()}
        self.tau = taus[0]  # what Apply UDFs read here and add to
        self._totals = TotalsByClock(self.tau)
        self.special = Masters(taus[1])  # tau's master; used on the special worker alone
        self.syncs: list[Sync] = []
        self.bytes_sent: dict[str, int] = defaultdict(int)  # to other workers, by vertex type
        # what the rows would have taken with all their values
        self.bytes_dense: dict[str, int] = defaultdict(int)
        self.seconds = 0.0  # spent on folding and on Apply UDFs, while the worker goes on
        self._gather: Gather[Arrays] = Gather(workers)

    def handle(self, message: Message) -> bool:
        """One message; may send others. True if it was for the server alone, False if its worker
        wants it (too).
        """
        if message.kind not in ("up", "totals", "down", "pull", "push"):
            return False
        sync = self.syncs[message.sync_id]
        if isinstance(sync, Pull):
            for answer in self._timed(lambda: sync.handle(self, message)):
                self._send(answer, sync)
            return True
        assert isinstance(sync, Fold)
        if message.kind == "totals":
            added = self._with_totals(sync, message.clock, list(message.arrays))
            self._send(Message("up", self.rank, 0, message.clock, message.sync_id, added), sync)
        elif message.kind == "up":
            complete = self._gather.add(
                (message.clock, message.sync_id), message.source, list(message.arrays)
            )
            if complete is not None:
                for worker, arrays in enumerate(
                    self._timed(lambda: self._serve(sync, message.clock, complete))
                ):
                    self._send(
                        Message("down", self.rank, worker, message.clock, message.sync_id, arrays),
                        sync,
                    )
        elif sync.table == "tau":
            self._note_context(message.arrays)
        return message.kind != "down"

    def _timed(self, answers: Callable[[], list[Answer]]) -> list[Answer]:
        start = time.perf_counter()
        out = answers()
        self.seconds += time.perf_counter() - start
        return out

    def _serve(self, sync: Fold, clock: int, contributions: list[Arrays]) -> list[Arrays]:
        """The answer to each worker; what the function has added to the context is kept for its
        clock.
        """
        answers = sync.serve(self, clock, contributions)
        if sync.is_apply and any(
            isinstance(each, Fold) and not each.is_apply and each.has_function
            for each in self.syncs
        ):
            self._totals.keep(clock)
        return answers

    def _note_context(self, arrays: Sequence[np.ndarray]) -> None:
        """The context's new value, before the worker goes on with it."""
        fields = [array for _, array, _ in self.tau.columns(DOWN)]
        for array, news in zip(fields, unpack(arrays, fields, ROW), strict=True):
            if news is not NEVER:
                news.of(array)[news.rows] = news.values

    def _with_totals(self, sync: Fold, clock: int, arrays: Arrays) -> Arrays:
        """The worker's context and what this server has added to its own up to `clock`, which
        starts anew.
        """
        sync.aggregate_at_home()
        if not sync.has_function:
            return arrays
        self._totals.restore(clock)
        columns, out = self.tau.columns(UP), []
        for (_, own, field), news in zip(
            columns, unpack(arrays, [own for _, own, _ in columns], ROW), strict=True
        ):
            total = whole(news, own, field.identity)
            if field.kind == "delta":
                total = COMBINE[field.combine](total, own)
            out.append((total, (total != field.identity).reshape(1, -1).view(np.uint8)))
        self.tau.clear_deltas()
        return pack(out)

    def _send(self, message: Message, sync: Sync) -> None:
        if message.dest != self.rank:
            self.bytes_sent[sync.table] += sum(array.nbytes for array in message.arrays)
        self.send(message)

    def needs_weights(self, name: str) -> bool:
        """Whether masters of this type, here as anywhere, fold by the number of local edges."""
        return self.masters[name].needs_weights

    def waiting(self) -> list[tuple[tuple[int, int], list[int]]]:
        """What has not been heard: ((clock, synchronisation), workers)."""
        return self._gather.missing()
