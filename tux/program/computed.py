"""Numbers of the context that tux computes from totals: by a formula, or by a stage such as Dot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from tux.base.errors import ProgramError
from tux.program.fields import Field, total, value
from tux.program.formula import Formula

Completion = Callable[[Any, str, Any, list[Any]], list[Any]]
"""It gets a program, one of its methods ("setup", "stages" or "evaluate"), the cluster, and the
stages that the method has returned. It returns these with the stages that compute all numbers.
"""


class Gather(NamedTuple):
    """The terms that edges add to totals, by the names of these in a formula.

    Without `truth`, terms are of the edge's data fields, and training edges are gathered once
    before training. With it, they are of `score` and `truth`: what the program predicts for a
    held-out edge or vertex, and its data field of that name.
    """

    terms: Mapping[str, Formula]
    truth: str = ""


@dataclass(frozen=True)
class Computed(Field):
    """A number of the context that is computed from totals, by the first GlobalSync after all of
    them were added to. `totals`: their declarations by name.

    With `gather`, tux adds to them by stages that it makes itself, and their names in the context
    begin with that of the number. `complete` adds the stages that compute numbers with formulas.
    """

    totals: Mapping[str, Field] | None = None
    formula: Formula = Formula("", ())
    gather: Gather | None = None
    complete: Completion | None = None

    def named_totals(self, name: str) -> dict[str, Field]:
        """Return its totals by their names in the context, if it is called `name` there."""
        return {self.place(name, each): field for each, field in (self.totals or {}).items()}

    def hidden_totals(self, name: str) -> list[str]:
        """Return the totals that no function of the user's adds to."""
        gathered = self.gather is not None or isinstance(self, Reduction)
        return [*self.named_totals(name)] if gathered else []

    def place(self, name: str, total: str) -> str:
        """Return the name in the context of one of its totals."""
        return f"{name}_{total}" if self.gather else total

    def places(self, name: str) -> list[str]:
        """Return what its formula names, by names in the context, if it is called `name` there."""
        return [self.place(name, each) for each in self.formula.names]


class Reduction(Computed):
    """A number of the context that a stage such as Dot sets, with a total that gathers it."""

    def place(self, name: str, total: str) -> str:
        """Return the name in the context of its total."""
        return f"{name}_{total}"


def reduction(*, reported: bool = False) -> Field:
    """Declare a number (f8) of the context that a stage such as Dot sets:
    ``Context(slope=reduction())``. A total that gathers it, here `slope_total`, is declared with
    it. `reported`: it is a metric too.
    """
    return Reduction(**vars(number(reported=reported)), totals={"total": total()})


def number(*, reported: bool = False) -> Field:
    """Declare a number (f8) of the context; one that is reported begins as NaN."""
    if reported:
        return replace(value("f8", init=float("nan")), reported=True)
    return value("f8")


def in_order(fields: Mapping[str, Field]) -> list[str]:
    """Return the numbers of the context that have formulas, each behind those that its own names.
    Raise ProgramError for formulas that name each other.
    """
    formulas = {n: f for n, f in fields.items() if isinstance(f, Computed) and f.formula.text}
    graph = {n: [p for p in f.places(n) if p in formulas] for n, f in formulas.items()}
    try:
        return [*TopologicalSorter(graph).static_order()]
    except CycleError as error:
        names = error.args[1]
        raise ProgramError(
            f"the formula of tau.{names[0]} needs its own result",
            do=f"{' names '.join(reversed(names))}: break the circle with a value of the context",
        ) from None
