"""Plans: the way in which threads share a kernel, as far as the analysis of its UDFs allows it.

    tiles       per edge; a tile runs when those before it with its rows, or its columns, have
                ended: only ends that UDFs write have such tickets
    vertices    a UDF writes its own vertex, its edges and totals: ranges of vertices in any order
    cells       per vertex, which the program lets see one share of its edges at a time
                (``shares=8``): ranges of vertices by ranges of the other end, with tickets
    racing      by the program's and the user's word, without any order
    one thread  everything else, with the reason

Totals of the context are gathered in lanes (`tux.stages.kernel.lanes`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tux.base.errors import ProgramError
from tux.program.base_program import BaseProgram
from tux.program.fields import Field
from tux.rows.table import Claim
from tux.rows.turns import MOST_LANES
from tux.stages.analysis.calls import CHANGES, SLICES, VISITING, Call, udf_name

LANES, SHARED_LANES = MOST_LANES, 8
"""Copies of the context that items add to in turn, and where shared fields are copied too: numbers
that do not depend on the threads, so that results do not either.
"""

REFRESHES = 4
"""Times in a pass that lanes with copies of shared fields learn of each other."""


@dataclass(frozen=True)
class ThreadPlan:
    """`form`: one of those above. `rows`, `columns`: whether ranges of the enumerated end, and of
    the other, have tickets. `lanes`: copies of the context that items add to, 0 if there are none;
    `refreshes`: how often a pass folds them. `why`: what keeps the kernel on one thread, and what
    its author can `do`. `claims`: which fields UDFs write, by the name of the row; of a row without
    a claim, they may write all.
    """

    form: str = "one thread"
    rows: bool = False
    columns: bool = False
    lanes: int = 0
    refreshes: int = 1
    why: str = ""
    do: str = ""
    claims: Mapping[str, Claim] = field(default_factory=dict)

    @property
    def threads(self) -> bool:
        """True if several threads may run the kernel."""
        return self.form != "one thread"

    def __str__(self) -> str:
        held = [end for end, has in (("rows", self.rows), ("columns", self.columns)) if has]
        tickets = f", tickets of {' and '.join(held)}" if held else ""
        gathers = "tau" in self.claims and self.claims["tau"].writes
        lanes = ", totals in lanes" if self.lanes and gathers else ""
        if not self.threads:
            return "; ".join(part for part in (f"one thread: {self.why}", self.do) if part)
        return f"{self.form}{tickets}{lanes}"


_UNFOLLOWED = "write it so that tux can follow it: see On all threads in docs/program.md"
_GATHERED = {"sum": "+=", "min": "min", "max": "max", "argmin": "add", "argmax": "add"}
"""The operation by which UDFs add to a total, by its combination."""


class Change(NamedTuple):
    """A change of a field by a UDF: its name with ``file:line``, and whether the change is certain,
    or only not ruled out.
    """

    udf: str
    certain: bool

    @staticmethod
    def of(call: Call, kinds: Mapping[str, str]) -> Change:
        """Return the change in a call, by the kinds of effects on the field, one of which is a
        change.
        """
        found = sorted(kinds.keys() & CHANGES, key=lambda kind: (kind == "unknown", kind))
        place = os.path.basename(kinds[found[0]])
        return Change(f"`{call.udf.__name__}` ({place})", found[0] != "unknown")

    def __str__(self) -> str:
        return f"{self.udf} {'changes' if self.certain else 'may change'}"

    def advice(self, otherwise: str) -> str:
        """Return the advice to the user: `otherwise` if the change is certain, else how to make the
        UDF understood.
        """
        return otherwise if self.certain else _UNFOLLOWED


def _kernel_row_name(call: Call, row: str) -> str:
    """Return the name by which a kernel calls a row of the analysis."""
    if row in SLICES:
        return call.program.edge_name
    if call.place not in VISITING and row == "v":
        return next(each for each in call.rows if each != "v")
    return udf_name(row)


def _table_fields(call: Call, row: str) -> tuple[str, Mapping[str, Field]]:
    """Return the table of a row, and its fields."""
    program = call.program
    if row in call.rows:
        return call.rows[row], program.vertices[call.rows[row]].fields
    if row == "tau":
        return "tau", program.context.fields
    return program.edge_name, program.edge.fields


def writes(calls: Iterable[Call]) -> dict[str, tuple[str, dict[str, Change]]]:
    """Return by the name of a row its table, and the fields that may be changed, each with the UDF
    and the place that change it.
    """
    out: dict[str, tuple[str, dict[str, Change]]] = {}
    for call in calls:
        for row in call.shapes_by_row():
            table, fields = _table_fields(call, row)
            changed = out.setdefault(_kernel_row_name(call, row), (table, {}))[1]
            for name in fields:
                kinds = call.effects.of(row, name)
                if kinds.keys() & CHANGES:
                    changed.setdefault(name, Change.of(call, kinds))
    return out


def claims(calls: Iterable[Call]) -> dict[str, Claim]:
    """Return the claim of each row by its name: the fields that are written by it, by other rows,
    and not used.
    """
    calls = list(calls)
    found, unused = writes(calls), _unused_fields(calls)
    return {
        name: Claim(
            frozenset(changed),
            frozenset(f for n, (t, of) in found.items() if t == table and n != name for f in of),
            unused[name],
        )
        for name, (table, changed) in found.items()
    }


def joint_claims(calls: Iterable[Call]) -> dict[str, Claim]:
    """Return the claim of each row by its name where all these calls are one loop: a field that one
    of them writes, or that is cleared behind an Apply, another may read.
    """
    calls = list(calls)
    found, unused = writes(calls), _unused_fields(calls)
    changed: dict[str, set[str]] = {}
    for call in calls:
        for row in call.shapes_by_row():
            table, fields = _table_fields(call, row)
            deltas = {name for name, declared in fields.items() if declared.kind == "delta"}
            changed.setdefault(table, set()).update(deltas)
    for table, fields_ in found.values():
        changed[table] |= fields_.keys()
    return {
        name: Claim(frozenset(of), frozenset(changed[table]), unused[name])
        for name, (table, of) in found.items()
    }


def _unused_fields(calls: Iterable[Call]) -> dict[str, frozenset[str]]:
    """Return by the name of a row the fields that are neither read nor changed by it."""
    used: dict[str, set[str]] = {}
    every: dict[str, set[str]] = {}
    for call in calls:
        for row in call.shapes_by_row():
            fields = _table_fields(call, row)[1]
            every.setdefault(_kernel_row_name(call, row), set()).update(fields)
            used.setdefault(_kernel_row_name(call, row), set()).update(
                f for f in fields if call.effects.of(row, f)
            )
    return {name: frozenset(every[name] - used[name]) for name in every}


def _reads(calls: Iterable[Call], name: str) -> set[str]:
    """Return the fields that may be read by a row of this name, other than to change them."""
    out: set[str] = set()
    for call in calls:
        for row in call.shapes_by_row():
            if _kernel_row_name(call, row) == name:
                out |= {
                    f
                    for f in _table_fields(call, row)[1]
                    if call.effects.of(row, f).keys() & {"read", "unknown"}
                }
    return out


def why_no_lanes(
    program: BaseProgram, calls: Sequence[Call], *, shared: bool = False
) -> tuple[str, str]:
    """Return the reason for which items may not add to copies of the context, and the advice to the
    user; two empty texts if they may. `shared`: the program's word that shared fields may be copied
    too.
    """
    for name, declared in program.context.fields.items():
        for call in calls:
            kinds = call.effects.of("tau", name)
            if not kinds.keys() & CHANGES or declared.kind not in ("shared", "delta"):
                continue
            change = Change.of(call, kinds)
            if declared.kind == "shared" and not shared:
                word = (
                    ", or add stale_context=True if it may be seen a little late"
                    if call.visited_row
                    else ""
                )
                do = f"gather it in a total, which a GlobalSync adds to the field{word}"
                return f"{change} tau.{name}, a shared field", change.advice(do)
            if not isinstance(declared.combine, str):
                why = f"{change} tau.{name}, which `{declared.combine.__name__}` combines"
                return why, ""
            if declared.kind == "delta" and _has_other_effects(kinds, declared.combine):
                do = f"only gather it ({_GATHERED[declared.combine]}), and read it in a GlobalSync"
                why = f"{change.udf} does more with the total tau.{name} than to gather it"
                return why, change.advice(do)
    return "", ""


def _two_ends_advice(declared: Field) -> str:
    """Return the advice about a field that a UDF within one type changes by way of both ends, or
    reads by way of the other one.
    """
    if declared.kind == "delta":
        return "write two Exchanges, one for each end"
    return "collect it in a delta, and let an Apply set the field"


def _has_other_effects(kinds: Mapping[str, str], combine: str) -> bool:
    own = {"min": "min", "max": "max"}.get(combine, "add")
    return bool(kinds.keys() - {own})


def plan_vertices(
    program: BaseProgram, calls: Sequence[Call], *, lanes: bool = False, own: str = ""
) -> ThreadPlan:
    """Plan UDFs on one vertex, and along its edges, grouped by vertex. `own`: the name of the row
    of this vertex, if no UDF is called for it alone.
    """
    why, do = why_no_lanes(program, calls, shared=lanes)
    if not why:
        why, do = _why_one_thread(program, calls, own)
    if why:
        return ThreadPlan(why=why, do=do, claims=claims(calls))
    return ThreadPlan(
        "vertices",
        lanes=SHARED_LANES if lanes else LANES,
        refreshes=REFRESHES if lanes else 1,
        claims=claims(calls),
    )


def _why_one_thread(program: BaseProgram, calls: Sequence[Call], own: str = "") -> tuple[str, str]:
    """Return the reason for which one thread must visit all vertices, and the advice to the user:
    UDFs change a field of vertices that others change or read too. Two empty texts without one.
    """
    changes = writes(calls)
    own = own or next((call.visited_row for call in calls if call.visited_row), "")
    shares = len(set(program.edge.ends)) > 1 and any("edges" in call.shapes for call in calls)
    for name, (table, changed) in changes.items():
        if name in ("tau", program.edge_name) or not changed:
            continue
        if own and name not in (own, "v"):
            field_, change = next(iter(changed.items()))
            why = f"{change} {name}.{field_}, which other {own}s may change too"
            word = ", or, if what it does with some of the edges adds up, add shares=8"
            word *= shares
            return why, change.advice(f"change it in an Exchange for each edge{word}")
        for other, (of, _) in changes.items():
            both = set(changed) & _reads(calls, other) if other != name and of == table else set()
            if both:
                field_ = min(both)
                why = f"{changed[field_]} {name}.{field_}, which is read by way of {other}"
                advice = _two_ends_advice(program.vertices[table].fields[field_])
                return why, changed[field_].advice(advice)
    return "", ""


def plan_tiles(program: BaseProgram, call: Call, role: str) -> ThreadPlan:
    """Plan a UDF per edge; `role`: the enumerated end."""
    claimed, found = claims([call]), writes([call])
    why, do = why_no_lanes(program, [call])
    first, second = program.edge.roles
    other = second if role == first else first
    written = {end: found.get(end, ("", {}))[1] for end in (role, other)}
    if program.edge.ends[0] == program.edge.ends[1] and not why:
        fields = program.vertices[program.edge.ends[0]].fields
        for end, away in ((role, other), (other, role)):
            changed = set(written[end])
            if both := changed & (_reads([call], away) | set(written[away])):
                name = min(both)
                why = (
                    f"{written[end][name]} {end}.{name}, which is read or changed by way of {away}"
                )
                do = written[end][name].advice(_two_ends_advice(fields[name]))
                break
    if why:
        return ThreadPlan(why=why, do=do, claims=claimed)
    return ThreadPlan(
        "tiles", rows=bool(written[role]), columns=bool(written[other]), lanes=LANES, claims=claimed
    )


def plan_cells(
    program: BaseProgram, calls: Sequence[Call], role: str, *, lanes: bool
) -> ThreadPlan:
    """Plan a UDF per vertex that the program lets see one share of its edges at a time. Within one
    type it sees all at once.
    """
    first, second = program.edge.roles
    if program.edge.ends[0] == program.edge.ends[1]:
        return plan_vertices(program, calls, lanes=lanes)  # two tickets could be of the same rows
    claimed, found = claims(calls), writes(calls)
    why, do = why_no_lanes(program, calls, shared=lanes)
    if why:
        return ThreadPlan(why=why, do=do, claims=claimed)
    columns = bool(found.get(second if role == first else first, ("", {}))[1])
    count = SHARED_LANES if lanes else LANES
    return ThreadPlan("cells", rows=True, columns=columns, lanes=count, claims=claimed)


def plan_racing(
    program: BaseProgram,
    calls: Sequence[Call],
    ordered: ThreadPlan,
    *,
    shared: bool,
    racing: bool,
) -> ThreadPlan:
    """Plan UDFs that by the program's word may run in any order, and meanwhile in others;
    `ordered`: their plan without it. `shared`: the program's word that shared fields of the context
    may be copied too. `racing`: the user takes it at that. Raise ProgramError for changes of the
    context that would be lost.
    """
    lost, do = why_no_lanes(program, calls, shared=shared)
    if lost:
        raise ProgramError(
            f"{calls[0].place} has racing=True, and {lost}", do=do or "leave racing out"
        )
    _refuse_racing_merges(program, calls)
    if racing:
        lanes, refreshes = ordered.lanes or LANES, ordered.refreshes
        return ThreadPlan("racing", lanes=lanes, refreshes=refreshes, claims=ordered.claims)
    if ordered.threads:
        return ordered
    return replace(ordered, why=f"{ordered.why}: --racing lets all threads run it, in no order")


def _refuse_racing_merges(program: BaseProgram, calls: Sequence[Call]) -> None:
    """Raise ProgramError where UDFs that may race change a delta that a function combines: others
    would see it half changed.
    """
    for row, (table, changed) in writes(calls).items():
        fields = program.vertices[table].fields if table in program.vertices else {}
        for name, change in changed.items():
            if name in fields and not isinstance(merge := fields[name].combine, str):
                raise ProgramError(
                    f"{calls[0].place} has racing=True, and {change} {row}.{name}, which "
                    f"`{merge.__name__}` combines",
                    do="leave racing out",
                )


def plan_lists(program: BaseProgram, call: Call, *, word: bool, racing: bool) -> ThreadPlan:
    """Plan a UDF on generated lists of vertices. `word`: by the program's word it may run in any
    order, and meanwhile in others; `racing`: the user takes it at that.
    """
    why, do = why_no_lanes(program, [call])
    if why:
        return ThreadPlan(why=why, do=do)
    for (row, name), kinds in call.effects.found.items():
        if row != "tau" and (changing := sorted(kinds.keys() & CHANGES)) and not racing:
            where = f"`{call.udf.__name__}` ({os.path.basename(kinds[changing[0]])})"
            do = (
                "--racing lets all threads change them, in no order"
                if word
                else "Generate(..., racing=True) allows it, if results may depend on their order"
            )
            return ThreadPlan(
                why=f"{where} changes {row}.{name} of vertices that other lists name: {do}"
            )
    context = {row: claim for row, claim in claims([call]).items() if row == "tau"}
    return ThreadPlan("racing" if racing else "vertices", lanes=LANES, claims=context)
