"""Parameters of programs: default, range, help text, former name; each becomes a flag."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tux.base.errors import ProgramError, UsageError
from tux.program.naming import describe_value

OF_RUN = {
    "workers": "the number of workers",
    "slack": "the number of clocks that workers may be apart",
    "known": "the vertices at the first end that the model has with which the run begins",
}
"""Numbers of a run that UDFs read as they read parameters, with what each is."""


FILE = "FILE"
"""The `metavar` of a parameter that names a file."""

INLINE = "inline:"
"""The beginning of the value of a parameter for a file, where the content of the file has taken the
place of its name: JSON of lines, each a label and numbers of vertices of the second end.
"""


@dataclass(frozen=True)
class InternalValue:
    """The value that a run gives to an internal parameter. A plain value is a user's, and refused,
    whatever `__init__` of a program is between.
    """

    value: Any


@dataclass(frozen=True)
class Param:
    """A parameter: its default, help text and range (both ends included). Its type is the class
    annotation.
    """

    default: Any
    help: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()
    dtype: str = ""
    type: type[Any] = float
    metavar: str = ""
    vertex: str = ""  # the vertex type of which it is an id, see `tux.program.vertex_params`
    former: str = ""  # what an earlier version called it
    internal: bool = False  # the run sets it, and no user
    # says what the numbers of a model mean, which a later run goes on with; choices that are mapped
    # to the same mean the same
    fixed: bool | Mapping[Any, str] = False
    # what each of the choices is in functions on rows: a function or a NamedTuple; none: a text
    meanings: Mapping[Any, Any] = field(default_factory=dict)

    def is_file(self, value: Any) -> bool:
        """Return whether a value names a file."""
        return self.metavar == FILE and value != "" and not str(value).startswith(INLINE)

    def may_become(self, had: Any, has: Any) -> bool:
        """Return whether a run that begins with a model may have the value `has`, and not `had`."""
        if self.metavar == FILE or not self.fixed:
            return self.metavar != FILE
        alike = self.fixed if isinstance(self.fixed, Mapping) else {}
        return had in alike and alike[had] == alike.get(has)

    def check(self, name: str, given: Any) -> Any:
        """Return `given` as this parameter's type; raise UsageError when it is of another type or
        out of range.
        """
        given = given.item() if isinstance(given, np.generic) else given
        if self.vertex:
            return self._id(name, given)
        if self.type is float and isinstance(given, int) and not isinstance(given, bool):
            given = float(given)
        if not isinstance(given, self.type) or (self.type is int and isinstance(given, bool)):
            kinds = {int: "a whole number", float: "a number", bool: "True or False", str: "a text"}
            raise UsageError(
                f"parameter {name} is of type {self.type.__name__}, not {given!r}",
                do=f"give {kinds.get(self.type, self.type.__name__)}",
            )
        low, high = self.low, self.high
        # Comparisons are written so that NaN fails them.
        unbounded = isinstance(given, float) and not math.isfinite(given)
        if (
            (low is not None and not given >= low)
            or (high is not None and not given <= high)
            or unbounded
        ):
            bounds = (("least", low), ("most", high))
            spans = [f"at {word} {bound:g}" for word, bound in bounds if bound is not None]
            span = " and ".join([*spans, *["finite"] * (unbounded and high is None)])
            raise UsageError(f"{name} = {given} is out of range", do=f"{name} must be {span}")
        if self.choices and given not in self.choices:
            raise UsageError(
                f"{name} = {given!r} is not known",
                do=f"choose one of: {', '.join(map(str, self.choices))}",
            )
        return given

    def _id(self, name: str, given: Any) -> str:
        """Return the id of a vertex as text; raise UsageError if there is none."""
        if given is None:
            raise UsageError(
                f"{name} is missing: the id of a {self.vertex}",
                do=f"--{name.replace('_', '-')} {self.metavar}, or {name}=... in Python",
            )
        if not isinstance(given, int | str) or isinstance(given, bool):
            raise UsageError(f"parameter {name} is the id of a {self.vertex}, not {given!r}")
        return str(given)


def param(
    default: Any,
    help: str = "",
    *,
    low: float | None = None,
    high: float | None = None,
    choices: Sequence[Any] | Mapping[Any, Any] = (),
    dtype: str = "",
    metavar: str = "",
    former: str = "",
    fixed: bool | Mapping[Any, str] = False,
    internal: bool = False,
) -> Any:
    """Declare a hyper-parameter, which becomes a flag: ``rank: int = param(32, "latent dimensions",
    low=1)``.

    Its type is read from the annotation: int, float, bool or str. In kernels a float is float64
    unless `dtype="f4"`, which keeps arithmetic with float32 fields in single precision. Strings are
    seen by `stages()` only, unless `choices` maps each to a function, or to a NamedTuple of
    functions and numbers: UDFs see what the chosen one means, as in ``p.loss.slope(y, m)``. So they
    do of a bool with ``choices={False: ..., True: ...}``.
    `metavar` stands for the value in help texts. `former` is the name that the parameter had in an
    earlier version: as a flag, as an argument, and in files of runs it stands for the present one.
    `fixed`: a run that begins with the model of another run has the same value, or one that `fixed`
    maps to the same text, or is refused.
    `internal`: the input sets it (`specialise`, by `Program.replace_parameters`); users neither
    see it nor set it.
    """
    if dtype not in ("", "f4", "f8"):
        raise ProgramError(f"a parameter of dtype {dtype!r}", do='dtypes of parameters: "f4", "f8"')
    meanings = choices if isinstance(choices, Mapping) else {}
    for name, thing in meanings.items():
        if not (isinstance(name, str | bool) and is_meaning(thing)):
            raise ProgramError(
                f"the choice {name!r} of a parameter means {describe_value(thing)}",
                do="map each name to a function, or to a NamedTuple of functions and numbers",
            )
    names = tuple(choices)
    return Param(
        default,
        help,
        low,
        high,
        names,
        dtype,
        metavar=metavar,
        former=former,
        fixed=fixed,
        internal=internal,
        meanings=meanings,
    )


def settable(params: Mapping[str, Param]) -> list[str]:
    """Return the names of the parameters that users set."""
    return [name for name, declared in params.items() if not declared.internal]


def internal_names(params: Mapping[str, Param]) -> list[str]:
    """Return the names of the parameters that runs set."""
    return [name for name, declared in params.items() if declared.internal]


def mark_internal(params: Mapping[str, Param], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that a run has `chosen` by names of parameters, as a program takes it."""
    internal = internal_names(params)
    return {n: InternalValue(x) if n in internal else x for n, x in chosen.items()}


