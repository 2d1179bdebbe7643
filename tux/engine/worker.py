"""A worker: it runs the stages of a program on its partition, as one of several.

Its clocks are run by `tux.engine.clock_loop`. The worker knows stages only as steps
(`tux.clock.steps`): what it can run, and what sends, serves and installs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tux.base.forks import Forks
from tux.clock.steps import Step
from tux.engine.clock_loop import ClockLoop, EndedEpoch, PassEpochs
from tux.engine.initial import check_data, fill_rows
from tux.engine.partition import Partition
from tux.engine.start_model import NOTHING, StartModel
from tux.engine.threads import Threads
from tux.engine.timeline import Timeline
from tux.graph.local import LocalGraph
from tux.messages.message import Kind, Message
from tux.program.program import Program
from tux.program.stage import Cluster, Stage


class Worker(Partition):
    """A worker of a run, with its partition. The arguments are those of
    `tux.engine.partition.Partition`.
    """

    program: Program

    def __init__(
        self,
        program: Program,
        graph: LocalGraph,
        *,
        fills: bool = True,
        start: StartModel = NOTHING,
        **options: Any,
    ) -> None:
        """Allocate rows, masters and mirrors, and give them their initial values, or those of the
        model `start`. A worker that does not fill them takes no memory for them: it only shows what
        to compile.
        """
        super().__init__(program, graph, **options)
        self.timeline, self.from_model = Timeline(self), bool(start.known)
        self.numbers["known"] = start.known.get(program.edge.ends[0], 0)
        if fills:
            fill_rows(self, start)
        else:
            check_data(self)

    @property
    def cluster(self) -> Cluster:
        """Tell a program's methods of the run."""
        return Cluster(self.workers, self.slack, self.graph.has_test, self.from_model)

    def asked_about(self, graph: LocalGraph, start: StartModel) -> Worker:
        """Return a worker of a run without others whose held-out edges are those of `graph`. Rows
        of types that lie there as here are shared, and so is the context: stages may not change
        them. Rows of other types get their initial values, or those of the model `start`.
        """
        asked = copy.copy(self)
        asked.graph = graph
        kept = [name for name, each in graph.vertices.items() if each is self.graph.vertices[name]]
        new = graph.vertices.keys() - kept
        asked.tables = self.tables | {name: asked.vertex_table(name) for name in new}
        if not self.threads.is_owner_thread():
            asked.threads = Threads(self.threads.count)
        fill_rows(asked, start, (*kept, "tau"))
        return asked

    def prepare(self, stages: Sequence[Stage], method: str = "") -> list[Step]:
        """Lay out the edges and compile the kernels that `stages` need, those of the program's
        `method`; return the steps that `execute` takes.
        """
        if self.profile:
            self.profile.method = method
        return [stage.step(self) for stage in stages]

    @contextmanager
    def compiling_at_once(self, most: int) -> Iterator[None]:
        """Have kernels of the stages that the body prepares compiled by this process and its forks,
        `most` at a time.
        """
        with Forks(most) as forks:
            self.forks = forks
            try:
                yield
            finally:
                self.forks = None
            with self.timing("compile"):
                forks.await_all()

    def run(self, steps: Sequence[Step], slack: int | None = None) -> None:
        """Run one pass over `steps`, each block of a mini-batch and each run of other steps being a
        clock; return when all is answered. Training has the same by `execute`.
        """
        for _ in self.execute(steps, slack):
            self.take_next()

    def take(self, message: Message) -> None:
        """Put a message that has arrived into the inbox; it is installed when `execute` goes on. A
        control message was handled where it came in, and only ends a wait.
        """
        if message.kind is not Kind.CONTROL:
            self.inbox.append(message)

    def take_next(self) -> None:
        """Wait for the next message and take it. The server's work meanwhile is not waiting."""
        now, served = self.transport.now, self.server.seconds
        start = now()
        self.take(self.transport.receive())
        end = now()
        self.seconds["wait"] += max(end - start - (self.server.seconds - served), 0.0)
        self.spans.note("wait", start, end)

    def execute(self, steps: Sequence[Step], slack: int | None = None) -> Iterator[None]:
        """Run one pass as `run` does, but yield whenever nothing can go on before another message
        is taken.
        """
        for _ in self._run_loop(steps, self.most_apart if slack is None else slack):
            yield

    def execute_epochs(
        self, steps: Sequence[Step], epochs: PassEpochs
    ) -> Iterator[EndedEpoch | None]:
        """Run a pass of several epochs as `execute` does; also yield each that has ended while
        others follow.
        """
        return self._run_loop(steps, self.most_apart, epochs)

    def _run_loop(
        self, steps: Sequence[Step], slack: int, epochs: PassEpochs | None = None
    ) -> Iterator[EndedEpoch | None]:
        loop = ClockLoop(self, steps, slack, self.timeline, epochs)
        yield from loop.run()
        self.running = self.running_epoch = None
        self.all_clocks += loop.clock.started
        self.clock += loop.scheduled_clocks
        self.most_stale = max(self.most_stale, loop.clock.most_stale)

    def release(self) -> None:
        """Drop all that the worker holds, after which it is of no use. Its parts refer to it, so
        its memory would else stay until Python looks for cycles, which may be some runs later.
        """
        vars(self).clear()
