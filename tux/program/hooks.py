"""Hooks: the methods of a program, an input or a report that a user overrides and tux calls.

Their names and parameters are checked when a class is declared, so that no run trains first and
fails then.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence
from typing import Any, TypeAlias

from tux.base.errors import ProgramError
from tux.program.naming import place, place_of_member

AnyProgram: TypeAlias = Any
"""The program that a hook gets. A hook may name its user's own class instead."""

HOOKS: dict[str, dict[str, tuple[str, ...]]] = {
    "Program": {
        **dict.fromkeys(("setup", "setup_from", "stages", "evaluate", "predict"), ()),
        "converged": ("metrics",),
        "fold_in": ("role",),
    },
    "Input": {
        "topology": ("program",),
        "extra_tables": ("program", "topology"),
        "hold_out": ("program",),
        "specialise": ("program", "facts"),
        "doubts": ("program", "facts"),
    },
    "Ratings": {"counts_pairs": ("program",)},
    "Samples": dict.fromkeys(("numeric", "least_label", "multiclass", "ranked"), ("program",)),
    "Report": {
        "opening": ("program", "vertices"),
        "tables": ("program", "model"),
        "history": ("program", "records"),
        "summary": ("program", "tables", "records"),
        "remarks": ("program", "records"),
        "judge": ("program", "model", "truth"),
        "exports": (),
        "write": ("program", "folder", "lists", "ids"),
    },
}
"""The arguments that tux gives each hook, besides `self`, by the class that declares the hook."""

OWNER = {hook: kind for kind, hooks in HOOKS.items() for hook in hooks}
"""The class of each hook."""

MAY_HAVE = {name: ("cluster",) for name in ("setup", "setup_from", "stages", "evaluate")}
"""Parameters that a hook is given only if it has them."""

NEAR = 0.8
"""The likeness of two names, by `difflib`, of which one is taken for a misspelling."""


def check_hooks(cls: type) -> None:
    """Raise ProgramError for a hook that is no method or cannot be called as tux calls it, for one
    that stands in the wrong class, and for a method that is named nearly as a hook.
    """
    kinds = [base.__name__ for base in cls.__mro__ if base.__module__.startswith("tux.program.")]
    own = [kind for kind in HOOKS if kind in kinds]
    for kind in own:
        for hook, given in HOOKS[kind].items():
            _check_hook(cls, hook, given)
    for name, member in vars(cls).items():
        if isinstance(member, staticmethod | classmethod) or inspect.isfunction(member):
            _check_name(cls, own, name, getattr(member, "__func__", member))


def check_parameters(what: str, function: Any, given: Sequence[str], do: str) -> None:
    """Raise ProgramError unless a function can be called with as many arguments as `given` names.
    `what` names the function.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled code does not say
        return
    named = {name: None for name in _optional(what) if name in signature.parameters}
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        raise ProgramError(
            f"{what}{signature} has other parameters than tux gives it: {error}",
            where=place(function),
            do=do,
        ) from None


def _optional(what: str) -> tuple[str, ...]:
    return MAY_HAVE.get(what.rpartition(".")[2], ())


def _check_hook(cls: type, hook: str, given: tuple[str, ...]) -> None:
    """Raise ProgramError for a hook that cannot be called with the parameters that are `given`."""
    member = inspect.getattr_static(cls, hook)
    function = member.__func__ if isinstance(member, staticmethod | classmethod) else member
    what = f"{cls.__name__}.{hook}"
    do = f"write it as: def {hook}({', '.join(('self', *given))})"
    if not callable(function):
        raise ProgramError(
            f"{what} is a {type(member).__name__}, not a method",
            where=place_of_member(cls, hook),
            do=do,
        )
    bound = isinstance(member, classmethod) or inspect.isfunction(member)
    check_parameters(what, function, ("self", *given) if bound else given, do)


def _check_name(cls: type, own: Sequence[str], name: str, member: Any) -> None:
    """Raise ProgramError for a method that has the name of a hook of another class, or nearly that
    of any hook. `own`: the kinds of which the class is one.
    """
    what = f"{cls.__name__}.{name}() is never called"
    if (kind := OWNER.get(name)) is not None:
        if kind not in own:
            attribute = {"Program": "", "Report": ": report = Mine()"}.get(kind, ": input = Mine()")
            raise ProgramError(
                f"{what}: it is a method of {kind}",
                where=place(member),
                do=f"move it to a class derived from tux.{kind}{attribute}",
            )
        return
    if name.startswith("_"):
        return
    if near := difflib.get_close_matches(name.lower(), OWNER, 1, NEAR):
        raise ProgramError(
            f"{what} by tux; did you mean {near[0]}, a method of {OWNER[near[0]]}?",
            where=place(member),
            do=f"rename it to {near[0]}; if it is a method of your own, call it _{name}",
        )
