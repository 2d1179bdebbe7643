"""The stages of a program as they run: those that it returns, and those that the numbers of its
context ask for that are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

from tux.base.errors import ProgramError
from tux.program.base_program import first_edge
from tux.program.computed import Computed, Gather, in_order
from tux.program.naming import place_of_member
from tux.program.program import STAGED, Program, returned_stages, stages_of
from tux.program.stage import Cluster, Stage, TotalAddition
from tux.stages.analysis.calling import CallingStage, calls_of
from tux.stages.analysis.effect_expressions import EVERY
from tux.stages.exchange import Exchange
from tux.stages.formulas import exchange_scores, exchange_statistics
from tux.stages.globalsync import GlobalSync
from tux.stages.minibatch import MiniBatch

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

        setup      first, one Exchange and one GlobalSync for all `mean_of`, but for those that a
                   model has with which the run begins
        evaluate   first, the same for all `measure`, without held-out data too: the random numbers
                   of stages behind them are the same
        all        a number with a formula is computed by the first GlobalSync after all of its
                   totals were added to, and after the numbers with formulas that it names; where
                   none follows, by one at the end
    """
    means = _numbers(program, judging=False) if method == "setup" else []
    if cluster.from_model:  # which has the others
        means = [name for name in means if not program.context.fields[name].in_model]
    if means:
        role = _first_role(program, returned_stages(program, "stages", cluster))
        stages = [exchange_statistics(program, means, role), GlobalSync(), *stages]
    if method == "evaluate" and (measured := _numbers(program, judging=True)):
        stages = [exchange_scores(program, measured), GlobalSync(), *stages]
    formulas = {name: _names_of(program, name) for name in in_order(program.context.fields)}
    if not formulas:
        return stages
    if method == "evaluate":
        formulas = _without_trained(program, formulas, cluster)
    if method == "stages":
        _refuse_idle(program, formulas, cluster)
    return _add_formulas(program, formulas, stages, method)


def complete_pass(
    program: Program, stages: Sequence[Stage], before: Totals
) -> tuple[list[Stage], Totals]:
    """Return stages that are run once, as those of an epoch, with the formulas that they compute;
    and the totals that hold something after them if those in `before` do so before.
    """
    formulas = {name: _names_of(program, name) for name in in_order(program.context.fields)}
    completed = [*stages]
    if formulas:
        completed = _add_formulas(program, formulas, completed, "stages", before)
    for stage in completed:
        with stage.locate_errors():
            before = stage.totals_after(program, before)
    return completed, before


def needs_held_out(program: Program, cluster: Cluster, name: str) -> bool:
    """Return whether a number with a formula is computed only in runs with held-out data, and one
    on `cluster` has none.
    """
    if cluster.has_test:
        return False
    if name in _numbers(program, judging=True):
        return True
    held = cluster._replace(has_test=True)
    return name in _computed_in(program, held) - _computed_in(program, cluster)


def _computed_in(program: Program, cluster: Cluster) -> set[str]:
    """Return the numbers with formulas that some stage of `program` computes."""
    return {
        name
        for method in STAGED
        for _, stage, _ in calls_of(program, stages_of(program, method, cluster))
        if isinstance(stage, GlobalSync)
        for name in stage.computes
    }


def _add_formulas(
    program: Program,
    formulas: Formulas,
    stages: list[Stage],
    method: str,
    before: Totals | None = None,
) -> list[Stage]:
    """Return the `stages` of a method with the formulas that they compute, if the totals in
    `before` hold something before them. Those of means over edges alone are computed in each epoch,
    as metrics are forgotten.
    """
    placed, left = _place_formulas(program, formulas, stages, before or {}, "")
    late = _computable(formulas, left, _steady(program, formulas) if method == "stages" else ())
    return [*placed, _compute_at(GlobalSync(), formulas, late)] if late else placed


def _steady(program: Program, formulas: Formulas) -> list[str]:
    """Return the means over edges, and the numbers whose formulas name nothing else that is
    computed.
    """
    found = _numbers(program, judging=False)
    for name, needs in formulas.items():
        if needs.numbers and not needs.totals and {*needs.numbers} <= {*found}:
            found.append(name)
    return found


def _without_trained(program: Program, formulas: Formulas, cluster: Cluster) -> Formulas:
    """Return the formulas without those whose totals the stages of an epoch gather: what
    ``evaluate()`` adds to these totals is not theirs.
    """
    stages = _add_formulas(program, formulas, returned_stages(program, "stages", cluster), "stages")
    trained = {
        name
        for _, stage, _ in calls_of(program, stages)
        if isinstance(stage, GlobalSync)
        for name in stage.computes
        if formulas[name].totals
    }
    return {name: needs for name, needs in formulas.items() if name not in trained}


