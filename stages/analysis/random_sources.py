"""Random numbers of Python and of numpy in UDFs, which no seed of a run decides: a UDF that draws
them is refused.
"""

from __future__ import annotations

import dis
import random
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from tux.base.errors import ProgramError
from tux.stages.kernel.bind import Udf

_MODULES = (random, np.random)


def refuse_unseeded(udf: Udf) -> None:
    """Raise ProgramError where `udf`, or a function of the user's that it calls, uses `random` or
    `numpy.random`.
    """
    seen: set[int] = set()
    pending: list[Any] = [udf]
    while pending:
        thing = pending.pop()
        function = thing.py_func if isinstance(thing, Dispatcher) else thing
        if id(function) in seen or not isinstance(function, types.FunctionType):
            continue
        seen.add(id(function))
        if (function.__module__ or "").split(".")[0] == "numpy":
            continue
        for value, name, line in _global_reads(function):
            if _draws(value):
                raise ProgramError(
                    f"`{function.__name__}` uses {name}: its numbers do not depend on the seed of "
                    "the run",
                    where=f"{function.__code__.co_filename}:{line}",
                    do="give the function a parameter rng, and write rng.uniform(), rng.normal() "
                    "or rng.below(n)",
                )
            pending.append(value)


def _draws(value: Any) -> bool:
    """Return whether a value is one of the modules, a function of one, or a generator of
    numbers.
    """
    owner = getattr(value, "__self__", None)
    sources = random.Random | np.random.RandomState | np.random.Generator
    return any(value is module for module in _MODULES) or any(
        isinstance(each, sources) for each in (value, owner)
    )


def _global_reads(function: types.FunctionType) -> Iterator[tuple[Any, str, int]]:
    """Yield the globals that a function reads, and the attributes that it reads of modules among
    them: value, name as it is written, line.
    """
    held, name, line = None, "", function.__code__.co_firstlineno
    for each in dis.get_instructions(function.__code__):
        if each.positions and each.positions.lineno:
            line = each.positions.lineno
        if each.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(held, types.ModuleType):
            held, name = getattr(held, each.argval, None), f"{name}.{each.argval}"
            continue
        if held is not None:
            yield held, name, line
        held = None
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            held, name = function.__globals__.get(each.argval), each.argval
