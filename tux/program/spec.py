"""Checks of the declaration of a field: the dtype, the dimensions, and the initial value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tux.base.errors import ProgramError
from tux.base.random import Initialiser
from tux.program.naming import describe_value, place

_FORM = 'write a dtype as a code, then each length: {}("f8"), {}("f4", 3, 2), {}("i4", "rank")'


def check_spec(kind: str, spec: tuple[Any, ...]) -> None:
    """Raise ProgramError unless each part of `spec` is a text, a length, or a function of the
    parameters.
    """
    for part in spec:
        if isinstance(part, str) or (isinstance(part, int) and not isinstance(part, bool)):
            continue
        if callable(part) and not isinstance(part, type):
            _check_function(part, f"the length of a {kind} field")
            continue
        what = repr(part) if isinstance(part, tuple | float | bool) else describe_value(part)
        raise ProgramError(f"a {kind} field is declared with {what}", do=_FORM.replace("{}", kind))


def check_init(kind: str, dtype: np.dtype, init: Any) -> None:
    """Raise ProgramError unless `init` is None, a number that the dtype holds, an initialiser, or a
    function of the parameters that returns one.
    """
    if init is None:
        return
    if callable(init) and not isinstance(init, type | Initialiser):
        _check_function(init, f"the initial value of a {kind} field")
        return
    if isinstance(init, int | float | np.number):
        if isinstance(init, int | np.integer) and int(float(init)) != init:
            raise ProgramError(
                f"a {kind} field cannot begin as {init}: initial values are f8, which round it",
                do="give one that f8 holds, or let an Apply or a GlobalSync of setup() set it",
            )
        init = Initialiser("constant", float(init), 0.0)
    if not isinstance(init, Initialiser):
        raise ProgramError(
            f"a {kind} field cannot begin as {describe_value(init)}",
            do="give a number, constant(x), uniform(low, high), normal(mean, std), or a function "
            "of the parameters that returns one of the last three",
        )
    check_initialiser(dtype, init, f"a {kind} field")


def check_initialiser(dtype: np.dtype, init: Any, field: str, where: str = "") -> None:
    """Raise ProgramError unless `init` is an initialiser, and one whose constant the dtype
    holds.
    """
    if not isinstance(init, Initialiser):
        raise ProgramError(
            f"the function of the initial value of {field} has returned {init!r}",
            where=where,
            do="return constant(x), uniform(low, high) or normal(mean, std)",
        )
    if init.law == "constant" and not holds(dtype, init.a):
        raise ProgramError(
            f"{field} of dtype {dtype.str[1:]} cannot begin as {init.a:g}",
            where=where,
            do="declare it with a dtype that holds its initial value",
        )


def holds(dtype: np.dtype, number: float) -> bool:
    """Return whether a dtype can hold a number without changing it, but for the rounding of
    floats.
    """
    if dtype.kind == "f":
        return True
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return low <= number <= high and number == int(number)


def as_lengths(lengths: Any) -> list[int]:
    """Return as a list the lengths that the function of a shape has returned. Raise ProgramError
    for anything else.
    """
    given = lengths if isinstance(lengths, tuple | list) else [lengths]
    for each in given:
        if not isinstance(each, int | np.integer) or isinstance(each, bool) or each < 0:
            raise ProgramError(
                f"the function of a field's shape has returned {lengths!r}",
                do="return a length of at least 0, or a tuple of lengths",
            )
    return [int(each) for each in given]


def _check_function(function: Callable[..., Any], what: str) -> None:
    """Raise ProgramError unless a function can be called with the parameters."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        raise ProgramError(
            f"{what} is a function with other parameters than tux gives it",
            where=place(function),
            do="give it one, the program's parameters: lambda p: p.rank",
        ) from None
