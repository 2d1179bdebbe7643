"""Checks of a program's class when it is declared."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tux.base.errors import ProgramError, UsageError
from tux.base.text import did_you_mean
from tux.program.base_program import BaseProgram
from tux.program.computed import Computed, in_order
from tux.program.fields import EDGES, Field
from tux.program.hooks import NEAR
from tux.program.input import Graph, Input, Ratings
from tux.program.naming import describe_value, place, place_of_member
from tux.program.params import OF_RUN, Param
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
    "others": "other edges of a block",
    "out": "the edges that Generate makes",
}
"""Names that mean something in vertex functions; no type may have such a name."""
COSTS = (
    *("epoch", "clock", "seconds", "edges_per_second", "max_staleness"),
    *("compute_s", "wait_s", "apply_s", "send_s", "bytes_sent", "bytes_dense"),
)
"""The numbers in the record of an epoch besides its metrics (`tux.engine.records`)."""
AGREE = ("path", "optimum")
"""The values that `Program.agree` may have."""
PRECISIONS = ("", "f4")
"""The values that `Program.precision` may have."""
CHOSEN = (
    "epochs",
    "epochs_from",
    "monitor",
    "keeps_best",
    "agree",
    "precision",
    "step_parameters",
    "input",
    "report",
)
"""Attributes of a program, besides its methods, to which a user gives a value."""


def complete_param(cls: type, name: str, annotation: Any, declared: Param) -> Param:
    """Return `declared` with its type: the annotation, or the default's type where there is none.
    Raise ProgramError where the name, the type or the default cannot be used.
    """
    if name in OF_RUN:
        raise ProgramError(
            f"a parameter is called {name}: p.{name} is {OF_RUN[name]}",
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
        if declared.optional and edge == next(iter(edges)):
            raise ProgramError(
                f"{cls.__name__}: {edge}, the first edge type, is optional",
                where=place_of_member(cls, edge),
                do="leave optional=True out: a run has edges of the first type",
            )
    if len(edges) > 1:
        _check_several(cls, edges)
    loose = set(cls.vertices) - {end for declared in edges.values() for end in declared.ends}
    if edges and loose:
        raise ProgramError(
            f"{cls.__name__}: no edge ends at vertex type {min(loose)}",
            where=place_of_member(cls, min(loose)),
            do="declare its edge, or drop it",
        )


def _check_several(cls: type[BaseProgram], edges: dict[str, Edge]) -> None:
    """Raise ProgramError for declarations that a program of several edge types cannot have."""
    first, *others = edges
    if not isinstance(cls.input, Graph | Ratings):
        raise ProgramError(
            f"{cls.__name__} declares {len(edges)} edge types: {', '.join(edges)}, and its input "
            f"is {type(cls.input).__name__}()",
            where=place_of_member(cls, others[0]),
            do="read edges: input = Graph() or Ratings(); or declare one edge type",
        )
    for name in others:
        for word in ("repeats", "whole", "held_out"):
            if getattr(edges[name], word):
                raise ProgramError(
                    f"edge {name} is declared {word}=, which the first edge type alone can have",
                    where=place_of_member(cls, name),
                    do=f"declare {name} before {first}, or leave {word} out",
                )
    for name, vertex in cls.vertices.items():
        if vertex.remote:
            raise ProgramError(
                f"{name} is declared remote=True, and {cls.__name__} declares {len(edges)} edge "
                f"types: {', '.join(edges)}",
                where=place_of_member(cls, name),
                do="leave remote=True out, or declare one edge type",
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
    types = {**cls.vertices, **cls.edge_types, "tau": cls.context}
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
    parameter that is a number, for one that depends on no total, and for a term that names no data
    field of the edge.
    """
    fields, columns = cls.context.fields, cls.edge.fields
    own = {t for n, f in fields.items() if isinstance(f, Computed) for t in f.hidden_totals(n)}
    numbers = [name for name, field in fields.items() if field.shape == () and name not in own]
    numbers += [name for name, declared in cls.params.items() if declared.type is not str]
    data = [name for name, field in columns.items() if field.kind == "data" and not field.shape]
    with _at_context(cls):
        in_order(fields)
        for name, field in fields.items():
            if isinstance(field, Computed) and field.gather and not field.gather.truth:
                for term in field.gather.terms.values():
                    what = f"data fields of {cls.edge_name}"
                    _check_names(f"{term.text!r} of tau.{name}", term.names, data, what, columns)
            elif isinstance(field, Computed) and field.formula.text and not field.gather:
                what, text = "numbers of the context and parameters", field.formula.text
                _check_names(f"{text!r} of tau.{name}", field.formula.names, numbers, what, fields)
                _check_needs(cls, name, field)


