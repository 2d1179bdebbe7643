"""The parameters of an estimator, and its program with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import Any, TypeVar

from tux.base.callers import warn_caller
from tux.base.errors import UsageError
from tux.program.params import use_present_names
from tux.program.program import Program

AnyProgram = TypeVar("AnyProgram", bound=Program)


def set_parameters(estimator: Any, arguments: Mapping[str, Any]) -> None:
    """Keep the `arguments` of an estimator's `__init__` as scikit-learn wants them: each under its
    name, as it was given.
    """
    for name in signature(type(estimator)).parameters:
        setattr(estimator, name, arguments[name])


def make_program(
    estimator: Any, kind: type[AnyProgram], chosen: Mapping[str, Any] | None = None, **names: str
) -> AnyProgram:
    """Make an estimator's program: with the estimator's parameters, and those `chosen` besides.
    `names`: the estimator's names of parameters, by those of the program, where they differ.

    UsageError for a value that cannot be used, by the estimator's name of the parameter.
    """
    own = signature(type(estimator)).parameters
    values = dict(chosen or {})
    for name, declared in kind.params.items():
        if name not in values and names.get(name, name) in own:
            value = _parameter_value(estimator, kind, name, names.get(name, name))
            values[name] = declared.type(value) if declared.type in (float, bool) else value
    with _translate_errors(**names):
        return kind(**values)


def _parameter_value(estimator: Any, program: type[Program], name: str, own: str) -> Any:
    """Return the value of a parameter that an estimator calls `own`, and its program `name`. It may
    have been given by its former name: FutureWarning then, and UsageError where both were given.
    """
    former, default = (
        program.params[name].former,
        signature(type(estimator)).parameters[own].default,
    )
    value = getattr(estimator, own, default)  # one that was pickled earlier has none
    if (old := getattr(estimator, former, None)) is None:
        return value
    given = {former: old} if value == default else {former: old, name: value}
    return use_present_names(program.params, given, partial(warn_caller, kind=FutureWarning))[name]


@contextmanager
def _translate_errors(**names: str) -> Iterator[None]:
    """Name the parameters of a program in errors of the body as its estimator does: `names` has
    those of the estimator by those of the program. A context.
    """
    try:
        yield
    except UsageError as error:
        for own, name in names.items():
            error.what = re.sub(rf"\b{own}\b", name, error.what)
            error.do = re.sub(rf"\b{own}\b", name, error.do)
        raise
