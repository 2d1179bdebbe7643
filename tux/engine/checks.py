"""Checks of a worker: no stage loses deltas or changes, and the model is finite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tux.base.errors import DataError, ProgramError
from tux.base.text import flag_of
from tux.graph.partitioned import cut_end, end_keeping_partitioners
from tux.program import sources
from tux.program.base_program import step_parameter
from tux.program.fields import Field
from tux.program.naming import place_of_member
from tux.program.program import STAGED, Program, stages_of
from tux.program.stage import Cluster, Stage, TotalAddition, VertexChange

if TYPE_CHECKING:
    from tux.engine.worker import Worker


def refuse_lost_deltas(worker: Worker, stages: Sequence[Stage]) -> None:
    """Raise ProgramError where a vertex type has a delta and none of `stages`, all of the
    program's, is an Apply for it.
    """
    applied = _synchronised_types(stages)
    for name, vertex in worker.program.vertices.items():
        lost = [f for f, d in vertex.fields.items() if d.kind == "delta"]
        if lost and name not in applied:
            raise ProgramError(
                f"nothing takes the delta {name}.{lost[0]}",
                where=place_of_member(type(worker.program), name),
                do=f'add Apply("{name}", f) to the stages',
            )


def checked_stages(program: Program, cluster: Cluster) -> dict[str, list[Stage]]:
    """Return the stages of set-up, of an epoch and of the evaluation by the method that returns
    them, for workers of a `cluster`. Raise ProgramError as `refuse_dependence` does.
    """
    staged = {name: stages_of(program, name, cluster) for name in STAGED}
    refuse_dependence(program, [*staged["setup"], *staged["stages"]], staged["evaluate"])
    return staged


def refuse_dependence(
    program: Program, training: Sequence[Stage], judging: Sequence[Stage]
) -> None:
    """Raise ProgramError where a result would depend on the number of workers, or a total is not
    taken: by the stages of set-up and of an epoch, or by those that evaluate.
    """
    _refuse_held_out(training)
    for stage in (*training, *judging):
        with stage.locate_errors():
            stage.check_replicas(program)
    # changes of an epoch may wait until the next
    changes_after(program, (*training, *training), frozenset())
    for stages, end in ((training, "the epoch ends"), (judging, "evaluate() ends")):
        left: dict[str, TotalAddition] = {}
        for stage in stages:
            left = stage.totals_after(program, left)
        for name, added in left.items():
            raise ProgramError(
                f"`{added.udf}` adds to tau.{name}, a total, and no GlobalSync takes it before "
                f"{end}",
                where=added.where,
                do="add GlobalSync(f) after it to the stages, whose `f` sets a value or a metric",
            )


def changes_after(
    program: Program, stages: Sequence[Stage], before: frozenset[VertexChange]
) -> frozenset[VertexChange]:
    """Return the changes that wait for an Apply after some stages, if those in `before` do so
    before them; none with one edge type, where each Apply takes all. ProgramError for an Apply that
    would take a part of a change.
    """
    for stage in stages if len(program.edge_types) > 1 else ():
        with stage.locate_errors():
            before = stage.changes_after(program, before)
    return before


def _refuse_held_out(training: Sequence[Stage]) -> None:
    """Raise ProgramError for a stage of training that visits held-out edges."""
    for stage in training:
        if stage.held_out:
            raise ProgramError(
                f"{stage.label} visits held-out edges in training",
                where=stage.where,
                do="return it from evaluate(), or leave held_out=True out",
            )
        _refuse_held_out(stage.inside)


def refuse_lost_changes(worker: Worker, stages: Sequence[Stage]) -> None:
    """Raise ProgramError where a type that is cut has fields that are synchronised, and none of
    `stages` is an Apply for it.
    """
    refuse_wrong_cut(worker)
    applied = _synchronised_types(stages)
    for name in worker.cut_types():
        if worker.program.vertices[name].remote:
            continue
        fields = [
            f
            for f, d in worker.program.vertices[name].fields.items()
            if d.kind in ("shared", "delta")
        ]
        if fields and name not in applied:
            uncut = (
                f", or use --partitioner bicut, which keeps {name} whole"
                if name == _whole_by_bicut(worker)
                else ""
            )
            raise ProgramError(
                f"{name} is cut, and no stage synchronises the changes of {name}.{fields[0]}",
                where=place_of_member(type(worker.program), name),
                do=f'add Apply("{name}") to the stages{uncut}',
            )


def refuse_wrong_cut(worker: Worker) -> None:
    """Raise ProgramError where vertices or edges that the program declares whole are cut. Edges of
    a graph to compile for alone do not show it: the workers look at their own.
    """
    end, kind = worker.program.edge.whole, worker.program.edge.ends[0]
    part = None if worker.graph.is_beginning else worker.graph.part
    if end and part and (vertex := cut_end([part], kind, end)):
        raise ProgramError(
            f"the edges of {kind} {vertex} as {end} lie on several workers, "
            f'and {type(worker.program).__name__} declares them whole="{end}"',
            do=f"use --partitioner {' or '.join(end_keeping_partitioners(end))}",
        )
    for name in worker.cut_types():
        declared = worker.program.vertices[name]
        if declared.whole and not declared.remote:
            types = worker.program.edge_types
            among = [each for each, edge in types.items() if edge.ends == (name, name)]
            raise ProgramError(
                f"{name} is cut, and {type(worker.program).__name__} needs each {name} whole",
                do=f"run it on one worker: an edge of type {among[0]} joins two of type {name}, so "
                "no partitioner keeps each whole"
                if among
                else "use --partitioner bicut or aweto",
            )


def _whole_by_bicut(worker: Worker) -> str:
    """Return the type that bicut leaves whole: the end with more vertices; "" if both have one
    type.
    """
    first, second = worker.program.edge.ends
    if first == second:
        return ""
    return first if worker.part(first).vertices >= worker.part(second).vertices else second


def check_finite(worker: Worker) -> None:
    """Raise DataError for the first vertex, field and value that is NaN, or infinite where it must
    not be.
    """
    for name, vertices in worker.graph.vertices.items():
        table = worker.masters(name)
        ids = worker.master_ids(name) if vertices.is_cut else vertices.order
        for field, declared in table.declared.items():
            array = table.arrays[field]
            if declared.dtype.kind != "f" or declared.kind == "delta" or declared.is_ragged:
                continue
            if _is_sound(array, finite=declared.finite):
                continue
            bad = np.argwhere(~np.isfinite(array) if declared.finite else np.isnan(array))
            if len(bad):
                row = int(bad[0][0])
                vertex = vertices.ids.decode(ids[row : row + 1])[0]
                raise DataError(
                    f"{name} {vertex}: {field} became {array[tuple(bad[0])]} in epoch "
                    f"{worker.epoch}",
                    do=_advice(worker.program, declared, float(array[tuple(bad[0])])),
                )


def _is_sound(array: np.ndarray, *, finite: bool) -> bool:
    """Return whether there is surely no NaN, and if `finite` no infinity. This passes over the
    array once, and takes no memory.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        if finite:
            return bool(np.isfinite(np.sum(array, dtype=np.float64)))
        return not array.size or not np.isnan(np.min(array))


def _advice(program: Program, field: Field, bad: float) -> str:
    """Suggest a cause of a number that is NaN or infinite."""
    if name := step_parameter(program):
        return (
            f"perhaps the step is too large: try a smaller {flag_of(name)}; --check finds the line"
        )
    if sources.source_of(program).is_builtin:
        return "perhaps numbers of the data are too large: divide them; --check finds the line"
    if bad != bad:
        return "look for 0/0, inf - inf, or a root or logarithm below 0; --check tells the line"
    meant = f'; if it is meant, declare {field.kind}("{field.dtype.str[1:]}", finite=False)'
    return f"look for a division by 0 or an overflow{meant if field.kind != 'shared' else ''}"


def _synchronised_types(stages: Sequence[Stage]) -> set[str]:
    """Collect the types whose replicas one of `stages` synchronises."""
    return {stage.gathers for stage in stages}.union(
        *(_synchronised_types(stage.inside) for stage in stages)
    )
