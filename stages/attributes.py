"""Which attributes a UDF may read or write: the names in its code and in that of all functions that
it can reach.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from tux.stages.fingerprint import global_loads

# Values and functions that take no rows.
_NO_ROWS = (bool, int, float, complex, str, bytes, type, np.generic, np.ndarray, np.ufunc)


def attributes(udf: Any) -> frozenset[str] | None:
    """Names that are a superset of the attributes that `udf` uses; None where it calls something
    whose code cannot be read.
    """
    names: set[str] = set()
    seen: set[int] = set()
    pending = [udf]
    while pending:
        thing = pending.pop()
        function = thing.py_func if isinstance(thing, Dispatcher) else thing
        if id(function) in seen:
            continue
        seen.add(id(function))
        if isinstance(function, types.FunctionType):
            names |= set(_names(function.__code__))
            pending += _reached(function)
        elif isinstance(function, tuple):
            pending += function
        elif not (function is None or isinstance(function, _NO_ROWS) or _is_library(function)):
            return None
    return frozenset(names)


def _names(code: types.CodeType) -> Iterator[str]:
    """Names of attributes, and texts, which `getattr` may be given; of nested code too."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const)
        elif isinstance(const, str):
            yield const


def _reached(function: types.FunctionType) -> Iterator[Any]:
    """What a function closes over, and the globals that it reads."""
    for cell in function.__closure__ or ():
        yield cell.cell_contents
    for name, read in global_loads(function.__code__).items():
        found = function.__globals__.get(name)
        yield found
        if isinstance(found, types.ModuleType) and not hasattr(found, "__version__"):
            yield from (getattr(found, each, None) for each in read)


def _is_library(thing: Any) -> bool:
    """Whether a thing is a module, or a function of Python or numpy: what gets a field's value, but
    no row.
    """
    if isinstance(thing, types.ModuleType):
        return True
    module = getattr(thing, "__module__", None) or ""
    return module.split(".")[0] in (builtins.__name__, "math", "numpy")
