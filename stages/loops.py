"""The loops over edges that Exchange and Score run, as source: per edge, per edge grouped by
vertex, and per vertex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tux.engine.worker import Worker
from tux.graph.layout import Layout
from tux.graph.local import Edges
from tux.stages.bind import Udf
from tux.stages.compile import Kernel
from tux.stages.scope import Scope

Names = dict[str, Callable[[], str]]


def indented(lines: list[str]) -> list[str]:
    """`lines` one level deeper."""
    return [f"    {line}" for line in lines]


class EdgeLoops:
    """Loops over one layout of one set of edges; `role` is the enumerated end."""

    def __init__(
        self,
        worker: Worker,
        stage: str,
        edges: Edges,
        layout: Layout,
        role: str,
        access: str = "exchange",
        prefix: str = "",
    ) -> None:
        self.worker, self.edges, self.layout, self.role, self.prefix = (
            worker,
            edges,
            layout,
            role,
            prefix,
        )
        self.scope = Scope(worker, access, stage, prefix=prefix)
        declared = worker.program.edge
        self.types = dict(zip(declared.roles, declared.ends, strict=True))
        self.at = dict(zip(declared.roles, (f"{prefix}src[e]", f"{prefix}dst[e]"), strict=True))
        arrays = {
            "src": layout.src,
            "dst": layout.dst,
            "index": layout.index,
            "bounds": layout.bounds,
        }
        self.varying: dict[str, Any] = {prefix + name: array for name, array in arrays.items()}

    def _row(self, role: str, index: str) -> Callable[[], str]:
        return lambda: self.scope.row(self.worker.tables[self.types[role]], index)

    def _edge(self) -> Names:
        """Names of a per-edge UDF: both ends and the edge."""
        position = "e" if isinstance(self.layout.index, tuple) else f"{self.prefix}index[e]"
        rows = {role: self._row(role, at) for role, at in self.at.items()}
        table = self.worker.edge_table(self.edges)
        return {**rows, table.name: lambda: self.scope.row(table, position)}

    def _edge_ids(self) -> str:
        return ", ".join(
            f"{self.scope.ids(self.types[role])}[{at}]" for role, at in self.at.items()
        )

    def _vertex(self) -> Names:
        """Names of an UDF on the enumerated vertex alone."""
        return {self.role: self._row(self.role, "v")}

    def _vertex_ids(self) -> str:
        ids = f"{self.scope.ids(self.types[self.role])}[v]"
        return f"{ids}, {ids}"

    def per_edge(self, f: Udf) -> Kernel:
        """for each group, for each edge e of it: f(...). Called with the numbers of the groups."""
        call = self.scope.call(f, self._edge(), self._edge_ids)
        loop = [
            "for g in range(len(groups)):",
            "    for e in range(bounds[groups[g]], bounds[groups[g] + 1]):",
            *indented(indented(call)),
        ]
        return self._kernel({"groups": np.zeros(1, np.int64)}, loop)

    def over_rows(self, lines: list[str]) -> Kernel:
        """A kernel of `by_vertex` or `per_vertex`, called with lo and hi."""
        return self._kernel({"lo": 0, "hi": 0}, lines)

    def by_vertex(self, f: Udf | None, enter: Udf | None, leave: Udf | None) -> list[str]:
        """for each vertex v in lo..hi: enter(v); for each edge e of v: f(...); leave(v)."""
        loop = self.scope.call(enter, self._vertex(), self._vertex_ids) if enter else []
        if f:
            span = f"range({self.prefix}bounds[v], {self.prefix}bounds[v + 1])"
            loop += [
                f"for e in {span}:",
                *indented(self.scope.call(f, self._edge(), self._edge_ids)),
            ]
        loop += self.scope.call(leave, self._vertex(), self._vertex_ids) if leave else []
        return ["for v in range(lo, hi):", *indented(loop)]

    def per_vertex(self, f: Udf) -> list[str]:
        """for each vertex v in lo..hi: f(v, edges of v)."""
        other, bounds = self.edges.other(self.role), f"{self.prefix}bounds"
        table, ends = self.worker.edge_table(self.edges), self.at[other].removesuffix("[e]")
        span = f"{ends}, {self.prefix}index, {bounds}[v], {bounds}[v + 1]"
        edges = {
            "edges": lambda: self.scope.edges(
                table, other, self.worker.tables[self.types[other]], span
            )
        }

        def ids() -> str:
            # Replicas of a vertex have other edges, so the first of them tells their streams of
            # random numbers apart.
            own, others = self.scope.ids(self.types[self.role]), self.scope.ids(self.types[other])
            return (
                f"{own}[v], {others}[{ends}[{bounds}[v]]] if {bounds}[v] < {bounds}[v + 1] else "
                f"{own}[v]"
            )

        return [
            "for v in range(lo, hi):",
            *indented(self.scope.call(f, {**self._vertex(), **edges}, ids)),
        ]

    def score(self, f: Udf, out: np.ndarray) -> Kernel:
        """for each edge e of the order in memory: out[e] = f(...). Called with `out` (m,)
        float64.
        """
        *seed_stream, call = self.scope.call(f, self._edge(), self._edge_ids)
        return self._kernel(
            {"out": out},
            ["for e in range(len(src)):", *indented([*seed_stream, f"out[e] = {call}"])],
        )

    def _kernel(self, varying: dict[str, Any], loop: list[str]) -> Kernel:
        run, layout = (
            self.scope.kernel({**varying, **self.varying}, loop),
            tuple(self.varying.values()),
        )
        return lambda *arguments: run(*arguments, *layout)
