"""Apply: bring what the replicas of a vertex have gathered to its master, and what the master makes of it back."""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.encoding import Arrays
from tux.errors import ProgramError
from tux.frames import Message
from tux.gathered import Rows
from tux.replicas import NO_ROWS
from tux.routes import ALL, Routes
from tux.server import Server
from tux.stages.bind import Udf, named, parameters
from tux.stages.block import Block
from tux.stages.loops import indented
from tux.stages.scope import Scope
from tux.worker import Worker

TRAVELLING = ("value", "shared", "delta")


class Apply:
    """For the block's vertices of type `over`:

        mirrors send their deltas and changes of shared fields to their masters
        for each master v that has heard from the worker of every replica:
            fold the changes into the shared fields; combine the deltas        # in worker order
            f(v, tau, p, rng)                                                  # v also under its type's name
            clear the deltas; send value and shared fields back

    Outside a MiniBatch these are all vertices of the type; inside, the block's range of the enumerated type, or the vertices of the
    other end that have an edge in the block. A type that the partition does not cut has one copy: nothing of it travels, and without
    `f` there is nothing to do. Nothing is kept between calls but the fields.

    `gather=False`: mirrors send nothing, and what they have gathered waits for the next Apply; `f` sees no deltas. For a decision that
    concerns masters alone, when nothing is under way.
    """

    folds = True

    def __init__(self, over: str, f: Udf | None = None, *, gather: bool = True) -> None:
        self.over, self.f, self.gather = over, f, gather
        self.label = f"Apply({', '.join(part for part in (over, named(f)) if part)})"
        self.travels = False
        self.cuts: np.ndarray | None = None  # of the mini-batch around it, in positions of the enumerated type
        self.block_role = ""

    def prepare(self, worker: Worker) -> None:
        """Compile the loop over masters; find routes, and the rows of each block where they are no range."""
        program = worker.program
        if self.over not in program.vertices:
            raise ProgramError(f"{self.label}: '{self.over}' is no vertex type", do=f"vertex types: {', '.join(program.vertices)}")
        fields = program.vertices[self.over].fields
        deltas = [name for name, field in fields.items() if field.kind == "delta"]
        if not self.gather and self.f is None:
            raise ProgramError(f"{self.label} gathers nothing and does nothing", do=f'name a UDF: Apply("{self.over}", f, gather=False)')
        if deltas and self.f is None:
            raise ProgramError(f"{self.label} would lose delta {self.over}.{deltas[0]}", do=f'name a UDF: Apply("{self.over}", f)')
        vertices = worker.graph.vertices[self.over]
        self._known, cut = vertices.known, vertices.cut
        self.travels = cut and (self.f is not None or any(field.kind in TRAVELLING for field in fields.values()))
        several = self.cuts is not None and len(self.cuts) > 2
        ranges = several and not self._other_end(worker)
        self._touched = self._find_touched(worker) if several and not ranges and (self.f or cut) else None
        self._kernel = self._compile(worker, at_home=cut) if self.f is not None else None
        if self.travels:
            assert vertices.part is not None
            self._routes = Routes(vertices.part, self.cuts if ranges else None)
            self._ranges = ranges
            self._weights = worker.graph.counts(self.over).astype(np.float32)
            self.point = len(worker.points)
            worker.points.append(self)

    @property
    def side(self) -> str:
        """What `f` sees of a row: see `tux.tables`."""
        return "apply" if self.gather else "apply alone"

    def _other_end(self, worker: Worker) -> bool:
        """Whether the type is only the other end of the mini-batch, so that a block's rows are no range."""
        declared = worker.program.edge
        return declared.ends[declared.roles.index(self.block_role)] != self.over

    def _compile(self, worker: Worker, *, at_home: bool) -> Any:
        scope = Scope(worker, self.side, self.label, at_home=at_home)
        rows = np.empty(0, np.int64) if self._touched else ()
        return scope.kernel({"rows": rows, "lo": 0, "hi": 0}, self.loop(scope, "rows[j]" if self._touched else "j"))

    def loop(self, scope: Scope, at: str = "j") -> list[str]:
        """The loop over masters lo..hi."""
        assert self.f is not None
        row = lambda: scope.row(scope.vertices(self.over), at)  # noqa: E731
        call = scope.call(self.f, {self.over: row, "v": row}, lambda: f"{scope.ids(self.over)}[{at}], {scope.ids(self.over)}[{at}]")
        return ["for j in range(lo, hi):", *indented(call)]

    def _find_touched(self, worker: Worker) -> tuple[np.ndarray, np.ndarray]:
        """Bounds (blocks + 1,) and rows: those of this type that have an edge into each block."""
        assert self.cuts is not None
        declared = worker.program.edge
        edges, n = worker.graph.edges, max(len(worker.graph.vertices[self.over]), 1)
        cuts = worker.graph.vertices[declared.ends[declared.roles.index(self.block_role)]].local_cuts(self.cuts)
        block_of = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))[edges.end(self.block_role)]
        pairs, self._touches = np.unique(block_of * n + edges.end(edges.other(self.block_role)), return_counts=True)
        return np.searchsorted(pairs // n, np.arange(len(cuts))), pairs % n

    def run(self, worker: Worker, block: Block | None = None) -> None:
        """Where nothing travels: run the UDF on the block's masters, then clear their deltas."""
        if self._kernel is None:
            return
        rows: np.ndarray | slice
        with worker.timed("apply"):
            if self._touched is not None and block is not None:
                rows = self._touched_in(block)
                # A row that several blocks touch draws other numbers in each.
                self._kernel(rows, 0, len(rows), salt=block.number + 1)
            else:
                lo, hi = block.rows if block and len(block.cuts) > 2 else (0, self._known)
                rows = slice(lo, hi)
                self._kernel((), lo, hi)
            if self.gather:
                worker.tables[self.over].clear_deltas(rows)

    @property
    def adds_to_context(self) -> bool:
        """Whether `f` may add to the context's totals."""
        return self.f is not None and "tau" in parameters(self.f, self.label)

    def takes(self, worker: Worker, block: Block | None) -> Rows | None:
        """The rows whose changes and deltas this stage sends, or takes where nothing travels; None if there are none."""
        if not self.gather:
            return None
        if self._touched is not None and block is not None:
            return self._touched_in(block)
        return slice(*block.rows) if block and len(block.cuts) > 2 else slice(0, self._known)

    def _touched_in(self, block: Block) -> np.ndarray:
        assert self._touched is not None
        bounds, rows = self._touched
        return rows[bounds[block.number] : bounds[block.number + 1]]

    def send(self, worker: Worker, turn: int, block: Block | None) -> int:
        """Each home gets this worker's contribution to the block; returns the number of answers to come."""
        mirrors, number = worker.mirrors[self.over], block.number if block else ALL
        touched, weights = None, self._weights
        if self._touched is not None and block is not None:
            bounds, rows = self._touched
            here = slice(bounds[block.number], bounds[block.number + 1])
            touched, weights = np.zeros(self._known, bool), np.zeros(self._known, np.float32)
            touched[rows[here]], weights[rows[here]] = True, self._touches[here]
        for home in range(worker.workers):
            rows = self._routes.up(home, np.array([number if self._ranges else ALL]))
            head: Arrays = [np.array([number, worker.epoch, block.round if block else 0], np.int32)]
            if touched is not None:
                head.append(np.packbits(touched[rows]))
                rows = rows[touched[rows]]
            if not self.gather:
                rows = NO_ROWS
            if worker.server.needs_weights(self.over):
                head.append(weights[rows])
            arrays = [*head, *mirrors.pack(rows, (self.point, home))]
            if home != worker.rank:
                worker.bytes_dense[self.over] += len(rows) * mirrors.row_bytes
            worker.post(Message("up", worker.rank, home, turn, self.point, arrays), self.over)
        return worker.workers

    def serve(self, server: Server, contributions: list[Arrays]) -> list[Arrays]:
        """On the home: fold, run the UDF, answer each worker with what it holds of the blocks."""
        masters, everywhere = server.masters[self.over], np.array([ALL])
        numbers = np.unique([arrays[0][0] for arrays in contributions]).astype(np.int32)
        touched = np.zeros(self._routes.masters(ALL)[1], bool)
        folded = []
        for worker, (head, *rest) in enumerate(contributions):
            rows = self._routes.down(worker, head[:1] if self._ranges else everywhere)
            if self._touched is not None and head[0] != ALL:
                rows = rows[np.unpackbits(rest.pop(0), count=len(rows)).astype(bool)]
            weights = rest.pop(0) if masters.needs_weights else None
            if not self._ranges:
                touched[rows] = True
            if not self.gather:
                rows = NO_ROWS
            folded.append((rows, rest, weights))
        masters.fold(folded)
        _, epoch, turn = contributions[0][0].tolist()
        self._run_at_home(server, numbers, np.flatnonzero(touched), epoch, turn)
        answers = []
        for worker in range(server.workers):
            rows = self._routes.down(worker, numbers if self._ranges else everywhere)
            answer: Arrays = [numbers]
            if self._touched is not None and numbers[0] != ALL:
                answer.append(np.packbits(touched[rows]))
                rows = rows[touched[rows]]
            if worker != server.rank:
                server.bytes_dense[self.over] += len(rows) * masters.row_bytes
            answers.append([*answer, *masters.read(rows)])
        masters.forget()
        return answers

    def _run_at_home(self, server: Server, numbers: np.ndarray, touched: np.ndarray, epoch: int, turn: int) -> None:
        """Run the UDF on the blocks' masters, or those `touched`, and clear their deltas."""
        table, masters = server.tables[self.over], server.masters[self.over]
        if self._touched is not None and numbers[0] != ALL:
            if self._kernel is not None:
                with masters.changing(touched):
                    self._kernel(touched, 0, len(touched), salt=int(numbers[0]) + 1, epoch=epoch)
            table.clear_deltas(touched)
            return
        for number in numbers:
            lo, hi = self._routes.masters(int(number) if self._ranges else ALL)
            if self._kernel is not None:
                with masters.changing(np.arange(lo, hi, dtype=np.int32)):
                    self._kernel(() if self._touched is None else np.arange(hi), lo, hi, salt=turn, epoch=epoch)
            table.clear_deltas(slice(lo, hi))

    def install(self, worker: Worker, message: Message) -> None:
        """On the worker: take the answer of one home."""
        numbers, *rest = message.arrays
        rows = self._routes.up(message.source, numbers if self._ranges else np.array([ALL]))
        if self._touched is not None and numbers[0] != ALL:
            rows = rows[np.unpackbits(rest.pop(0), count=len(rows)).astype(bool)]
        worker.mirrors[self.over].install(rows, (self.point, message.source), rest)
