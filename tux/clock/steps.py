"""Steps: the units of work that a worker runs. Each stage of a program is prepared into one step,
for one run.

    Step           runs on this worker alone
    BarrierStep    a barrier: all earlier clocks finish before the following steps run
    Blocks         steps that run for each block of a mini-batch, which is a clock
    RepeatedSteps  steps that run again and again, each time in clocks of their own
    Sync           sends to other workers, and installs their answers before the next segment runs
    Fold           a Sync whose masters fold what all workers have sent, and answer all: Apply,
                   GlobalSync
    Pull           a Sync whose masters answer each request for rows by itself: Generate

A mirror's change is sent to its master by the `send` of a Fold (`tux.sync.apply`), folded by
its `serve`, and the answer is installed by its `install`.

A program's stages are declarations, which a run does not change; what a run finds out (routes,
layouts, kernels) is in the steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from tux.clock.block import Block
from tux.messages.encoding import Arrays
from tux.messages.message import Kind, Message

if TYPE_CHECKING:
    from tux.messages.payloads import Answer
    from tux.sync.master_tables import MasterTables

Rows = np.ndarray | slice
Part = TypeVar("Part")
"""The type of a worker's contribution: a payload of `tux.messages.payloads`."""


class Step(ABC):
    """The part of a stage that one worker does.

    `is_apply`: an Apply. Applies next to each other concern different vertex types, so they end one
    segment together, in any order.
    """

    is_apply = False
    applies = ""
    """The vertex type whose rows here it changes, if it is an Apply of which nothing is sent."""

    own_clock = False
    """True if it makes a clock of its own outside mini-batches, as it stands for the clocks of
    many blocks.
    """

    measures: frozenset[str] = frozenset()
    """Vertex types whose fields it reads and Applies change, to add to totals of the context."""

    in_order = False
    """True if, outside mini-batches, its clock starts when all earlier ones are finished."""

    @abstractmethod
    def run(self, block: Block | None = None) -> None:
        """Run the stage on this worker, for a block of a mini-batch, or for everything (None)."""

    def unsent_rows(self, block: Block | None) -> tuple[str, Rows] | None:
        """Return the table and rows whose gathered deltas and changes this step sends or uses; None
        if there are none.
        """
        return None


class BarrierStep(Step):
    """A step whose clock starts when all earlier clocks are finished. No other clock starts beside
    it.
    """

    def run(self, block: Block | None = None) -> None:
        """Run nothing: the schedule makes the barrier."""


class Blocks(Step):
    """Steps that run once for each block of a mini-batch."""

    steps: Sequence[Step]
    closing: Sequence[Step] = ()
    """One more clock after the blocks, if there are any, which starts when these are finished."""
    rotates = False
    """True if workers are on different blocks at a time, so that no two change one vertex."""

    def run(self, block: Block | None = None) -> None:
        """Run nothing: raise RuntimeError, as the schedule makes a clock for each block."""
        raise RuntimeError("a mini-batch was run without its clocks")

    @property
    @abstractmethod
    def cuts(self) -> np.ndarray:
        """The boundaries (blocks + 1,) in positions of the enumerated type."""

    @abstractmethod
    def blocks(self, number: int | None = None) -> Iterator[Block]:
        """Yield this worker's blocks of pass `number`, an epoch or a repetition (`RepeatedSteps`),
        in order; None: of the epoch after those that have ended.
        """


class RepeatedSteps(Step):
    """Steps that run again and again.

    `label` is that of their stage. `depends_on_answers`: the clocks before a repetition must be
    finished to know whether it begins.
    """

    label: str
    steps: Sequence[Step]
    begun = 0
    """Repetitions so far."""
    depends_on_answers = False

    def run(self, block: Block | None = None) -> None:
        """Run nothing: raise RuntimeError, as the schedule makes clocks for each repetition."""
        raise RuntimeError("repeated steps were run without their clocks")

    @abstractmethod
    def repetitions(self) -> Iterator[int]:
        """Yield the repetitions of one pass, each by its number among those of the whole run."""


class Sync(Step):
    """A step at which workers exchange changes. It ends a segment.

    `sync_id` numbers it in `Worker.syncs`, alike on all workers. `table` is the vertex type that it
    concerns, or "tau". `has_function`: a function of the user's runs on the folded values.
    `answer`: the kind of its answers.
    """

    answer = Kind.ANSWER
    sync_id: int
    table: str
    has_function = False

    def run(self, block: Block | None = None) -> None:
        """Run nothing: raise RuntimeError, as a synchronisation is sent, not run."""
        raise RuntimeError(f"a synchronisation of {self.table} was run without sending")

    @abstractmethod
    def send(self, clock: int, block: Block | None) -> int:
        """Send this worker's part; return the number of answers to come."""

    @abstractmethod
    def install(self, message: Message) -> None:
        """Put one answer into this worker's rows."""


class Fold(Sync, Generic[Part]):
    """A Sync whose masters fold one contribution of each worker, run a function, and answer each
    worker.

    `sees_context`: an Apply's function may read the context; `adds_to_context`: it may add to
    totals of it. `aggregated`: the vertex type over whose masters a GlobalSync walks, or "".
    """

    sees_context = False
    adds_to_context = False
    aggregated = ""

    @abstractmethod
    def read(self, server: MasterTables, message: Message) -> Part:
        """Read, on the server, the payload of a contribution, and check it."""

    @abstractmethod
    def serve(
        self, server: MasterTables, clock: int, contributions: list[Part]
    ) -> Sequence[Arrays | Answer]:
        """Fold the contributions, on the server and in worker order; return the answer to each
        worker. An Answer is handed to the own worker as it is.
        """

    def aggregate_masters(self, clock: int) -> None:
        """Walk the masters that this server keeps, before its share of the context is added."""


class Pull(Sync):
    """A Sync whose masters answer a request for rows, or take their changes, one message at a
    time.
    """

    answer = Kind.PULL_ANSWER

    @abstractmethod
    def handle(self, server: MasterTables, message: Message) -> list[Message]:
        """Handle a PULL_REQUEST or a PUSH on the server; return the answers that are possible."""
