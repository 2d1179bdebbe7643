"""A worker: one partition's rows and edges, the program's parameters, and the loop that runs its stages.

The worker knows a stage only as an object that can be prepared and run (`tux.program.Stage`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tux.errors import DataError, ProgramError
from tux.graph import Edges, Graph
from tux.plain import Row
from tux.program import Program, Stage
from tux.random import key
from tux.tables import Table


class Worker:
    """Both roles in one process: it walks its edges (worker) and keeps the masters of its vertices (server)."""

    def __init__(self, program: Program, graph: Graph, *, seed: int = 0, jit: bool = True) -> None:
        self.program, self.graph, self.seed, self.jit = program, graph, seed, jit
        self.epoch = self.clock = self.kernels = 0
        self.seconds: dict[str, float] = defaultdict(float)
        self.edges_visited = 0
        self.parameters = _scalars(program)
        self.tables = {name: self._table(name, v.fields, len(graph.vertices[name])) for name, v in program.vertices.items()}
        self.tables["tau"] = self._table("tau", program.context.fields, 1)
        self.initialise()

    def _table(self, name: str, fields: dict[str, Any], n: int) -> Table:
        return Table.allocate(name, {f: d.sized(self.program.parameters) for f, d in fields.items()}, n)

    def initialise(self) -> None:
        """Give every field its initial value: a function of (seed, type, field, dense index)."""
        for name, table in self.tables.items():
            ids = self.graph.vertices[name].order if name in self.graph.vertices else np.zeros(1, np.int64)
            for field, declared in table.declared.items():
                declared.init.fill(table.arrays[field], key(self.seed, "initial", name, field), ids)  # type: ignore[union-attr]

    def edge_table(self, edges: Edges) -> Table:
        """The fields of `edges`, in their present order."""
        declared = {f: d.sized(self.program.parameters) for f, d in self.program.edge.fields.items()}
        return Table(self.program.edge_name, declared, edges.fields)

    @property
    def tau(self) -> Row:
        """The context, by attribute."""
        return Row("tau", self.tables["tau"].arrays, 0)

    def prepare(self, stages: Sequence[Stage]) -> None:
        """Lay out the edges and compile the kernels that `stages` need."""
        for stage in stages:
            stage.prepare(self)

    def refuse_lost_deltas(self, stages: Sequence[Stage]) -> None:
        """ProgramError where a vertex type has a delta and none of `stages`, all of the program's, is an Apply for it."""
        inner = [each for stage in stages for each in (stage, *getattr(stage, "stages", ()))]
        applied = {getattr(stage, "over", "") for stage in inner if getattr(stage, "folds", False)}
        for name, vertex in self.program.vertices.items():
            lost = [f for f, d in vertex.fields.items() if d.kind == "delta"]
            if lost and name not in applied:
                raise ProgramError(f"nothing takes the delta {name}.{lost[0]}", do=f'add Apply("{name}", f) to the stages')

    def run(self, stages: Sequence[Stage], block: Any = None) -> None:
        """Run `stages` in order: within a block, or as an epoch's, where each block is a clock and each run of other stages is one."""
        ticks = False
        for stage in stages:
            composite = getattr(stage, "stages", None) is not None
            if ticks and composite:
                self.clock += 1
            ticks = not composite
            stage.run(self, block)
        if ticks and block is None:
            self.clock += 1

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Add the time of the body to ``seconds[what]``."""
        start = time.perf_counter()
        yield
        self.seconds[what] += time.perf_counter() - start

    def forget_metrics(self) -> None:
        """Set the context's metrics to NaN, so that one which is not computed in an epoch is not taken for that epoch's."""
        table = self.tables["tau"]
        for f, d in table.declared.items():
            if d.reported:
                table.arrays[f][...] = np.nan

    def metrics(self) -> dict[str, float]:
        """The context's metrics that have a value, by name."""
        table = self.tables["tau"]
        found = {f: table.arrays[f][0].item() for f, d in table.declared.items() if d.reported}
        return {f: x for f, x in found.items() if x == x}

    def check_finite(self) -> None:
        """DataError naming the first vertex, field and value that is NaN or infinite."""
        for name, vertices in self.graph.vertices.items():
            table = self.tables[name]
            for field, declared in table.declared.items():
                array = table.arrays[field]
                if declared.dtype.kind != "f" or declared.kind == "delta":
                    continue
                with np.errstate(invalid="ignore", over="ignore"):
                    if np.isfinite(np.sum(array, dtype=np.float64)):
                        continue
                bad = np.argwhere(~np.isfinite(array))
                if len(bad):
                    row = int(bad[0][0])
                    vertex = vertices.ids.decode(vertices.order[row : row + 1])[0]
                    raise DataError(
                        f"{name} {vertex}: {field} became {array[tuple(bad[0])]} in epoch {self.epoch}",
                        do="the step is too large for these data: try a smaller --step",
                    )


def _scalars(program: Program) -> dict[str, Any]:
    """The parameters that UDFs see, as numpy scalars or numbers: floats are float32 unless declared otherwise."""
    out: dict[str, Any] = {}
    for name, declared in program.params.items():
        chosen = program.parameters[name]
        if declared.type is float:
            out[name] = np.dtype(declared.dtype or "f4").type(chosen)
        elif declared.type is not str:
            out[name] = chosen
    return out
