"""Fields: what a vertex, an edge or the context holds, who holds it, and how it travels (TUX2's
VertexDataSync and a_u).

| kind | held by | written by | travels |
|---|---|---|---|
| value | master, mirrors | Apply, on the master | master to mirrors, after Apply |
| shared | master, mirrors | Exchange, in place | changes up (folded by the master), values down |
| delta | mirrors; combined on the master | Exchange | up, then back to the identity |
| master | master only | Apply, aggregates | never |
| mirror | each replica, or the edge | Exchange | never |
| data | where the edge or vertex lies | the loader | never; read-only |
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import isfunction, signature
from typing import Any

import numpy as np

from tux.base.errors import ProgramError
from tux.base.random import Initialiser, constant
from tux.program.combining import COMBINES, MEANS, PAIRED, Merge
from tux.program.naming import place
from tux.program.spec import as_lengths, check_init, check_initialiser, check_spec, holds

KINDS = ("value", "shared", "delta", "master", "mirror", "data")
MODEL = ("value", "shared", "master")
"""Kinds of fields that a model consists of, besides mirror fields that are declared `kept`."""

ID = "id"
"""The name of a vertex's number in UDFs, and of the column of ids in a model; no field has it."""

EDGES = "edges"
"""A dimension of as many entries as the vertex has local edges."""

_DTYPE = re.compile(r"[iu][1248]|f[48]|b1")
_DTYPE_LIKE = re.compile(r"[a-zA-Z]\d+")

Init = Initialiser | Callable[[Any], Initialiser]
Dimension = int | str | Callable[[Any], Any]
"""A length, the name of an integer parameter, or a function of the parameters that returns a length
or several.
"""


