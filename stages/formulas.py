"""Functions that tux writes for the numbers of the context that are computed: from formulas, those
of a GlobalSync; from terms, those of an Exchange.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tux.base.errors import DataError, ProgramError
from tux.program.base_program import BaseProgram
from tux.program.computed import Computed
from tux.program.formula import Formula
from tux.program.naming import place_of_member
from tux.program.program import Program, score_of
from tux.stages.analysis.calls import meanings_of, shape_of
from tux.stages.analysis.effects import effects
from tux.stages.analysis.replica_rules import may_be_cut
from tux.stages.exchange import Exchange
from tux.stages.kernel.bind import Udf, parameters
from tux.stages.kernel.written import Origin, write_udf
from tux.stages.score import Score

CHANGING = ("write", "add", "min", "max")
"""The kinds of effects that change a field."""


def write_formulas(program: BaseProgram, names: Sequence[str], stage: str) -> Udf | None:
    """Write the function ``f(tau, p)`` that computes the numbers `names` of the context, in their
    order, for the GlobalSync of that label. Return None without any.
    """
    lines, fields = [], program.context.fields
    for name in names:
        computed = fields[name]
        assert isinstance(computed, Computed)
        places = {each: _place(program, computed, name, each) for each in computed.formula.names}
        lines.append(f"tau.{name} = {computed.formula.write(places)}")
        if computed.gather and not computed.gather.truth:
            text = computed.gather.terms["total"].text
            lines.append(f"refuse_mean(tau.{name}, {text!r}, {name!r})")
    if not lines:
        return None
    guarded = ["with _np.errstate(all='ignore'):", *(f"    {line}" for line in lines)]
    scope = {"_np": np, "_abs": abs, "refuse_mean": refuse_mean}
    where = place_of_member(type(program), "tau")
    return write_udf("formulas", Origin(stage, where), ["tau", "p"], guarded, scope)


def refuse_mean(mean: float, term: str, name: str) -> None:
    """Raise DataError for a mean over edges that is no finite number."""
    if not math.isfinite(mean):
        raise DataError(
            f"the mean of {term!r} over the training edges, tau.{name}, is {mean}",
            do="correct the formula; or leave out edges of which it is no finite number",
        )


def _place(program: BaseProgram, computed: Computed, name: str, each: str) -> str:
    """Return the place of a number that the formula of tau.name names."""
    place = computed.place(name, each)
    return f"tau.{place}" if place in program.context.fields else f"p.{each}"


def exchange_statistics(program: Program, names: Sequence[str], over: str) -> Exchange:
    """Return the Exchange that adds the terms of the numbers `names`, statistics of training edges,
    to their totals. It enumerates the end `over`.
    """
    edge = program.edge_name
    lines = []
    for name in names:
        for total, term, computed in _terms(program, name):
            places = {each: f"{edge}.{each}" for each in term.names}
            lines.append(f"tau.{computed.place(name, total)} += {term.write(places)}")
    return _exchange(program, names, [edge, "tau"], lines, over)


def exchange_scores(program: Program, names: Sequence[str]) -> Exchange:
    """Return the Exchange that adds the terms of the numbers `names`, measures of held-out data, to
    their totals: the score of each held-out edge, or of each vertex with its held-out edges.

    Raise ProgramError where the program predicts nothing, or more than one number, or has no such
    truth.
    """
    score = _measured_score(program, names[0])
    asked, role = parameters(score.f, score.label), score.enumerated_role(program)
    row, data = _judged_row(program, role)
    terms = [line for name in names for line in _score_terms(program, name, row, data)]
    # None, of a function that returns nothing, is no number to which 0 can be added
    lines = [f"_score = _predict({', '.join(asked)}) + 0.0", *terms]
    needed = list(dict.fromkeys([*asked, row, "tau"]))
    stage = _exchange(program, names, needed, lines, role, score.f)
    _refuse_changes(program, stage, score)
    return stage


def _refuse_changes(program: Program, stage: Exchange, score: Score) -> None:
    """Raise ProgramError for a Score that changes a field: a model would change each time that it
    is measured.
    """
    own = {
        t
        for n, f in program.context.fields.items()
        if isinstance(f, Computed)
        for t in f.hidden_totals(n)
    }
    for call in stage.calls(program, stage.over):
        for (row, field), kinds in call.effects.found.items():
            changes = [where for kind, where in kinds.items() if kind in CHANGING]
            if changes and not (row == "tau" and field in own):
                raise ProgramError(
                    f"{score.label} changes {row}.{field}, and predict() may change nothing",
                    where=changes[0],
                    do="compute the score from what the fields have",
                )


def _score_terms(program: Program, name: str, row: str, data: Sequence[str]) -> list[str]:
    """Return the lines that add the terms of tau.name, with the truth in a data field of `row`."""
    lines = []
    for total, term, computed in _terms(program, name):
        assert computed.gather
        truth = computed.gather.truth
        if truth not in data:
            raise ProgramError(
                f"tau.{name} measures against {row}.{truth}, which is no data field",
                where=place_of_member(type(program), "tau"),
                do=f"name one as truth=...: {', '.join(data) or f'{row} has none'}",
            )
        places = {"score": "_score", "truth": f"{row}.{truth}"}
        lines.append(f"tau.{computed.place(name, total)} += {term.write(places)}")
    return lines


def _measured_score(program: Program, name: str) -> Score:
    """Return the Score that tau.name measures. Raise ProgramError where it is not one number."""
    where, kind = place_of_member(type(program), "tau"), type(program).__name__
    if program.predict() is None:
        raise ProgramError(
            f"tau.{name} measures what predict() says, and {kind} has no predict()",
            where=where,
            do="return a Score from predict(), or declare metric() and write evaluate()",
        )
    score: Score = score_of(program)
    _refuse_lost_numbers(program, name, score)
    if score.width:
        raise ProgramError(
            f"tau.{name} measures a score that is one number, and {score.label} gives several",
            where=where,
            do="declare metric(), and write evaluate()",
        )
    return score


def _refuse_lost_numbers(program: Program, name: str, score: Score) -> None:
    """Raise ProgramError for a Score that reads a number of the context that is no part of the
    model: in `tux predict` it would be 0.
    """
    shapes = {"tau": shape_of(program, program.context.fields)}
    reads = effects(score.f, shapes, meanings_of(program))
    for each, field in program.context.fields.items():
        if not field.in_model and reads.of("tau", each).get("read"):
            raise ProgramError(
                f"{score.label}, which tau.{name} measures, reads tau.{each}, which is no part of "
                "the model",
                where=reads.of("tau", each)["read"],
                do="leave out kept=False, or read a value that the model keeps",
            )


def _judged_row(program: Program, role: str) -> tuple[str, list[str]]:
    """Return the row that is judged, by its name in functions, and its data fields: the vertex at
    the end `role`, or the edge. Raise ProgramError where the held-out edges of a vertex may lie on
    several workers.
    """
    edge, name = program.edge, program.edge_name
    fields = edge.fields
    if role:
        vertex = edge.ends[edge.roles.index(role)]
        fields = program.vertices[vertex].fields
        if may_be_cut(program, vertex) and role not in (edge.held_out, edge.whole):
            raise ProgramError(
                f"a measure judges each {vertex} by all its held-out edges, which may lie on "
                "several workers",
                where=place_of_member(type(program), name),
                do=f'declare {name} = Edge(..., held_out="{role}")',
            )
    data = [each for each, field in fields.items() if field.kind == "data"]
    return role or name, data


def _terms(program: Program, name: str) -> list[tuple[str, Formula, Computed]]:
    """Return the terms of a number of the context, each with the name of its total, and the number
    as it is declared.
    """
    computed = program.context.fields[name]
    assert isinstance(computed, Computed) and computed.gather
    return [(total, term, computed) for total, term in computed.gather.terms.items()]


def _exchange(
    program: Program,
    names: Sequence[str],
    needed: Sequence[str],
    lines: Sequence[str],
    over: str,
    predict: Udf | None = None,
) -> Exchange:
    """Return an Exchange of a function that is written for the numbers `names`: on training edges,
    or, with the function `predict`, on held-out ones.
    """
    where, label = place_of_member(type(program), "tau"), f"Exchange({', '.join(names)})"
    name, scope = ("measure", {"_predict": predict}) if predict else ("gather", {})
    udf = write_udf(name, Origin(label, where), needed, lines, {"_np": np, "_abs": abs, **scope})
    stage = Exchange(udf, over, held_out=predict is not None)
    stage.label, stage.where = label, where
    return stage
