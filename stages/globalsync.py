"""GlobalSync: combine what the workers have gathered in their contexts, and give all of them the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tux.encoding import Arrays
from tux.errors import ProgramError
from tux.frames import Message
from tux.gathered import Rows
from tux.plain import plain_parameters, plain_row
from tux.server import ROW, Server
from tux.stages.bind import Udf, call, named, parameters
from tux.stages.block import Block
from tux.stages.loops import indented
from tux.stages.scope import Scope
from tux.worker import Worker


class GlobalSync:
    """Apply on the context tau, which every worker mirrors and one special worker masters:

        for each master vertex v of the aggregate's type: aggregate(v, tau, p)     # optional; writes totals and `master` fields only
        combine the totals of all workers
        f(tau, p)                                                                 # on the special worker, once
        clear the totals; send tau back to all workers

    `aggregate` names its vertex type as a parameter, or calls it `v` and the type is given as `over`. `f` runs once a clock on one row,
    so it is never compiled: it may use all of Python and numpy.
    """

    folds = False

    def __init__(self, f: Udf | None = None, aggregate: Udf | None = None, over: str = "") -> None:
        self.f, self.aggregate, self.over = f, aggregate, over
        self.label = f"GlobalSync({named(f, aggregate)})"
        self.travels = False
        self.aggregated = ""  # the vertex type that `aggregate` walks

    def prepare(self, worker: Worker) -> None:
        """Compile the aggregation, and bind `f`."""
        self.travels = worker.workers > 1
        if self.travels:
            self.point = len(worker.points)
            worker.points.append(self)
        self._aggregate = self._compile(worker, self.aggregate) if self.aggregate else None
        if self.f:
            # Bound by the same rule as any UDF; the expressions are evaluated here, not compiled.
            call(self.f, "f", self.label, {"tau": lambda: "tau", "p": lambda: "p"})
            values: dict[str, Any] = {"p": plain_parameters(tuple(worker.parameters))(tuple(worker.parameters.values()))}
            table = worker.server.special.table if self.travels else worker.tables["tau"]
            names, arrays = table.seen("sync")
            values["tau"] = plain_row("tau", names)(arrays, 0)
            self._arguments = [values[name] for name in parameters(self.f, self.label)]

    def _compile(self, worker: Worker, aggregate: Udf) -> Callable[[], None]:
        """A function that aggregates the masters of this worker, wherever they are."""
        wanted = [name for name in parameters(aggregate, self.label) if name in worker.program.vertices]
        over = self.over or (wanted[0] if wanted else "")
        if over not in worker.program.vertices:
            what = f"'{over}' is no vertex type" if over else "which vertices are aggregated is not said"
            raise ProgramError(f"{self.label}: {what}", do=f'say over="...": one of {", ".join(worker.program.vertices)}')
        vertices = worker.graph.vertices[over]
        self._at_home, self.aggregated = vertices.cut, over
        scope = Scope(worker, "aggregate", self.label, at_home=vertices.cut)
        row = lambda: scope.row(scope.vertices(over), "j")  # noqa: E731
        lines = scope.call(aggregate, {over: row, "v": row}, lambda: f"{scope.ids(over)}[j], {scope.ids(over)}[j]")
        kernel = scope.kernel({"lo": 0, "hi": 0}, ["for j in range(lo, hi):", *indented(lines)])
        count = len(vertices.part.masters) if vertices.part and vertices.cut else vertices.known
        return lambda: kernel(0, count)

    def run(self, worker: Worker, block: Block | None = None) -> None:
        """With one worker: aggregate, run `f`, clear the totals."""
        with worker.timed("apply"):
            if self._aggregate:
                self._aggregate()
            if self.f:
                self.f(*self._arguments)
                worker.tables["tau"].clear_deltas()

    def send(self, worker: Worker, turn: int, block: Block | None) -> int:
        """This worker's context goes to its own server, which adds its share; returns the number of answers to come."""
        if self._aggregate and not self._at_home:
            self._aggregate()
        arrays = worker.mirrors["tau"].pack(ROW, (self.point, 0), deltas=self.f is not None)
        worker.post(Message("totals", worker.rank, worker.rank, turn, self.point, arrays), "tau")
        return 1

    def takes(self, worker: Worker, block: Block | None) -> Rows | None:
        """The context's row. (Without a function no totals are taken, but changes are.)"""
        return slice(None)

    def aggregate_at_home(self) -> None:
        """On each server, before its share is added: aggregate the masters that it keeps."""
        if self._aggregate and self._at_home:
            self._aggregate()

    def serve(self, server: Server, contributions: list[Arrays]) -> list[Arrays]:
        """On the special worker's server: combine in worker order, run `f`, answer all."""
        server.special.fold((ROW, arrays, None) for arrays in contributions)
        if self.f:
            with server.special.changing(ROW):
                self.f(*self._arguments)
            server.special.table.clear_deltas()
        answers = [server.special.read(ROW) for _ in contributions]
        server.special.forget()
        return answers

    def install(self, worker: Worker, message: Message) -> None:
        """On each worker: take the context's new value."""
        worker.mirrors["tau"].install(ROW, (self.point, 0), list(message.arrays))
