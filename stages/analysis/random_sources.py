"""Random numbers of Python and of numpy in UDFs, which no seed of a run decides: a UDF that draws
them is refused.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tux.base.errors import ProgramError
from tux.stages.analysis.reads import functions_reached, values_outside
from tux.stages.kernel.bind import Udf

_MODULES = (random, np.random)


def refuse_unseeded(udf: Udf) -> None:
    """Raise ProgramError where `udf`, or a function of the user's that it calls, uses `random` or
    `numpy.random`.
    """
    for function in functions_reached(udf):
        for value, name, line in values_outside(function):
            if _draws(value):
                raise ProgramError(
                    f"`{function.__name__}` uses {name}: its numbers do not depend on the seed of "
                    "the run",
                    where=f"{function.__code__.co_filename}:{line}",
                    do="give the function a parameter rng, and write rng.uniform(), rng.normal() "
                    "or rng.below(n)",
                )


def _draws(value: Any) -> bool:
    """Return whether a value is one of the modules, a function of one, or a generator of
    numbers.
    """
    owner = getattr(value, "__self__", None)
    sources = random.Random | np.random.RandomState | np.random.Generator
    return any(value is module for module in _MODULES) or any(
        isinstance(each, sources) for each in (value, owner)
    )
