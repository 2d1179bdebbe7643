"""Apply: bring what the replicas of a vertex have gathered to its master, and what the master makes of it back."""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.errors import ProgramError
from tux.stages.bind import Udf, named
from tux.stages.block import Block
from tux.stages.loops import indented
from tux.stages.scope import Scope
from tux.worker import Worker


class Apply:
    """For the block's vertices of type `over`:

        mirrors send their deltas and changes of shared fields to their masters
        for each master v that has heard from all replicas:
            fold the changes into the shared fields; combine the deltas
            f(v, tau, p, rng)                    # v also under its type's name
            clear the deltas; send value and shared fields back

    Outside a MiniBatch these are all vertices of the type. A type that the partition does not cut has one copy: nothing of it travels,
    and without `f` there is nothing to do. Nothing is kept between calls but the fields.
    """

    folds = True

    def __init__(self, over: str, f: Udf | None = None) -> None:
        self.over, self.f = over, f
        self.label = f"Apply({', '.join(part for part in (over, named(f)) if part)})"
        self.cuts: np.ndarray | None = None
        self.block_role = ""

    def prepare(self, worker: Worker) -> None:
        """Compile the loop over masters, and find the rows of each block where they are no range."""
        program = worker.program
        if self.over not in program.vertices:
            raise ProgramError(f"{self.label}: '{self.over}' is no vertex type", do=f"vertex types: {', '.join(program.vertices)}")
        deltas = [name for name, field in program.vertices[self.over].fields.items() if field.kind == "delta"]
        if deltas and self.f is None:
            raise ProgramError(f"{self.label} would lose delta {self.over}.{deltas[0]}", do=f'name a UDF: Apply("{self.over}", f)')
        self._known = worker.graph.vertices[self.over].known
        self._touched: tuple[np.ndarray, np.ndarray] | None = None
        if self.f is None:
            return
        if self.cuts is not None and len(self.cuts) > 2 and self._other_end(worker):
            self._touched = self._find_touched(worker)
        self._kernel = self._compile(worker)

    def _other_end(self, worker: Worker) -> bool:
        """Whether the type is not the enumerated end of the mini-batch (or also its other end), so that its rows are no range."""
        declared = worker.program.edge
        return declared.ends[declared.roles.index(self.block_role)] != self.over

    def _compile(self, worker: Worker) -> Any:
        assert self.f is not None
        scope = Scope(worker, "apply", self.label)
        at = "rows[j]" if self._touched else "j"
        row = lambda: scope.row(worker.tables[self.over], at)  # noqa: E731
        call = scope.call(self.f, {self.over: row, "v": row}, lambda: f"{scope.ids(self.over)}[{at}], {scope.ids(self.over)}[{at}]")
        rows = self._touched[1] if self._touched else ()
        return scope.kernel({"rows": rows, "lo": 0, "hi": 0}, ["for j in range(lo, hi):", *indented(call)])

    def _find_touched(self, worker: Worker) -> tuple[np.ndarray, np.ndarray]:
        """Bounds (blocks + 1,) and rows: those of this type that have an edge into each block."""
        assert self.cuts is not None
        edges, n = worker.graph.edges, len(worker.tables[self.over].arrays[next(iter(worker.tables[self.over].arrays))])
        block_of = np.repeat(np.arange(len(self.cuts) - 1), np.diff(self.cuts))[edges.end(self.block_role)]
        pairs = np.unique(block_of * n + edges.end(edges.other(self.block_role)))
        return np.searchsorted(pairs // n, np.arange(len(self.cuts))), pairs % n

    def run(self, worker: Worker, block: Block | None = None) -> None:
        """Run the UDF on the block's masters, then clear their deltas."""
        if self.f is None:
            return
        with worker.timed("apply"):
            lo, hi, rows = self._rows(block)
            # A row that several blocks touch draws other numbers in each.
            self._kernel(rows, lo, hi, salt=block.number + 1 if block and len(rows) else 0)
            worker.tables[self.over].clear_deltas(rows[lo:hi] if len(rows) else slice(lo, hi))

    def _rows(self, block: Block | None) -> tuple[int, int, Any]:
        if self._touched is not None and block is not None:
            bounds, rows = self._touched
            return int(bounds[block.number]), int(bounds[block.number + 1]), rows
        lo, hi = block.rows if block and len(block.cuts) > 2 else (0, self._known)
        return lo, hi, ()
