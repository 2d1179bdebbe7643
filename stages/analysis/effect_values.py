"""Values in the analysis of a UDF: the rows, fields of rows, and functions that a value may be.

A value is a set of atoms: it may be any of them. Through `PLAIN` and `OBJECT` no row is reached:
a number, or an array of numbers that is the function's own; an object of any other kind.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Number
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher


@dataclass(frozen=True)
class Shape:
    """The shape of a UDF's parameter: a row, or, if `several`, a slice of edges, each a row.
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
class OtherAtom(Atom):
    """A thing through which no row is reached. Where an array is indexed, a number or an array of
    numbers picks entries; what is not `numeric`, such as a slice or None, may pick a part, which
    is a view.
    """

    numeric: bool = True


@dataclass(frozen=True)
class Row(Atom):
    """A row of the parameter `name`, or of an end of its edges: "edges.user"."""

    name: str


@dataclass(frozen=True)
class Edges(Atom):
    """The slice of edges that is the parameter `name`."""

    name: str


@dataclass(frozen=True)
class View(Atom):
    """A field of a row that is an array, or a part of it with `ndim` dimensions."""

    row: str
    field: str
    ndim: int


@dataclass(frozen=True)
class TupleAtom(Atom):
    """A tuple."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class IterableAtom(Atom):
    """Something to loop over, or a list, whose elements are `item`."""

    item: Value


@dataclass(frozen=True, eq=False)
class KnownAtom(Atom):
    """A function, a type, a module, a NamedTuple, or the parameters of a program."""

    thing: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownAtom) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


PLAIN: Value = frozenset({OtherAtom()})
OBJECT: Value = frozenset({OtherAtom(numeric=False)})
NUMBERS: Value = frozenset({IterableAtom(PLAIN)})
"""A tuple of numbers. Parts of it may be empty, and then pick a whole array."""
DEEPEST = 3  # tuples in tuples that are told apart


def depth(value: Value) -> int:
    """Return how deep tuples and lists are nested in a value; 0 if it holds none."""
    inner = [
        1 + max((depth(item) for item in parts(atom)), default=0)
        for atom in value
        if isinstance(atom, TupleAtom | IterableAtom)
    ]
    return max(inner, default=0)


def parts(atom: Atom) -> tuple[Value, ...]:
    """Return the values that a tuple or a list holds; none for other things."""
    if isinstance(atom, TupleAtom):
        return atom.items
    return (atom.item,) if isinstance(atom, IterableAtom) else ()


def rows_in(value: Value) -> Iterator[Row | Edges | View]:
    """Yield the rows, slices of edges and fields in a value, in its tuples and lists too."""
    for atom in value:
        if isinstance(atom, Row | Edges | View):
            yield atom
        for item in parts(atom):
            yield from rows_in(item)


def holds_rows(value: Value) -> bool:
    """Return whether a tuple or a list in a value holds rows or fields."""
    return any(any(rows_in(item)) for atom in value for item in parts(atom))


def is_numeric(value: Value) -> bool:
    """Return whether a value is certainly a number or an array of numbers."""
    return all(isinstance(a, View) or isinstance(a, OtherAtom) and a.numeric for a in value)


def join(*values: Value) -> Value:
    """Return the value that may be any of some values."""
    return frozenset().union(*values)


def constant(thing: Any) -> Value:
    """Return the value of a global, or of a variable that a function closes over."""
    thing = thing.py_func if isinstance(thing, Dispatcher) else thing
    if isinstance(thing, tuple) and not any(map(callable, thing)):
        return frozenset({TupleAtom(tuple(map(constant, thing)))})
    if isinstance(thing, Number) or isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
        return PLAIN
    is_known = isinstance(thing, types.ModuleType | type | np.ufunc | tuple) or callable(thing)
    return frozenset({KnownAtom(thing)}) if is_known else OBJECT


READING_METHODS = frozenset(
    ("all", "any", "argmax", "argmin", "copy", "astype", "item", "max", "mean", "min", "prod")
    + ("std", "sum", "var")
)
"""Methods of arrays that change nothing and return no view: numbers, or an array of its own."""

NUMERIC_METHODS = READING_METHODS | {"bits", "uniform", "normal", "below"}
"""These, and those of random streams, which return numbers."""

READING_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in ("abs", "bool", "divmod", "float", "int", "max", "min", "pow", "range", "round")
    + ("sum",)
)
"""Functions that read their arguments. Of several, or of a tuple, they may return one."""

_LEAST = (max, min, sum)  # of several things
_TUPLES = (divmod, math.frexp, math.modf)
"""Functions that return several numbers."""

_INDICES = (np.argmax, np.argmin, np.argsort, np.searchsorted)
"""Functions that return indices, whatever they are given."""

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


def read_by(thing: Any, given: Sequence[Value], named: Mapping[str, Value]) -> Value | None:
    """Return the result of a function of Python's or numpy's library that reads its arguments and
    does nothing else with them; None if it may do anything else.
    """
    values = [*given, *named.values()]
    if not _only_reads(thing, len(given), frozenset(named)):
        return None
    if isinstance(thing, np.ufunc) or id(thing) in _READING_NUMPY:
        if any(map(holds_rows, values)) and (
            "dtype" in named or any(map(_may_hold_objects, values))
        ):
            return None  # an array of objects holds the fields themselves
        several = isinstance(thing, np.ufunc) and thing.nout > 1
        several |= thing is np.where and len(given) == 1
    else:
        several = any(thing is each for each in _TUPLES)
        views = any(rows for value in values for rows in rows_in(value))
        if any(map(holds_rows, values)) or views and _returns_one(thing, values):
            return None
    certain = isinstance(thing, type) or any(thing is each for each in _INDICES)
    if not certain and any(map(_may_hold_objects, values)):
        return OBJECT
    return NUMBERS if several else PLAIN


def _returns_one(thing: Any, values: list[Value]) -> bool:
    """Return whether a function may return an array that it is given, or a part of it. Of a lone
    array with one dimension, `max`, `min` and `sum` return a number.
    """
    if any(thing is each for each in _LEAST):
        return len(values) != 1 or any(isinstance(a, View) and a.ndim > 1 for a in values[0])
    return isinstance(thing, type) and issubclass(thing, np.generic)


def _may_hold_objects(value: Value) -> bool:
    """Return whether a value is something other than numbers, holds such a thing, or is its
    type.
    """
    return any(
        isinstance(atom, OtherAtom)
        and not atom.numeric
        or isinstance(atom, KnownAtom)
        and atom.thing is object
        or any(map(_may_hold_objects, parts(atom)))
        for atom in value
    )


def _only_reads(thing: Any, given: int, keywords: frozenset[str]) -> bool:
    if isinstance(thing, type) and issubclass(thing, np.number | np.bool_):
        return True
    if keywords - {"axis", "dtype", "side"}:
        return False
    if isinstance(thing, np.ufunc):
        return given <= thing.nin and thing.ntypes > 1  # one type: a function of Python's
    if id(thing) in _READING_NUMPY:
        return given <= _READING_NUMPY[id(thing)]
    if isinstance(thing, types.BuiltinFunctionType) and thing.__module__ == math.__name__:
        return True
    return isinstance(thing, types.BuiltinFunctionType | type) and thing in READING_BUILTINS
