"""Predictions that are inner products of fields of the model, as a program declares them.

A program declares it in `predict`, as in ``Score(rate, factors=("f", "f"))`` (`tux.stages.Score`).
"""

from __future__ import annotations

from typing import NamedTuple

from tux.base.errors import ProgramError, UsageError
from tux.base.text import plural_noun
from tux.program.naming import place
from tux.program.program import Program, score_of


class Product(NamedTuple):
    """The terms of a program's scores: by both ends, the vertex type, the field of its factors and
    that of its bias; and a field of the context. "" stands for none.
    """

    kinds: tuple[str, str]
    factors: tuple[str, str]
    biases: tuple[str, str]
    offset: str

    @property
    def columns(self) -> dict[str, list[str]]:
        """The fields that are needed, by vertex type and "tau"."""
        needed = {
            kind: [name for name in (self.factors[at], self.biases[at]) if name]
            for at, kind in enumerate(self.kinds)
        }
        return needed | ({"tau": [self.offset]} if self.offset else {})


def has_product(program: Program) -> bool:
    """Return whether the program says that its scores are inner products, of two types of
    vertices.
    """
    stage = None if program.predict() is None else score_of(program)
    return bool(getattr(stage, "factors", None)) and len(set(program.edge.ends)) == 2


def product_of(program: Program) -> Product:
    """Return the terms of the program's scores. UsageError if it does not say that they are inner
    products, of two types of vertices; ProgramError if it names fields that are none.
    """
    name, ends = type(program).__name__, program.edge.ends
    stage = None if program.predict() is None else score_of(program)
    if stage is None or not getattr(stage, "factors", None):
        raise UsageError(
            f"{name} does not say that its predictions are inner products, so it has no best ones",
            do="tux predict DIR --nearest ID lists similar vertices; in a program of your own, say "
            'e.g. Score(f, factors=("p", "q"))',
        )
    if ends[0] == ends[1]:
        raise UsageError(
            f"both ends of an edge of {name} are {plural_noun(ends[0])}; the best are found "
            "of another "
            "type",
            do="tux predict DIR --nearest ID lists similar vertices",
        )
    found = Product(ends, stage.factors, stage.biases, stage.offset)
    for at in range(2):
        _check(program, ends[at], found.factors[at], vector=True)
        _check(program, ends[at], found.biases[at], vector=False)
    _check(program, "tau", found.offset, vector=False)
    return found


def _check(program: Program, kind: str, name: str, *, vector: bool) -> None:
    """Raise ProgramError unless the model has such a field, of several numbers or of one."""
    if not name and not vector:
        return
    fields = (program.context if kind == "tau" else program.vertices[kind]).fields
    fitting = [
        each
        for each, field in fields.items()
        if field.in_model and not field.is_ragged and len(field.shape) == int(vector)
    ]
    if name not in fitting:
        several = "several numbers" if vector else "one number"
        raise ProgramError(
            f"{type(program).__name__}.predict() names {kind}.{name}, which is no field of "
            f"{several} in the model",
            where=place(program.predict),
            do=f"there are: {', '.join(fitting) or 'none'}",
        )