def _check_names(
    formula: str,
    names: Sequence[str],
    known: Sequence[str],
    what: str,
    declared: Mapping[str, Field],
) -> None:
    """Raise ProgramError for a name in a formula that is not among the `known` ones."""
    for name in names:
        if name in known:
            continue
        why = "which has several numbers" if name in declared else "which is not known"
        raise ProgramError(
            f"the formula {formula} names {name}, {why}",
            do=f"{did_you_mean(name, known)}{what}: {', '.join(known) or 'none'}",
        )


def _check_needs(cls: type[BaseProgram], name: str, computed: Computed) -> None:
    """Raise ProgramError for a formula without a total and without another number that has a
    formula, and for a name that a parameter and a number of the context have.
    """
    fields = cls.context.fields
    named = [fields[each] for each in computed.formula.names if each in fields]
    if not any(f.kind == "delta" or isinstance(f, Computed) for f in named):
        raise ProgramError(
            f"the formula {computed.formula.text!r} of tau.{name} names no total, so no stage is "
            "the one that computes it",
            do=f"declare {name}=metric() and set it in GlobalSync(f), or name a total",
        )
    for each in computed.formula.names:
        declared = cls.params.get(each)
        if each in fields and declared and declared.type is not str:
            raise ProgramError(
                f"the formula {computed.formula.text!r} of tau.{name} names {each}, which is a "
                "number of the context and a parameter",
                do="rename one of them",
            )


@contextmanager
def _at_context(cls: type[BaseProgram]) -> Iterator[None]:
    """Give a ProgramError that is raised inside the place of the context."""
    try:
        yield
    except ProgramError as error:
        error.where = error.where or place_of_member(cls, "tau")
        raise


def check_members(cls: type[BaseProgram], base: type[BaseProgram]) -> None:
    """Raise ProgramError where something else stands in the place of a number or text, or of the
    input or report. `base` is Program.
    """
    for name, member in vars(cls).items():
        if name in ("epochs", "epochs_from", "monitor", "keeps_best", "agree", "precision"):
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
    for name in metrics:
        if name in COSTS or name.startswith("bytes_sent_"):
            raise ProgramError(
                f"{cls.__name__}: {name} cannot name a metric: the record of an epoch has a number "
                "of that name",
                where=place_of_member(cls, "tau"),
                do=f"rename it; no metric is called {', '.join(COSTS)}",
            )
    if cls.monitor and cls.monitor not in metrics:
        raise ProgramError(
            f"{cls.__name__} monitors {cls.monitor}, which is no metric of its context; metrics: "
            f"{', '.join(metrics) or 'none'}",
            where=place_of_member(cls, "monitor"),
            do=f"{did_you_mean(cls.monitor, metrics)}declare it: "
            f"tau = Context({cls.monitor}=metric())",
        )


def check_input(cls: type[BaseProgram], input: Input) -> None:
    """Raise ProgramError where the declared types do not fit the input."""
    if fault := input.fault(cls):
        raise ProgramError(
            f"{cls.__name__}: {fault}",
            where=place(cls),
            do="declare such types, or another input",
        )
