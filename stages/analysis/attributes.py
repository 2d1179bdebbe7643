"""The attributes that a UDF may read or write: the names in its code and in that of all functions
that it can reach.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from tux.rows.vectors import meaning_in_udf
from tux.stages.analysis.reads import functions_reached, values_outside

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
    if _is_unknown(udf):
        return None
    names: set[str] = set()
    for function in functions_reached(udf):
        names |= set(_names(function.__code__))
        if names & _BY_TEXT or any(_is_unknown(each.value) for each in values_outside(function)):
            return None
    return frozenset(names)


def _is_unknown(thing: Any) -> bool:
    """Return whether a thing may take rows, and its code is not at hand."""
    thing = meaning_in_udf(thing)
    if isinstance(thing, tuple):
        return any(map(_is_unknown, thing))
    known = (*_VALUES, Dispatcher, types.FunctionType)
    return not (isinstance(thing, known) or _is_library(thing))


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of attributes and of globals in a function's code and in the code nested in
    it.
    """
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const)


def _is_library(thing: Any) -> bool:
    """Return whether a thing is a module, a function or a type of Python or numpy."""
    if isinstance(thing, types.ModuleType):
        name = thing.__name__
    elif isinstance(thing, types.BuiltinFunctionType | type):
        name = thing.__module__ or ""
    # numpy's functions that dispatch by type are no functions of Python
    elif isinstance(thing, type(np.sum)):
        return (thing.__module__ or "").split(".")[0] == "numpy"
    else:
        return False
    return name.split(".")[0] in _LIBRARIES
