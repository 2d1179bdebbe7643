"""A second implementation of what a program computes at slack 0, written from the documents alone:
docs/program.md and docs/vectors.md. Loops over rows of numbers, slow and clear.

Nothing here is shared with the engine, so that a mistake of one is no mistake of the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from support.prove.memory import (
    EntryRow,
    Functions,
    Replicas,
    Row,
    Shares,
    Taus,
    as_array,
    row_class,
)
from support.prove.operators import operate, read_arguments
from support.prove.spec import (
    ApplySpec,
    BarrierSpec,
    EdgeSpec,
    ExchangeSpec,
    ForEachSpec,
    GlobalSyncSpec,
    GraphSpec,
    MiniBatchSpec,
    Outcome,
    Placement,
    ProgramSpec,
    RepeatSpec,
    VectorSpec,
)

Blocks = Callable[[MiniBatchSpec, int, int], list]
Scope = dict[str, Any]  # what a function may get, by the name of its parameter
MOST = 10_000  # repetitions of a Repeat with `until`


def interpret(
    program: ProgramSpec,
    graph: GraphSpec,
    placement: Placement,
    blocks: Blocks,
    epochs: int,
    seed: int | None = None,
) -> Outcome:
    """Run a program at slack 0 on the workers of `placement`, and return what masters hold.

    `blocks(batch, epoch, repetition)` returns the vertices of each block of a MiniBatch that has a
    size, in the order of the run: an input, as the documents leave it to a seed. Epoch 0 is
    `setup`; `repetition` counts how often this MiniBatch has run in the epoch. Each vertex of the
    enumerated type comes once. All workers take the same block at a time, also where `order` is
    "rotated" or "pipelined".

    `seed` shuffles the order of vertices and edges in each stage, which shows a program whose
    results depend on it. None is the order of the graph.

    Raises ValueError where blocks do not hold each vertex once, or a Repeat does not end.
    """
    run = _Interpreter(program, graph, placement, blocks, seed)
    run.epoch = 0
    run.run_stages(program.setup, None, ())
    kept = []
    for epoch in range(1, epochs + 1):
        run.begin_epoch(epoch)
        run.run_stages(program.stages, None, ())
        kept.append(run.context("value"))
    vertices = {
        kind.name: {
            field.name: as_array(field, run.types[kind.name].masters)
            for field in kind.fields
            if field.kind in ("value", "shared", "master")
        }
        for kind in program.vertices
    }
    return Outcome(vertices, run.context("value", "shared"), kept)


def _compile(sources: dict[str, str]) -> Functions:
    """Compile the functions of a program once, in one namespace."""
    namespace: dict[str, Any] = {}
    for name, source in sources.items():
        exec(compile(source, f"<{name}>", "exec"), namespace)
    return {
        name: (
            namespace[name],
            namespace[name].__code__.co_varnames[: namespace[name].__code__.co_argcount],
        )
        for name in sources
    }


def _end_names(kind: EdgeSpec) -> tuple[str, str]:
    """The names of the two ends in functions."""
    return ("src", "dst") if kind.ends[0] == kind.ends[1] else kind.ends


def _find_end(kind: EdgeSpec, over: str) -> int:
    """Return the end, 0 or 1, that `over` names: its type, "src" or "dst"; the first by default."""
    if over in ("src", "dst"):
        return ("src", "dst").index(over)
    return kind.ends.index(over) if over else 0


def _find_shares(
    program: ProgramSpec, graph: GraphSpec, placement: Placement
) -> dict[str, list[Shares]]:
    """Find the workers that have edges of each vertex, and how many. A vertex without edges is
    where its master is.
    """
    shares: dict[str, list[Shares]] = {
        kind.name: [{} for _ in range(graph.sizes[kind.name])] for kind in program.vertices
    }
    for kind in program.edges:
        for at, vertex in enumerate(kind.ends):
            ends = np.asarray(graph.ends[kind.name]).reshape(2, -1)[at].tolist()
            for v, w in zip(ends, placement.parts[kind.name], strict=True):
                shares[vertex][v][int(w)] = shares[vertex][v].get(int(w), 0) + 1
    for vertex, found in shares.items():
        for v, share in enumerate(found):
            if not share:
                share[int(placement.masters[vertex][v])] = 0
    return shares


class EdgeView:
    """An edge: the rows of both ends, by the names that functions use, and its fields."""

    __slots__ = ("_fields", "_scope")

    def __init__(self, ends: Scope, fields: Row) -> None:
        object.__setattr__(self, "_scope", ends)
        object.__setattr__(self, "_fields", fields)

    def __getattr__(self, name: str) -> Any:
        row = self._scope.get(name)
        return getattr(self._fields, name) if row is None else row

    def __setattr__(self, name: str, x: Any) -> None:
        setattr(self._fields, name, x)


class PlacedEdge(NamedTuple):
    """An edge on its worker: the numbers of both ends, and what a function for it may get."""

    ends: tuple[int, int]
    scope: Scope


class Part(NamedTuple):
    """The part of a graph that a stage sees: all of it, or a block of a MiniBatch. `edges`: by edge
    type, those of each worker. `shares`: by vertex type, for each vertex that is visited, the
    workers that take part, each with the number of its edges of the vertex.
    """

    edges: dict[str, list[list[PlacedEdge]]]
    shares: dict[str, dict[int, Shares]]


class _Interpreter:
    """The state of a run."""

    def __init__(
        self,
        program: ProgramSpec,
        graph: GraphSpec,
        placement: Placement,
        blocks: Blocks,
        seed: int | None,
    ) -> None:
        self.program, self.placement, self.blocks = program, placement, blocks
        self.workers = range(placement.workers)
        self.order = None if seed is None else random.Random(seed)
        self.functions = _compile(program.functions)
        self.p = SimpleNamespace(**program.parameters, workers=placement.workers, slack=0)
        self.taus = Taus(program.context, placement.workers)
        self.fixed: list[Scope] = [{"tau": tau, "p": self.p} for tau in self.taus.rows]
        self.kinds = {kind.name: kind for kind in program.vertices}
        self.edge_kinds = {kind.name: kind for kind in program.edges}
        shares = _find_shares(program, graph, placement)
        self.types = {
            kind.name: Replicas(
                kind.fields,
                graph.vertex_data.get(kind.name, {}),
                [int(w) for w in placement.masters[kind.name]],
                shares[kind.name],
                placement.workers,
                alone=kind.whole or placement.workers == 1,
            )
            for kind in program.vertices
        }
        edges = {kind.name: self._place_edges(kind, graph) for kind in program.edges}
        self.whole = Part(edges, {name: dict(enumerate(share)) for name, share in shares.items()})
        self.epoch, self.passes = 0, {}

    def _place_edges(self, kind: EdgeSpec, graph: GraphSpec) -> list[list[PlacedEdge]]:
        """Make the edges of a type, on each worker."""
        make = row_class(kind.fields)
        values = graph.edge_data.get(kind.name, {})
        placed: list[list[PlacedEdge]] = [[] for _ in self.workers]
        ends = np.asarray(graph.ends[kind.name]).reshape(2, -1)
        for i, w in enumerate(self.placement.parts[kind.name]):
            a, b = int(ends[0, i]), int(ends[1, i])
            first, second = self.types[kind.ends[0]].rows[w][a], self.types[kind.ends[1]].rows[w][b]
            rows = dict(zip(_end_names(kind), (first, second), strict=True))
            fields = make(
                0,
                {f.name: values[f.name][i] if f.kind == "data" else f.init for f in kind.fields},
            )
            scope = {**self.fixed[w], **rows, kind.name: EdgeView(rows, fields)}
            placed[w].append(PlacedEdge((a, b), scope))
        return placed

    def begin_epoch(self, epoch: int) -> None:
        """Begin an epoch: metrics are forgotten."""
        self.epoch = epoch
        self.passes.clear()
        self.taus.forget_metrics()

    def context(self, *kinds: str) -> dict[str, np.ndarray]:
        """The fields of the context of these kinds."""
        return {
            field.name: as_array(field, [self.taus.root])[0]
            for field in self.program.context
            if field.kind in kinds
        }

    def run_stages(self, stages: tuple, part: Part | None, path: tuple[int, ...]) -> None:
        """Run stages in turn, on a block or, without one, on the whole graph. `path` says where in
        the program they stand.
        """
        for k, stage in enumerate(stages):
            if isinstance(stage, MiniBatchSpec):
                for block in self._cut_blocks(stage, (*path, k)):
                    self.run_stages(stage.stages, block, (*path, k))
            elif isinstance(stage, RepeatSpec):
                self._repeat(stage, (*path, k))
            elif not isinstance(stage, BarrierSpec):
                RUNNERS[type(stage)](self, stage, part or self.whole)

    def _repeat(self, stage: RepeatSpec, path: tuple[int, ...]) -> None:
        for repetition in range(1, MOST + 1):
            self.run_stages(stage.stages, None, path)
            if stage.until:
                if self.call(stage.until, {"tau": self.taus.root, "p": self.p}):
                    return
            elif repetition >= stage.times:
                return
        raise ValueError(f"{stage.until} is not True after {MOST} repetitions")

    def call(self, name: str, *scopes: Scope) -> Any:
        """Call a function with what its parameters name."""
        function, names = self.functions[name]
        scope = scopes[0] if len(scopes) == 1 else {k: x for s in scopes for k, x in s.items()}
        return function(*[scope[name] for name in names])

    def shuffled(self, things: Any) -> list:
        """Return things in an order that the seed draws."""
        listed = list(things)
        if self.order is not None:
            self.order.shuffle(listed)
        return listed

    # MiniBatch

    def _cut_blocks(self, batch: MiniBatchSpec, path: tuple[int, ...]) -> Iterator[Part]:
        """Yield the blocks of a MiniBatch: the vertices of one type at one end of one edge type,
        the edges that they have there, and the vertices at the other ends of these.
        """
        kind, end, vertex = self._enumerated(batch)
        count = len(self.types[vertex].masters)
        repetition = self.passes[path] = self.passes.get(path, -1) + 1
        blocks = self.blocks(batch, self.epoch, repetition) if batch.size else [range(count)]
        vertices = [[int(v) for v in block] for block in blocks]
        if sorted(v for block in vertices for v in block) != list(range(count)):
            raise ValueError(f"the blocks do not hold each {vertex} once")
        for block in vertices:
            yield self._cut(kind, end, vertex, set(block)) if len(vertices) > 1 else self.whole

    def _cut(self, kind: EdgeSpec | None, end: int, vertex: str, members: set[int]) -> Part:
        shares: dict[str, dict[int, Shares]] = {name: {} for name in self.types}
        shares[vertex] = {v: dict.fromkeys(self.whole.shares[vertex][v], 0) for v in members}
        if kind is None:
            return Part({}, shares)
        edges = [
            [e for e in part if e.ends[end] in members] for part in self.whole.edges[kind.name]
        ]
        for w, part in enumerate(edges):
            for edge in part:
                for at, v in enumerate(edge.ends):
                    if kind.ends[at] == vertex and v not in members:
                        continue  # what is gathered there waits for the block of this vertex
                    share = shares[kind.ends[at]].setdefault(v, {})
                    share[w] = share.get(w, 0) + 1
        return Part({kind.name: edges}, shares)

    def _enumerated(self, batch: MiniBatchSpec) -> tuple[EdgeSpec | None, int, str]:
        """Find the edge type, the end and the vertex type that a MiniBatch enumerates."""
        for stage in batch.stages:
            if isinstance(stage, ExchangeSpec):
                kind = self._edge_kind(stage)
                end = _find_end(kind, batch.over or stage.over)
                return kind, end, kind.ends[end]
        named = batch.over or next(s.vertex for s in batch.stages if hasattr(s, "vertex"))
        return None, 0, named

    def _edge_kind(self, stage: ExchangeSpec) -> EdgeSpec:
        return self.edge_kinds[stage.edge] if stage.edge else self.program.edges[0]

    # Exchange and ForEach

    def _exchange(self, stage: ExchangeSpec, part: Part) -> None:
        kind = self._edge_kind(stage)
        end = _find_end(kind, stage.over)
        takes_edges = stage.function and "edges" in self.functions[stage.function][1]
        by_vertex = takes_edges or stage.enter or stage.leave
        for w in self.workers:
            edges = self.shuffled(part.edges[kind.name][w])
            if by_vertex:
                self._exchange_by_vertex(stage, part, w, edges)
                continue
            name = _end_names(kind)[end]
            for edge in edges:
                if not stage.active or getattr(edge.scope[name], stage.active):
                    self.call(stage.function, edge.scope)

    def _exchange_by_vertex(
        self, stage: ExchangeSpec, part: Part, w: int, edges: list[PlacedEdge]
    ) -> None:
        """Call the functions of an Exchange for each vertex that worker w holds."""
        kind = self._edge_kind(stage)
        end = _find_end(kind, stage.over)
        vertex, name = kind.ends[end], _end_names(kind)[end]
        grouped: dict[int, list[PlacedEdge]] = {}
        for edge in edges:
            grouped.setdefault(edge.ends[end], []).append(edge)
        for v in self.shuffled(part.shares[vertex]):
            row = self.types[vertex].rows[w].get(v)
            if row is None or not self._is_visited(kind, end, v, w):
                continue
            if stage.active and not getattr(row, stage.active):
                continue
            own = grouped.get(v, [])
            scope = {**self.fixed[w], name: row, vertex: row, "v": row}
            if stage.enter:
                self.call(stage.enter, scope)
            if stage.function and "edges" in self.functions[stage.function][1]:
                views = [edge.scope[kind.name] for edge in own]
                self.call(stage.function, scope, {"edges": views})
            elif stage.function:
                for edge in own:
                    self.call(stage.function, edge.scope)
            if stage.leave:
                self.call(stage.leave, scope)

    def _is_visited(self, kind: EdgeSpec, end: int, v: int, w: int) -> bool:
        """Whether worker w visits v at this end: of an end that is whole, the worker with its edges
        does, or else the one with its master.
        """
        if kind.whole != ("src", "dst")[end]:
            return True
        holders = [
            r for r in self.workers for e in self.whole.edges[kind.name][r] if e.ends[end] == v
        ]
        return w == (holders[0] if holders else self.types[kind.ends[end]].homes[v])

    def _for_each(self, stage: ForEachSpec, part: Part) -> None:
        vertex = self._vertex_of(stage.vertex)
        replicas = self.types[vertex]
        for w in self.workers:
            for v in self.shuffled(part.shares[vertex]):
                row = replicas.rows[w].get(v)
                if row is not None and (not stage.once or replicas.homes[v] == w):
                    self.call(stage.function, self._vertex_scope(vertex, row, w))

    def _vertex_of(self, name: str) -> str:
        """The vertex type that is named, maybe as an end."""
        if name in self.kinds:
            return name
        at = ("src", "dst").index(name)
        return next(kind.ends[at] for kind in self.program.edges if kind.ends[0] == kind.ends[1])

    def _vertex_scope(self, vertex: str, row: Any, w: int) -> Scope:
        return {**self.fixed[w], vertex: row, "v": row, "src": row, "dst": row}

    # Apply and GlobalSync

    def _apply(self, stage: ApplySpec, part: Part) -> None:
        seen = self.whole if stage.all else part
        replicas = self.types[stage.vertex]
        vertices = self.shuffled(seen.shares[stage.vertex])
        for v in vertices:
            if stage.gather:
                replicas.gather(v, seen.shares[stage.vertex][v], self.functions)
            if stage.function:
                self._call_on_master(stage, v)
            if stage.gather:
                replicas.clear(v)
            replicas.send(v)

    def _call_on_master(self, stage: ApplySpec, v: int) -> None:
        replicas = self.types[stage.vertex]
        row, w = replicas.masters[v], replicas.homes[v]
        length = row.lengths[stage.each] if stage.each else 0
        rows = [EntryRow(row, length, k) for k in range(length)] if length else [row]
        for each in rows:
            self.call(stage.function, self._vertex_scope(stage.vertex, each, w))

    def _global_sync(self, stage: GlobalSyncSpec, part: Part) -> None:
        if stage.aggregate:
            vertex = stage.over or next(iter(self.kinds))
            replicas = self.types[vertex]
            for v in self.shuffled(range(len(replicas.masters))):
                row, w = replicas.masters[v], replicas.homes[v]
                self.call(stage.aggregate, self._vertex_scope(vertex, row, w))
        self.taus.gather(self.functions, totals=bool(stage.function))
        if stage.function:
            self.call(stage.function, {"tau": self.taus.root, "p": self.p})
        self.taus.send(totals=bool(stage.function))

    # Operators on vectors

    def _operate(self, stage: VectorSpec, part: Part) -> None:
        if stage.operator != "Zip":
            operate(stage, self.types, self.taus, self.p)
            return
        vertex, (function,), named = read_arguments(stage)
        gather, each = named.get("gather", False), named.get("each", "")
        self._apply(ApplySpec(vertex, function, gather=gather, all=True, each=each), part)


RUNNERS = {
    ExchangeSpec: _Interpreter._exchange,
    ForEachSpec: _Interpreter._for_each,
    ApplySpec: _Interpreter._apply,
    GlobalSyncSpec: _Interpreter._global_sync,
    VectorSpec: _Interpreter._operate,
}
