"""The attributes that a UDF may read or write: the names in its code and in that of all functions
that it can reach.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from tux.rows.vectors import meaning_in_udf

_VALUES = (bool, int, float, complex, str, bytes, type(None), np.generic, np.ndarray, np.ufunc)
"""Types of values that take no rows."""

_LIBRARIES = ("builtins", "math", "numpy")
"""Modules whose functions get values of fields, but no rows."""

_BY_TEXT = frozenset(
    ("getattr", "hasattr", "setattr", "delattr", "vars", "eval", "exec", "globals", "locals")
)
"""Functions that may ask for an attribute whose name is no name of the code."""


def attributes(udf: Any, meanings: Mapping[str, Any] | None = None) -> frozenset[str] | None:
    """Return names among which are all attributes that `udf` uses. Return None where this cannot be
    known: it calls something whose code is not at hand, or asks for attributes by text. `meanings`:
    what choices of parameters mean, of which it may call the functions that it names.
    """
    found, reached = _attributes(udf), list[Any]()
    while found is not None:
        before = len(reached)
        for name, meaning in (meanings or {}).items():
            fields = getattr(meaning, "_fields", ())
            members = [getattr(meaning, each) for each in fields if each in found]
            members = members if fields else [meaning]
            reached += [each for each in members if name in found and each not in reached]
        if len(reached) == before:
            break
        found = _attributes((udf, *reached))
    return found


def _attributes(udf: Any) -> frozenset[str] | None:
    names: set[str] = set()
    seen: set[int] = set()
    pending = [udf]
    while pending:
        thing = meaning_in_udf(pending.pop())
        function = thing.py_func if isinstance(thing, Dispatcher) else thing
        if id(function) in seen or isinstance(function, _VALUES) or _is_library(function):
            continue
        seen.add(id(function))
        if isinstance(function, tuple):
            pending += function
        elif isinstance(function, types.FunctionType):
            names |= set(_names(function.__code__))
            reached = list(_reachable_values(function))
            if names & _BY_TEXT or any(each is _UNKNOWN for each in reached):
                return None
            pending += reached
        else:
            return None
    return frozenset(names)


_UNKNOWN = object()


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of attributes and of globals in a function's code and in the code nested in
    it.
    """
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const)


def _reachable_values(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values that a function refers to: those it closes over, its defaults, and the
    globals that it reads; of a module, the attribute that it reads there. Yield _UNKNOWN for a
    value that is not found.
    """
    for cell in function.__closure__ or ():
        yield cell.cell_contents
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for name, attribute in _loads(function.__code__):
        if name not in function.__globals__:  # a builtin, or numba tells that there is no such name
            continue
        value = function.__globals__[name]
        if isinstance(value, types.ModuleType) and not _is_library(value):
            value = vars(value).get(attribute, _UNKNOWN) if attribute else _UNKNOWN
        yield value


def _loads(code: types.CodeType) -> Iterator[tuple[str, str]]:
    """Yield each global that code reads, with the attribute that is read from it at once, or "". A
    module that is imported counts as read without one.
    """
    last = ""
    for each in [*dis.get_instructions(code), None]:
        if each is not None and last and each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            yield last, each.argval
            last = ""
            continue
        if last:
            yield last, ""
        last = each.argval if each and each.opname in ("LOAD_GLOBAL", "LOAD_NAME") else ""
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _loads(const)


def _is_library(thing: Any) -> bool:
    """Return whether a thing is a module, a function or a type of Python or numpy."""
    if isinstance(thing, types.ModuleType):
        name = thing.__name__
    elif isinstance(thing, types.BuiltinFunctionType | type):
        name = thing.__module__ or ""
    # numpy's functions that dispatch by type are no functions of Python
    elif isinstance(thing, types.FunctionType | type(np.sum)):
        return (thing.__module__ or "").split(".")[0] == "numpy"
    else:
        return False
    return name.split(".")[0] in _LIBRARIES
