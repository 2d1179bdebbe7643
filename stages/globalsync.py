"""GlobalSync: combine what the workers have gathered in their contexts, and give all of them the result."""

from __future__ import annotations

from typing import Any

from tux.errors import ProgramError
from tux.plain import plain_parameters, plain_row
from tux.stages.bind import Udf, call, named, parameters
from tux.stages.block import Block
from tux.stages.compile import Kernel
from tux.stages.loops import indented
from tux.stages.scope import Scope
from tux.worker import Worker


class GlobalSync:
    """Apply on the context tau, which every worker mirrors and one special worker masters:

        for each master vertex v of the aggregate's type: aggregate(v, tau, p)     # optional; tau's totals only
        combine the totals of all workers
        f(tau, p)                                                                 # on the special worker, once
        clear the totals; send tau back to all workers

    `aggregate` names its vertex type as a parameter, or calls it `v` and the type is given as `over`. `f` runs once a clock on one row,
    so it is never compiled: it may use all of Python and numpy.
    """

    def __init__(self, f: Udf | None = None, aggregate: Udf | None = None, over: str = "") -> None:
        self.f, self.aggregate, self.over = f, aggregate, over
        self.label = f"GlobalSync({named(f, aggregate)})"

    def prepare(self, worker: Worker) -> None:
        """Compile the aggregation, and bind `f`."""
        if self.aggregate:
            self._kernel = self._compile(worker, self.aggregate)
        if self.f:
            # Bound by the same rule as any UDF; the expressions are evaluated here, not compiled.
            call(self.f, "f", self.label, {"tau": lambda: "tau", "p": lambda: "p"})
            values: dict[str, Any] = {"p": plain_parameters(tuple(worker.parameters))(tuple(worker.parameters.values()))}
            names, arrays = worker.tables["tau"].seen("sync")
            values["tau"] = plain_row("tau", names)(arrays, 0)
            self._arguments = [values[name] for name in parameters(self.f, self.label)]

    def _compile(self, worker: Worker, aggregate: Udf) -> Kernel:
        wanted = [name for name in parameters(aggregate, self.label) if name in worker.program.vertices]
        over = self.over or (wanted[0] if wanted else "")
        if over not in worker.program.vertices:
            what = f"'{over}' is no vertex type" if over else "which vertices are aggregated is not said"
            raise ProgramError(f"{self.label}: {what}", do=f'say over="...": one of {", ".join(worker.program.vertices)}')
        scope = Scope(worker, "aggregate", self.label)
        row = lambda: scope.row(worker.tables[over], "j")  # noqa: E731
        lines = scope.call(aggregate, {over: row, "v": row}, lambda: f"{scope.ids(over)}[j], {scope.ids(over)}[j]")
        self._known = worker.graph.vertices[over].known
        return scope.kernel({"lo": 0, "hi": 0}, ["for j in range(lo, hi):", *indented(lines)])

    def run(self, worker: Worker, block: Block | None = None) -> None:
        """Aggregate, run `f`, clear the totals."""
        with worker.timed("apply"):
            if self.aggregate:
                self._kernel(0, self._known)
            if self.f:
                self.f(*self._arguments)
                worker.tables["tau"].clear_deltas()
