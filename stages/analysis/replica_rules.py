"""Rules that make a program's results the same on any number of workers.

On several workers a vertex may have replicas: each sees only its share of the vertex's edges, and
holds only what was gathered there. A UDF whose result would depend on that is refused, on one
worker too. What the analysis (`tux.stages.analysis.effects`) does not understand is not refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from tux.base.errors import ProgramError
from tux.program.base_program import BaseProgram
from tux.program.combining import MEANS, Merge
from tux.program.fields import Field
from tux.stages.analysis.calls import CERTAIN_CHANGES, VISITING, Call, udf_name
from tux.stages.kernel.bind import place

_OWN = {"min": "min", "max": "max"}
"""The kind of effect that a field's combination is, if it is not "add"."""


def check_call(call: Call) -> None:
    """Raise ProgramError for the first rule that a UDF breaks."""
    if call.place in VISITING:
        _refuse_reading_deltas(call)
        _refuse_setting_deltas(call)
    _refuse_reading_totals(call)
    _refuse_setting_totals(call)
    if call.sees_edges:
        _refuse_shares_of_edges(call)
    if call.visits:
        _refuse_once_a_replica(call)
    if call.alone:
        _refuse_means(call)


def refuse_drift(calls: Iterable[Call]) -> None:
    """Raise ProgramError where `calls`, those of all blocks of a MiniBatch without GlobalSync,
    change a shared field of the context and depend on its value: each worker would go on from its
    own changes, and those of all blocks be added up.
    """
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for call in calls:
        for name, field in call.program.context.fields.items():
            for kind, where in (
                call.effects.of("tau", name).items() if field.kind == "shared" else ()
            ):
                found.setdefault(name, {}).setdefault(kind, (call.udf.__name__, where))
    for name, kinds in found.items():
        changes = [kind for kind in kinds if kind in CERTAIN_CHANGES]
        if changes and kinds.keys() - {"add", "unknown"}:
            udf, where = kinds[changes[0]]
            raise ProgramError(
                f"`{udf}` changes tau.{name}, a shared field, in a MiniBatch without GlobalSync: "
                "each worker would see only its own changes until the last block, and then those "
                "of all workers would be added up",
                where=where,
                do="add GlobalSync() to the MiniBatch",
            )


def may_be_cut(program: BaseProgram, vertex: str) -> bool:
    """Return whether a vertex of the type may have replicas on several workers."""
    return not program.vertices[vertex].whole


def _reading_place(kinds: dict[str, str], combine: str | Merge) -> str:
    """Return ``file:line`` where a field is read other than to add to it in the way it is combined;
    "" if it is not, or a function combines it, which must do as functions on rows do.
    """
    if not isinstance(combine, str):
        return ""
    read = ("read", *(kind for kind in ("add", "min", "max") if kind != _OWN.get(combine, "add")))
    return next((kinds[kind] for kind in read if kind in kinds), "")


def _refuse_reading_deltas(call: Call) -> None:
    for row, vertex in call.rows.items():
        if not may_be_cut(call.program, vertex):
            continue
        for name, field in call.program.vertices[vertex].fields.items():
            kinds = call.effects.of(row, name)
            if field.kind == "delta" and (where := _reading_place(kinds, field.combine)):
                own = (
                    ""
                    if field.combine == "sum"
                    else _rewording_advice(row, name, str(field.combine))
                )
                raise ProgramError(
                    f"`{call.udf.__name__}` reads {vertex}.{name}, a delta, in {call.place}: on "
                    "several workers it holds only what this worker has gathered",
                    where=where,
                    do=f"{own}let an Apply keep it in a value field, and read that",
                )


def _rewording_advice(row: str, name: str, combine: str) -> str:
    """Return advice on how to write a change so that it counts as no reading."""
    field = f"{udf_name(row)}.{name}"
    return f"to take the {combine}, write {field} = {combine}({field}, x); else "


def _refuse_reading_totals(call: Call) -> None:
    for name, kinds in call.total_effects().items():
        if where := _reading_place(kinds, call.program.context.fields[name].combine):
            raise ProgramError(
                f"`{call.udf.__name__}` reads tau.{name}, a total, in {call.place}: on several "
                "workers it holds only what this worker has gathered",
                where=where,
                do="let a GlobalSync set a value or a metric from it, and read that",
            )