@dataclass(frozen=True)
class Field:
    """One declared field: its kind, dtype, shape per row, initial value and combination.

    A `ragged` field, of shape ("edges",), has as many entries as its vertex has local edges, of
    which those count that its `length` says: another field of the vertex, or all.
    """

    kind: str
    dtype: np.dtype
    shape: tuple[Dimension, ...]
    init: Init
    combine: str | Merge = "sum"
    reported: bool = False  # one of the run's metrics
    rises: bool = False  # of a metric: larger is better
    kept: bool | None = None  # part of the model, or not, whatever its kind
    length: str = ""
    default: float | None = None  # of data: what a vertex has of which no file tells
    finite: bool = True  # infinities in it end the run, as NaN always does
    wire: str = ""  # how its rows travel, where not in full
    grows: bool = False  # a model may have more or fewer entries along the first dimension

    @property
    def in_model(self) -> bool:
        """True if a model holds it."""
        return self.kind in MODEL if self.kept is None else self.kept

    @property
    def is_ragged(self) -> bool:
        """True if rows differ in length."""
        return EDGES in self.shape

    def resolve(self, parameters: Mapping[str, Any]) -> Field:
        """Return the field with the names and functions of parameters in its shape and initialiser
        replaced by the values of these `parameters`.
        """
        names = _Names(parameters)
        init = self.init
        if not isinstance(init, Initialiser):
            init = init(names)
            check_initialiser(self.dtype, init, f"a {self.kind} field", place(self.init))
        shape: list[Dimension] = []
        for d in self.shape:
            if callable(d):
                shape += as_lengths(d(names))
            else:
                shape.append(d if d == EDGES else self._length(d, parameters))
        if self.combine in PAIRED and len(shape) > 2:
            raise ProgramError(
                f"an {self.combine} has lengths {', '.join(map(str, shape[:-1]))}",
                do="give it one length",
            )
        return replace(self, shape=tuple(shape), init=init)

    def count_dimensions(self, parameters: Mapping[str, Any]) -> int:
        """Return the number of dimensions of the field that `resolve` makes of it."""
        if any(callable(d) for d in self.shape):
            return len(self.resolve(parameters).shape)
        return len(self.shape)

    @staticmethod
    def _length(dimension: int | str, parameters: Mapping[str, Any]) -> int:
        if isinstance(dimension, int):
            return dimension
        chosen = parameters.get(dimension)
        if isinstance(chosen, int) and chosen < 0:
            raise ProgramError(
                f"a field's dimension {dimension} has length {chosen}",
                do="give the parameter a range: param(..., low=0)",
            )
        if not isinstance(chosen, int):
            known = (
                ", ".join(name for name, value in parameters.items() if isinstance(value, int))
                or "none"
            )
            raise ProgramError(
                f"a field's shape names '{dimension}', which is no integer parameter",
                do=f"integer parameters: {known}",
            )
        return int(chosen)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The shape of one row of a sized field that is not ragged."""
        assert all(isinstance(d, int) for d in self.shape)
        return tuple(d for d in self.shape if isinstance(d, int))

    @property
    def identity(self) -> int | float:
        """The value that `combine` leaves unchanged: 0 for sums; the largest number of the dtype
        for min, the smallest for max; where a function combines, the initial value.
        """
        if not isinstance(self.combine, str):
            assert isinstance(self.init, Initialiser)
            return self.init.a
        if self.combine in COMBINES["shared"]:
            return 0
        if self.dtype.kind == "b":
            return self.combine == "min"
        if self.dtype.kind == "f":
            return np.inf if self.combine in ("min", "argmin") else -np.inf
        limits = np.iinfo(self.dtype)
        return int(limits.max if self.combine == "min" else limits.min)


def by_entry(
    fields: Mapping[str, Field], name: str, parameters: Mapping[str, Any]
) -> dict[str, Field]:
    """Return the fields of an entry of the field `name` along its first dimension: the fields with
    as many entries, without this dimension. Return none where the field is one number.
    """
    sized = {each: field.resolve(parameters) for each, field in fields.items()}
    first = sized[name].shape[:1]
    return {
        each: replace(field, shape=field.shape[1:])
        for each, field in sized.items()
        if first and first != (EDGES,) and field.shape[:1] == first
    }


class _Names:
    """Parameters by attribute, for shapes and initialisers written as functions of them."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self.__dict__.update(parameters)

    def __getattr__(self, name: str) -> Any:
        known = ", ".join(self.__dict__) or "none"
        raise AttributeError(f"the program has no parameter {name} (parameters: {known})")


def _field(
    kind: str, spec: tuple[Dimension, ...], init: Init | int | float | None, combine: str
) -> Field:
    """Read `spec`: a dtype code such as "f4" or "i8" (default "f4"), and dimensions."""
    spec = tuple(int(d) if isinstance(d, np.integer) else d for d in spec)
    check_spec(kind, spec)
    if combine not in COMBINES.get(kind, ("sum",)):
        raise ProgramError(
            f"a {kind} field cannot be combined by '{getattr(combine, '__name__', combine)}'",
            where=place(combine) if isfunction(combine) else "",
            do=f"choose one of: {', '.join(COMBINES[kind])}",
        )
    dtypes = [d for d in spec if isinstance(d, str) and _DTYPE.fullmatch(d)]
    if len(dtypes) > 1:
        raise ProgramError(
            f"a {kind} field names several dtypes: {', '.join(dtypes)}", do="give one"
        )
    shape = tuple(d for d in spec if d not in dtypes)
    for d in shape:
        if isinstance(d, str) and _DTYPE_LIKE.fullmatch(d):
            raise ProgramError(
                f"a {kind} field of dtype {d}", do="dtypes: i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 b1"
            )
        if isinstance(d, int) and d < 0:
            raise ProgramError(
                f"a {kind} field has a dimension of length {d}", do="give a number of at least 0"
            )
    if EDGES in shape and (kind != "mirror" or len(shape) > 1):
        raise ProgramError(
            f"a {kind} field of shape {shape}",
            do='an entry for each edge is one dimension of a mirror field: mirror("u4", "edges")',
        )
    dtype = np.dtype(dtypes[0] if dtypes else "f4")
    if combine in (*MEANS, "sqrt_mean") and dtype.kind != "f":
        raise ProgramError(
            f"a {kind} field of dtype {dtypes[0]} cannot be combined by '{combine}'",
            do="declare it f4 or f8, or use a sum",
        )
    check_init(kind, dtype, init)
    start = init if callable(init) else constant(init or 0)
    field = Field(kind, dtype, shape, start, combine)
    return replace(field, init=constant(field.identity)) if kind == "delta" else field


