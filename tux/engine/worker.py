"""A worker: one partition's rows and edges, the program's parameters, and the loop that runs its
stages.

The worker knows stages only as steps (`tux.protocol.steps`): what it can run, and what sends,
serves and installs.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tux.arrays.ragged import Lists, Piece
from tux.base.errors import DataError
from tux.base.random import key
from tux.engine.spool import Opener, Spool
from tux.graph.local import Edges, Graph
from tux.graph.parts import TypePart
from tux.program.program import Program, scalars
from tux.program.stage import Stage
from tux.protocol.clock import Clock
from tux.protocol.gathered import Gathered, Unsent, unsent
from tux.protocol.message import Message
from tux.protocol.replicas import DOWN, Mirrors, flat, of_kinds
from tux.protocol.schedule import ClockTask, clocks
from tux.protocol.server import Server
from tux.protocol.steps import Step, Sync
from tux.rows.plain import Row
from tux.rows.table import Table, of_rows, pieces


class Worker:
    """One partition's rows and edges. With several workers also a server (`tux.protocol.server`):
    masters of its share of the cut types.

    Messages to others leave through `send`; those for this worker are put into `inbox`. Rows change
    only while `steps` runs, between segments, never while a kernel reads them.
    """

    def __init__(
        self,
        program: Program,
        graph: Graph,
        *,
        seed: int = 0,
        jit: bool = True,
        check: bool = False,
        slack: int = 0,
        rank: int = 0,
        workers: int = 1,
    ) -> None:
        self.program, self.graph, self.seed, self.jit, self.check = program, graph, seed, jit, check
        self.slack, self.rank, self.workers = slack, rank, workers
        self.most_epochs = 1  # of the run, for what depends on how much of it is over
        self.epoch = self.clock = self.kernels = self.all_clocks = self.most_stale = 0
        self.seconds: dict[str, float] = defaultdict(float)
        self.bytes_sent: dict[str, int] = defaultdict(int)
        # what the rows would have taken with all their values
        self.bytes_dense: dict[str, int] = defaultdict(int)
        self.edges_visited = 0
        self.parameters = scalars(program)
        self.syncs: list[Sync] = []
        self.inbox: deque[Message] = deque()
        self._leaving: list[Message] = []
        # of ragged fields: see `take_rows`
        self.taken: dict[tuple[str, str], list[Piece]] = defaultdict(list)
        self.send: Callable[[Message], None] = self._nobody
        self.receive: Callable[[], Message] = self._nothing  # waits for the next message
        self.arrived: Callable[[], Iterable[Message]] = tuple  # those that are there already
        self.tables = {
            name: self._table(name, v.fields, len(graph.vertices[name]), graph)
            for name, v in program.vertices.items()
        }
        self.tables["tau"] = self._table("tau", program.context.fields, 1)
        self.topology = graph.topology.table if graph.topology else None
        # opens a file for lists that no stage uses, which a stage writes by
        self.scratch: Opener | None = None
        self.spool: Spool | None = None
        kept = [name for name in self.cut_types() if not program.vertices[name].pulled]
        self.mirrors = (
            {name: Mirrors(self.tables[name]) for name in (*kept, "tau")} if workers > 1 else {}
        )
        masters = {
            name: self._table(name, program.vertices[name].fields, len(self.part(name).masters))
            for name in self.cut_types()
        }
        taus = (
            self._table("tau", program.context.fields, 1),
            self._table("tau", program.context.fields, 1),
        )
        self.server = Server(rank, workers, masters, taus, lambda message: self.send(message))
        self.server.syncs = self.syncs
        self.initialise()

    def cut_types(self) -> list[str]:
        """Names of the vertex types that the partition cuts."""
        return [name for name in self.program.vertices if self.graph.vertices[name].cut]

    def part(self, name: str) -> TypePart:
        """This worker's share of a type, where there are several workers."""
        part = self.graph.vertices[name].part
        assert part is not None
        return part

    def _nobody(self, message: Message) -> None:
        raise RuntimeError("a worker without a transport sent a message")

    def _nothing(self) -> Message:
        raise RuntimeError("a worker without a transport waits for a message")

    def _table(
        self, name: str, fields: dict[str, Any], n: int, graph: Graph | None = None
    ) -> Table:
        declared = {f: d.sized(self.program.parameters) for f, d in fields.items()}
        ragged = graph is not None and any(d.ragged for d in declared.values())
        return Table.allocate(
            name, declared, n, graph.counts(name) if graph is not None and ragged else None
        )

    def initialise(self) -> None:
        """Give every field of every replica and master its initial value: a function of (seed,
        type, field, dense index).
        """
        for table in self.tables.values():
            ids = (
                self.graph.vertices[table.name].order
                if table.name in self.graph.vertices
                else np.zeros(1, np.int64)
            )
            self._fill(table, ids)
        for table in (*self.server.tables.values(), self.server.tau, self.server.special.table):
            self._fill(
                table, self.master_ids(table.name) if table.name != "tau" else np.zeros(1, np.int64)
            )
        for mirrors in self.mirrors.values():
            mirrors.reset()

    def _fill(self, table: Table, ids: np.ndarray) -> None:
        for field, declared in table.declared.items():
            if declared.kind == "data":
                table.arrays[field][...] = self._known(
                    table.name, field, table.arrays[field].shape
                )[ids]
            else:
                declared.init.fill(  # type: ignore[union-attr]
                    table.arrays[field], key(self.seed, "initial", table.name, field), ids
                )

    def _known(self, name: str, field: str, shape: tuple[int, ...]) -> np.ndarray:
        """A data field of all vertices of a type; DataError where it was not given."""
        given = self.graph.vertices[name].data.get(field)
        if given is None:
            raise DataError(
                f"these data have no {name}.{field}, which {type(self.program).__name__} reads"
            )
        if given.shape[1:] != shape[1:]:
            raise DataError(
                f"{name}.{field} has rows of shape {given.shape[1:]}, "
                f"{type(self.program).__name__} wants {shape[1:]}"
            )
        return given

    def master_ids(self, name: str) -> np.ndarray:
        """Dense index of each master of a cut type."""
        part = self.part(name)
        return part.order[part.masters]

    def edge_table(self, edges: Edges) -> Table:
        """The fields of `edges`, in their present order."""
        declared = {
            f: d.sized(self.program.parameters) for f, d in self.program.edge.fields.items()
        }
        return Table(self.program.edge_name, declared, edges.fields)

    @property
    def tau(self) -> Row:
        """The context, by attribute."""
        return Row("tau", self.tables["tau"].arrays, 0)

    def prepare(self, stages: Sequence[Stage]) -> list[Step]:
        """Lay out the edges and compile the kernels that `stages` need; returns the steps that
        `run` takes.
        """
        return [stage.prepare(self) for stage in stages]

    def register(self, sync: Sync) -> int:
        """The number of a synchronisation: stages are prepared in one order on all workers, so
        it is the same on all.
        """
        self.syncs.append(sync)
        return len(self.syncs) - 1

    def run(self, steps: Sequence[Step], slack: int | None = None) -> None:
        """One pass over `steps`, each block of a mini-batch and each run of other steps being a
        clock; returns when all is answered.
        """
        for _ in self.execute(steps, slack):
            with self.timed("wait"):
                self.take(self.receive())

    def take(self, message: Message) -> None:
        """A message for this worker has arrived; it is installed when `execute` goes on."""
        self.inbox.append(message)

    def execute(self, steps: Sequence[Step], slack: int | None = None) -> Iterator[None]:
        """`run` that yields whenever nothing can go on before another message is taken."""
        clock, upcoming = Clock(self.slack if slack is None else slack), clocks(steps)
        following, first = next(upcoming, None), self.all_clocks
        tasks: dict[int, ClockTask] = {}
        gathered, ran = Gathered(), (0, 0)
        while True:
            self._install(clock, first)
            tasks = {number: task for number, task in tasks.items() if number >= clock.finished}
            ready = clock.next_segment()
            if ready is not None:
                with self.timed("send"):
                    gathered.turn_to(
                        ready[0], self._unsent(tasks, *ran) if ran[0] != ready[0] else ()
                    )
                ran = ready
                self._segment(clock, first, ready, tasks)
            elif (
                following is not None
                and clock.may_start()
                and (clock.idle or not (following.waits or _alone(tasks)))
            ):
                tasks[clock.start(len(following.segments))] = following
                following = next(upcoming, None)
            elif clock.idle and following is None:
                break
            else:
                yield
        self.all_clocks, self.clock = first + clock.started, self.clock + clock.started
        self.most_stale = max(self.most_stale, clock.most_stale)

    def _unsent(self, tasks: dict[int, ClockTask], number: int, position: int) -> list[Unsent]:
        """What the segments of a clock after `position` will send."""
        if number not in tasks:
            return []
        later = tasks[number].segments[position + 1 :]
        return unsent(
            (step for segment in later for step in (*segment.here, *segment.syncs)),
            tasks[number].block,
            self.tables,
            self.mirrors,
        )

    def _segment(
        self, clock: Clock, first: int, ready: tuple[int, int], tasks: dict[int, ClockTask]
    ) -> None:
        number, position = ready
        task = tasks[number]
        segment = task.segments[position]
        os.sched_yield()  # what is to be sent leaves before this thread takes the core for long
        for step in segment.here:
            step.run(task.block)
        with self.timed("send"):
            # The context goes first: it is added up here before it goes on.
            answers = sum(
                sync.send(first + number, task.block)
                for sync in sorted(segment.syncs, key=lambda each: each.is_apply)
            )
            leaving, self._leaving = self._leaving, []
            # All at once, as whoever sends them would take turns with what packs them; remote
            # messages are sent first.
            for message in sorted(leaving, key=lambda each: each.dest == self.rank):
                self.send(message)
        clock.ran(number, answers)

    def _install(self, clock: Clock, first: int) -> None:
        """Put the answers that have arrived into the rows. What belongs to a later pass stays."""
        self.inbox.extend(self.arrived())
        later = []
        while self.inbox:
            message = self.inbox.popleft()
            if message.kind not in ("down", "pulled"):
                later.append(message)
                continue
            with self.timed("send"):
                self.syncs[message.sync_id].install(message)
            clock.answered(message.clock - first)
        self.inbox.extend(later)

    def sent(self) -> dict[str, int]:
        """Bytes sent to other workers so far, by vertex type (and "tau"), by this worker and its
        server.
        """
        return _added(self.bytes_sent, self.server.bytes_sent)

    def dense(self) -> dict[str, int]:
        """Bytes of the rows alone that were sent, had all their values travelled."""
        return _added(self.bytes_dense, self.server.bytes_dense)

    def peek(self) -> Iterator[None]:
        """Bring in the rows that only held-out edges need, from their masters, when all turns are
        over; yields while answers are missing.

        Everyone sends what the others need, so this is also where all meet; it counts no bytes.
        """
        parts = (
            {name: self.part(name) for name in self.program.vertices} if self.workers > 1 else {}
        )
        for other in range(self.workers):
            if other != self.rank:
                wanted = [
                    (self.masters(name).arrays[f], part)
                    for name, part in parts.items()
                    for f in self._peeked(name)
                ]
                arrays = [flat(array[part.peek_down[other]]) for array, part in wanted]
                self.send(Message("peek", self.rank, other, arrays=arrays))
        missing = {other for other in range(self.workers) if other != self.rank}
        while missing:
            self.inbox.extend(self.arrived())
            # One of each: a worker that is ahead may have sent its next already.
            arrived = [
                message
                for message in self.inbox
                if message.kind == "peek" and message.source in missing
            ]
            if not arrived:
                yield
                continue
            self.inbox.remove(arrived[0])
            missing.discard(arrived[0].source)
            given = iter(arrived[0].arrays)
            for name, part in parts.items():
                for f in self._peeked(name):
                    flat(self.tables[name].arrays[f])[part.peek_up[arrived[0].source]] = next(given)

    def rows(self, dest: int) -> Iterator[Message]:
        """This worker's share of the model: for each vertex type, dense indices and fields of its
        masters; tau comes from rank 0.

        A ragged field is two arrays: the lengths of the lists, and their values.
        """
        for point, name in enumerate(self.program.vertices):
            vertices, table = self.graph.vertices[name], self.masters(name)
            if kept := in_model(table):
                ids = self.master_ids(name) if vertices.cut else vertices.order[: vertices.known]
                for lo, hi in pieces(table, len(ids)):
                    arrays = [array for f in kept for array in _sent(table, f, lo, hi)]
                    yield Message("rows", self.rank, dest, 0, point, [ids[lo:hi], *arrays])
        tau = [flat(self.tables["tau"].arrays[f]) for f in in_model(self.tables["tau"])]
        yield Message("rows", self.rank, dest, 1, len(self.program.vertices), tau)

    def take_rows(self, message: Message) -> None:
        """What `rows` of a worker sent, into this one's, which holds every vertex."""
        names = [*self.program.vertices, "tau"]
        table = self.tables[names[message.sync_id]]
        arrays = iter(message.arrays)
        ids = next(arrays) if table.name != "tau" else np.zeros(1, np.int64)
        at = ids if table.name == "tau" else self.graph.vertices[table.name].row_of[ids]
        for f in in_model(table):
            if table.declared[f].ragged:
                self.taken[table.name, f].append((ids, next(arrays), next(arrays)))
            else:
                flat(table.arrays[f])[at] = next(arrays)

    def model(self, name: str) -> dict[str, np.ndarray | Lists]:
        """The model's fields of a vertex type, by vertex known in training, or of "tau": (n,
        ...), and ragged ones as lists.
        """
        vertices, table = self.graph.vertices.get(name), self.tables[name]
        rows = vertices.row_of[: vertices.known] if vertices else np.zeros(1, np.int64)

        def column(f: str) -> np.ndarray | Lists:
            if not table.declared[f].ragged:
                return table.arrays[f][rows]
            came = self.taken.get((name, f))
            return (
                Lists.gathered(came, len(rows), table.arrays[f].dtype)
                if came
                else of_rows(table, f, rows)
            )

        return {f: column(f) for f in in_model(table)}

    def _peeked(self, name: str) -> list[str]:
        return of_kinds(self.tables[name], DOWN)

    def masters(self, name: str) -> Table:
        """The table of a type's masters here: the server's, or, of a whole type, this worker's
        rows.
        """
        return self.server.tables[name] if self.graph.vertices[name].cut else self.tables[name]

    def post(self, message: Message, what: str) -> None:
        """Send a message of a synchronisation when its segment ends, and count the bytes that
        leave this worker under `what`.
        """
        if message.dest != self.rank:
            self.bytes_sent[what] += sum(array.nbytes for array in message.arrays)
        self._leaving.append(message)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Add the time of the body to ``seconds[what]``."""
        start = time.perf_counter()
        yield
        self.seconds[what] += time.perf_counter() - start

    def forget_metrics(self) -> None:
        """Set the context's metrics to NaN, so that one which is not computed in an epoch is not
        taken for that epoch's.
        """
        for table in (self.tables["tau"], self.server.special.table):
            for f, d in table.declared.items():
                if d.reported:
                    table.arrays[f][...] = np.nan

    def metrics(self) -> dict[str, float]:
        """The context's metrics that have a value, by name."""
        table = self.tables["tau"]
        found = {f: table.arrays[f][0].item() for f, d in table.declared.items() if d.reported}
        return {f: x for f, x in found.items() if x == x}


def _alone(tasks: dict[int, ClockTask]) -> bool:
    """Whether one of the clocks under way lets none start beside it."""
    return any(task.alone for task in tasks.values())


def in_model(table: Table) -> list[str]:
    """Names of the fields that a model holds."""
    return [name for name, field in table.declared.items() if field.in_model]


def _sent(table: Table, field: str, lo: int, hi: int) -> list[np.ndarray]:
    """The first rows of a field as `Worker.rows` sends them."""
    if not table.declared[field].ragged:
        return [flat(table.arrays[field])[lo:hi]]
    lists = of_rows(table, field, np.arange(lo, hi))
    return [lists.counts, lists.values]


def _added(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
