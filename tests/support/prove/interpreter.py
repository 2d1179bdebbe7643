"""A second implementation of what a program computes at slack 0, written from the documents alone:
docs/program.md and docs/vectors.md. Loops over rows of numbers, slow and clear.

Nothing here is shared with the engine, so that a mistake of one is no mistake of the other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from types import MappingProxyType, SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from support.prove.functions import compile_functions
from support.prove.generated import edges_to, find_neighbours, make_lists
from support.prove.memory import EntryRow, Taus, VertexReplicas, as_array
from support.prove.moving import (
    MoveRefused,
    list_refused,
    move_context,
    move_edges,
    move_vertices,
)
from support.prove.operators import operate, read_arguments
from support.prove.parts import (
    PlacedEdge,
    Scope,
    SeenPart,
    cut_block,
    end_names,
    find_end,
    find_shares,
    place_edges,
)
from support.prove.spec import (
    ApplySpec,
    BarrierSpec,
    EdgePlacement,
    EdgeSpec,
    ExchangeSpec,
    ForEachSpec,
    GenerateSpec,
    GlobalSyncSpec,
    GraphSpec,
    MasterState,
    MiniBatchSpec,
    ProgramSpec,
    RepeatSpec,
    VectorSpec,
)

Thing = TypeVar("Thing")
Blocks = Callable[[MiniBatchSpec, int, int], list]
MOST = 10_000  # repetitions of a Repeat with `until`


def interpret(
    program: ProgramSpec,
    graph: GraphSpec,
    placement: EdgePlacement,
    blocks: Blocks,
    epochs: int,
    seed: int | None = None,
    moves: Mapping[int, EdgePlacement] = MappingProxyType({}),
) -> MasterState:
    """Run a program at slack 0 on the workers of `placement`, and return how it ends.

    `blocks(batch, epoch, repetition)` returns the vertices of each block of a MiniBatch that has a
    size, in the order of the run: an input, as the documents leave it to a seed. Epoch 0 is
    `setup`; `repetition` counts from 0 how often this MiniBatch has run in the epoch. All workers
    take the same block at a time, also where `order` is "rotated" or "pipelined".

    `seed` shuffles vertices and edges in each stage, which shows a program whose results depend on
    their order. None is the order of the graph.

    `moves`: by the epoch after which the run goes on on other workers, these.

    Raises ValueError where blocks do not hold each vertex once, or a Repeat does not end; and
    MoveRefused where other workers cannot go on.
    """
    run = _Interpreter(program, graph, placement, blocks, seed)
    run.run_stages(program.setup, None, ())
    metrics = {}
    for epoch in range(1, epochs + 1):
        run.begin_epoch(epoch)
        run.run_stages(program.stages, None, ())
        metrics[epoch] = run.taus.metrics()
        if epoch in moves:
            run.move(moves[epoch])
    vertices = {
        kind.name: {
            field.name: as_array(field, run.types[kind.name].masters)
            for field in kind.fields
            if field.kind in ("value", "shared", "master")
        }
        for kind in program.vertices
    }
    return MasterState(vertices, run.context("value", "shared"), metrics)


class _Interpreter:
    """The state of a run: the rows of all workers, and the epoch."""

    def __init__(
        self,
        program: ProgramSpec,
        graph: GraphSpec,
        placement: EdgePlacement,
        blocks: Blocks,
        seed: int | None,
    ) -> None:
        self.program, self.graph, self.blocks = program, graph, blocks
        self.order = None if seed is None else random.Random(seed)
        self.epoch, self.passes = 0, dict[tuple[int, ...], int]()
        self.functions = compile_functions(program.functions)
        self.edge_types = {kind.name: kind for kind in program.edges}
        self._place(placement)

    def _place(self, placement: EdgePlacement) -> None:
        """Give each worker its rows and edges, as they are when a run begins."""
        program, graph, workers = self.program, self.graph, placement.workers
        self.placement, self.workers = placement, range(workers)
        self.p = SimpleNamespace(**program.parameters, workers=workers, slack=0)
        self.taus = Taus(program.context, workers)
        self.fixed: list[Scope] = [{"tau": tau, "p": self.p} for tau in self.taus.rows]
        shares = find_shares(program, graph, placement)
        self.types = {
            kind.name: VertexReplicas(
                kind.fields,
                graph.vertex_data.get(kind.name, {}),
                [int(w) for w in placement.masters[kind.name]],
                shares[kind.name],
                workers,
            )
            for kind in program.vertices
        }
        edges = {
            kind.name: place_edges(
                kind, graph, placement.parts[kind.name].tolist(), self.types, self.fixed
            )
            for kind in program.edges
        }
        self.whole = SeenPart(edges, shares)

    def move(self, placement: EdgePlacement) -> None:
        """Go on on other workers."""
        types, taus, whole, before = self.types, self.taus, self.whole, self.placement
        refused = [field for name, old in types.items() for field in list_refused(name, old)]
        if refused:
            raise MoveRefused(refused)
        self._place(placement)
        for name, old in types.items():
            move_vertices(old, self.types[name], self.functions)
        for name, kind in self.edge_types.items():
            workers = [each.parts[name].tolist() for each in (before, placement)]
            move_edges(kind, whole.edges[name], self.whole.edges[name], workers)
        move_context(taus, self.taus, self.functions)

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

    def run_stages(self, stages: tuple, part: SeenPart | None, path: tuple[int, ...]) -> None:
        """Run stages in turn, on a block or, without one, on the whole graph. `path` says where in
        the program they stand.
        """
        for k, stage in enumerate(stages):
            if isinstance(stage, MiniBatchSpec) and isinstance(stage.stages[0], GenerateSpec):
                self._generate(stage.stages[0])
            elif isinstance(stage, MiniBatchSpec):
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

    def call(self, name: str, scope: Scope) -> Any:
        """Call a function with what its parameters name."""
        function, names = self.functions[name]
        return function(*[scope[name] for name in names])

    def draw_order(self, things: Iterable[Thing]) -> list[Thing]:
        """Return things in an order that the seed draws."""
        listed = list(things)
        if self.order is not None:
            self.order.shuffle(listed)
        return listed

    # MiniBatch

    def _cut_blocks(self, batch: MiniBatchSpec, path: tuple[int, ...]) -> Iterator[SeenPart]:
        """Yield the blocks of a MiniBatch. One block alone is the whole graph."""
        kind, vertex = self._find_enumerated(batch)
        count = len(self.types[vertex].masters)
        repetition = self.passes[path] = self.passes.get(path, -1) + 1
        blocks = self.blocks(batch, self.epoch, repetition) if batch.size else [range(count)]
        vertices = [[int(v) for v in block] for block in blocks]
        if sorted(v for block in vertices for v in block) != list(range(count)):
            raise ValueError(f"the blocks do not hold each {vertex} once")
        for block in vertices:
            if len(vertices) == 1:
                yield self.whole
            elif kind is None:
                own = {v: self.whole.shares[vertex][v] for v in block}
                yield SeenPart({}, {**dict.fromkeys(self.types, {}), vertex: own})
            else:
                yield cut_block(self.whole, *kind, set(block))

    def _find_enumerated(self, batch: MiniBatchSpec) -> tuple[tuple[EdgeSpec, int] | None, str]:
        """Find the edge type and its end whose vertices a MiniBatch enumerates, if there is an
        Exchange in it, and their type.
        """
        for stage in batch.stages:
            if isinstance(stage, ExchangeSpec):
                kind = self._edge_type(stage)
                end = find_end(kind, batch.over or stage.over)
                return (kind, end), kind.ends[end]
        named = batch.over or next(s.vertex for s in batch.stages if hasattr(s, "vertex"))
        return None, self._vertex_type(named)

    def _edge_type(self, stage: ExchangeSpec) -> EdgeSpec:
        return self.edge_types[stage.edge] if stage.edge else self.program.edges[0]

    def _vertex_type(self, name: str) -> str:
        """The vertex type that is named, maybe as the end of an edge type that joins one type."""
        if name in self.types:
            return name
        return next(kind.ends[0] for kind in self.program.edges if kind.ends[0] == kind.ends[1])

    # Exchange and ForEach

    def _exchange(self, stage: ExchangeSpec, part: SeenPart) -> None:
        kind = self._edge_type(stage)
        name = end_names(kind)[find_end(kind, stage.over)]
        takes_edges = bool(stage.function) and "edges" in self.functions[stage.function][1]
        for w in self.workers:
            edges = self.draw_order(part.edges[kind.name][w])
            if takes_edges or stage.enter or stage.leave:
                self._exchange_by_vertex(stage, part, w, edges, takes_edges)
                continue
            for edge in edges:
                if not stage.active or getattr(edge.scope[name], stage.active):
                    self.call(stage.function, edge.scope)

    def _exchange_by_vertex(
        self,
        stage: ExchangeSpec,
        part: SeenPart,
        w: int,
        edges: list[PlacedEdge],
        takes_edges: bool,
    ) -> None:
        """Call the functions of an Exchange for each vertex that worker w holds."""
        kind = self._edge_type(stage)
        end = find_end(kind, stage.over)
        vertex, name = kind.ends[end], end_names(kind)[end]
        grouped: dict[int, list[PlacedEdge]] = {}
        for edge in edges:
            grouped.setdefault(edge.ends[end], []).append(edge)
        for v in self.draw_order(part.shares[vertex]):
            row = self.types[vertex].rows[w].get(v)
            if row is None or not self._is_visited(kind, end, v, w):
                continue
            if stage.active and not getattr(row, stage.active):
                continue
            own = grouped.get(v, [])
            scope = {**self.fixed[w], name: row, "edges": [e.scope[kind.name] for e in own]}
            if stage.enter:
                self.call(stage.enter, scope)
            for each in [scope] if takes_edges else [e.scope for e in own]:
                if stage.function:
                    self.call(stage.function, each)
            if stage.leave:
                self.call(stage.leave, scope)

    def _is_visited(self, kind: EdgeSpec, end: int, v: int, w: int) -> bool:
        """Return True if worker w visits v at this end: of an end that is whole, the worker with
        its edges does, or else the one with its master.
        """
        if kind.whole != ("src", "dst")[end]:
            return True
        parts = enumerate(self.whole.edges[kind.name])
        holders = [r for r, part in parts if any(edge.ends[end] == v for edge in part)]
        return w == (holders[0] if holders else self.types[kind.ends[end]].homes[v])

    def _for_each(self, stage: ForEachSpec, part: SeenPart) -> None:
        vertex = self._vertex_type(stage.vertex)
        replicas = self.types[vertex]
        for w in self.workers:
            for v in self.draw_order(part.shares[vertex]):
                row = replicas.rows[w].get(v)
                if row is not None and (not stage.once or replicas.homes[v] == w):
                    self.call(stage.function, self._vertex_scope(vertex, row, w))

    def _vertex_scope(self, vertex: str, row: Any, w: int) -> Scope:
        return {**self.fixed[w], vertex: row, "v": row, "src": row, "dst": row}

    def _master_scope(self, vertex: str, v: int, row: Any) -> Scope:
        """Return all that a function for the master of v may get. If its type is cut, the context
        is that of the last GlobalSync.
        """
        replicas = self.types[vertex]
        scope = self._vertex_scope(vertex, row, replicas.homes[v])
        return scope if replicas.alone else {**scope, "tau": self.taus.root}

    # Generate

    def _generate(self, stage: GenerateSpec) -> None:
        """Make and use the lists of all vertices. As no list shows what others change, blocks are
        the same as one.
        """
        replicas, order = self.types[stage.over], self.placement.orders[stage.over]
        topology = find_neighbours(self.program, self.graph, order)
        for start, round in self.draw_order(product(range(len(order)), range(stage.rounds))):
            v = int(order[start])
            fixed = self.fixed[replicas.homes[v]]
            numbers = {"start": start, "id": v, "round": round, "topology": topology}
            names = self.functions[stage.make][1]
            lists = make_lists(stage, self.call, names, {**fixed, **numbers})
            edges = {
                name: edges_to(stage.over, [replicas.masters[order[at]] for at in places])
                for name, places in lists.items()
            }
            self.call(stage.use, {**fixed, **edges})

    # Apply and GlobalSync

    def _apply(self, stage: ApplySpec, part: SeenPart) -> None:
        shares = (self.whole if stage.all else part).shares[stage.vertex]
        replicas = self.types[stage.vertex]
        for v in self.draw_order(shares):
            if stage.gather:
                replicas.gather(v, shares[v], self.functions)
            if stage.function:
                self._call_on_master(stage, v)
            if stage.gather:
                replicas.clear(v)
            replicas.send(v)

    def _call_on_master(self, stage: ApplySpec, v: int) -> None:
        replicas = self.types[stage.vertex]
        row = replicas.masters[v]
        length = row.lengths[stage.each] if stage.each else 0
        rows = [EntryRow(row, length, k) for k in range(length)] if length else [row]
        for each in rows:
            self.call(stage.function, self._master_scope(stage.vertex, v, each))

    def _global_sync(self, stage: GlobalSyncSpec, part: SeenPart) -> None:
        if stage.aggregate:
            vertex = stage.over
            replicas = self.types[vertex]
            for v in self.draw_order(range(len(replicas.masters))):
                scope = self._master_scope(vertex, v, replicas.masters[v])
                self.call(stage.aggregate, scope)
        self.taus.gather(self.functions, totals=bool(stage.function))
        if stage.function:
            self.call(stage.function, {"tau": self.taus.root, "p": self.p})
        self.taus.send(totals=bool(stage.function))

    # Operators on vectors

    def _operate(self, stage: VectorSpec, part: SeenPart) -> None:
        if stage.operator != "Zip":
            operate(stage, self.types, self.taus, self.p)
            return
        vertex, (function,), named = read_arguments(stage)
        gather, each = named.get("gather", False), named.get("each", "")
        self._apply(ApplySpec(vertex, function, gather=gather, all=True, each=each), part)


RUNNERS: dict[type, Callable[[_Interpreter, Any, SeenPart], None]] = {
    ExchangeSpec: _Interpreter._exchange,
    ForEachSpec: _Interpreter._for_each,
    ApplySpec: _Interpreter._apply,
    GlobalSyncSpec: _Interpreter._global_sync,
    VectorSpec: _Interpreter._operate,
}
