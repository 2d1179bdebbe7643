"""Stages: the declarations that `Program.stages()` returns, and what it is told of the run. A run
prepares each stage into a step and does not change it.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from tux.base.errors import ProgramError

if TYPE_CHECKING:
    from tux.clock.steps import Step
    from tux.engine.partition import Partition
    from tux.program.base_program import AnyProgram, BaseProgram


class Cluster(NamedTuple):
    """The workers of a run: how many there are, how many clocks they may be apart, and whether the
    run has held-out edges, and begins with the model of another.
    """

    workers: int = 1
    slack: int = 0
    has_test: bool = False
    from_model: bool = False


class Batch(NamedTuple):
    """The mini-batch around a stage: it enumerates the end called `role`, block by block."""

    role: str
    cuts: np.ndarray  # (blocks + 1,): boundaries of the blocks in positions of the enumerated type
    local_cuts: np.ndarray  # (blocks + 1,): the same in rows of this worker
    # boundaries of ranges of the other end's rows that make up shares, if it matters which
    columns: np.ndarray | None = None

    @property
    def has_several_blocks(self) -> bool:
        """True if there is more than one block."""
        return len(self.cuts) > 2


class TotalAddition(NamedTuple):
    """A place where a UDF adds to a total of the context: the UDF's name, and ``file:line``."""

    udf: str
    where: str


class VertexChange(NamedTuple):
    """A change of a field of a vertex type that replicas keep until an Apply. `edge`: the edge type
    whose edges lead to the vertices that change; "" if any may.
    """

    vertex: str
    field: str
    edge: str
    udf: str


class Stage(ABC):
    """One stage of a program, as the user declares it.

    `inside`: the stages of a composite one. `gathers`: the vertex type whose changes and deltas
    this stage brings to the masters, or "". `held_out`: it visits held-out edges. `racing`: by the
    program's word threads may run it in no order, if the user says so too. `where`: ``file:line``
    of the declaration.
    """

    label = "stage"
    inside: tuple[Stage, ...] = ()
    gathers = ""
    held_out = False
    racing = False
    where: str

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Make a stage that knows where it is declared."""
        stage = super().__new__(cls)
        caller = sys._getframe(1)  # the frame that calls the class
        stage.where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        return stage

    @contextmanager
    def locate_errors(self) -> Iterator[None]:
        """Give a ProgramError that is raised inside this stage's place, unless it names another."""
        try:
            yield
        except ProgramError as error:
            error.where = error.where or self.where
            raise

    def step(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Prepare the stage; a ProgramError of `prepare` names a place."""
        with self.locate_errors():
            return self.prepare(partition, batch)

    @abstractmethod
    def prepare(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Check the stage against the worker's program, lay out edges, and compile kernels. Return
        the step that the worker runs.
        """

    def inner_scope(self, program: AnyProgram, role: str) -> tuple[AnyProgram, str]:
        """Return the program and the end that is enumerated, by its name in UDFs, as the stages
        inside see them: as this stage does, unless it is a mini-batch of its own.
        """
        return program, role

    def check_replicas(self, program: BaseProgram, role: str = "") -> None:
        """Raise ProgramError where a result would depend on the number of workers. `role`: the end
        that the mini-batch around the stage enumerates.
        """
        program, role = self.inner_scope(program, role)
        for stage in self.inside:
            with stage.locate_errors():
                stage.check_replicas(program, role)

    def may_set(self, program: BaseProgram, metric: str) -> bool:
        """Return whether the stage may set a metric of the context."""
        return any(stage.may_set(program, metric) for stage in self.inside)

    def totals_after(
        self, program: BaseProgram, before: dict[str, TotalAddition], role: str = ""
    ) -> dict[str, TotalAddition]:
        """Return the totals of the context that hold something after this stage if those in
        `before` do so before it.
        """
        program, role = self.inner_scope(program, role)
        for stage in self.inside:
            before = stage.totals_after(program, before, role)
        return before

    def changes_after(
        self, program: BaseProgram, before: frozenset[VertexChange], role: str = ""
    ) -> frozenset[VertexChange]:
        """Return the changes that wait for an Apply after this stage if those in `before` do so
        before it. ProgramError for an Apply that would take a part of one.
        """
        program, role = self.inner_scope(program, role)
        for stage in self.inside:
            with stage.locate_errors():
                before = stage.changes_after(program, before, role)
        return before
