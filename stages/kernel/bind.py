"""Binding of UDFs: a parameter's name says what it is, and an unknown name is told with what it
could be.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tux.base.errors import ProgramError
from tux.program.base_program import BaseProgram
from tux.stages.kernel.written import place_in

Udf = Callable[..., Any]

_UNUSUAL = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""The flags of the code of functions that yield or await."""


def udf_names(*udfs: Udf | None) -> str:
    """Return the names of those `udfs` that are not None, for messages."""
    return ", ".join(str(getattr(udf, "__name__", udf)) for udf in udfs if udf is not None)


def place(udf: Udf) -> str:
    """Return ``file:line`` of a UDF, or of the stage for which it was written."""
    code = getattr(getattr(udf, "__func__", udf), "__code__", None)
    return place_in(code.co_filename, code.co_firstlineno) if code else repr(udf)


def returns_nothing(udf: Udf) -> bool:
    """Return whether a function has no `return` with a value; False if its code is not known."""
    code = getattr(getattr(udf, "__func__", udf), "__code__", None)
    steps = [*dis.get_instructions(code)] if code else []
    values = [
        before.argval if before.opname == "LOAD_CONST" else True
        for before, step in pairwise(steps)
        if step.opname == "RETURN_VALUE"
    ]
    values += [step.argval for step in steps if step.opname == "RETURN_CONST"]
    return bool(values) and all(value is None for value in values)


def parameters(udf: Udf, stage: str) -> list[str]:
    """Return the names of a UDF's parameters; raise ProgramError when it is no plain function."""
    if not inspect.isfunction(udf):
        if inspect.ismethod(udf):
            what, do = f"{stage} was given the method {udf.__name__}", "write it above the class"
        else:
            what, do = f"{stage} was given {udf!r}", "write one with def"
        raise ProgramError(
            f"{what}, not a plain function",
            where=place(udf) if inspect.ismethod(udf) else "",
            do=f"{do}, and name it here without calling it: Exchange(f)",
        )
    code = udf.__code__
    if code.co_flags & _UNUSUAL:
        raise ProgramError(
            f"UDF {udf.__name__} is a generator or asynchronous",
            where=place(udf),
            do="write a plain function, without yield, async and await",
        )
    others = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount
    if not (others or udf.__defaults__ or hasattr(udf, "__wrapped__")):
        return [*code.co_varnames[: code.co_argcount]]  # in a hundredth of the time of a signature
    found = inspect.signature(udf).parameters.values()
    for p in found:
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) or p.default is not p.empty:
            raise ProgramError(
                f"UDF {udf.__name__} has parameter {p}",
                where=place(udf),
                do="UDFs take plain parameters: write a constant above the function, or a param "
                "of the program",
            )
    return [p.name for p in found]


def names_role(program: BaseProgram, over: str, stage: str) -> bool:
    """Return whether `over` is the name of an end in UDFs. Raise ProgramError where it names no end
    at all.
    """
    edge = program.edge
    if over and over not in (*edge.ends, *edge.roles):
        raise ProgramError(
            f"{stage}: '{over}' is no end of {program.edge_name}",
            do=f"ends: {', '.join(edge.roles)}",
        )
    return over in edge.roles


def call(udf: Udf, name: str, stage: str, available: dict[str, Callable[[], str]]) -> str:
    """Return the source of a call of `udf`, as the global `name`, with each parameter replaced by
    the expression that `available` makes for it.
    """
    wanted = parameters(udf, stage)
    for parameter in wanted:
        if parameter not in available:
            raise ProgramError(
                f"UDF {udf.__name__} of {stage} has a parameter '{parameter}' that it cannot be "
                "given",
                where=place(udf),
                do=f"parameters it could have: {', '.join(available)}",
            )
    return f"{name}({', '.join(available[parameter]() for parameter in wanted)})"
