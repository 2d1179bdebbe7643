"""Rows that only held-out edges need: each worker gets them from the workers that have the
masters, before an evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tux.messages.message import Kind, Message
from tux.messages.payloads import EvalRows
from tux.sync.fields import DOWN, flatten_rows, of_kinds

if TYPE_CHECKING:
    from tux.engine.worker import Worker

Field = tuple[str, str]  # vertex type, name


def fetch_eval_rows(worker: Worker) -> Iterator[None]:
    """Fetch the rows that only held-out edges need from their masters, when all clocks are
    finished; yield while messages are missing.

    Each worker sends the rows that the others need. So no worker goes on before all are here. The
    bytes are not counted.
    """
    others = [other for other in range(worker.workers) if other != worker.rank]
    fields = [
        (name, f)
        for name in (worker.program.vertices if others else ())
        for f in of_kinds(worker.tables[name], DOWN)
    ]
    for other in others:
        worker.transport.send(
            Message(Kind.EVAL_ROWS, worker.rank, other, arrays=_rows_for(worker, other, fields))
        )
    missing = set(others)
    while missing:
        message = _next_message(worker, missing)
        if message is None:
            yield
        else:
            missing.discard(message.source)
            _install(worker, message, fields)


def _rows_for(worker: Worker, other: int, fields: list[Field]) -> list[np.ndarray]:
    """Copy the masters' rows (r, width) that `other` needs, by field."""
    return [
        flatten_rows(worker.masters(name).arrays[f][worker.part(name).peek_down[other]])
        for name, f in fields
    ]


def _next_message(worker: Worker, missing: set[int]) -> Message | None:
    """Take the oldest message that has arrived from one of `missing`; None if there is none.

    Only one of each worker is taken: a worker that is ahead may have sent its next already.
    """
    worker.inbox.extend(worker.transport.take_arrived())
    for message in worker.inbox:
        if message.kind is Kind.EVAL_ROWS and message.source in missing:
            worker.inbox.remove(message)
            return message
    return None


def _install(worker: Worker, message: Message, fields: list[Field]) -> None:
    arrays = [worker.tables[name].arrays[f] for name, f in fields]
    rows = [worker.part(name).peek_up[message.source] for name, _ in fields]
    sent = EvalRows.read(message, arrays, [len(each) for each in rows])
    for array, at, values in zip(arrays, rows, sent.values, strict=True):
        flatten_rows(array)[at] = values