def _refuse_idle(program: Program, formulas: Formulas, cluster: Cluster) -> None:
    """Raise ProgramError for a formula that no stage computes, though functions add to some of its
    totals, or perhaps do.
    """
    at_hand, added, unknown = _find_totals(program, formulas, cluster)
    for name in formulas:
        if name in at_hand or _gather_of(program, name):
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
        placed = _add_formulas(program, formulas, stages, method)
        for _, stage, calls in calls_of(program, placed):
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
        with stage.locate_errors():
            if isinstance(stage, Exchange) and stage.f is not None and _is_of_first(stage, program):
                return role or stage.role(program)
            seen, inner = stage.inner_scope(program, role)
        if found := _first_role(seen, stage.inside, inner):
            return found
    return ""


def _is_of_first(stage: Exchange, program: Program) -> bool:
    """Return whether a stage visits edges of the program's first type."""
    return stage.seen_by(program).edge_name == first_edge(program)


def _place_formulas(
    program: Program,
    formulas: Formulas,
    stages: Sequence[Stage],
    before: Totals,
    role: str,
    *,
    again: bool = False,
) -> tuple[list[Stage], Totals]:
    """Return `stages` with the formulas that each GlobalSync computes, and the totals that hold
    something after them if those in `before` do so before. `again`: they run block by block.
    """
    out = []
    for at, stage in enumerate(stages):
        with stage.locate_errors():
            given = stage
            if type(stage) is GlobalSync:
                behind = [*stages[at + 1 :], *(stages[: at + 1] if again else ())]
                held = _held_at(program, stage, before, role, behind)
                if names := _computable(formulas, held):
                    given = _compute_at(stage, formulas, names)
            elif stage.inside:
                given = _place_inside(program, formulas, stage, before, role)
            before = given.totals_after(program, before, role)
        out.append(given)
    return out, before


def _place_inside(
    program: Program, formulas: Formulas, stage: Stage, before: Totals, role: str
) -> Stage:
    """Return a stage with the formulas that the stages inside it compute."""
    seen, inner = stage.inner_scope(program, role)
    blocks = isinstance(stage, MiniBatch)
    inside, _ = _place_formulas(seen, formulas, stage.inside, before, inner, again=blocks)
    if all(a is b for a, b in zip(inside, stage.inside, strict=True)):
        return stage
    given = copy(stage)
    given.inside = tuple(inside)
    return given


def _held_at(
    program: Program, stage: GlobalSync, before: Totals, role: str, behind: Sequence[Stage]
) -> Totals:
    """Return the totals that a GlobalSync may take if those in `before` hold something; without a
    function, none to which the stages `behind` it add, too.
    """
    held = {**CallingStage.totals_after(stage, program, before, role)}
    for total in _added_behind(program, behind, role) if stage.f is None else ():
        held.pop(total, None)
    return held


def _added_behind(program: Program, stages: Sequence[Stage], role: str) -> set[str]:
    """Return the totals to which stages add before the first GlobalSync that may take them, which
    has a function or no aggregate; that one is counted.
    """
    added = set[str]()
    for stage in stages:
        for _, inner, calls in calls_of(program, [stage], role):
            added.update(total for call in calls for total in call.adds())
            if type(inner) is GlobalSync and (inner.f is not None or inner.aggregate is None):
                return added
    return added


def _computable(formulas: Formulas, totals: Totals, steady: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the numbers that can be computed where these totals hold something: those whose
    formulas have all of their totals among them, or name no totals but one of these numbers.
    `steady`: numbers that always have their values.
    """
    found: dict[str, None] = {}
    for name, needs in formulas.items():
        follows = bool(needs.totals) or any(each in found for each in needs.numbers)
        if follows and {*needs.totals} <= {*totals}:
            found[name] = None
        elif needs.numbers and name in steady:
            found[name] = None
    return tuple(found)


def _compute_at(stage: GlobalSync, formulas: Formulas, names: tuple[str, ...]) -> GlobalSync:
    """Return a GlobalSync that also computes these numbers. Without a function, it takes their
    totals alone.
    """
    given = copy(stage)
    given.computes = names
    given.label = f"{stage.label[:-1]}{', ' if stage.f else ''}{', '.join(names)})"
    if given.f is None:
        totals = (total for name in names for total in formulas[name].totals)
        given.takes = tuple(dict.fromkeys(totals))
    return given
