"""An outline of the stages of a program, as the analysis of their UDFs finds it: `tux run
--explain`.
"""

from __future__ import annotations

from typing import NamedTuple

from tux.program.program import STAGED, Program, stages_of
from tux.program.stage import Cluster
from tux.stages.analysis.calls import Call
from tux.stages.analysis.schedules import schedules

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
    done to them: a UDF and pairs of a verb and fields; and how threads share its kernels, each
    with the name of a UDF if there are several.
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
                [(call.udf.__name__, _verbs(call)) for call in each.calls],
                [(udf, str(plan)) for udf, plan in each.plans.items()],
            )
            for each in schedules(program, stages_of(program, method, one), 1, racing=racing)
        ]
        for method in STAGED
    }


def _verbs(call: Call) -> list[tuple[str, list[str]]]:
    """Return the effects of a UDF as pairs of a verb and fields, in the order of `_VERBS`."""
    found: dict[str, list[str]] = {}
    for (row, field), kinds in call.effects.found.items():
        for kind in kinds:
            found.setdefault(kind, []).append(f"{row}.{field}")
    return [(verb, sorted(found[kind])) for kind, verb in _VERBS.items() if kind in found]
