"""The stages of a program as they run: those that it returns, and those that the numbers of its
context ask for that are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

from tux.base.errors import ProgramError
from tux.program.computed import Computed, Gather, in_order
from tux.program.naming import place_of_member
from tux.program.program import STAGED, Program, returned_stages
from tux.program.stage import Cluster, Stage, TotalAddition
from tux.stages.analysis.calling import CallingStage, calls_of
from tux.stages.analysis.effect_expressions import EVERY
from tux.stages.exchange import Exchange
from tux.stages.formulas import exchange_scores, exchange_statistics
from tux.stages.globalsync import GlobalSync

Totals = dict[str, TotalAddition]


class Needs(NamedTuple):
    """The names in a formula: totals, and other numbers with formulas."""

    totals: tuple[str, ...]
    numbers: tuple[str, ...]


Formulas = dict[str, Needs]
"""The names in formulas, by the numbers that they compute, each behind those that it names."""


def complete_stages(
    program: Program, method: str, cluster: Cluster, stages: list[Stage]
) -> list[Stage]:
    """Return the `stages` of `program`'s method ("setup", "stages" or "evaluate") with those that
    compute numbers of the context:

        setup      first, one Exchange and one GlobalSync for all `mean_of`
        evaluate   first, where the run has held-out data, the same for all `measure`
        all        a number with a formula is computed by the first GlobalSync after all of its
                   totals were added to, and after the numbers with formulas that it names; where
                   none follows, by one at the end
    """
    if method == "setup" and (means := _numbers(program, judging=False)):
        role = _first_role(program, returned_stages(program, "stages", cluster))
        stages = [exchange_statistics(program, means, role), GlobalSync(), *stages]
    if method == "evaluate" and cluster.has_test and (measured := _numbers(program, judging=True)):
        stages = [exchange_scores(program, measured), GlobalSync(), *stages]
    formulas = {name: _names_of(program, name) for name in in_order(program.context.fields)}
    if not formulas:
        return stages
    if method == "stages":
        _refuse_idle(program, formulas, cluster)
    return _add_formulas(program, formulas, stages)


def _add_formulas(program: Program, formulas: Formulas, stages: list[Stage]) -> list[Stage]:
    """Return the `stages` of a method with the formulas that they compute."""
    computed, left = _compute(program, formulas, stages, {}, "")
    late = _complete(formulas, left)
    return [*computed, _compute_at(GlobalSync(), formulas, late)] if late else computed


def _refuse_idle(program: Program, formulas: Formulas, cluster: Cluster) -> None:
    """Raise ProgramError for a formula that no stage computes, though functions add to some of its
    totals, or perhaps do.
    """
    at_hand, added, unknown = _find_totals(program, formulas, cluster)
    for name in formulas.keys() - at_hand:
        if _gather_of(program, name):
            continue
        for udf, where in unknown.items():
            raise ProgramError(
                f"which totals `{udf}` adds to is not known, and tau.{name} is computed from them",
                where=where,
                do="write it with `def` in a file; or declare metric(), which GlobalSync(f) sets",
            )
        totals = formulas[name].totals
        missing = [each for each in totals if each not in added]
        if totals and len(missing) < len(totals):
            why = f"no function adds to tau.{missing[0]}" if missing else "no GlobalSync has all"
            raise ProgramError(
                f"tau.{name} is never computed: of its totals, {why}",
                where=place_of_member(type(program), "tau"),
                do=f"add to {', '.join(totals)} before one GlobalSync",
            )


def _find_totals(
    program: Program, formulas: Formulas, cluster: Cluster
) -> tuple[set[str], set[str], dict[str, str]]:
    """Return the formulas that some stage computes, the totals to which functions add, and the
    functions of which that is not known, each with its place.
    """
    computed, added, unknown = set[str](), set[str](), dict[str, str]()
    for method in STAGED:
        stages = returned_stages(program, method, cluster._replace(has_test=True))
        for _, stage, calls in calls_of(program, _add_formulas(program, formulas, stages)):
            computed.update(stage.computes if isinstance(stage, GlobalSync) else ())
            for call in calls:
                added.update(call.adds())
                if where := call.effects.of("tau", EVERY).get("unknown"):
                    unknown[call.udf.__name__] = where
    return computed, added, unknown


def _numbers(program: Program, *, judging: bool) -> list[str]:
    """Return the numbers of the context whose totals tux gathers: on held-out data or before
    training.
    """
    return [
        name
        for name, field in program.context.fields.items()
        if isinstance(field, Computed) and field.gather and bool(field.gather.truth) == judging
    ]


def _gather_of(program: Program, name: str) -> Gather | None:
    """Return the terms by which tux gathers a number of the context, if it does."""
    computed = program.context.fields[name]
    return computed.gather if isinstance(computed, Computed) else None


def _names_of(program: Program, name: str) -> Needs:
    """Return what the formula of a number of the context names."""
    fields = program.context.fields
    computed = fields[name]
    assert isinstance(computed, Computed)
    named = {place: fields[place] for place in computed.places(name) if place in fields}
    numbers = [place for place, f in named.items() if isinstance(f, Computed) and f.formula.text]
    return Needs(tuple(place for place, f in named.items() if f.kind == "delta"), tuple(numbers))


def _first_role(program: Program, stages: Sequence[Stage], role: str = "") -> str:
    """Return the end that the first Exchange of an epoch enumerates, "" without any: statistics
    follow it, so that edges are held in one order alone.
    """
    for stage in stages:
        if isinstance(stage, Exchange) and stage.f is not None:
            return role or stage.role(program)
        if found := _first_role(program, stage.inside, stage.inner_role(program, role)):
            return found
    return ""


def _compute(
    program: Program, formulas: Formulas, stages: Sequence[Stage], before: Totals, role: str
) -> tuple[list[Stage], Totals]:
    """Return `stages` with the formulas that each GlobalSync computes, and the totals that hold
    something after them if those in `before` do so before.
    """
    out = []
    for stage in stages:
        with stage.locate_errors():
            given = stage
            # an aggregate alone adds to totals, and others may follow
            if type(stage) is GlobalSync and (stage.f is not None or stage.aggregate is None):
                held = CallingStage.totals_after(stage, program, before, role)
                if names := _complete(formulas, held):
                    given = _compute_at(stage, formulas, names)
            elif stage.inside:
                inner = stage.inner_role(program, role)
                inside, _ = _compute(program, formulas, stage.inside, before, inner)
                if any(a is not b for a, b in zip(inside, stage.inside, strict=True)):
                    given = copy(stage)
                    given.inside = tuple(inside)
            before = given.totals_after(program, before, role)
        out.append(given)
    return out, before


def _complete(formulas: Formulas, totals: Totals) -> tuple[str, ...]:
    """Return the numbers that can be computed where these totals hold something: those whose
    formulas have all of their totals among them, or name no totals but one of these numbers.
    """
    found: dict[str, None] = {}
    for name, needs in formulas.items():
        follows = bool(needs.totals) or any(each in found for each in needs.numbers)
        if follows and {*needs.totals} <= {*totals}:
            found[name] = None
    return tuple(found)


def _compute_at(stage: GlobalSync, formulas: Formulas, names: tuple[str, ...]) -> GlobalSync:
    """Return a GlobalSync that also computes these numbers. Without a function, it takes their
    totals alone.
    """
    given = copy(stage)
    given.computes = names
    if given.f is None:
        totals = (total for name in names for total in formulas[name].totals)
        given.takes = tuple(dict.fromkeys(totals))
        given.label = f"GlobalSync({', '.join(names)})"
    return given
