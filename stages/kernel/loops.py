"""The loops over edges that Exchange and Score run, as source: per edge, per edge grouped by
vertex, and per vertex.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tux.arrays.disk_columns import file_of
from tux.engine.partition import Partition
from tux.graph.layout import Layout
from tux.graph.local_edges import LocalEdges
from tux.rows.table import RowTable, freeze
from tux.rows.turns import PART, PART_END
from tux.stages.analysis.plan import ThreadPlan
from tux.stages.kernel.bind import Udf
from tux.stages.kernel.edge_reader import EdgeReader
from tux.stages.kernel.scope import Scope
from tux.stages.kernel.thread_loop import indent_lines

SMALL = 8
"""Bytes of an edge's fields up to which a walk has copies of them in its order."""

Names = dict[str, Callable[[], str]]
Loop = Callable[..., None]
"""A compiled loop, called with Items and what varies."""


class EdgeLoops:
    """Loops over one layout of one set of edges; `role` is the enumerated end."""

    def __init__(
        self,
        partition: Partition,
        stage: str,
        edges: LocalEdges,
        layout: Layout,
        role: str,
        plan: ThreadPlan,
        access: str = "exchange",
        prefix: str = "",
    ) -> None:
        self.partition, self.edges, self.layout, self.role, self.prefix = (
            partition,
            edges,
            layout,
            role,
            prefix,
        )
        self.plan = plan
        self.scope = Scope(partition, access, stage, plan, prefix=prefix)
        declared = partition.program.edge
        self.types = dict(zip(declared.roles, declared.ends, strict=True))
        first = ("first_src + ", "first_dst + ") if layout.first else ("", "")
        places = f"{first[0]}{prefix}src[e]", f"{first[1]}{prefix}dst[e]"
        self.at = dict(zip(declared.roles, places, strict=True))
        if layout.grouped is not None:
            self.at[declared.roles[layout.grouped]] = "v"
        arrays = {
            "src": freeze(layout.src),
            "dst": freeze(layout.dst),
            "index": (),  # until a loop needs it
            "bounds": layout.bounds,
        }
        self.varying: dict[str, Any] = {prefix + name: array for name, array in arrays.items()}

    def _row(self, role: str, index: str) -> Callable[[], str]:
        return lambda: self.scope.row(self.partition.tables[self.types[role]], index, role)

    def _edge(self) -> Names:
        """Return the names of a per-edge UDF: both ends and the edge."""
        rows = {role: self._row(role, at) for role, at in self.at.items()}
        return {**rows, self.partition.edge_table(self.edges).name: self._edge_row}

    def _edge_row(self) -> str:
        table, index = self._edge_table(), f"{self.prefix}index"
        return self.scope.row(
            table, "e" if isinstance(self.varying[index], tuple) else f"{index}[e]"
        )

    def _edge_ids(self) -> str:
        return ", ".join(
            f"{self.scope.ids(self.types[role])}[{at}]" for role, at in self.at.items()
        )

    def _vertex(self) -> Names:
        """Return the names of a UDF on the enumerated vertex alone."""
        return {self.role: self._row(self.role, "v")}

    def _vertex_ids(self) -> str:
        ids = f"{self.scope.ids(self.types[self.role])}[v]"
        return f"{ids}, {ids}"

    def per_edge(self, f: Udf, others: str = "") -> Loop:
        """Compile the loop ``for each edge e of lo..hi: f(...)``. It is called with items of
        edges. `others`: the end that `others` lead to, if `f` asks for them. The loop is called
        with `Items.beside`, too, then, and goes along the edges of an item and those beside it in
        turn.
        """
        rows = self._edge()
        call = self.scope.call(f, rows | self._others(others), self._edge_ids)
        self.scope.along |= {*rows}
        first = f"first_src, first_dst = items[item, {PART}], items[item, {PART_END}]"
        head = [first] if self.layout.first else []
        if not others:
            return self._kernel({}, [*head, "for e in range(lo, hi):", *indent_lines(call)])
        head += self._two_tiles(others)
        return self._kernel({"beside": np.empty((0, 8), np.int64)}, [*head, *indent_lines(call)])

    def _others(self, end: str) -> Names:
        """Return the names of the edges beside one of an item, which lead to `end`, and of the
        vertices of this end that they may lead to; "": none.
        """
        if not end:
            return {}
        ends = ("src", "dst")[self.edges.declared.roles.index(end)]
        span = f"{self.prefix}{ends}, {self.prefix}index, lo_other, hi_other, first_other"
        table = self.partition.tables[self.types[end]]
        numbers = np.arange(len(self.partition.graph.of_role(end)), dtype=np.int32)
        self.varying[f"{self.prefix}numbers"] = freeze(numbers)
        rows = f"{self.prefix}numbers, (), lo_rows, hi_rows, 0"
        return {
            "others": lambda: self.scope.edges(self._edge_table(), end, table, span),
            "vertices": lambda: self.scope.vertex_slice(end, table, rows),
        }

    def _two_tiles(self, end: str) -> list[str]:
        """Return the lines around what is done along the edges e of an item and of the tile beside
        it, from either one in turn, as many as it has: so neither range of `end` is ahead.
        """
        first = ("first_src", "first_dst")[self.edges.declared.roles.index(end)]
        return [
            f"lo_there, hi_there, first_there, m = {_row_of('beside', 0, 4)}",
            f"rows_here, end_here, rows_there, end_there = {_row_of('beside', 4, 8)}",
            f"first_here = {first if self.layout.first else 0}",
            "here, there, turn, n = lo, lo_there, 0, hi - lo",
            "for _ in range(n + m):",
            "    if here < hi and turn >= 0 or there == lo_there + m:",
            f"        e, {first}, first_other = here, first_here, first_there",
            "        here, turn, lo_other, hi_other = here + 1, turn - m, lo_there, hi_there",
            "        lo_rows, hi_rows = rows_there, end_there",
            "    else:",
            f"        e, {first}, first_other = there, first_there, first_here",
            "        there, turn, lo_other, hi_other = there + 1, turn + n, lo, hi",
            "        lo_rows, hi_rows = rows_here, end_here",
        ]

    def over_rows(self, lines: list[str]) -> Loop:
        """Compile the lines of `by_vertex` or `per_vertex`. The kernel is called with items of
        rows.
        """
        return self._kernel({}, lines)

    def over_frontier(self, lines: list[str]) -> Loop:
        """Compile the lines of `by_vertex` or `per_vertex` for the rows of a frontier. The kernel
        is called with items of places in the frontier, and the frontier (k,) int64.
        """
        head, *body = lines
        assert head == "for v in range(lo, hi):"
        loop = ["for place in range(lo, hi):", "    v = frontier[place]", *body]
        return self._kernel({"frontier": np.empty(0, np.int64)}, loop)

    def for_each(self, f: Udf, names: Sequence[str]) -> list[str]:
        """Return the lines of ``for each vertex v in lo..hi: f(v)``; `names`: what `f` may call
        it.
        """
        table = self.partition.tables[self.types[self.role]]
        rows: Names = {name: partial(self.scope.row, table, "v", name) for name in names}
        return [
            "for v in range(lo, hi):",
            *indent_lines(self.scope.call(f, rows, self._vertex_ids)),
        ]

    def by_vertex(self, f: Udf, enter: Udf | None, leave: Udf | None) -> list[str]:
        """Return the lines of ``for each vertex v in lo..hi: enter(v); for each edge e of v:
        f(...); leave(v)``.
        """
        loop = self.scope.call(enter, self._vertex(), self._vertex_ids) if enter else []
        span = f"range({self.prefix}bounds[v], {self.prefix}bounds[v + 1])"
        along = self.scope.call(f, self._edge(), self._edge_ids)
        self.scope.along |= {*self._edge()} - {self.role}
        loop += [f"for e in {span}:", *indent_lines(along)]
        loop += self.scope.call(leave, self._vertex(), self._vertex_ids) if leave else []
        return ["for v in range(lo, hi):", *indent_lines(loop)]

    def per_vertex(self, f: Udf) -> list[str]:
        """Return the lines of ``for each vertex v in lo..hi: f(v, edges of v)``."""
        other, bounds = self.edges.other(self.role), f"{self.prefix}bounds"
        ends = self.at[other].removesuffix("[e]")
        first, last = f"{bounds}[v]", f"{bounds}[v + 1]"
        if self.plan.form == "cells":
            first, last = "first", "last"
        span = f"{ends}, {self.prefix}index, {first}, {last}, 0"
        edges = {
            "edges": lambda: self.scope.edges(
                self._edge_table(), other, self.partition.tables[self.types[other]], span
            )
        }

        def ids() -> str:
            # Replicas of a vertex have other edges, so the first of them tells their streams of
            # random numbers apart.
            own, others = self.scope.ids(self.types[self.role]), self.scope.ids(self.types[other])
            return f"{own}[v], {others}[{ends}[{first}]] if {first} < {last} else {own}[v]"

        call = self.scope.call(f, {**self._vertex(), **edges}, ids)
        if self.plan.form == "cells":
            call = [*self._cell(), *indent_lines(call)]
        return ["for v in range(lo, hi):", *indent_lines(call)]

    def _edge_table(self) -> RowTable:
        """Return the table of edges, once it is known which fields the UDF uses. Where they are
        data, and small, they are copied into the order of the walk: to jump to each in memory takes
        longer than the sum over a vertex's edges. Else the places of fields are computed.
        """
        table = self.partition.edge_table(self.edges)
        used = [name for name in table.declared if self.scope.uses(name)]
        size = sum(table.arrays[name][:1].nbytes for name in used)
        if size > SMALL or any(table.declared[name].kind != "data" for name in used):
            self.varying[f"{self.prefix}index"] = self.layout.index
            return table
        arrays = self.layout.reorder({name: table.arrays[name] for name in used})
        return RowTable(table.name, table.declared, table.arrays | arrays)

    def _cell(self) -> list[str]:
        """Return the lines that select the edges of v that lead to one share of the other end; v is
        passed over where there are none, but for a vertex without edges in the first share.
        """
        parts = self.layout.across
        return [
            f"part, end = items[item, {PART}], items[item, {PART_END}]",
            f"first, last = bounds[v * {parts} + part], bounds[v * {parts} + end]",
            f"if first < last or part == 0 and bounds[v * {parts}] == bounds[(v + 1) * {parts}]:",
        ]

    def score(self, f: Udf, out: np.ndarray) -> Loop:
        """Compile the loop ``for each edge e of lo..hi in memory: out[e] = f(...)``. It is called
        with items of edges and `out` (m,) float64.
        """
        *seed_stream, call = self.scope.call(f, self._edge(), self._edge_ids)
        lines = ["for e in range(lo, hi):", *indent_lines([*seed_stream, f"out[e] = {call}"])]
        return self._kernel({"out": out}, lines)

    def _kernel(self, varying: dict[str, Any], loop: list[str]) -> Loop:
        run = self.scope.kernel({**varying, **self.varying}, loop)
        layout = tuple(self.varying.values())
        reader = self._reader() if "frontier" not in varying else None
        return lambda items, *arguments: run(items, *arguments, *layout, reader=reader)

    def _reader(self) -> EdgeReader | None:
        """Return the reader of the columns that lie on disk in the order of the walk, if there are
        any.
        """
        given = [*self.varying.values()]
        if isinstance(self.varying[f"{self.prefix}index"], tuple):
            given += self.scope.arguments.values()
        columns = [each for each in _arrays_in(given) if file_of(each)]
        threads = self.partition.threads.count
        return EdgeReader(columns, self.layout, threads) if columns else None


def _row_of(array: str, first: int, last: int) -> str:
    """Return the expression of the numbers first..last of an item in an array (items, width)."""
    return ", ".join(f"{array}[item, {place}]" for place in range(first, last))


def _arrays_in(values: Iterable[Any]) -> Iterator[np.ndarray]:
    """Yield the arrays among `values`, and in tuples of them."""
    for each in values:
        if isinstance(each, np.ndarray):
            yield each
        elif isinstance(each, tuple):
            yield from _arrays_in(each)
