"""A partition as its worker holds it: its rows, masters and mirrors, its edges, and the program's
parameters. Stages know a worker as its partition: what they lay out, compile, send and change.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from tux.arrays.ids import Ids
from tux.arrays.integers import index_dtype
from tux.base.counts import add_counts
from tux.base.forks import Forks
from tux.checkpoint.spool import Scratch, Spool
from tux.clock.clock import ENDLESS, MOST_SLACK, assumed_slack
from tux.clock.steps import Sync
from tux.clock.trace import ClockEvent, Trace
from tux.engine.profile import Profile, find_sampler
from tux.engine.spans import MOST_STALE, Spans
from tux.engine.threads import Threads
from tux.engine.transport import NOBODY, Transport
from tux.graph.local import LocalGraph
from tux.graph.local_edges import LocalEdges
from tux.graph.parts import TypePart
from tux.messages.message import Message
from tux.program.base_program import BaseProgram, along, scalars
from tux.program.vertex_params import vertex_numbers
from tux.rows.plain import PlainRow
from tux.rows.table import RowTable
from tux.sync.mirrors import Mirrors
from tux.sync.server import Server

Made = TypeVar("Made")


class Partition:
    """One partition's rows and edges. With several workers also a server (`tux.sync.server`):
    masters of its share of the cut types.

    Messages to others leave through `transport`; those for this worker are put into `inbox`.
    """

    def __init__(
        self,
        program: BaseProgram,
        graph: LocalGraph,
        *,
        seed: int = 0,
        jit: bool = True,
        check: bool = False,
        slack: int | str = 0,
        rank: int = 0,
        workers: int = 1,
        threads: int = 1,
        racing: bool = False,
        profile: bool = False,
        cuts_few: bool = False,
        common: dict[Hashable, Any] | None = None,
        transport: Transport = NOBODY,
    ) -> None:
        """Allocate rows, masters and mirrors, and give them their initial values.

        `common`: what workers of the program `program` that are alike have in common, as one
        process holds several; None: this one has nothing to share (see `make_once`).
        `cuts_few`: where the program allows that functions get the edges of a vertex in shares
        (`tux.stages.exchange`), few edges are cut too, and into as many shares as it allows.
        """
        self.program, self.graph, self.seed, self.jit, self.check = program, graph, seed, jit, check
        self.slack, self.rank, self.workers = assumed_slack(slack), rank, workers
        self.is_asynchronous = slack == ENDLESS
        self.threads, self.racing, self.cuts_few = Threads(threads), racing, cuts_few
        self.profile = Profile(find_sampler(jit=jit, check=check)) if profile else None
        self.numbers = {"workers": workers, "slack": self.slack, "known": 0}
        self.parameters = scalars(program) | vertex_numbers(program, self._known_ids)
        self.syncs: list[Sync] = []
        # opens a file for lists that no stage uses, which a stage writes by `spool`
        self.scratch: Scratch | None = None
        self.spool: Spool | None = None
        self.common = common
        self.forks: Forks | None = None  # that compile kernels, while stages are prepared
        self.trace: Trace | None = None
        self._start_counters()
        self.transport = transport
        self.inbox: deque[Message] = deque()
        self._enqueued: list[Message] = []
        self._allocate()
        self.spans = Spans(workers, MOST_STALE if self.is_asynchronous else self.slack)

    def _start_counters(self) -> None:
        """Set all counts and times of a run to zero."""
        self.most_epochs = 1  # of the run, for values that depend on its progress
        self.epoch = self.clock = self.kernels = self.all_clocks = self.most_stale = 0
        # the number of the pass of the running clock, and its epoch in training
        self.running: int | None = None
        self.running_epoch: int | None = None
        self.edges_visited = 0
        self.seconds: dict[str, float] = defaultdict(float)
        self.bytes_sent: dict[str, int] = defaultdict(int)
        # the bytes that the rows would have taken with all their values
        self.bytes_dense: dict[str, int] = defaultdict(int)

    def _allocate(self) -> None:
        """Allocate the tables of the worker, its mirrors, and its server's masters."""
        program, graph = self.program, self.graph
        self.tables = {name: self.vertex_table(name) for name in program.vertices}
        self.tables["tau"] = self._table("tau", program.context.fields, 1)
        self.topology = graph.topology.table if graph.topology else None
        mirrored = [name for name in self.cut_types() if not program.vertices[name].remote]
        self.mirrors = (
            {name: Mirrors(self.tables[name]) for name in (*mirrored, "tau")}
            if self.workers > 1
            else {}
        )
        masters = {
            name: self._table(
                name,
                program.vertices[name].fields,
                len(self.part(name).masters),
                partial(self.master_ids, name),
            )
            for name in self.cut_types()
        }
        taus = (
            self._table("tau", program.context.fields, 1),
            self._table("tau", program.context.fields, 1),
        )
        self.server = Server(
            self.rank,
            self.workers,
            masters,
            taus,
            lambda message: self.transport.send(message),
            lambda: self.transport.now(),
        )
        self.server.syncs = self.syncs

    def along(self, name: str) -> Partition:
        """Return the partition as stages along the edge type `name` see it; "" is the type that it
        has.
        """
        if name in ("", self.program.edge_name):
            return self
        return PartitionAlong(self, name)

    @property
    def most_apart(self) -> int:
        """The number of clocks by which this worker may be ahead of the answers that it has."""
        return MOST_SLACK if self.is_asynchronous else self.slack

    def cut_types(self) -> list[str]:
        """List the vertex types that the partition cuts."""
        return [name for name in self.program.vertices if self.graph.vertices[name].is_cut]

    def part(self, name: str) -> TypePart:
        """Return this worker's share of a type, where there are several workers."""
        part = self.graph.vertices[name].part
        assert part is not None
        return part

    def vertex_table(self, name: str) -> RowTable:
        """Allocate the rows of a vertex type."""
        fields, rows = self.program.vertices[name].fields, len(self.graph.vertices[name])
        return self._table(name, fields, rows, partial(self._row_ids, name), self.graph)

    def _table(
        self,
        name: str,
        fields: dict[str, Any],
        n: int,
        order: Callable[[], np.ndarray] | None = None,
        graph: LocalGraph | None = None,
    ) -> RowTable:
        """Allocate a table of n rows; `order` gives the dense index of each row of vertices,
        `graph` the lengths of ragged fields.
        """
        declared = {f: d.resolve(self.program.parameters) for f, d in fields.items()}
        ragged = graph is not None and any(d.is_ragged for d in declared.values())
        entries = graph.counts(name) if graph is not None and ragged else None
        ids = None
        if order is not None:
            kind = index_dtype(len(self.graph.vertices[name].ids))
            ids = cache(lambda: order().astype(kind))
        return RowTable.allocate(name, declared, n, entries, ids)

    def _known_ids(self, name: str) -> tuple[Ids, int]:
        """Return the ids of a type, and the number of those in the training graph."""
        vertices = self.graph.vertices[name]
        return vertices.ids, vertices.in_training

    def positions(self) -> dict[str, int]:
        """Return the parameters that are vertices, as positions in the order of their type."""
        out = {}
        for name, declared in self.program.params.items():
            if declared.vertex:
                vertices = self.graph.vertices[declared.vertex]
                out[name] = vertices.position_of(self.parameters[name])
        return out

    def _row_ids(self, name: str) -> np.ndarray:
        """Return the dense index of each row of a vertex type."""
        return self.graph.vertices[name].order

    def master_ids(self, name: str) -> np.ndarray:
        """Return the dense index of each master of a cut type."""
        part = self.part(name)
        return part.order[part.masters]

    def edge_table(self, edges: LocalEdges) -> RowTable:
        """Return the fields of `edges`, in their present order, as a table."""
        declared = {
            f: d.resolve(self.program.parameters) for f, d in self.program.edge.fields.items()
        }
        return RowTable(self.program.edge_name, declared, edges.fields)

    @property
    def tau(self) -> PlainRow:
        """The context, whose fields are attributes."""
        tau = self.tables["tau"]
        return PlainRow(tau.spec(tuple(tau.arrays), ", ".join(tau.arrays)), tau.arrays, 0)

    def register(self, sync: Sync) -> int:
        """Add a synchronisation, and return its number. Stages are prepared in one order on all
        workers, so it is the same on all.
        """
        self.syncs.append(sync)
        return len(self.syncs) - 1

    @property
    def pass_number(self) -> int:
        """The number of this pass over the running steps, for random streams: that of the epochs
        before the one of the running clock, or the repetition of steps that are repeated.
        """
        return self.epoch if self.running is None else self.running

    def total_sent(self) -> dict[str, int]:
        """Add up the bytes sent to other workers so far, by vertex type (and "tau"), by this worker
        and its server.
        """
        return add_counts(self.bytes_sent, self.server.bytes_sent)

    def total_dense(self) -> dict[str, int]:
        """Add up the bytes that the sent rows would have taken with all their values, by vertex
        type.
        """
        return add_counts(self.bytes_dense, self.server.bytes_dense)

    def masters(self, name: str) -> RowTable:
        """Return the table of a type's masters here: the server's, or, of a whole type, this
        worker's rows.
        """
        return self.server.tables[name] if self.graph.vertices[name].is_cut else self.tables[name]

    def enqueue(self, message: Message, table: str, *, counted: bool = True) -> None:
        """Send a message of a synchronisation when its segment ends, and count the bytes that
        leave this worker under `table`, a vertex type or "tau", if they are to be `counted`.
        """
        if counted and message.dest != self.rank:
            self.bytes_sent[table] += message.nbytes
            self.spans.sent[message.dest] += message.nbytes
        self._enqueued.append(message)

    def send_enqueued(self) -> None:
        """Send all messages that have been enqueued at once, since the thread that sends would
        compete with the code that packs. Remote messages are sent first.
        """
        messages, self._enqueued = self._enqueued, []
        for message in sorted(messages, key=lambda each: each.dest == self.rank):
            if self.trace:
                self.trace.note(
                    ClockEvent.SENT, message.clock, message.dest, message.sync_id, message.kind
                )
            self.transport.send(message)

    def trace_to(self, trace: Trace | None) -> None:
        """Have the events of all clocks noted. It is called before stages are prepared."""
        self.trace = self.server.trace = trace

    def trace_kept(self, clock: int) -> None:
        """Note that the state before a clock is kept. The record is in its file when this ends: the
        run may go on from there.
        """
        if self.trace:
            self.trace.note(ClockEvent.KEPT, clock)
            self.trace.flush()

    def make_once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what `make` makes. Of workers that have something in common, the first one makes
        it for all, and nobody changes it: the stages of the program, plans, kernels.
        """
        if self.common is None:
            return make()
        if key not in self.common:
            self.common[key] = make()
        return self.common[key]  # type: ignore[no-any-return]

    def timing(self, what: str) -> BodyTimer:
        """Make a context that adds the time of its body to ``seconds[what]`` and notes a span."""
        return BodyTimer(self.seconds, what, self.spans, self.transport.now)

    def forget_metrics(self) -> None:
        """Set the context's metrics to NaN, so that one which is not computed in an epoch is not
        taken for that epoch's.
        """
        for table in (self.tables["tau"], self.server.special.table):
            table.forget_reported()

    def metrics(self) -> dict[str, float]:
        """Return the context's metrics that have a value, by name."""
        table = self.tables["tau"]
        values = {f: table.arrays[f][0].item() for f, d in table.declared.items() if d.reported}
        return {f: x for f, x in values.items() if x == x}


