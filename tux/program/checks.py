"""Checks of a program's class when it is declared."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Container
from dataclasses import replace
from typing import Any

from tux.base.errors import ProgramError, UsageError
from tux.program.base_program import BaseProgram
from tux.program.computed import Computed
from tux.program.fields import EDGES
from tux.program.hooks import NEAR
from tux.program.input import Input
from tux.program.naming import describe_value, place, place_of_member
from tux.program.params import WORKERS, Param
from tux.program.report import Report
from tux.program.types import Context, Edge

RESERVED = {
    "tau": "the context",
    "p": "the parameters",
    "rng": "random numbers",
    "v": "a vertex of any type",
    "src": "the vertex at which an edge begins",
    "dst": "the vertex at which an edge ends",
    "edges": "the edges of a vertex",
    "out": "the edges that Generate makes",
}
"""Names that mean something in vertex functions; no type may have such a name."""
AGREE = ("path", "optimum")
"""The values that `Program.agree` may have."""
PRECISIONS = ("", "f4")
"""The values that `Program.precision` may have."""
CHOSEN = ("epochs", "monitor", "keeps_best", "agree", "precision", "input", "report")
"""Attributes of a program, besides its methods, to which a user gives a value."""


def complete_param(cls: type, name: str, annotation: Any, declared: Param) -> Param:
    """Return `declared` with its type: the annotation, or the default's type where there is none.
    Raise ProgramError where the name, the type or the default cannot be used.
    """
    if name == WORKERS:
        raise ProgramError(
            f"a parameter is called {name}: p.{name} is the number of workers",
            where=place_of_member(cls, name),
            do="rename it",
        )
    if declared.vertex:
        if annotation not in (str, None):
            raise ProgramError(
                f"parameter {name} is the id of a {declared.vertex}, and annotated "
                f"{getattr(annotation, '__name__', annotation)}",
                where=place_of_member(cls, name),
                do="annotate it as str: ids may be text",
            )
        return replace(declared, type=str)
    kind = annotation if annotation in (int, float, bool, str) else type(declared.default)
    if kind not in (int, float, bool, str):
        raise ProgramError(
            f"parameter {name} is of type {kind.__name__}",
            where=place_of_member(cls, name),
            do="annotate it as int, float, bool or str",
        )
    chosen = replace(declared, type=kind)
    try:
        chosen.check(name, chosen.default)
    except UsageError as error:
        what = f"the default of {name} cannot be used: {error.what}"
        do = error.do or f"give it a default of type {kind.__name__}, or correct the annotation"
        raise ProgramError(what, where=place_of_member(cls, name), do=do) from None
    return chosen


def check_types(
    cls: type[BaseProgram],
    base: type[BaseProgram],
    edges: dict[str, Edge],
    contexts: dict[str, Context],
) -> None:
    """Raise ProgramError for types that do not belong together. `base` is Program."""
    if len(edges) > 1:
        raise ProgramError(
            f"{cls.__name__} declares {len(edges)} edge types: {', '.join(edges)}",
            where=place_of_member(cls, [*edges][-1]),
            do="declare one, with a data field that says the kind of each edge",
        )
    if len(contexts) > 1 or (contexts and "tau" not in contexts):
        raise ProgramError(
            f"{cls.__name__}: the context is one declaration named tau",
            where=place_of_member(cls, [*contexts][-1]),
            do="tau = Context(...)",
        )
    for name in [*cls.vertices, *edges]:
        if name in RESERVED or hasattr(base, name):
            why = "every program has an attribute of that name"
            if name in RESERVED:
                why = f"vertex functions call {RESERVED[name]} so"
            raise ProgramError(
                f"{cls.__name__}: {name} cannot name a type: {why}",
                where=place_of_member(cls, name),
                do=f"rename it, for instance to {name}_; no type is called "
                f"{', '.join(RESERVED)} or as an attribute of tux.Program",
            )
    for edge, declared in edges.items():
        _check_ends(cls, edge, declared)
    loose = set(cls.vertices) - {end for declared in edges.values() for end in declared.ends}
    if edges and loose:
        raise ProgramError(
            f"{cls.__name__}: no edge ends at vertex type {min(loose)}",
            where=place_of_member(cls, min(loose)),
            do="declare its edge, or drop it",
        )


def _check_ends(cls: type[BaseProgram], edge: str, declared: Edge) -> None:
    """Raise ProgramError for an edge that ends at no vertex type."""
    for end in declared.ends:
        if end not in cls.vertices:
            raise ProgramError(
                f"edge {edge} ends at '{end}', which is no vertex type",
                where=place_of_member(cls, edge),
                do=f"vertex types: {', '.join(cls.vertices) or 'none'}",
            )


def check_vertex_params(cls: type[BaseProgram]) -> None:
    """Raise ProgramError for a parameter that is a vertex of a type that does not exist."""
    for name, declared in cls.params.items():
        if declared.vertex and declared.vertex not in cls.vertices:
            raise ProgramError(
                f"parameter {name} is the id of a {declared.vertex!r}, which is no vertex type",
                where=place_of_member(cls, name),
                do=f"vertex types: {', '.join(cls.vertices) or 'none'}",
            )


def check_lengths(cls: type[BaseProgram]) -> None:
    """Raise ProgramError for a field whose length names no integer parameter."""
    integers = [name for name, declared in cls.params.items() if declared.type in (int, bool)]
    types = {**cls.vertices, cls.edge_name: cls.edge, "tau": cls.context}
    for name, declared in types.items():
        for field, of in declared.fields.items():
            unknown = [d for d in of.shape if isinstance(d, str) and d not in (EDGES, *integers)]
            if unknown:
                raise ProgramError(
                    f"{name}.{field} is declared with '{unknown[0]}', which is neither a dtype nor "
                    "an integer parameter",
                    where=place_of_member(cls, name),
                    do=f"dtypes: e.g. f4, f8, i4, i8; integer parameters: "
                    f"{', '.join(integers) or 'none'}",
                )


def check_formulas(cls: type[BaseProgram]) -> None:
    """Raise ProgramError for a formula of the context that names no number of the context and no
    parameter that is a number, and for a term that names no data field of the edge.
    """
    fields, columns = cls.context.fields, cls.edge.fields
    numbers = [name for name, field in fields.items() if field.shape == ()]
    numbers += [name for name, declared in cls.params.items() if declared.type is not str]
    data = [name for name, field in columns.items() if field.kind == "data" and not field.shape]
    for name, field in fields.items():
        if not isinstance(field, Computed):
            continue
        checked = [(field.formula, numbers, "numbers of the context and parameters")]
        if field.gather:
            terms, what = field.gather.terms.values(), f"data fields of {cls.edge_name}"
            checked = [(each, data, what) for each in terms if not field.gather.truth]
        for formula, known, what in checked:
            if unknown := [each for each in formula.names if each not in known]:
                raise ProgramError(
                    f"the formula {formula.text!r} of tau.{name} names {unknown[0]}",
                    where=place_of_member(cls, "tau"),
                    do=f"{what}: {', '.join(known) or 'none'}",
                )


def check_members(cls: type[BaseProgram], base: type[BaseProgram]) -> None:
    """Raise ProgramError where something else stands in the place of a number or text, or of the
    input or report. `base` is Program.
    """
    for name, member in vars(cls).items():
        if name in ("epochs", "monitor", "keeps_best", "agree", "precision"):
            what, kind = f"{cls.__name__}.{name} is {member!r}", type(getattr(base, name))
            do = "" if type(member) is kind else f"give it a value of type {kind.__name__}"
            if name == "agree" and member not in AGREE:
                do = f"it may be {' or '.join(map(repr, AGREE))}"
            if name == "precision" and member not in PRECISIONS:
                do = f"it may be {' or '.join(map(repr, PRECISIONS))}"
            if do:
                raise ProgramError(what, where=place_of_member(cls, name), do=do)
        for companion, kind in (("input", Input), ("report", Report)):
            if name == companion and not isinstance(member, kind):
                what = f"{cls.__name__}.{name} is {describe_value(member)}"
                do = f"give it an object of a class derived from tux.{kind.__name__}"
                raise ProgramError(what, where=place_of_member(cls, name), do=do)


def check_names(cls: type[BaseProgram], base: type[BaseProgram], inherited: Container[str]) -> None:
    """Raise ProgramError for parameters and methods that have the name of an attribute of all
    programs, and for plain values whose name is nearly one. `base` is Program, `inherited` are the
    names of parameters, which a plain value gives another default.
    """
    for name, member in vars(cls).items():
        taken = name == "parameters" or (hasattr(base, name) and not name.startswith("_"))
        method = inspect.isfunction(member) and not inspect.isfunction(getattr(base, name, None))
        if taken and (isinstance(member, Param) or (method and name not in CHOSEN)):
            kind = "parameter" if isinstance(member, Param) else "method"
            raise ProgramError(
                f"{cls.__name__}: {name} cannot name a {kind}: every program has an attribute "
                "of that name",
                where=place_of_member(cls, name) if kind == "parameter" else place(member),
                do=f"rename it, for instance to {name}_",
            )
        plain = isinstance(member, str | int | Input | Report) and not isinstance(member, bool)
        if not plain or taken or name.startswith("_") or name in inherited:
            continue
        # e.g. `epoch = 3`
        if near := difflib.get_close_matches(name.lower(), CHOSEN, 1, NEAR):
            raise ProgramError(
                f"{cls.__name__}.{name} is not read by tux; did you mean {near[0]}?",
                where=place_of_member(cls, name),
                do=f"rename it to {near[0]}; if it is a value of your own, call it _{name}",
            )


def check_monitor(cls: type[BaseProgram]) -> None:
    """Raise ProgramError for a monitored metric that the context does not declare."""
    metrics = [name for name, field in cls.context.fields.items() if field.reported]
    if cls.monitor and cls.monitor not in metrics:
        raise ProgramError(
            f"{cls.__name__} monitors {cls.monitor}, which is no metric of its context; metrics: "
            f"{', '.join(metrics) or 'none'}",
            where=place_of_member(cls, "monitor"),
            do=f"declare it: tau = Context({cls.monitor}=metric())",
        )


def check_input(cls: type[BaseProgram], input: Input) -> None:
    """Raise ProgramError where the declared types do not fit the input."""
    if fault := input.fault(cls):
        raise ProgramError(
            f"{cls.__name__}: {fault}",
            where=place(cls),
            do="declare such types, or another input",
        )
