"""Metrics of a random program: numbers of the context that functions of GlobalSync set, at times
under a condition, so that an epoch reports them or not.

They have random numbers of their own, so that nothing else of a program changes with them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from support.prove.draw_types import ProgramDraw
from support.prove.spec import FieldSpec, GlobalSyncSpec, MiniBatchSpec, ProgramSpec, RepeatSpec

ALWAYS, AT_TIMES = "told", "rare"
"""A metric that is set wherever a function sets it, and one that has a condition."""
REPORTING = 0.7
"""The share of the programs that have them, as they cost time."""
SET = 0.8
"""The share of the functions that set the first one."""


def add_metrics(program: ProgramSpec, drawn: ProgramDraw, seed: str) -> ProgramSpec:
    """Return a program some of whose GlobalSyncs set metrics, if it has any. `drawn`: the draw that
    it is of.
    """
    draw = random.Random(f"metrics {seed}")
    if not program.context or draw.random() > REPORTING:
        return program
    kept = {each.name for each in program.context}
    atoms = [f"tau.{name}" for name in ("all", "top", "turn") if name in kept]
    if not drawn.rotates:
        atoms.append("int(tau.sum)")
    of, functions = replace(drawn, draw=draw), dict(program.functions)
    stages = (*program.setup, *program.stages)
    for name in dict.fromkeys(list_syncs(stages, in_batches=not drawn.rotates)):
        lines = []
        if of.chance(SET):
            lines.append(f"tau.{ALWAYS} = {of.expression(atoms, 1)}")
        if of.chance(0.5):
            lines.append(f"if {of.draw.choice(atoms)} % 3:")
            lines.append(f"    tau.{AT_TIMES} = {of.expression(atoms, 1)}")
        functions[name] = "\n".join([functions[name], *(f"    {line}" for line in lines)])
    metrics = tuple(FieldSpec(name, "metric", "f8") for name in (ALWAYS, AT_TIMES))
    return program._replace(context=program.context + metrics, functions=functions)


def list_syncs(stages: tuple[NamedTuple, ...], *, in_batches: bool) -> Iterator[str]:
    """Yield the functions of all GlobalSyncs, also of those within other stages; of those within
    mini-batches only if it is said. Where workers rotate, these take totals of other blocks.
    """
    for stage in stages:
        if isinstance(stage, RepeatSpec) or (in_batches and isinstance(stage, MiniBatchSpec)):
            yield from list_syncs(stage.stages, in_batches=in_batches)
        elif isinstance(stage, GlobalSyncSpec) and stage.function:
            yield stage.function
