"""What is checked of a program's class when it is declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tux.base.errors import ProgramError
from tux.program.input import Input
from tux.program.params import WORKERS, Param
from tux.program.report import Report
from tux.program.types import Context, Edge

if TYPE_CHECKING:
    from tux.program.program import Program

RESERVED = ("tau", "p", "rng", "v", "src", "dst", "edges", "out")


def typed(cls: type, name: str, annotation: Any, declared: Param) -> Param:
    """`declared` with its type: the annotation, or the default's type where there is none."""
    if name == WORKERS:
        raise ProgramError(
            f"a parameter is called {name}: p.{name} is the number of workers",
            where=place(cls),
            do="rename it",
        )
    if declared.vertex:
        if annotation not in (str, None):
            raise ProgramError(
                f"parameter {name} is the id of a {declared.vertex}, and annotated "
                f"{getattr(annotation, '__name__', annotation)}",
                where=place(cls),
                do="annotate it as str: ids may be text",
            )
        return replace(declared, type=str)
    kind = annotation if annotation in (int, float, bool, str) else type(declared.default)
    if kind not in (int, float, bool, str):
        raise ProgramError(
            f"parameter {name} is a {kind.__name__}",
            where=place(cls),
            do="annotate it as int, float, bool or str",
        )
    return replace(declared, type=kind)


def check_types(
    cls: type[Program], base: type[Program], edges: dict[str, Edge], contexts: dict[str, Context]
) -> None:
    """ProgramError for types that do not belong together. `base` is Program."""
    where = place(cls)
    if len(edges) > 1:
        raise ProgramError(
            f"{cls.__name__} declares {len(edges)} edge types: {', '.join(edges)}",
            where=where,
            do="declare one",
        )
    if len(contexts) > 1 or (contexts and "tau" not in contexts):
        raise ProgramError(
            f"{cls.__name__}: the context is one declaration named tau",
            where=where,
            do="tau = Context(...)",
        )
    for name in [*cls.vertices, *edges]:
        if name in RESERVED or hasattr(base, name):
            raise ProgramError(
                f"{cls.__name__}: {name} cannot name a type: it means something else in UDFs",
                where=where,
                do="rename it",
            )
    for edge, declared in edges.items():
        _check_ends(cls, edge, declared)
    loose = set(cls.vertices) - {end for declared in edges.values() for end in declared.ends}
    if edges and loose:
        raise ProgramError(
            f"{cls.__name__}: no edge ends at vertex type {min(loose)}",
            where=where,
            do="declare its edge, or drop it",
        )


def _check_ends(cls: type[Program], edge: str, declared: Edge) -> None:
    """ProgramError for an edge that ends at no vertex type."""
    for end in declared.ends:
        if end not in cls.vertices:
            raise ProgramError(
                f"edge {edge} ends at '{end}', which is no vertex type",
                where=place(cls),
                do=f"vertex types: {', '.join(cls.vertices) or 'none'}",
            )


def check_vertex_params(cls: type[Program]) -> None:
    """ProgramError for a parameter that is a vertex of a type that does not exist."""
    for name, declared in cls.params.items():
        if declared.vertex and declared.vertex not in cls.vertices:
            raise ProgramError(
                f"parameter {name} is the id of a {declared.vertex!r}, which is no vertex type",
                where=place(cls),
                do=f"vertex types: {', '.join(cls.vertices) or 'none'}",
            )


def check_members(cls: type[Program], base: type[Program]) -> None:
    """ProgramError where something else stands in the place of a method, of a number or text, or
    of the input or report. `base` is Program.
    """
    for name, member in vars(cls).items():
        usual = vars(base).get(name)
        if (
            inspect.isfunction(usual)
            and not callable(member)
            and not isinstance(member, classmethod | staticmethod)
        ):
            what = f"{cls.__name__}.{name} is a {type(member).__name__}, not a method"
            raise ProgramError(what, where=place(cls), do=f"write it as: def {name}(self, ...)")
        if name in ("epochs", "monitor") and type(member) is not type(usual):
            what = f"{cls.__name__}.{name} is {member!r}"
            raise ProgramError(
                what, where=place(cls), do=f"give it a value of type {type(usual).__name__}"
            )
        for companion, kind in (("input", Input), ("report", Report)):
            if name == companion and not isinstance(member, kind):
                what = f"{cls.__name__}.{name} is {described(member)}"
                do = f"give it an object of a class derived from tux.{kind.__name__}"
                raise ProgramError(what, where=place(cls), do=do)


def check_moved(cls: type[Program]) -> None:
    """ProgramError for a method of an input or a report that stands in the program, where nothing
    would call it.
    """
    for kind in (Input, Report):
        hooks = {name for name in vars(kind) if not name.startswith("_")} - {"fault"}
        for name, member in vars(cls).items():
            if name in hooks and inspect.isfunction(member):
                what = f"{cls.__name__}.{name}() is never called: it is a method of {kind.__name__}"
                attribute = kind.__name__.lower()
                do = f"move it to a class derived from tux.{kind.__name__}: {attribute} = Mine()"
                raise ProgramError(what, where=place(member), do=do)


def check_input(cls: type[Program]) -> None:
    """ProgramError where the declared types do not fit the input."""
    if fault := cls.input.fault(cls):
        raise ProgramError(
            f"{cls.__name__}: {fault}",
            where=place(cls),
            do="declare such types, or another input",
        )


def described(thing: Any) -> str:
    """A value as messages name it."""
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return "None" if thing is None else f"an object of type {type(thing).__name__}"


def place(thing: Callable[..., Any] | type) -> str:
    """``file:line`` of a class or function, as far as Python knows it."""
    try:
        return f"{inspect.getsourcefile(thing)}:{inspect.getsourcelines(thing)[1]}"
    except (OSError, TypeError):
        return getattr(thing, "__qualname__", str(thing))
