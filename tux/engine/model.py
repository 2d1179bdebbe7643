"""The model of a run: its fields, the messages by which a worker sends its share to the launcher,
and how the launcher puts the shares together.

A share is one MODEL_ROWS message for each piece of a vertex type (`sync_id` is the number of the
type): dense indices (r,) of its masters, then their fields. A field is one array (r, width); a
ragged field is two, the lengths of the lists (r,) and the values of all. Edges with results follow
(`tux.engine.edge_results`). The last message, with clock 1, has the context's fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tux.arrays.ragged import Lists
from tux.engine.edge_results import EdgeReceiver, edge_messages
from tux.messages.message import BadMessage, Kind, Message
from tux.messages.payloads import ModelRows
from tux.rows.table import RowTable, in_model, lists_of_rows, pieces
from tux.sync.fields import flatten_rows

if TYPE_CHECKING:
    from tux.engine.worker import Worker


def model_fields(worker: Worker, name: str) -> dict[str, np.ndarray | Lists]:
    """Return the model's fields of a vertex type, by vertex known in training, or of "tau": (n,
    ...), and ragged ones as lists.
    """
    vertices, table = worker.graph.vertices.get(name), worker.tables[name]
    rows = vertices.row_of[: vertices.n_train] if vertices else np.zeros(1, np.int64)

    def column(f: str) -> np.ndarray | Lists:
        if not table.declared[f].is_ragged:
            return table.arrays[f][rows]
        received = worker.received_lists.get((name, f))
        if received is None:
            return lists_of_rows(table, f, rows)
        return Lists.from_pieces(received, len(rows), table.arrays[f].dtype)

    return {f: column(f) for f in in_model(table)}


def model_messages(worker: Worker, dest: int) -> Iterator[Message]:
    """Yield this worker's share of the model: the masters of each vertex type, and the context, of
    which all workers hold the same.
    """
    for number, name in enumerate(worker.program.vertices):
        vertices, table = worker.graph.vertices[name], worker.masters(name)
        if not (fields := in_model(table)):
            continue
        ids = worker.master_ids(name) if vertices.is_cut else vertices.order[: vertices.n_train]
        for lo, hi in pieces(table, len(ids)):
            arrays = [array for f in fields for array in _arrays(table, f, lo, hi)]
            yield Message(Kind.MODEL_ROWS, worker.rank, dest, 0, number, [ids[lo:hi], *arrays])
    yield from edge_messages(worker, dest, len(worker.program.vertices) + 1)
    tau = worker.tables["tau"]
    arrays = [flatten_rows(tau.arrays[f]) for f in in_model(tau)]
    yield Message(Kind.MODEL_ROWS, worker.rank, dest, 1, len(worker.program.vertices), arrays)


class ModelReceiver:
    """A receiver that puts the `model_messages` of all workers into the rows of one worker, which
    holds every vertex. All that this worker has received before is replaced.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        worker.received_lists.clear()
        self._names = [*worker.program.vertices, "tau"]
        self._tables = [worker.tables[name] for name in self._names]
        self._sizes = [len(each.ids) for each in worker.graph.vertices.values()]
        self._received = [np.zeros(n, bool) for n in self._sizes]  # by dense index
        self._over: set[int] = set()  # workers that have sent their last message
        self._edges = EdgeReceiver(worker, len(self._names))

    def install(self, message: Message) -> bool:
        """Take one message; return whether it is the last of its worker. BadMessage if it does not
        fit the program, or brings vertices that are here already.
        """
        if message.source in self._over:
            raise BadMessage(message, "the worker's share of the model is here already")
        if self._edges.takes(message):
            self._edges.install(message)
            return False
        part = ModelRows.read(message, self._tables, self._sizes)
        name = self._names[part.table]
        if name == "tau":
            self._over.add(message.source)
            rows = part.ids
        else:
            if self._received[part.table][part.ids].any():
                raise BadMessage(message, f"a {name} of it is here already")
            self._received[part.table][part.ids] = True
            rows = self._worker.graph.vertices[name].row_of[part.ids]
        table = self._tables[part.table]
        for field, values in part.columns.items():
            flatten_rows(table.arrays[field])[rows] = values
        for field, (counts, values) in part.lists.items():
            received = self._worker.received_lists.setdefault((name, field), [])
            received.append((part.ids, counts, values))
        return name == "tau"


def _arrays(table: RowTable, field: str, lo: int, hi: int) -> list[np.ndarray]:
    """Return rows lo..hi of a field as arrays of a message."""
    if not table.declared[field].is_ragged:
        return [flatten_rows(table.arrays[field])[lo:hi]]
    lists = lists_of_rows(table, field, np.arange(lo, hi))
    return [lists.counts, lists.values]
