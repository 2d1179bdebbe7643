"""Schedules: the way in which the threads of a worker share the stages of a program, as its source
alone tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tux.program.program import STAGED, Program, stages_of
from tux.program.stage import Cluster, Stage
from tux.stages.analysis.calling import CallingStage
from tux.stages.analysis.calls import BESIDE, Call
from tux.stages.analysis.plan import ThreadPlan
from tux.stages.minibatch import MiniBatch


class ScheduledStage(NamedTuple):
    """A stage, in `depth` others, how its UDFs are called, and the plans of its kernels: see
    `CallingStage.plans`.
    """

    depth: int
    stage: Stage
    calls: list[Call]
    plans: dict[str, ThreadPlan]


def schedules(
    program: Program,
    stages: Iterable[Stage],
    workers: int,
    role: str = "",
    depth: int = 0,
    *,
    fused: bool = False,
    racing: bool = False,
) -> Iterator[ScheduledStage]:
    """Yield each stage, then those inside it. `role`: the end that the mini-batch around `stages`
    enumerates; `fused`: it is one kernel.
    """
    for stage in stages:
        calls, plans = list[Call](), dict[str, ThreadPlan]()
        with stage.locate_errors():
            is_fused = False
            if isinstance(stage, MiniBatch) and stage.is_fused(program, workers, racing=racing):
                is_fused, plans = True, {"": ThreadPlan(why=stage.one_thread_reason(program))}
            elif isinstance(stage, CallingStage):
                calls = stage.calls(program, role)
                plans = {} if fused else stage.plans(program, role, racing=racing)
            inner = stage.inner_scope(program, role)
        yield ScheduledStage(depth, stage, calls, plans)
        yield from schedules(
            inner[0], stage.inside, workers, inner[1], depth + 1, fused=is_fused, racing=racing
        )


def has_shares(program: Program) -> bool:
    """Return whether a function gets the edges of a vertex in shares, by the program's word, in a
    run of one worker.
    """
    cluster = Cluster(has_test=True)
    return any(
        plan.form == "cells"
        for method in STAGED
        for each in schedules(program, stages_of(program, method, cluster), 1)
        for plan in each.plans.values()
    )


def serial_reasons(program: Program, cluster: Cluster, *, racing: bool = False) -> list[str]:
    """Return one line for each stage of an epoch that stays on one thread; `racing`: the user lets
    threads race.
    """
    out: dict[str, None] = {}
    stages = stages_of(program, "stages", cluster)
    for each in schedules(program, stages, cluster.workers, racing=racing):
        for plan in each.plans.values():
            if not plan.threads:
                out[f"{_short_label(each.stage)} runs on one thread: {plan.why}"] = None
    return [*out]


def compared_types(program: Program, cluster: Cluster) -> dict[str, str]:
    """Return by vertex type the stage of an epoch whose function compares edges with others of
    their block, `others` or `vertices` of this type.
    """
    stages = stages_of(program, "stages", cluster)
    return {
        kind: _short_label(each.stage)
        for each in schedules(program, stages, cluster.workers)
        for call in each.calls
        for row, kind in call.rows.items()
        if row.partition(".")[0] in BESIDE
    }


def _short_label(stage: Stage) -> str:
    """Return the short name of a stage in a line: of the stages inside, only the first."""
    if not stage.inside:
        return stage.label
    more = ", ..." if len(stage.inside) > 1 else ""
    return f"{type(stage).__name__}({stage.inside[0].label}{more})"
