"""The values that a function reads from outside, and all functions that it reaches by them."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from numba.core.dispatcher import Dispatcher

from tux.rows.vectors import meaning_in_udf

UNKNOWN = object()
"""The value of an attribute that a module does not have."""


class GlobalRead(NamedTuple):
    """A global that code reads, and the attributes that are read of it at once: in line 7 of
    ``np.random.rand()``, np, (random, rand) and 7.
    """

    name: str
    attributes: tuple[str, ...]
    line: int


class Outside(NamedTuple):
    """A value from outside a function, and the name and the line by which the function reads it."""

    value: Any
    name: str
    line: int


@lru_cache(4096)
def global_reads(code: types.CodeType) -> tuple[GlobalRead, ...]:
    """Return the globals that a function's code, and code nested in it, reads."""
    reads, chain = list[GlobalRead](), False
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            line = each.positions.lineno if each.positions else None
            reads.append(GlobalRead(each.argval, (), line or code.co_firstlineno))
            chain = True
        elif each.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            read = reads[-1]
            reads[-1] = read._replace(attributes=(*read.attributes, each.argval))
        elif each.opname not in ("CACHE", "EXTENDED_ARG"):
            chain = False
    nested = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return (*reads, *(read for const in nested for read in global_reads(const)))


def global_names(code: types.CodeType) -> set[str]:
    """Return the names of the globals that a function's code reads."""
    return {each.name for each in global_reads(code)}


def values_outside(function: types.FunctionType) -> Iterator[Outside]:
    """Yield the values that a function closes over, its defaults, and the globals that it reads; of
    a module, what it reads there. A name that is no global is left out: it is a builtin, or numba
    tells that there is none.
    """
    line = function.__code__.co_firstlineno
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield Outside(cell.cell_contents, name, line)
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield Outside(value, "a default", line)
    for name, attributes, line in global_reads(function.__code__):
        if name not in function.__globals__:
            continue
        value, left = function.__globals__[name], [*attributes]
        while left and isinstance(value, types.ModuleType):
            value, name = getattr(value, left[0], UNKNOWN), f"{name}.{left.pop(0)}"
        yield Outside(value, name, line)


def functions_reached(*udfs: Any) -> Iterator[types.FunctionType]:
    """Yield the plain functions among `udfs`, and all that they reach, each once; none of numpy's.
    A tuple stands for what is in it.
    """
    pending, seen = [*udfs], set[int]()
    while pending:
        thing = meaning_in_udf(pending.pop())
        function = thing.py_func if isinstance(thing, Dispatcher) else thing
        if isinstance(function, tuple):
            pending += function
        elif (
            isinstance(function, types.FunctionType)
            and id(function) not in seen
            and (function.__module__ or "").split(".")[0] != "numpy"
        ):
            seen.add(id(function))
            yield function
            pending += (each.value for each in values_outside(function))
