"""Generate: edges that are in no file. One UDF makes them for each vertex of a block, another
walks them; rows come as they are touched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tux.base.errors import ProgramError
from tux.checkpoint.spool import Spool
from tux.clock.steps import Step
from tux.engine.partition import Partition
from tux.program.base_program import BaseProgram
from tux.program.fields import ID
from tux.program.stage import Batch
from tux.rows.table import RowSpec, freeze
from tux.rows.turns import HI, LO
from tux.stages.analysis.calling import CallingStage
from tux.stages.analysis.calls import Call, shape_of, slice_of
from tux.stages.analysis.plan import ThreadPlan, plan_lists, plan_vertices, why_no_lanes
from tux.stages.kernel.bind import Udf, parameters, place, udf_names
from tux.stages.kernel.compile import InjectedGlobal
from tux.stages.kernel.scope import Scope
from tux.stages.kernel.thread_loop import indent_lines
from tux.stages.kernel.tickets import WEIGHT, Items, even_items, ranges
from tux.stages.pull.generated import GeneratedLists, Kernels
from tux.stages.pull.pull_rows import PullClient

ABREAST = 32
"""Vertices whose lists are made side by side: memory is asked for several at a time, and what is
written stays in the first cache.
"""


class Generate(CallingStage):
    """For each vertex v of the block whose master is here, in each of `rounds` rounds of an epoch:

        # `start` is v's number here; write those of others into the lists. `id` is its number in
        # the data, as of other functions: those of a model with which the run begins come first
        make(start, path, noise, topology, p, rng, round, id)
        # from their masters, unless one of the `slack` blocks before has pulled them
        pull the rows of all vertices in the lists, with the fields that `use` needs of them
        # path[i].page.u[k]: for each v, in the block's order
        use(path, noise, tau, p, rng, progress, share)
        push the changes of their shared fields, of rows that are kept after these blocks

    `lists` names the lists and gives the most that each can hold, a number or an integer parameter:
    ``path="length"``. In `make` they are arrays of integers, full of -1; what stands before the
    first -1 is the list. In `use` they are slices of edges: `len`, and by the type's name the row
    at the other end. `topology` is the whole graph (`tux.graph.topology`), `progress` the part of
    the run that is over, `share` the part that masters take of changes to fields with
    combine="sqrt_mean" (`tux.sync.pull.share`; of other fields all). The type is declared
    ``Vertex(remote=True)``: with several workers a row stays on a worker for `slack` + 1 blocks at
    most (`tux.sync.pull`). Only inside a MiniBatch, alone.

    If `make` has a parameter `at`, it makes one entry at a time: it is called for each place `at`
    of the first list in turn, of several vertices side by side, so that they wait for memory
    together. What it must know it reads from the lists; `rng` goes on where it was.

    Threads share the vertices for which lists are made; `use` runs on one. `racing=True` is the
    program's word that `use` may run for several lists at once, in no order, each on rows that
    others change meanwhile (Hogwild: Recht et al., NIPS 2011). With ``--racing`` all threads then
    do so, and no two runs are the same. Totals are gathered without loss; other changes of the
    context are refused.

    Without `use` (None) no rows come: the lists are the result. They are kept on disk
    (`tux.checkpoint.spool`), and `Report.write` gets them at the run's end, all in one order.
    """

    def __init__(
        self,
        make: Udf,
        use: Udf | None,
        over: str,
        *,
        rounds: int = 1,
        racing: bool = False,
        **lists: str | int,
    ) -> None:
        self.make, self.use, self.over, self.rounds, self.lists = make, use, over, rounds, lists
        self.racing = racing
        self.label = f"Generate({udf_names(make, use)})"
        if not isinstance(racing, bool | np.bool_):
            raise ProgramError(
                f"{self.label} has racing={racing!r}", do="write racing=True, or leave it out"
            )
        if racing and use is None:
            raise ProgramError(
                f"{self.label} has racing=True and changes no rows",
                do="leave racing out: threads share `make` without it",
            )

    def prepare(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Raise ProgramError: only a MiniBatch can prepare it, into several steps
        (`prepare_lists`).
        """
        raise ProgramError(
            f"{self.label} stands outside a MiniBatch",
            do=f"write MiniBatch({self.label}, vertices=...)",
        )

    def check(self, partition: Partition) -> None:
        """Raise ProgramError where rows of the type do not come as they are touched, or lists that
        race would lose changes of the context.
        """
        declared = partition.program.vertices.get(self.over)
        if declared is None or not declared.remote:
            raise ProgramError(
                f"{self.label}: rows of '{self.over}' do not come as they are touched",
                do=f"declare {self.over} = Vertex(remote=True, ...)",
            )
        lost, _ = why_no_lanes(partition.program, self._calls_of(partition.program, self.use))
        if self.racing and lost:
            raise ProgramError(
                f"{self.label} has racing=True, and {lost}",
                do="gather totals only, by += and the like, or leave racing out",
            )

    def plan(self, program: BaseProgram, *, racing: bool = False) -> ThreadPlan:
        """Return the plan by which threads share the lists; `racing`: by the user's word."""
        calls, word = self._calls_of(program, self.use), self.racing
        if not calls:
            return ThreadPlan(why="no lists are used")
        return plan_lists(program, calls[0], word=word, racing=word and racing)

    def _plan_of_make(self, program: BaseProgram) -> ThreadPlan:
        return plan_vertices(program, self._calls_of(program, self.make))

    def _calls_of(self, program: BaseProgram, udf: Udf | None) -> list[Call]:
        return [call for call in self.calls(program, "") if call.udf is udf]

    def calls(self, program: BaseProgram, role: str) -> list[Call]:
        """Return how `make` and `use` are called: once for each vertex, whatever the number of
        workers; rows of the type have no deltas.
        """
        if self.over not in program.vertices:
            return []
        tau = {"tau": shape_of(program, program.context.fields)}
        lists = {name: slice_of(program, self.over, self.over, {}) for name in self.lists}
        shapes = {"make": tau, "use": tau | lists}
        return [
            Call(udf, program, "Generate", shapes[name], {})
            for name, udf in (("make", self.make), ("use", self.use))
            if udf is not None and parameters(udf, self.label)
        ]

    def plans(
        self, program: BaseProgram, role: str, *, racing: bool = False
    ) -> dict[str, ThreadPlan]:
        """Return the plan of `make`, and that of `use` if there is one."""
        out = {udf_names(self.make): self._plan_of_make(program)}
        if self.use is not None:
            out[udf_names(self.use)] = self.plan(program, racing=racing)
        return out

    def prepare_lists(self, partition: Partition, batch: Batch) -> GeneratedLists:
        """Compile both loops; with several workers, also make the client and the server of rows.
        Return the lists with their steps.
        """
        vertices = partition.graph.vertices[self.over]
        part = vertices.part
        own = freeze(
            np.arange(vertices.n_train, dtype=vertices.position_dtype)
            if part is None
            else part.masters
        )
        widths = {name: self._width(partition, length) for name, length in self.lists.items()}
        make = self._with_number_check(
            self._compile_make(partition, widths), len(own) if part is None else part.vertices
        )
        use, ids = (
            self._compile_use(partition, self.use, widths)
            if self.use is not None
            else (None, False)
        )
        if use is None and partition.spool is not None:
            raise ProgramError(
                f"{self.label} is not the only one without `use`", do="let one make all lists"
            )
        if use is None:
            partition.spool = Spool(self.over, widths, partition.scratch)
        client = (
            PullClient(partition, self.over, self._fields_of_lists(partition.program))
            if use is not None and vertices.is_cut
            else None
        )
        return GeneratedLists(
            partition,
            self.over,
            self.rounds,
            Kernels(make, use, ids),
            widths,
            own,
            batch,
            client,
        )

    def _fields_of_lists(self, program: BaseProgram) -> dict[str, list[str]]:
        """Return the fields of rows that `use` may read or change, by the list that leads to
        them.
        """
        fields, calls = program.vertices[self.over].fields, self._calls_of(program, self.use)
        return {
            name: [f for f in fields if any(c.effects.of(f"{name}.{self.over}", f) for c in calls)]
            for name in self.lists
        }

    def _with_number_check(self, make: Callable[..., None], vertices: int) -> Callable[..., None]:
        """Return `make` that raises ProgramError where a list names a vertex that is not there: its
        row would be anywhere in memory.
        """

        def run(starts: np.ndarray, round: int, *lists: np.ndarray) -> None:
            make(starts, round, *lists)
            for name, made in zip(self.lists, lists, strict=True):
                if made.size and not (-1 <= made.min() and made.max() < vertices):
                    wrong = made[(made < -1) | (made >= vertices)][0]
                    raise ProgramError(
                        f"UDF {udf_names(self.make)} wrote {wrong} into `{name}`, and "
                        f"{self.over}s are "
                        f"numbered 0 to {vertices - 1}",
                        where=place(self.make),
                        do=f"write numbers of {self.over}s only; what is not written stays -1",
                    )

        return run

    def _width(self, partition: Partition, length: str | int) -> int:
        chosen = partition.program.parameters.get(length) if isinstance(length, str) else length
        if not isinstance(chosen, int) or isinstance(chosen, bool):
            raise ProgramError(
                f"{self.label}: '{length}' is no integer parameter",
                do="give a list's length as a number or a parameter",
            )
        return chosen

    def _compile_make(self, partition: Partition, widths: dict[str, int]) -> Callable[..., None]:
        plan = self._plan_of_make(partition.program)
        scope = Scope(partition, "exchange", self.label, plan)
        scope.by_position = True  # `start`, and what is written into lists: so are parameters
        scope.values = scope.values | partition.positions()
        vertices = partition.graph.vertices[self.over]
        kind = vertices.position_dtype
        varying: dict[str, Any] = {"starts": freeze(np.zeros(1, kind))}
        varying |= {"ids": freeze(np.zeros(1, np.int64)), "round": 0}
        varying |= {name: np.zeros((1, width), kind) for name, width in widths.items()}
        kernel = scope.kernel(varying, self._loop_of_make(scope))
        longest = next(iter(widths.values()), 1)
        asked = "id" in parameters(self.make, self.label)

        def run(starts: np.ndarray, round: int, *lists: np.ndarray) -> None:
            ids = freeze(np.asarray(vertices.positioned[starts] if asked else starts[:0], np.int64))
            kernel(_lists(len(starts), longest), starts, ids, round, *lists)

        return run

    def _loop_of_make(self, scope: Scope) -> list[str]:
        """Return the loop that calls `make` for each vertex."""
        made = f"made(({', '.join(self.lists)},), i)"
        scope.injected["made"] = InjectedGlobal(
            "row", (RowSpec("lists", tuple(self.lists), ", ".join(self.lists)),)
        )
        names: dict[str, Callable[[], str]] = {
            name: lambda name=name: f"{made}.{name}"  # type: ignore[misc]
            for name in self.lists
        }
        names |= {"start": lambda: "starts[i]", "round": lambda: "round", "at": lambda: "at"}
        names |= {"id": lambda: "ids[i]"}
        *seed_stream, call = scope.call(self.make, names, lambda: "starts[i], round")
        if "at" not in parameters(self.make, self.label):
            return ["for i in range(lo, hi):", *indent_lines([*seed_stream, call])]
        scope.arguments["states"] = np.zeros(ABREAST, np.uint64)
        scope.scratch.add("states")
        return _abreast(seed_stream, call, next(iter(self.lists)))

    def _compile_use(
        self, partition: Partition, use: Udf, widths: dict[str, int]
    ) -> tuple[Callable[..., None], bool]:
        """Return the loop over lists, and whether it gets the ids of its rows."""
        plan = self.plan(partition.program, racing=partition.racing and partition.threads.count > 1)
        scope, table = Scope(partition, "exchange", self.label, plan), partition.tables[self.over]
        vertices = partition.graph.vertices[self.over]

        def edges(name: str) -> Callable[[], str]:
            width = widths[name]
            return lambda: scope.edges_without_fields(
                table, "rows", f"{name}, (), i * {width}, i * {width} + {name}_counts[i], 0"
            )

        names = {name: edges(name) for name in self.lists}
        call = scope.call(
            use,
            names | {"progress": lambda: "progress", "share": lambda: "share"},
            lambda: "starts[i], round",
        )
        varying: dict[str, Any] = {
            "rows": table.visible_fields("exchange", ids=scope.uses(ID))[1],
            "starts": freeze(np.zeros(1, vertices.position_dtype)),
            "round": 0,
        }
        varying |= {"progress": np.float32(0), "share": np.float32(1)}
        pulled = np.int32 if vertices.is_cut else vertices.position_dtype
        for name in self.lists:
            varying |= {name: np.zeros(1, pulled), f"{name}_counts": np.zeros(1, np.int32)}
        kernel = scope.kernel(varying, ["for i in range(lo, hi):", *indent_lines(call)])

        def run(rows: Any, starts: np.ndarray, *others: Any) -> None:
            count = len(starts)
            whole = ranges(np.array([0]), np.array([count]))
            # a list is much work
            shared = even_items(0, count, np.arange(count + 1) * WEIGHT) if plan.threads else whole
            profiled = partition.profile is not None
            edges = sum(int(counts.sum()) for counts in others[4::2]) if profiled else 0
            kernel(Items(shared, edges=edges), rows, starts, *others)

        return run, scope.uses(ID)


def _lists(count: int, length: int) -> Items:
    """Return items of vertices whose lists are made, each of ABREAST vertices or a multiple of
    these.
    """
    groups = -(-count // ABREAST)
    array = even_items(0, groups, np.arange(groups + 1) * ABREAST * length)
    array[:, [LO, HI]] = np.minimum(array[:, [LO, HI]] * ABREAST, count)
    return Items(array)


def _abreast(seed_stream: list[str], call: str, first: str) -> list[str]:
    """Return the loop that calls `make` place by place of the list `first`; each vertex goes on
    with its own stream of random numbers.
    """
    keep, go_on = (
        ["states[i - low] = state[0]"] * len(seed_stream),
        ["state[0] = states[i - low]"] * len(seed_stream),
    )
    return [
        f"for low in range(lo, hi, {ABREAST}):",
        f"    high = min(low + {ABREAST}, hi)",
        *(
            indent_lines(["for i in range(low, high):", *indent_lines([*seed_stream, *keep])])
            if seed_stream
            else []
        ),
        f"    for at in range({first}.shape[1]):",
        "        for i in range(low, high):",
        *indent_lines(indent_lines(indent_lines([*go_on, call, *keep]))),
    ]