def value(
    *spec: Dimension,
    init: Init | int | float | None = None,
    kept: bool = True,
    finite: bool = True,
    grows: bool = False,
) -> Field:
    """Declare state of the master that mirrors read: written by Apply, sent to the mirrors after
    it. `kept=False`: no part of the model. `finite=False`: it may be infinite. `grows`: a run that
    begins with a model takes as many entries along the first dimension as both have.
    """
    field = _field("value", spec, init, "sum")
    return replace(field, kept=None if kept else False, finite=finite, grows=grows)


def shared(
    *spec: Dimension,
    init: Init | int | float | None = None,
    combine: str = "sum",
    kept: bool = True,
    wire: str = "",
) -> Field:
    """Declare state that Exchange changes in place on any replica.

    The master folds the replicas' changes by `combine`: "sum", "mean" weighted by each replica's
    local edges, or "replica_mean", in which replicas weigh the same. In a remote type: "sum", or
    "sqrt_mean", the sum divided by the square root of the number of workers
    (`tux.sync.pull`). `kept=False`: no part of the model. ``wire="i1"``, in a remote type: rows
    travel as signed bytes in units of the row's largest magnitude / 127, and changes are rounded at
    random such that their mean is right (`tux.sync.row_wire`).
    """
    field = _field("shared", spec, init, combine)
    if wire and (wire != "i1" or field.dtype.kind != "f"):
        raise ProgramError(
            f"a shared field of dtype {field.dtype.str[1:]} travels as {wire!r}",
            do='choose wire="i1" for f4 or f8, or none',
        )
    return replace(field, kept=None if kept else False, wire=wire)


def delta(*spec: Dimension, combine: str | Merge = "sum", init: int | float | None = None) -> Field:
    """Declare a field in which Exchange accumulates for the master (the paper's a_u). Apply reads
    the combination, then it is cleared.

    `combine`: "sum", "min", "max", or a function of two values, as of a `total`, with `init`. The
    values that replicas have gathered are combined in the order of the workers. tux compiles the
    function.
    """
    return _declare_delta("delta", spec, combine, init)


def master(
    *spec: Dimension,
    init: Init | int | float | None = None,
    kept: bool = True,
    finite: bool = True,
) -> Field:
    """Declare state that only the master holds; read and written by Apply and by aggregates.
    `kept=False`: no part of the model. `finite=False`: it may be infinite.
    """
    field = _field("master", spec, init, "sum")
    return replace(field, kept=None if kept else False, finite=finite)


def mirror(
    *spec: Dimension,
    init: Init | int | float | None = None,
    kept: bool = False,
    length: str = "",
    finite: bool = True,
) -> Field:
    """Declare state of each replica (or of an edge, where it lies); read and written by Exchange,
    never sent.

    ``mirror("u4", "edges")``, on a vertex, has an entry for each of its local edges; where it is
    used as a list, `length` names the field that says how many entries count. `kept` makes it a
    part of the model: only on types that are `whole`. `finite=False`: it may be infinite.
    """
    field = _field("mirror", spec, init, "sum")
    field = replace(field, kept=kept, length=length, finite=finite)
    if length and not field.is_ragged:
        raise ProgramError(
            f"a mirror field of shape {field.shape} has the length {length}",
            do='only one of shape ("edges",) can',
        )
    return field