def take_internal(
    params: Mapping[str, Param], given: Mapping[str, Any], program: str
) -> dict[str, Any]:
    """Return what a `program` is given by names of parameters, as plain values. UsageError for an
    internal one that no run gives.
    """
    for name, value in given.items():
        if params[name].internal and not isinstance(value, InternalValue):
            raise UsageError(
                f"{name} of {program} is no parameter for users: each run sets it",
                do=f"leave {name} out",
            )
    return {n: x.value if isinstance(x, InternalValue) else x for n, x in given.items()}


def is_meaning(thing: Any) -> bool:
    """Return whether a choice can stand in functions on rows: a function, or a NamedTuple of
    functions, numbers, and what functions on rows do not read.
    """
    if not isinstance(thing, tuple):
        return callable(thing)
    held = (list, dict, set, tuple, np.ndarray)
    return hasattr(thing, "_fields") and not any(isinstance(each, held) for each in thing)


def functions_of(meanings: Iterable[Any]) -> list[Any]:
    """Return the functions that choices mean, and those in NamedTuples."""
    members = [each for m in meanings for each in (m if isinstance(m, tuple) else (m,))]
    return [each for each in members if callable(each)]


def formers(params: Mapping[str, Param]) -> dict[str, str]:
    """Return the parameters that had another name in an earlier version, by that name; without
    those of which the former name is one of another parameter now.
    """
    return {p.former: n for n, p in params.items() if p.former and p.former not in params}


def use_present_names(
    params: Mapping[str, Param],
    given: Mapping[str, Any],
    warn: Callable[[str], None] = lambda text: None,
    spelled: Callable[[str], str] = str,
    where: object = "",
) -> dict[str, Any]:
    """Return what is `given` by names of parameters by their present names. `warn` is called for
    each former one; `spelled` writes a name as the user does. UsageError, at `where`, for both.
    """
    present, out = formers(params), dict(given)
    for former in [name for name in given if name in present]:
        old, new = spelled(former), spelled(present[former])
        if present[former] in out:
            raise UsageError(
                f"{old} and {new} are both given, and are one parameter",
                where=str(where),
                do=f"leave {old} out: it is called {new} now",
            )
        warn(f"{old} is called {new} now; {old} goes in a later version")
        out[present[former]] = out.pop(former)
    return out