def _refuse_setting_deltas(call: Call) -> None:
    for row, vertex in call.rows.items():
        if row == call.visited_row and not may_be_cut(call.program, vertex):
            continue  # the one visit of this vertex
        for name, field in call.program.vertices[vertex].fields.items():
            if field.kind == "delta":
                _refuse_setting(call, row, name, f"{vertex}.{name}, a delta", field)


def _refuse_setting_totals(call: Call) -> None:
    for name in call.total_effects():
        _refuse_setting(
            call, "tau", name, f"tau.{name}, a total", call.program.context.fields[name]
        )


def _refuse_setting(call: Call, row: str, name: str, what: str, field: Field) -> None:
    """Raise ProgramError where a UDF sets a field whose changes are added up: each worker would
    give what the last of its calls has set. Fields of "min" and "max" may be set to a constant,
    which is the same on every worker; whether it is one is not found out.
    """
    where = call.effects.of(row, name).get("write", "")
    if not where or field.combine != "sum":
        return
    entry = f"{udf_name(row)}.{name}{'[k]' if field.shape else ''}"
    raise ProgramError(
        f"`{call.udf.__name__}` sets {what}: the last call on each worker decides, and the master "
        "adds up what the workers have",
        where=where,
        do=f'add to it with +=, or declare it with combine="max" (or "min") and write '
        f"{entry} = max({entry}, x)",
    )


def _refuse_shares_of_edges(call: Call) -> None:
    vertex, role = call.rows[call.visits], call.visits
    name, edge = call.udf.__name__, call.program.edge
    if edge.ends[0] == edge.ends[1]:
        whole = f'Edge("{vertex}", "{vertex}", whole="{role}")'
    else:
        whole = f"{vertex} = Vertex(whole=True)"
    raise ProgramError(
        f"`{name}` sees the edges of a {vertex}: on several workers a {vertex} may be cut, and "
        "each worker sees only its share of the edges",
        where=place(call.udf),
        do=f"declare {whole}; or, if what `{name}` does may be done for each share of the edges, "
        f"write Exchange({name}, additive=True)",
    )


def _refuse_once_a_replica(call: Call) -> None:
    vertex, name = call.rows[call.visits], call.udf.__name__
    if _reads_mirrors(call):
        return  # each replica's own values may well be added up
    for row, field, where, kind in _changes(call):
        raise ProgramError(
            f"`{name}` changes {row}.{field}, a {kind}: on several workers it is called once for "
            f"each replica of a {vertex}",
            where=where,
            do=f'call it for masters only: ForEach("{vertex}", {name}, once=True); or declare '
            f"{vertex} = Vertex(whole=True); or, if the sum over all replicas is right, add "
            "additive=True",
        )


def _refuse_means(call: Call) -> None:
    vertex, name = call.rows[call.alone], call.udf.__name__
    for field, declared in call.program.vertices[vertex].fields.items():
        kinds = call.effects.of(call.alone, field)
        where = next((kinds[k] for k in ("add", "write", "min", "max") if k in kinds), "")
        if declared.kind == "shared" and declared.combine in MEANS and where:
            raise ProgramError(
                f"`{name}` changes {vertex}.{field}, of which the mean over the workers is taken: "
                f"it is called on one of the workers that hold a {vertex}, so the change would be "
                "divided",
                where=where,
                do=f'declare {vertex}.{field} with combine="sum"',
            )


def _reads_mirrors(call: Call) -> bool:
    """Return whether a UDF may read mirror fields, of which each replica has its own value."""
    fields = call.program.vertices[call.rows[call.visits]].fields
    return any(
        field.kind == "mirror" and call.effects.of(call.visits, name).keys() & {"read", "unknown"}
        for name, field in fields.items()
    )


def _changes(call: Call) -> list[tuple[str, str, str, str]]:
    """Return fields whose changes are added up over replicas, and which a visit certainly changes:
    row, field, where, kind.
    """
    program = call.program
    rows = [(row, of, program.vertices[of].fields) for row, of in call.rows.items()]
    out = []
    for row, of, fields in [*rows, ("tau", "tau", program.context.fields)]:
        for name, field in fields.items():
            adds_up = field.combine == "sum" or not isinstance(field.combine, str)
            if field.kind not in ("delta", "shared") or not adds_up:
                continue
            kinds = call.effects.of(row, name)
            where = next((kinds[k] for k in ("add", "write", "min", "max") if k in kinds), "")
            if where:
                kind = "total" if of == "tau" and field.kind == "delta" else field.kind
                out.append((of, name, where, kind))
    return out