class PartitionAlong(Partition):
    """A partition as stages along another edge type see it: its program and its graph have this
    type's edges. All else is the partition's own, and is changed there: both have one `__dict__`.
    """

    __slots__ = ("_partition", "graph", "program")

    def __init__(self, partition: Partition, name: str) -> None:
        self.__dict__ = partition.__dict__
        self._partition = partition
        self.program, self.graph = along(partition.program, name), partition.graph.along(name)

    def along(self, name: str) -> Partition:
        """Return the partition as stages along the edge type `name` see it; "" is the one here."""
        return self if name in ("", self.program.edge_name) else self._partition.along(name)


class BodyTimer:
    """A context that adds the time of its body to ``seconds[what]``, and notes it as a span, if
    nothing is raised.

    It is a class, as it is entered several times a clock: a generator with contextlib takes longer.
    """

    __slots__ = ("_now", "_seconds", "_start", "_spans", "_what")

    def __init__(
        self, seconds: dict[str, float], what: str, spans: Spans, now: Callable[[], float]
    ) -> None:
        self._seconds, self._what, self._spans, self._now = seconds, what, spans, now

    def __enter__(self) -> None:
        self._start = self._now()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            end = self._now()
            self._seconds[self._what] += end - self._start
            self._spans.note(self._what, self._start, end)
