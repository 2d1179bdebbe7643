"""The shares that several workers have in their model, and their way to the launcher: it asks all
workers for a range of vertices, and each sends the masters that it has there.

The launcher writes a range before it asks for the next, so it holds no more than one. Tables of
the model are numbered: the vertex types, then the context, then the types of edges with results.
The answer to a question is some MODEL_ROWS messages (`sync_id` is the number of the table), the
last of which has clock 1. Those about vertices have the dense indices (r,) of masters, then their
fields: one array (r, width), or, of a ragged field, two, the lengths of the lists (r,) and the
values of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tux.arrays.ragged import Lists, Piece
from tux.base.random import key
from tux.engine.edge_results import kept_edge_fields, own_edge_rows, sort_edges
from tux.engine.model import Columns
from tux.engine.worker import Worker
from tux.messages.edge_rows import EdgeRows
from tux.messages.message import BadMessage, Kind, Message, checking
from tux.messages.payloads import ModelRows, demand
from tux.program.program import Program
from tux.rows.table import RowTable, in_model, lists_of_rows, pieces
from tux.sync.fields import flatten_rows

EDGES_OF_PIECE = 1 << 20
"""Edges of a message."""


class ModelShare:
    """The share that one of several workers has in the model, once it has trained."""

    def __init__(self, worker: Worker) -> None:
        self._worker, self._type = worker, ""
        self._ids = self._rows = np.empty(0, np.int32)

    def messages(self, table: int, first: int, end: int, dest: int) -> Iterator[Message]:
        """Yield the answer to the question for the vertices `first` up to `end` of a table; of the
        context and of edges with results, all are sent. ValueError if there is no such table.
        """
        worker = self._worker
        names, edges = [*worker.program.vertices], [*kept_edge_fields(worker.program)]
        demand(0 <= table <= len(names) + len(edges), f"the model has no table {table}")
        if table < len(names):
            parts = self._of_vertices(names[table], first, end)
        elif table == len(names):
            parts = [_of_context(worker.tables["tau"])]
        else:
            parts = _of_edges(own_edge_rows(worker)[edges[table - len(names) - 1]])
        for number, arrays in enumerate(parts, 1):
            last = int(number == len(parts))
            yield Message(Kind.MODEL_ROWS, worker.rank, dest, last, table, arrays)

    def _of_vertices(self, name: str, first: int, end: int) -> list[list[np.ndarray]]:
        """Return the arrays of messages about the masters between two dense indices."""
        if name != self._type:
            self._sort(name)
        lo, hi = np.searchsorted(self._ids, (first, end))
        table, ids, rows = self._worker.masters(name), self._ids[lo:hi], self._rows[lo:hi]
        return [
            [ids[a:b], *(each for f in in_model(table) for each in _arrays(table, f, rows[a:b]))]
            for a, b in pieces(table, rows)
        ]

    def _sort(self, name: str) -> None:
        """Sort the masters of a type by dense index. Those of one type at a time are sorted."""
        worker, vertices = self._worker, self._worker.graph.vertices[name]
        ids = worker.master_ids(name) if vertices.is_cut else vertices.order[: vertices.n_train]
        order = np.argsort(ids).astype(np.int32)
        kind = vertices.position_dtype
        self._type, self._ids, self._rows = name, ids[order].astype(kind), order


class ModelTables:
    """The tables of a model, as the launcher knows them: their fields, of no row. `sizes`: the
    vertices of each type that training knows. `tau` has its initial values.
    """

    def __init__(self, program: Program, sizes: Mapping[str, int], seed: int) -> None:
        self.program, self.sizes = program, {name: sizes[name] for name in program.vertices}
        self.names, self.edges = [*self.sizes, "tau"], kept_edge_fields(program)
        declared = [*(v.fields for v in program.vertices.values()), program.context.fields]
        self.tables = [
            RowTable.allocate(name, {f: d.resolve(program.parameters) for f, d in own.items()}, 0)
            for name, own in zip(self.names, declared, strict=True)
        ]
        self.tau = self.tables[-1]
        for f, d in self.tau.declared.items():
            d.init.fill(  # type: ignore[union-attr]
                self.tau.arrays[f], key(seed, "initial", "tau", f), np.zeros(1, np.int64)
            )

    def empty_rows(self, name: str) -> Columns:
        """Return the model's fields of no vertex of a type."""
        table = self.tables[self.names.index(name)]
        return {
            f: lists_of_rows(table, f, np.empty(0, np.int64))
            if table.declared[f].is_ragged
            else table.arrays[f]
            for f in in_model(table)
        }