def data(*spec: Dimension, default: float | None = None, finite: bool = True) -> Field:
    """Declare a read-only field that the loader fills from the data. `default`: the value, in each
    entry, of a vertex of which no table tells; None: the table must have all vertices.
    `finite=False`: it may be infinite.
    """
    if default is not None and not math.isfinite(default):
        raise ProgramError(f"a data field has the default {default}", do="give a finite number")
    field = _field("data", spec, None, "sum")
    if default is not None and not holds(field.dtype, default):
        raise ProgramError(
            f"a data field of dtype {field.dtype.str[1:]} has the default {default}",
            do="give a default that the dtype can hold, or another dtype",
        )
    return replace(field, default=default, finite=finite)


def total(*spec: Dimension, combine: str | Merge = "sum", init: int | float | None = None) -> Field:
    """Declare a `delta` of the context: accumulated by every worker's Exchange, combined by
    GlobalSync, then cleared. Default dtype f8.

    `combine`: "sum", "min", "max", or a function of two values, the paper's Combine(tau_i, tau_j):
    of two numbers it returns one; of two arrays it changes the first. The workers' values are
    combined in their order, beginning with `init`, from which functions on rows begin too, and
    which the function must leave unchanged: f(init, x) is x, and f(x, init) too.
    """
    dtype_given = any(isinstance(d, str) and _DTYPE.fullmatch(d) for d in spec)
    spec = spec if dtype_given else ("f8", *spec)
    return _declare_delta("total", spec, combine, init)


def _declare_delta(
    word: str, spec: tuple[Dimension, ...], combine: str | Merge, init: Any
) -> Field:
    """Return a delta of a vertex or of the context; `word`: by which it is declared."""
    if isinstance(combine, str):
        if init is not None:
            raise ProgramError(
                f"a {word} combined by {combine} has init={init!r}",
                do="leave it out: it begins with what the combination leaves unchanged",
            )
        return _field("delta", spec, None, combine)
    parameters = list(signature(combine).parameters) if isfunction(combine) else []
    if len(parameters) != 2:
        raise ProgramError(
            f"a {word} is combined by {combine!r}",
            where=place(combine) if isfunction(combine) else "",
            do=f'give "sum", "min", "max", or a function of two values: {word}(combine=f)',
        )
    if not isinstance(init, int | float | np.number) or init != init:
        raise ProgramError(
            f"a {word} combined by `{combine.__name__}` has init={init!r}",
            where=place(combine),
            do=f"give the number that it leaves unchanged: {word}(combine=f, init=0)",
        )
    field = _field("delta", spec, None, "sum")
    check_init(word, field.dtype, init)
    return replace(field, combine=combine, init=constant(float(init)))


def argmax(*length: Dimension) -> Field:
    """Declare a total that keeps the largest value (f8) and an integer with it, such as a vertex's
    number: ``tau.far.add(distance, v.id)``; ``tau.far.value``, ``tau.far.key``. Of equal values the
    smaller key is kept. ``argmax("groups")``: `groups` of them, each by its index:
    ``tau.far[g].add(distance, v.id)``.
    """
    return _pair_field("argmax", length)


def argmin(*length: Dimension) -> Field:
    """Declare a total that keeps the smallest value, otherwise as `argmax`."""
    return _pair_field("argmin", length)


def _pair_field(combine: str, length: tuple[Dimension, ...]) -> Field:
    if len(length) > 1 or any(isinstance(d, str) and _DTYPE.fullmatch(d) for d in length):
        raise ProgramError(
            f"an {combine} is declared with {', '.join(map(repr, length))}",
            do=f'{combine}() keeps one value with its key, {combine}(8) or {combine}("groups") '
            "several",
        )
    plain = _field("delta", ("f8", *length), None, "sum")
    field = replace(plain, shape=(*plain.shape, 2), combine=combine)
    return replace(field, init=constant(field.identity))
