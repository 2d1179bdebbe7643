"""Results on edges: mirror fields of edges that are part of the model, such as assignments and
scores. Edges stay where they lie; at the end of a run each worker sends its own to the launcher.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tux.messages.edge_rows import EdgeRows
from tux.messages.message import Kind, Message
from tux.program.base_program import BaseProgram, first_edge
from tux.program.fields import Field

if TYPE_CHECKING:
    from tux.engine.worker import Worker

PIECE_ROWS = 1 << 20
"""Edges of a message."""


def kept_edge_fields(program: BaseProgram) -> dict[str, dict[str, Field]]:
    """Return the fields that a model has of edges, sized, by edge type; types without any are left
    out.
    """
    out = {}
    for name, edge in program.edge_types.items():
        kept = {f: d.resolve(program.parameters) for f, d in edge.fields.items() if d.kept}
        if kept:
            out[name] = kept
    return out


def own_edge_rows(worker: Worker) -> dict[str, EdgeRows]:
    """Return this worker's edges with results, by type."""
    graph, out = worker.graph, {}
    for name, kept in kept_edge_fields(worker.program).items():
        edges = graph.edges if name == first_edge(worker.program) else graph.others[name]
        first, second = (graph.vertices[kind].order for kind in edges.declared.ends)
        src, dst = first[edges.src].astype(np.int32), second[edges.dst].astype(np.int32)
        out[name] = EdgeRows(src, dst, {f: edges.fields[f] for f in kept})
    return out


def edge_results(workers: Sequence[Worker]) -> Iterator[tuple[str, EdgeRows]]:
    """Yield the edges with results of `workers`, by type: those that the first has received from
    all, or else their own. They are sorted by their ends; repeated pairs by their values.
    """
    each_own = [own_edge_rows(worker) for worker in workers]
    for name, own in each_own[0].items():
        pieces = workers[0].received_edges.get(name) or [each[name] for each in each_own]
        src, dst = (
            np.concatenate([getattr(each, end) for each in pieces]) for end in ("src", "dst")
        )
        fields = {f: np.concatenate([each.fields[f] for each in pieces]) for f in own.fields}
        flat = [array.reshape(len(src), -1).T for array in fields.values()]
        order = np.lexsort([*(key for each in flat for key in each[::-1]), dst, src])
        columns = {f: array[order] for f, array in fields.items()}
        yield name, EdgeRows(src[order], dst[order], columns)


def edge_messages(worker: Worker, dest: int, first: int) -> Iterator[Message]:
    """Yield this worker's edges with results, in pieces; the types are numbered from `first` on."""
    for number, rows in enumerate(own_edge_rows(worker).values(), first):
        for lo in range(0, len(rows.src), PIECE_ROWS):
            piece = slice(lo, lo + PIECE_ROWS)
            fields = {f: array[piece] for f, array in rows.fields.items()}
            part = EdgeRows(rows.src[piece], rows.dst[piece], fields)
            yield Message(Kind.MODEL_ROWS, worker.rank, dest, 0, number, part.arrays())


class EdgeReceiver:
    """A receiver of the `edge_messages` of all workers. All that the worker has received before is
    replaced.
    """

    def __init__(self, worker: Worker, first: int) -> None:
        self._worker, self._first = worker, first
        worker.received_edges.clear()
        self._kept = kept_edge_fields(worker.program)

    def takes(self, message: Message) -> bool:
        """Return whether a message has edges of one of the types."""
        return self._first <= message.sync_id < self._first + len(self._kept)

    def install(self, message: Message) -> None:
        """Take one message. BadMessage if it does not fit the program."""
        name = [*self._kept][message.sync_id - self._first]
        vertices = self._worker.graph.vertices
        ends = self._worker.program.edge_types[name].ends
        like = {f: np.empty((0, *d.lengths), d.dtype) for f, d in self._kept[name].items()}
        rows = EdgeRows.read(message, like, [len(vertices[end].ids) for end in ends])
        self._worker.received_edges.setdefault(name, []).append(rows)
