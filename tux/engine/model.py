"""The model of a run: which fields it has, how a worker sends its share to the launcher, and how
the shares of all workers become one.

A share is one MODEL_ROWS message for each piece of a vertex type (`sync_id` is the number of the
type): dense indices (r,) of its masters, then their fields. A field is one array (r, width); a
ragged field is two, the lengths of the lists (r,) and the values of all. The last message, with
clock 1, has the context's fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tux.arrays.ragged import Lists
from tux.base.errors import Refused
from tux.protocol.message import Kind, Message
from tux.protocol.replicas import flat
from tux.rows.table import Table, of_rows, pieces

if TYPE_CHECKING:
    from tux.engine.worker import Worker


def in_model(table: Table) -> list[str]:
    """Names of the fields that a model holds."""
    return [name for name, field in table.declared.items() if field.in_model]


def model_fields(worker: Worker, name: str) -> dict[str, np.ndarray | Lists]:
    """The model's fields of a vertex type, by vertex known in training, or of "tau": (n, ...),
    and ragged ones as lists.
    """
    vertices, table = worker.graph.vertices.get(name), worker.tables[name]
    rows = vertices.row_of[: vertices.n_train] if vertices else np.zeros(1, np.int64)

    def column(f: str) -> np.ndarray | Lists:
        if not table.declared[f].ragged:
            return table.arrays[f][rows]
        received = worker.received_lists.get((name, f))
        if received is None:
            return of_rows(table, f, rows)
        return Lists.gathered(received, len(rows), table.arrays[f].dtype)

    return {f: column(f) for f in in_model(table)}


def model_messages(worker: Worker, dest: int) -> Iterator[Message]:
    """This worker's share of the model: the masters of each vertex type, and the context, of which
    all workers hold the same.
    """
    for number, name in enumerate(worker.program.vertices):
        vertices, table = worker.graph.vertices[name], worker.masters(name)
        if not (fields := in_model(table)):
            continue
        ids = worker.master_ids(name) if vertices.cut else vertices.order[: vertices.n_train]
        for lo, hi in pieces(table, len(ids)):
            arrays = [array for f in fields for array in _arrays(table, f, lo, hi)]
            yield Message(Kind.MODEL_ROWS, worker.rank, dest, 0, number, [ids[lo:hi], *arrays])
    tau = worker.tables["tau"]
    arrays = [flat(tau.arrays[f]) for f in in_model(tau)]
    yield Message(Kind.MODEL_ROWS, worker.rank, dest, 1, len(worker.program.vertices), arrays)


def is_last(message: Message) -> bool:
    """Whether this is the last of a worker's `model_messages`."""
    return message.clock == 1


def install_model_rows(worker: Worker, message: Message) -> None:
    """Put one of the `model_messages` of a worker into the rows of this one, which holds every
    vertex. Refused if it does not fit the program.
    """
    names = [*worker.program.vertices, "tau"]
    if message.sync_id >= len(names):
        raise _unfit(message)
    name, arrays = names[message.sync_id], list(message.arrays)
    table = worker.tables[name]
    fields = in_model(table)
    ragged = [f for f in fields if table.declared[f].ragged]
    if len(arrays) != (name != "tau") + len(fields) + len(ragged):
        raise _unfit(message)
    columns = iter(arrays)
    ids = np.zeros(1, np.int64) if name == "tau" else next(columns)
    rows = ids if name == "tau" else worker.graph.vertices[name].row_of[ids]
    for f in fields:
        if f in ragged:
            received = worker.received_lists.setdefault((name, f), [])
            received.append((ids, next(columns), next(columns)))
        else:
            flat(table.arrays[f])[rows] = next(columns)


def _arrays(table: Table, field: str, lo: int, hi: int) -> list[np.ndarray]:
    """Rows lo..hi of a field, as a message has them."""
    if not table.declared[field].ragged:
        return [flat(table.arrays[field])[lo:hi]]
    lists = of_rows(table, field, np.arange(lo, hi))
    return [lists.counts, lists.values]


def _unfit(message: Message) -> Refused:
    return Refused(f"worker {message.source} sent model rows that do not fit the program")
