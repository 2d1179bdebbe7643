"""Stages that call UDFs on rows, as the rules for several workers see them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator

from tux.program.base_program import BaseProgram
from tux.program.stage import Stage, TotalAddition, VertexChange
from tux.stages.analysis.calls import Call
from tux.stages.analysis.plan import ThreadPlan
from tux.stages.analysis.replica_rules import check_call


class CallingStage(Stage):
    """A stage whose method `calls` tells with which rows its UDFs are called."""

    @abstractmethod
    def calls(self, program: BaseProgram, role: str) -> list[Call]:
        """Return how each UDF is called; `role`: the end that a mini-batch around the stage
        enumerates.
        """

    def plans(
        self, program: BaseProgram, role: str, *, racing: bool = False
    ) -> dict[str, ThreadPlan]:
        """Return the plan by which threads share each kernel, by the name of its UDF, or "" if
        there is only one; `racing`: the user lets threads race.
        """
        return {}

    def check_replicas(self, program: BaseProgram, role: str = "") -> None:
        """Raise ProgramError where a UDF's result would depend on the number of workers."""
        for call in self.calls(program, role):
            check_call(call)

    def totals_after(
        self, program: BaseProgram, before: dict[str, TotalAddition], role: str = ""
    ) -> dict[str, TotalAddition]:
        """Return the totals that wait for a GlobalSync behind this stage: those `before` it, and
        those to which its UDFs add.
        """
        for call in self.calls(program, role):
            before = call.adds() | before
        return before

    def changes_after(
        self, program: BaseProgram, before: frozenset[VertexChange], role: str = ""
    ) -> frozenset[VertexChange]:
        """Return the changes that wait for an Apply behind this stage: those `before` it, and those
        of its UDFs.
        """
        return before.union(*(call.changes() for call in self.calls(program, role)))


def calls_of(
    program: BaseProgram, stages: Iterable[Stage], role: str = "", depth: int = 0
) -> Iterator[tuple[int, Stage, list[Call]]]:
    """Yield each stage, then those inside it: how many stages it stands in, the stage, and how its
    UDFs are called. `role`: the end that the mini-batch around `stages` enumerates.
    """
    for stage in stages:
        yield depth, stage, stage.calls(program, role) if isinstance(stage, CallingStage) else []
        seen, inner = stage.inner_scope(program, role)
        yield from calls_of(seen, stage.inside, inner, depth + 1)
