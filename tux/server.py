"""The server role of a worker: masters of cut vertex types, and its copy of the context. Handles messages; owns no socket, thread or time.

    up      a worker's contribution to a synchronisation, here or at another server's request
    totals  its own worker's context, on the way to the special worker: this server's share is added
    down    the context's new value, which the server notes before its worker goes on with it
    pull    a request for rows that its worker does not keep, and
    push    their changes: see `tux.pulls`

What a synchronisation makes of a complete set of contributions is the stage's business (`serve`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from tux.clock import Gather
from tux.encoding import NEVER, Arrays, pack, unpack, whole
from tux.fields import COMBINE
from tux.frames import Message
from tux.gathered import TotalsByClock
from tux.replicas import DOWN, UP, Masters
from tux.tables import Table

ROW = np.zeros(1, np.int32)
"""The context's only row."""


class Server:
    """Keeps the masters of one worker's share of each cut type, and tau's master if it is special (rank 0)."""

    def __init__(
        self, rank: int, workers: int, tables: dict[str, Table], taus: tuple[Table, Table], send: Callable[[Message], None]
    ) -> None:
        self.rank, self.workers, self.send = rank, workers, send
        self.tables = tables
        self.masters = {name: Masters(table) for name, table in tables.items()}
        self.tau = taus[0]  # what Apply UDFs read here and add to
        self._totals = TotalsByClock(self.tau)
        self.special = Masters(taus[1])  # tau's master; used on the special worker alone
        self.points: list[Any] = []
        self.bytes_sent: dict[str, int] = defaultdict(int)  # to other workers, by vertex type
        self.bytes_dense: dict[str, int] = defaultdict(int)  # what the rows would have taken with all their values
        self.seconds = 0.0  # spent on folding and on Apply UDFs, while the worker goes on
        self._gather: Gather[Arrays] = Gather(workers)

    def handle(self, message: Message) -> bool:
        """One message; may send others. True if it was for the server alone, False if its worker wants it (too)."""
        point = self.points[message.point] if message.kind in ("up", "totals", "down", "pull", "push") else None
        if message.kind in ("pull", "push"):
            start = time.perf_counter()
            answers = point.handle(self, message)  # type: ignore[union-attr]
            self.seconds += time.perf_counter() - start
            for answer in answers:
                if answer.dest != self.rank:
                    self.bytes_sent[point.over] += sum(array.nbytes for array in answer.arrays)  # type: ignore[union-attr]
                self.send(answer)
            return True
        if message.kind == "totals":
            added = self._with_totals(point, message.turn, list(message.arrays))
            self._post(Message("up", self.rank, 0, message.turn, message.point, added), point)
            return True
        if message.kind == "up":
            complete = self._gather.add((message.turn, message.point), message.source, list(message.arrays))
            if complete is not None:
                start = time.perf_counter()
                served = point.serve(self, complete)  # type: ignore[union-attr]
                if point.folds and self._some_take_totals():  # type: ignore[union-attr]
                    self._totals.keep(message.turn)
                self.seconds += time.perf_counter() - start
                for worker, arrays in enumerate(served):
                    self._post(Message("down", self.rank, worker, message.turn, message.point, arrays), point)
            return True
        if message.kind == "down" and not point.folds:  # type: ignore[union-attr]
            fields = [array for _, array, _ in self.tau.columns(DOWN)]
            for array, news in zip(fields, unpack(message.arrays, fields, ROW), strict=True):
                if news is not NEVER:
                    news.of(array)[news.rows] = news.values
        return False

    def _some_take_totals(self) -> bool:
        return any(not point.folds and getattr(point, "f", None) is not None for point in self.points)

    def _with_totals(self, point: Any, turn: int, arrays: Arrays) -> Arrays:
        """The worker's context and what this server has added to its own up to `turn`, which starts anew."""
        point.aggregate_at_home()
        if point.f is None:
            return arrays
        self._totals.restore(turn)
        columns, out = self.tau.columns(UP), []
        for (_, own, field), news in zip(columns, unpack(arrays, [own for _, own, _ in columns], ROW), strict=True):
            total = whole(news, own, field.identity)
            if field.kind == "delta":
                total = COMBINE[field.combine](total, own)
            out.append((total, (total != field.identity).reshape(1, -1).view(np.uint8)))
        self.tau.clear_deltas()
        return pack(out)

    def _post(self, message: Message, point: Any) -> None:
        if message.dest != self.rank:
            self.bytes_sent[point.over if point.folds else "tau"] += sum(array.nbytes for array in message.arrays)
        self.send(message)

    def needs_weights(self, name: str) -> bool:
        """Whether masters of this type, here as anywhere, fold by the number of local edges."""
        return self.masters[name].needs_weights

    def waiting(self) -> list[tuple[tuple[int, int], list[int]]]:
        """What has not been heard: ((turn, synchronisation), workers)."""
        return self._gather.missing()
