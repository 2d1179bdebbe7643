"""Checks of a worker: no stage loses deltas or changes, and the model is finite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tux.base.errors import DataError, ProgramError
from tux.program.stage import Stage

if TYPE_CHECKING:
    from tux.engine.worker import Worker


def refuse_lost_deltas(worker: Worker, stages: Sequence[Stage]) -> None:
    """ProgramError where a vertex type has a delta and none of `stages`, all of the program's,
    is an Apply for it.
    """
    applied = _synchronised(stages)
    for name, vertex in worker.program.vertices.items():
        lost = [f for f, d in vertex.fields.items() if d.kind == "delta"]
        if lost and name not in applied:
            raise ProgramError(
                f"nothing takes the delta {name}.{lost[0]}",
                do=f'add Apply("{name}", f) to the stages',
            )


def refuse_lost_changes(worker: Worker, stages: Sequence[Stage]) -> None:
    """ProgramError where a type that is cut has fields that are synchronised, and none of `stages`
    is an Apply for it.
    """
    applied = _synchronised(stages)
    for name in worker.cut_types():
        if worker.program.vertices[name].remote:
            continue
        if worker.program.vertices[name].whole:
            raise ProgramError(
                f"{name} is cut, and {type(worker.program).__name__} needs each {name} whole",
                do="use --partitioner bicut or aweto",
            )
        fields = [
            f
            for f, d in worker.program.vertices[name].fields.items()
            if d.kind in ("value", "shared", "delta")
        ]
        if fields and name not in applied:
            uncut = (
                f", or use --partitioner bicut, which keeps {name} whole"
                if name == _whole_by_bicut(worker)
                else ""
            )
            raise ProgramError(
                f"{name} is cut, and no stage synchronises the changes of {name}.{fields[0]}",
                do=f'add Apply("{name}") to the stages{uncut}',
            )


def _whole_by_bicut(worker: Worker) -> str:
    """The type that bicut leaves whole: the end with more vertices; "" if both have one type."""
    first, second = worker.program.edge.ends
    if first == second:
        return ""
    return first if worker.part(first).vertices >= worker.part(second).vertices else second


def check_finite(worker: Worker) -> None:
    """DataError naming the first vertex, field and value that is NaN or infinite."""
    for name, vertices in worker.graph.vertices.items():
        table = worker.masters(name)
        ids = worker.master_ids(name) if vertices.cut else vertices.order
        for field, declared in table.declared.items():
            array = table.arrays[field]
            if declared.dtype.kind != "f" or declared.kind == "delta" or declared.ragged:
                continue
            with np.errstate(invalid="ignore", over="ignore"):
                if np.isfinite(np.sum(array, dtype=np.float64)):
                    continue
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):
                row = int(bad[0][0])
                vertex = vertices.ids.decode(ids[row : row + 1])[0]
                raise DataError(
                    f"{name} {vertex}: {field} became {array[tuple(bad[0])]} in epoch "
                    f"{worker.epoch}",
                    do="the step is too large for these data: try a smaller --step",
                )


def _synchronised(stages: Sequence[Stage]) -> set[str]:
    """The types whose replicas one of `stages` synchronises."""
    return {stage.gathers for stage in stages}.union(
        *(_synchronised(stage.inside) for stage in stages)
    )
