"""What the stages of a program do, as the analysis of their UDFs finds it: `tux run --explain`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tux.program.program import Program, stages_of
from tux.program.stage import Cluster, Stage
from tux.stages.calling import CallingStage
from tux.stages.calls import Call

METHODS = ("setup", "stages", "evaluate")

_VERBS = {
    "read": "reads",
    "add": "adds to",
    "min": "lowers",
    "max": "raises",
    "write": "writes",
    "unknown": "may read and write",
}


class Entry(NamedTuple):
    """A stage, in `depth` others; by the names of its UDFs, the fields ("row.field") by what is
    done to them: a UDF and pairs of a verb and fields.
    """

    depth: int
    stage: str
    udfs: list[tuple[str, list[tuple[str, list[str]]]]]


def outline(program: Program, cluster: Cluster | None = None) -> dict[str, list[Entry]]:
    """The stages that each method of METHODS returns, those inside others after them.

    GlobalSync's function is ordinary Python, of which nothing is found.
    """
    cluster = cluster or Cluster(has_test=True)
    return {
        method: [*_entries(program, stages_of(program, method, cluster), 0)] for method in METHODS
    }


def _entries(program: Program, stages: Iterable[Stage], depth: int) -> Iterator[Entry]:
    for stage in stages:
        calls = stage.calls(program, "") if isinstance(stage, CallingStage) else []
        label = type(stage).__name__ if stage.inside else stage.label
        yield Entry(depth, label, [(call.udf.__name__, _verbs(call)) for call in calls])
        yield from _entries(program, stage.inside, depth + 1)


def _verbs(call: Call) -> list[tuple[str, list[str]]]:
    """What a UDF does, in the order of `_VERBS`."""
    found: dict[str, list[str]] = {}
    for (row, field), kinds in call.effects.found.items():
        for kind in kinds:
            found.setdefault(kind, []).append(f"{row}.{field}")
    return [(verb, sorted(found[kind])) for kind, verb in _VERBS.items() if kind in found]
