"""Checks of what a program promises of an Exchange, which the engine cannot see."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tux.base.errors import ProgramError


class Promises(Protocol):
    """The parameters of an Exchange or a ForEach, and how its UDF is called."""

    label: str
    enter: Any
    leave: Any
    held_out: bool
    shares: int
    active: str
    cut: bool | None

    @property
    def per_vertex(self) -> bool:
        """True if the UDF is called for each vertex, with its edges."""

    @property
    def by_tile(self) -> bool:
        """True if it is called for each edge, in any order."""


def check_shares(stage: Promises) -> None:
    """Raise ProgramError for a number of `shares` that an Exchange cannot have."""
    shares = stage.shares
    number = isinstance(shares, int | np.integer) and not isinstance(shares, bool)
    if not number or (shares < 2 and shares != 0):
        raise ProgramError(
            f"{stage.label} has shares={shares!r}",
            do="write a whole number from 2: the most shares of a vertex's edges, as in shares=8",
        )
    if shares and (stage.enter or stage.leave or not stage.per_vertex):
        raise ProgramError(
            f"{stage.label} has shares={shares}, and only a function with `edges`, without "
            "enter and leave, is called for shares of a vertex's edges",
            do="write additive=True, which is for several workers",
        )


def check_promises(stage: Promises) -> None:
    """Raise ProgramError for values of `additive`, `cut` and the like that a stage cannot have."""
    for name in ("additive", "stale_context", "racing"):
        value = getattr(stage, name)
        if not isinstance(value, bool | np.bool_):
            raise ProgramError(
                f"{stage.label} has {name}={value!r}", do=f"write {name}=True, or leave it out"
            )
    if not isinstance(stage.active, str) or (stage.active and (stage.held_out or stage.shares)):
        raise ProgramError(
            f"{stage.label} has active={stage.active!r}{' and held_out' * stage.held_out}"
            f"{f' and shares={stage.shares}' if stage.shares else ''}",
            do='name a value of dtype b1 of the vertices, as in active="changed", in an '
            "Exchange on training edges without shares",
        )
    if stage.cut is not None and (not isinstance(stage.cut, bool) or stage.held_out):
        raise ProgramError(
            f"{stage.label} has cut={stage.cut!r}{' and held_out' * stage.held_out}",
            do="write cut=False or cut=True in an Exchange on training edges, or leave it out",
        )
    for name, unset in (("cut", None), ("stale_context", False)):
        value = getattr(stage, name)
        if stage.by_tile and value is not unset:
            raise ProgramError(
                f"{stage.label} has {name}={value}, and is called for each edge",
                do=f"leave {name} out: it is for functions that are called for each vertex",
            )
