"""What the analysis of a UDF knows of a value: which rows, fields of rows, and functions it may be.

A value is a set of atoms: it may be any of them. `PLAIN` is a value through which no row is
reached: a number, an array of the function's own, an object of another kind.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher


@dataclass(frozen=True)
class Shape:
    """What a parameter of a UDF is: a row, or, if `several`, a slice of edges, each a row.

    `fields`: the number of dimensions of each field, 0 for a number. `ends`: the rows that an edge
    leads to, by their names.
    """

    fields: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, Shape] = field(default_factory=dict)
    several: bool = False


class Atom:
    """One thing that a value may be."""


Value = frozenset[Atom]


@dataclass(frozen=True)
class Other(Atom):
    """A thing through which no row is reached."""


@dataclass(frozen=True)
class Row(Atom):
    """A row of the parameter `name`, or of an end of its edges: "edges.user"."""

    name: str


@dataclass(frozen=True)
class Edges(Atom):
    """The slice of edges that a parameter is."""

    name: str


@dataclass(frozen=True)
class View(Atom):
    """A field of a row that is an array, or a part of it with `ndim` dimensions."""

    row: str
    field: str
    ndim: int


@dataclass(frozen=True)
class Several(Atom):
    """A tuple."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Each(Atom):
    """Something to loop over, or a list, whose elements are `item`."""

    item: Value


@dataclass(frozen=True, eq=False)
class Known(Atom):
    """A function, a type or a module."""

    thing: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


PLAIN: Value = frozenset({Other()})
DEEPEST = 3  # tuples in tuples that are told apart


def depth(value: Value) -> int:
    """How deep tuples and lists are nested in a value."""
    inner = [
        1 + max((depth(item) for item in parts(atom)), default=0)
        for atom in value
        if isinstance(atom, Several | Each)
    ]
    return max(inner, default=0)


def parts(atom: Atom) -> tuple[Value, ...]:
    """The values that a tuple or a list holds."""
    if isinstance(atom, Several):
        return atom.items
    return (atom.item,) if isinstance(atom, Each) else ()


def rows_in(value: Value) -> Iterator[Row | Edges | View]:
    """The rows, slices of edges and fields in a value, in its tuples and lists too."""
    for atom in value:
        if isinstance(atom, Row | Edges | View):
            yield atom
        for item in parts(atom):
            yield from rows_in(item)


def join(*values: Value) -> Value:
    """What may be any of some values."""
    return frozenset().union(*values)


def constant(thing: Any) -> Value:
    """A global, or what a function closes over."""
    thing = thing.py_func if isinstance(thing, Dispatcher) else thing
    if isinstance(thing, tuple):
        return frozenset({Several(tuple(map(constant, thing)))})
    is_known = isinstance(thing, types.ModuleType | type | np.ufunc) or callable(thing)
    return frozenset({Known(thing)}) if is_known else PLAIN


READING_METHODS = frozenset(
    ("all", "any", "argmax", "argmin", "copy", "astype", "item", "max", "mean", "min", "prod")
    + ("std", "sum", "var")
)
"""Methods of arrays that change nothing and return no view."""

READING_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in ("abs", "bool", "divmod", "float", "int", "max", "min", "pow", "range", "round")
    + ("sum",)
)
"""Functions that read their arguments, and return none of them that is an array."""

_NUMPY = {
    **dict.fromkeys(("all", "any", "argmax", "argmin", "argsort", "array", "array_equal"), 1),
    **dict.fromkeys(("copy", "cumsum", "diff", "empty", "empty_like", "max", "mean", "median"), 1),
    **dict.fromkeys(("min", "ones", "ones_like", "prod", "sort", "std", "sum", "var"), 1),
    **dict.fromkeys(("zeros", "zeros_like"), 2),
    **dict.fromkeys(("dot", "full", "full_like", "outer", "vdot"), 2),
    **dict.fromkeys(("arange", "searchsorted", "where"), 3),
}
"""Functions of numpy that read so many arguments and return an array of its own or a number."""

_READING_NUMPY = {id(getattr(np, name)): count for name, count in _NUMPY.items()}
_READING_NUMPY |= {id(np.empty): 2, id(np.array_equal): 2, id(np.array): 2, id(np.ones): 2}
_READING_NUMPY |= {id(np.linalg.solve): 2, id(np.linalg.norm): 1}


def only_reads(thing: Any, given: int, keywords: frozenset[str]) -> bool:
    """Whether a function of Python's or numpy's library, called with so many arguments by
    position and with `keywords`, reads its arguments and does nothing else with them.
    """
    if isinstance(thing, type) and issubclass(thing, np.generic):
        return True
    if keywords - {"axis", "dtype", "side"}:
        return False
    if isinstance(thing, np.ufunc):
        return given <= thing.nin
    if id(thing) in _READING_NUMPY:
        return given <= _READING_NUMPY[id(thing)]
    if isinstance(thing, types.BuiltinFunctionType) and thing.__module__ == math.__name__:
        return True
    return isinstance(thing, types.BuiltinFunctionType | type) and thing in READING_BUILTINS
