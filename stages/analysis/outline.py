"""An outline of the stages of a program, as the analysis of their UDFs finds it: `tux run
--explain`.
"""

from __future__ import annotations

from typing import NamedTuple

from tux.program.fields import Field
from tux.program.program import STAGED, Program, stages_of
from tux.program.stage import Cluster, Stage
from tux.stages.analysis.calls import Call
from tux.stages.analysis.schedules import schedules
from tux.stages.globalsync import GlobalSync

_VERBS = {
    "read": "reads",
    "add": "adds to",
    "min": "lowers",
    "max": "raises",
    "write": "writes",
    "unknown": "may read and write",
}


class OutlineEntry(NamedTuple):
    """A stage, in `depth` others; by the names of its UDFs, the fields ("row.field") by what is
    done to them: a UDF and pairs of a verb and fields; the same of functions that combine deltas
    which the stage brings to their masters; and how threads share its kernels, each with the name
    of a UDF if there are several.
    """

    depth: int
    stage: str
    udfs: list[tuple[str, list[tuple[str, list[str]]]]]
    threads: list[tuple[str, str]]


def outline(program: Program, *, racing: bool = False) -> dict[str, list[OutlineEntry]]:
    """Return the stages of each method in STAGED, in a run of one worker with held-out edges;
    `racing`: the user lets threads race.

    GlobalSync's function is ordinary Python, of which nothing is found.
    """
    one = Cluster(has_test=True)
    return {
        method: [
            OutlineEntry(
                each.depth,
                type(each.stage).__name__ if each.stage.inside else each.stage.label,
                [
                    *((call.udf.__name__, _verbs(call)) for call in each.calls),
                    *_merges(program, each.stage),
                ],
                [(udf, str(plan)) for udf, plan in each.plans.items()],
            )
            for each in schedules(program, stages_of(program, method, one), 1, racing=racing)
        ]
        for method in STAGED
    }


def _merges(program: Program, stage: Stage) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Return the functions that combine what a stage gathers, each with its fields."""
    row, fields, takes = stage.gathers, dict[str, Field](), None
    if isinstance(stage, GlobalSync):
        row, fields, takes = "tau", program.context.fields, stage.takes
    elif row in program.vertices:
        fields = program.vertices[row].fields
    found: dict[str, list[str]] = {}
    for name, field in fields.items():
        if not isinstance(field.combine, str) and (takes is None or name in takes):
            found.setdefault(field.combine.__name__, []).append(f"{row}.{name}")
    return [(merge, [("combines", names)]) for merge, names in found.items()]


def _verbs(call: Call) -> list[tuple[str, list[str]]]:
    """Return the effects of a UDF as pairs of a verb and fields, in the order of `_VERBS`."""
    found: dict[str, list[str]] = {}
    for (row, field), kinds in call.effects.found.items():
        for kind in kinds:
            found.setdefault(kind, []).append(f"{row}.{field}")
    return [(verb, sorted(found[kind])) for kind, verb in _VERBS.items() if kind in found]
