"""Numbers of the context with formulas, as a program declares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tux.base.errors import ProgramError
from tux.program.computed import Computed, Gather, number
from tux.program.fields import Field, total
from tux.program.formula import read_formula
from tux.program.naming import describe_value
from tux.stages.program_stages import complete_stages

TERMS = ("score", "truth")
"""The names in the terms of a measure."""


def metric(formula: str | None = None, /, *, rises: bool = False, **totals: Field) -> Field:
    """Declare a number (f8) of the context that each epoch reports under its name, unless it is
    NaN, as at the start. A GlobalSync sets it, or computes it by its `formula`:

        train_rmse=metric("sqrt(sse / n)", sse=total(), n=total())

    The names in a formula are totals, declared here or in the context, other numbers of the
    context, and parameters; see `tux.program.formula`. It is computed by the first GlobalSync after
    functions have added to all of its totals, before that stage's function; where none follows,
    tux adds one. One that names other numbers with formulas is computed after them, whenever one
    of them is. Division by 0 gives NaN or infinity. `rises`: larger is better, where a program
    monitors it.
    """
    plain = replace(number(reported=True), rises=rises)
    if formula is None and not totals:
        return plain
    for name, field in totals.items():
        if not isinstance(field, Field) or field.kind != "delta":
            raise ProgramError(
                f"a metric is given {name}, which is no total",
                do=f'declare it: metric("sqrt({name})", {name}=total())',
            )
    return _compute_by(plain, formula, totals)


def measure(formula: str, /, *, truth: str = "value", **terms: str) -> Computed:
    """Declare a metric of held-out data (f8), whose totals the terms give, formulas of `score` and
    `truth`: what ``predict()`` says of a held-out edge, or of a vertex with its held-out edges, and
    its data field that `truth` names.

        test_rmse=measure("sqrt(squares / n)", squares="(score - truth) ** 2", n="1")

    Where a run has held-out data, tux adds the stages that compute it before those of
    ``evaluate()``. The formula has the terms alone; numbers are float64.
    """
    if not isinstance(truth, str) or not truth:
        raise ProgramError(
            f"a measure is given {describe_value(truth)} as the truth",
            do='name a data field, e.g. metrics.rmse("value")',
        )
    return _gather_terms(number(reported=True), formula, terms, truth)


def mean_of(term: str, *, kept: bool = True) -> Field:
    """Declare a number (f8) of the context: the mean over all training edges of a formula of the
    edge's data fields, in float64, computed once before the stages of ``setup()``:
    ``mean=mean_of("value")``. `kept=False`: no part of the model, so predict() may not read it.
    DataError, in a run, for a mean that is no finite number.
    """
    return _gather_terms(
        replace(number(), kept=None if kept else False), "total / n", {"total": term, "n": "1"}, ""
    )


def _compute_by(
    like: Field, formula: object, totals: Mapping[str, Field], gather: Gather | None = None
) -> Computed:
    return Computed(
        **vars(like),
        totals=totals,
        formula=read_formula(formula),
        gather=gather,
        complete=complete_stages,
    )


def _gather_terms(
    like: Field, formula: object, terms: Mapping[str, object], truth: str
) -> Computed:
    """Return a number whose totals gather `terms`."""
    gather = Gather({name: read_formula(term) for name, term in terms.items()}, truth)
    computed = _compute_by(like, formula, dict.fromkeys(terms, total()), gather)
    text, names = computed.formula.text, computed.formula.names
    if unknown := [name for name in names if name not in terms]:
        do = f'give the term: {unknown[0]}="..."; terms: {", ".join(terms) or "none"}'
        if unknown[0] in TERMS:
            do = 'score and truth stand in terms, which are added up: e.g. s="score"'
        raise ProgramError(f"the formula {text!r} names {unknown[0]}, which no term gathers", do=do)
    if idle := [name for name in terms if name not in names]:
        raise ProgramError(
            f"the formula {text!r} does not name the term {idle[0]}",
            do=f"leave {idle[0]} out, or name it",
        )
    if truth:
        _check_terms(gather)
    return computed


def _check_terms(gather: Gather) -> None:
    """Raise ProgramError for a term of a measure that names anything but score and truth."""
    for term in gather.terms.values():
        if other := [name for name in term.names if name not in TERMS]:
            raise ProgramError(
                f"the term {term.text!r} names {other[0]}",
                do="a term of a measure is a formula of `score` and `truth`",
            )
