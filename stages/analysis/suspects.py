"""Lines of a program that are allowed, and often the reason why its results depend on the number of
workers: `tux run --verify` names them where results differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tux.program.fields import Field
from tux.program.program import STAGED, Program, stages_of
from tux.program.stage import Cluster
from tux.stages.analysis.calling import calls_of
from tux.stages.analysis.calls import CERTAIN_CHANGES, VISITING, Call
from tux.stages.analysis.replica_rules import may_be_cut


class Suspect(NamedTuple):
    """A suspicious line: what it does, ``file:line``, and what to write instead. `is_wrong`: no
    program needs it; else it is right where each replica may have its own value, as in changes in
    place.
    """

    what: str
    where: str
    do: str
    is_wrong: bool


def suspects(program: Program) -> list[Suspect]:
    """Return the suspicious lines of the Exchanges of `program`; those that set deltas come
    first.
    """
    calls = _exchanges(program)
    return [*_sets_delta(program, calls), *_reads_mirror(program, calls)]


def order_dependent_fields(program: Program) -> list[str]:
    """Return the shared fields of vertices and of the context, as "type.field", whose values depend
    on the order of changes: Exchanges, or uses of generated edges, change them and read them; or
    take means of changes.
    """
    types = {**program.vertices, "tau": program.context}
    effects: dict[tuple[str, str], set[str]] = {}
    for call in _exchanges(program):
        for row, of in (*call.rows.items(), ("tau", "tau")):
            for name in types[of].fields:
                effects.setdefault((of, name), set()).update(call.effects.of(row, name))
    return [
        f"{of}.{name}"
        for of, declared in types.items()
        for name, field in declared.fields.items()
        if field.kind == "shared"
        and (of in _remote_types(program) or _in_place(field, effects.get((of, name), set())))
    ]


def _remote_types(program: Program) -> set[str]:
    """Return the vertex types of which workers keep no rows."""
    return {name for name, vertex in program.vertices.items() if vertex.remote}


def _in_place(field: Field, kinds: set[str]) -> bool:
    """Return whether a field with these kinds of effects in Exchanges depends on the order of
    changes.
    """
    if field.combine != "sum" and kinds - {"read"}:
        return True
    return bool(kinds - {"read", "add"} or kinds == {"read", "add"})


def _exchanges(program: Program) -> list[Call]:
    """Return the calls of all Exchanges."""
    return [
        call
        for method in STAGED
        for _, _, calls in calls_of(program, stages_of(program, method, Cluster()))
        for call in calls
        if call.place in VISITING
    ]


def _effects(
    program: Program, call: Call, kind: str
) -> Iterator[tuple[str, str, Field, dict[str, str]]]:
    """Yield the effects of a call on fields of a kind of vertices that may be cut: the type, the
    name and the declaration of each, and where it is read and changed.
    """
    for row, vertex in call.rows.items():
        if may_be_cut(program, vertex):
            for name, field in program.vertices[vertex].fields.items():
                if field.kind == kind:
                    yield vertex, name, field, call.effects.of(row, name)


def _sets_delta(program: Program, calls: Iterable[Call]) -> Iterator[Suspect]:
    """Yield the places where deltas of "min" or "max" are set (others are refused): which edge
    comes last depends on the order of edges and on the worker.
    """
    for call in calls:
        for vertex, name, field, kinds in _effects(program, call, "delta"):
            if "write" in kinds and isinstance(field.combine, str):
                yield Suspect(
                    f"`{call.udf.__name__}` sets {vertex}.{name}, a delta, so the last edge on "
                    "each worker decides",
                    kinds["write"],
                    f"write row.{name} = {field.combine}(row.{name}, x)",
                    is_wrong=True,
                )


def _reads_mirror(program: Program, calls: list[Call]) -> Iterator[Suspect]:
    """Yield the places where mirror fields are read that are also written: each replica has
    collected its own.
    """
    written = {
        (vertex, name)
        for call in calls
        for vertex, name, _, kinds in _effects(program, call, "mirror")
        if kinds.keys() & CERTAIN_CHANGES
    }
    for call in calls:
        for vertex, name, _, kinds in _effects(program, call, "mirror"):
            if "read" in kinds and (vertex, name) in written:
                yield Suspect(
                    f"`{call.udf.__name__}` reads {vertex}.{name}, a mirror field, of which each "
                    f"replica of a {vertex} has its own",
                    kinds["read"],
                    "collect it in a delta, let an Apply keep it in a value field, and read that",
                    is_wrong=False,
                )