class ModelAnswer:
    """The answers of all workers to one question, put together. A message that does not fit, or
    brings a vertex again, is a BadMessage.
    """

    def __init__(self, tables: ModelTables, table: int, first: int, end: int, workers: int) -> None:
        self._tables, self._table, self._first = tables, table, first
        self._left, self._edges = set(range(workers)), list[EdgeRows]()
        self._here = np.zeros(end - first, bool)
        self._arrays: dict[str, np.ndarray] = {}
        self._lists: dict[str, list[Piece]] = {}
        if table < len(tables.names):
            own = tables.tables[table]
            fields = [f for f in in_model(own) if not own.declared[f].is_ragged]
            shapes = {f: (end - first, *own.arrays[f].shape[1:]) for f in fields}
            self._arrays = {f: np.empty(shapes[f], own.arrays[f].dtype) for f in fields}

    def install(self, message: Message) -> bool:
        """Take one message; return whether it is the last of all workers."""
        with checking(message):
            demand(message.sync_id == self._table, "nobody asks for it")
            demand(message.source in self._left, "the worker has answered already")
            demand(message.clock in (0, 1), "it is neither the last one nor another")
        if self._table < len(self._tables.names):
            self._install_rows(message)
        else:
            self._install_edges(message)
        if message.clock:
            self._left.discard(message.source)
        if self._left:
            return False
        if self._table < len(self._tables.sizes) and not self._here.all():
            missing = self._first + int(np.argmin(self._here))
            name = self._tables.names[self._table]
            raise BadMessage(message, f"{name} {missing} of the model is on no worker")
        return True

    def rows(self) -> Columns:
        """Return the fields of all vertices of the range, or of the context."""
        table = self._tables.tables[self._table]
        return {
            f: Lists.from_pieces(self._lists.get(f, ()), len(self._here), table.arrays[f].dtype)
            if table.declared[f].is_ragged
            else self._arrays[f]
            for f in in_model(table)
        }

    def edges(self) -> EdgeRows:
        """Return the edges of all workers, sorted."""
        return sort_edges(self._edges)

    def _install_rows(self, message: Message) -> None:
        part = ModelRows.read(message, self._tables.tables, [*self._tables.sizes.values()])
        name, at = self._tables.names[part.table], part.ids - self._first
        if name != "tau":
            with checking(message):
                inside = len(at) == 0 or (at.min() >= 0 and at.max() < len(self._here))
                demand(bool(inside), f"a {name} is not among those that were asked for")
                demand(not self._here[at].any(), f"a {name} of it is here already")
            self._here[at] = True
        for f, values in part.columns.items():
            flatten_rows(self._arrays[f])[at] = values
        for f, (counts, values) in part.lists.items():
            self._lists.setdefault(f, []).append((at, counts, values))

    def _install_edges(self, message: Message) -> None:
        name = [*self._tables.edges][self._table - len(self._tables.names)]
        ends = self._tables.program.edge_types[name].ends
        fields = self._tables.edges[name]
        like = {f: np.empty((0, *d.lengths), d.dtype) for f, d in fields.items()}
        sizes = [self._tables.sizes[end] for end in ends]
        self._edges.append(EdgeRows.read(message, like, sizes))


def _of_context(tau: RowTable) -> list[np.ndarray]:
    """Return the arrays of the message about the context, of which all workers hold the same."""
    return [flatten_rows(tau.arrays[f]) for f in in_model(tau)]


def _of_edges(rows: EdgeRows) -> list[list[np.ndarray]]:
    """Return the arrays of messages about edges with results, in pieces."""
    out = []
    for lo in range(0, max(len(rows.src), 1), EDGES_OF_PIECE):
        piece = slice(lo, lo + EDGES_OF_PIECE)
        fields = {f: array[piece] for f, array in rows.fields.items()}
        out.append(EdgeRows(rows.src[piece], rows.dst[piece], fields).arrays())
    return out


def _arrays(table: RowTable, field: str, rows: np.ndarray) -> list[np.ndarray]:
    """Return the values of a field of some rows as arrays of a message."""
    if not table.declared[field].is_ragged:
        return [flatten_rows(table.arrays[field])[rows]]
    lists = lists_of_rows(table, field, rows)
    return [lists.counts, lists.values]
