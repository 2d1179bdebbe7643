"""The names to which a kernel's UDFs refer, gathered while its source is written: rows of tables,
the context, parameters, random streams.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from tux.base.errors import ProgramError
from tux.base.random import key
from tux.engine.partition import Partition
from tux.program.fields import ID
from tux.program.params import functions_of, is_meaning
from tux.rows.table import RowSpec, RowTable
from tux.rows.turns import WIDTH, new_turns
from tux.stages.analysis.attributes import attributes
from tux.stages.analysis.plan import ThreadPlan
from tux.stages.analysis.random_sources import refuse_unseeded
from tux.stages.analysis.texts import refuse_texts
from tux.stages.check.sample import SampledKernel
from tux.stages.check.signed import has_unsigned
from tux.stages.kernel.bind import Udf, call, parameters, place
from tux.stages.kernel.compile import InjectedGlobal, Kernel
from tux.stages.kernel.gauge import KernelGauge, Row, Touched, arrays_read, touched_by
from tux.stages.kernel.lanes import Lanes
from tux.stages.kernel.shared_kernel import SharedKernel
from tux.stages.kernel.thread_loop import compile_kernel, thread_loop
from tux.stages.kernel.tickets import Items


class Scope:
    """The arguments and injected names of one kernel, collected so that only the fields which its
    UDFs use are passed to it: each array that is passed costs time to compile and to call.

    `access` says which fields the UDFs see and may write (`tux.rows.table.ACCESS`); `stage` is how
    messages call the stage. `at_home`: the UDFs run on the server's masters and its copy of the
    context, not on the worker's rows. `prefix` begins all names that the source uses, so that
    several stages fit into one kernel, of one thread. `plan`: how threads share the kernel, and
    which fields its UDFs write.
    """

    def __init__(
        self,
        partition: Partition,
        access: str,
        stage: str,
        plan: ThreadPlan | None = None,
        *,
        at_home: bool = False,
        prefix: str = "",
    ) -> None:
        self.partition, self.access, self.stage, self.at_home, self.prefix = (
            partition,
            access,
            stage,
            at_home,
            prefix,
        )
        self.plan = plan or ThreadPlan()
        self.arguments: dict[str, Any] = {}
        self.injected: dict[str, InjectedGlobal] = {}
        self.before: list[str] = []
        self.inside: list[str] = []  # for each item
        self.scratch: set[str] = set()  # arguments of which each thread has its own
        self.rows: dict[str, Row] = {}  # that UDFs get, by their names
        self.along: set[str] = set()  # the names of those that are visited once an edge
        self.each = 1  # rows that are visited for each vertex
        self.by_position = False  # True: UDFs know vertices by position, as `topology` does
        self.used: frozenset[str] | None = frozenset()
        self.values = partition.parameters
        partition.kernels += 1
        self.purpose = key(partition.seed, "stage", partition.kernels, stage)

    def uses(self, name: str) -> bool:
        """Return whether the UDFs may ask for an attribute of this name."""
        return self.used is None or name in self.used

    def _visible_fields(self, table: RowTable, called: str) -> tuple[RowSpec, tuple[Any, ...]]:
        claim = self.plan.claims.get(called or table.name)
        return table.visible_fields(self.access, self.used, ids=self.uses(ID), claim=claim)

    def table(self, table: RowTable, called: str = "", kind: str = "row") -> str:
        """Return the argument that holds the arrays of `table`, whose rows are `called` so, or like
        the table.
        """
        name = f"{self.prefix}{called or table.name}"
        spec, arrays = self._visible_fields(table, called)
        self.arguments[f"{name}_arrays"] = arrays
        if kind == "row":
            self.rows[called or table.name] = spec, arrays
        self.injected[f"{name}_{kind}"] = InjectedGlobal(kind, (spec,))
        return f"{name}_arrays"

    def row(self, table: RowTable, index: str, called: str = "") -> str:
        """Return the expression of row `index` of `table`."""
        return f"{self.prefix}{called or table.name}_row({self.table(table, called)}, {index})"

    def entries(self, table: RowTable, field: str) -> str:
        """Return the argument that says how many entries a field has along its first dimension. It
        is no constant, as the kernel would be compiled anew for another number.
        """
        name = f"{self.prefix}{field}_entries"
        self.arguments[name] = self.each = table.arrays[field].shape[1]
        return name

    def edges(self, edges: RowTable, role: str, other: RowTable, span: str) -> str:
        """Return the expression of a slice of edges, `span` being "ends, index, lo, hi, first" of
        the layout, of which `ends` count from the row `first`; the other end is called `role`.
        """
        of_edge, of_other = self._visible_fields(edges, "")[0], self._visible_fields(other, role)[0]
        self.injected[f"{self.prefix}edges_of"] = InjectedGlobal("edges", (of_edge, role, of_other))
        self.along |= {edges.name, role}
        arrays = f"{self.table(edges)}, {self.table(other, role)}"
        return f"{self.prefix}edges_of({arrays}, {span})"

    def vertex_slice(self, role: str, table: RowTable, span: str) -> str:
        """Return the expression of a slice of rows called `role`; `span`: as in `edges`."""
        none, rows = RowSpec("vertices", (), "none"), self._visible_fields(table, role)[0]
        self.injected[f"{self.prefix}vertices_of"] = InjectedGlobal("edges", (none, role, rows))
        self.along.add(role)
        return f"{self.prefix}vertices_of((), {self.table(table, role)}, {span})"

    def edges_without_fields(self, other: RowTable, rows: str, span: str) -> str:
        """Return the expression of a slice of edges without fields; the argument `rows` holds the
        arrays of the other end.
        """
        none = RowSpec("generated", (), "none")
        rows_of, arrays = other.visible_fields(self.access, ids=self.uses(ID))
        self.rows[other.name] = rows_of, arrays
        self.along.add(other.name)
        self.injected[f"{self.prefix}edges_of"] = InjectedGlobal(
            "edges", (none, other.name, rows_of)
        )
        return f"{self.prefix}edges_of((), {rows}, {span})"

    def common(self) -> dict[str, Callable[[], str]]:
        """Return the expressions that any UDF may ask for besides rows: the context, the
        parameters, a random stream, and the whole graph if there is one.
        """
        names = {"tau": self._tau, "p": self._parameters, "rng": self._stream}
        return names | ({"topology": self._topology} if self.partition.topology else {})

    def _topology(self) -> str:
        assert self.partition.topology is not None
        self._once(f"{self.prefix}topology = {self.row(self.partition.topology, '0')}")
        return f"{self.prefix}topology"

    @property
    def tau(self) -> RowTable:
        """The context that the UDFs see."""
        return self.partition.server.tau if self.at_home else self.partition.tables["tau"]

    def vertices(self, name: str) -> RowTable:
        """Return the rows of a vertex type that the UDFs see."""
        return self.partition.server.tables[name] if self.at_home else self.partition.tables[name]

    def _tau(self) -> str:
        if self.prefix:
            self._once(f"{self.prefix}tau = {self.row(self.tau, '0')}")
            return f"{self.prefix}tau"
        self.inside = [
            f"tau = tau_lane({self.table(self.tau, kind='lane')}, run % {self.plan.lanes or 1})"
        ]
        return "tau"

    def _parameters(self) -> str:
        of_run = self.partition.numbers
        values = self.values | {name: of_run[name] for name in of_run if self.uses(name)}
        meanings = {name: value for name, value in values.items() if is_meaning(value)}
        numbers = {name: value for name, value in values.items() if name not in meanings}
        self.arguments[f"{self.prefix}values"] = tuple(numbers.values())
        spec = tuple(numbers), tuple(meanings.items())
        self.injected[f"{self.prefix}parameters"] = InjectedGlobal("parameters", spec)
        self._once(f"{self.prefix}p = {self.prefix}parameters({self.prefix}values)")
        return f"{self.prefix}p"

    def _stream(self) -> str:
        self.arguments[f"{self.prefix}state"] = np.zeros(1, np.uint64)
        self.scratch.add(f"{self.prefix}state")
        self._once(f"{self.prefix}rng = stream({self.prefix}state)")
        return f"{self.prefix}rng"

    def _once(self, line: str) -> None:
        if line not in self.before:
            self.before.append(line)

    def ids(self, vertex: str) -> str:
        """Return the argument that holds the dense index of each row of a vertex type, for random
        streams.
        """
        here = self.partition.graph.vertices[vertex].order
        self.arguments[f"{self.prefix}{vertex}_ids"] = (
            self.partition.master_ids(vertex) if self.at_home else here
        )
        return f"{self.prefix}{vertex}_ids"

    def call(
        self, udf: Udf, rows: dict[str, Callable[[], str]], ids: Callable[[], str]
    ) -> list[str]:
        """Return the lines that call `udf`, which may ask for `rows`; its random stream, if it asks
        for one, starts at `ids` ("id, id").
        """
        asks = "p" in parameters(udf, self.stage)
        meanings = {n: v for n, v in self.values.items() if asks and is_meaning(v)}
        named = self.partition.make_once(udf, lambda: self._look_at(udf, meanings))
        if not self.by_position and "topology" in parameters(udf, self.stage):
            _refuse_lists(udf, named)
        self.used = None if self.used is None or named is None else self.used | named
        name = f"{self.prefix}udf_{len(self.injected)}"
        self.injected[name] = InjectedGlobal("udf", (udf,))
        line = call(udf, name, self.stage, {**rows, **self.common()})
        seed_stream = f"seed_stream({self.prefix}state, {self.prefix}key, {ids()})"
        return [seed_stream, line] if "rng" in parameters(udf, self.stage) else [line]

    def _look_at(self, udf: Udf, meanings: dict[str, Any]) -> frozenset[str] | None:
        """Refuse what no UDF may do, and return the attributes that this one may ask for."""
        for each in (udf, *functions_of(meanings.values())):
            refuse_unseeded(each)
            refuse_texts(each)
        return attributes(udf, meanings)

    def kernel(self, varying: dict[str, Any], loop: list[str]) -> SharedKernel:
        """Compile a kernel that the worker's threads share: for each item lo..hi, `loop`.

        ``kernel(turns, runs, items, *varying, key, *arguments)``; `varying`: names and examples of
        what changes from call to call. The random key is (stage, pass, `salt`).
        """
        own = (
            Lanes(self.tau, *self._context(), self.plan.lanes)
            if "tau_arrays" in self.arguments
            else None
        )
        if own is not None:
            self.arguments["tau_arrays"] = own.one
        none = Items(np.zeros((1, WIDTH), np.int64))
        shared = {"turns": new_turns(0, 0), "runs": none.runs, "items": none.array}
        names = [*shared, *varying, "key", *self.arguments]
        examples = (*shared.values(), *varying.values(), self.purpose, *self.arguments.values())
        body = [*self.before, *thread_loop([*self.inside, *loop])]
        gauge = self._gauge(self.count_bytes(varying, loop))
        built = self._compile(names, examples, body, gauge)
        arguments = self.arguments, self.scratch, own
        return SharedKernel(self.partition, built, self.purpose, self.plan, *arguments, gauge)

    def _compile(
        self,
        names: list[str],
        examples: tuple[Any, ...],
        body: list[str],
        gauge: KernelGauge | None,
    ) -> Kernel | SampledKernel:
        """Compile the kernel, once of one source and types. What it has been looked at for
        (`tux.stages.check.sample`) is not looked at again.
        """
        meter = gauge.meter if gauge else None
        of = self.partition, self.stage, names, examples, body, self.injected, self.tau, meter
        if self.partition.common is None:
            return compile_kernel(*of)
        # plain Python takes any types, but for what is known of unsigned numbers
        jit = self.partition.jit
        types = tuple(map(numba.typeof, examples)) if jit else has_unsigned(examples)
        key = self.stage, tuple(names), tuple(body), tuple(self.injected.items()), types
        return self.partition.make_once(key, lambda: compile_kernel(*of))

    def count_bytes(self, varying: dict[str, Any], loop: list[str]) -> Touched:
        """Count the bytes that the lines `loop` and the functions that they call touch."""
        return touched_by(self.rows, self.along, self.each, arrays_read(varying, loop))

    @property
    def functions(self) -> list[str]:
        """The names of the functions that the kernel calls."""
        return [each.spec[0].__name__ for each in self.injected.values() if each.kind == "udf"]

    def _gauge(self, touched: Touched) -> KernelGauge | None:
        """Return the gauge of the kernel, in a run with a profile."""
        if (profile := self.partition.profile) is None:
            return None
        why = "" if self.plan.threads else self.plan.why
        return KernelGauge(profile.meter(self.stage, self.functions, why, touched.held), touched)

    def _context(self) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Return the names and arrays of the context's fields that the kernel gets."""
        spec, arrays = self._visible_fields(self.tau, "")
        return spec.names, arrays


def _refuse_lists(udf: Udf, named: frozenset[str] | None) -> None:
    """Raise ProgramError where a UDF that knows vertices by their `id` may read neighbour lists."""
    lists = sorted({"bounds", "ends", "sums"} & named) if named is not None else ["bounds"]
    if lists:
        raise ProgramError(
            f"`{udf.__name__}` reads topology.{lists[0]}, whose vertices have other numbers than "
            "the rows have as id",
            where=place(udf),
            do="read it in `make` of Generate alone; here, visit edges",
        )
