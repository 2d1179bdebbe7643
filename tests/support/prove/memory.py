"""The memory of a run, as docs/program.md has it: rows of fields, the replicas of vertices, and how
masters bring them together.

Numbers are Python's, which a row cuts to the field's dtype when they are stored. Nothing is shared
with the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from support.prove.spec import FieldSpec

Cast = Callable[[Any], Any]
Functions = dict[str, tuple[Callable, tuple[str, ...]]]
Shares = dict[int, int]  # edges of a vertex by worker, of the workers that take part

TRAVELLING = ("value", "shared")


def cast_to(dtype: str) -> Cast:
    """Return the function that makes a number one of `dtype`: fractions are cut off, and whole
    numbers wrap around.
    """
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return bool
    if kind.kind == "f":
        return float if kind.itemsize == 8 else lambda x: float(kind.type(x))
    size = 2 ** (8 * kind.itemsize)
    half = size // 2 if kind.kind == "i" else 0
    return lambda x: (int(x) + half) % size - half


def neutral(field: FieldSpec) -> Any:
    """Return the number with which a field begins: of what is gathered by sum, min or max, the one
    that changes nothing.
    """
    dtype = np.dtype(field.dtype)
    if field.kind == "metric":
        return np.nan
    if field.kind not in ("delta", "total") or field.combine not in ("sum", "min", "max"):
        return field.init
    if field.combine == "sum":
        return 0
    if dtype.kind == "b":
        return field.combine == "min"
    if dtype.kind == "f":
        return np.inf if field.combine == "min" else -np.inf
    limits = np.iinfo(dtype)
    return limits.max if field.combine == "min" else limits.min


class FieldEntries(NDArrayOperatorsMixin, list):
    """The numbers of a field with a length, each cut to the dtype when it is stored. Whole fields
    are added and multiplied as arrays of numpy.
    """

    __slots__ = ("cast",)

    def __init__(self, cast: Cast, numbers: Iterable) -> None:
        super().__init__(map(cast, numbers))
        self.cast = cast

    def __getitem__(self, k: Any) -> Any:
        numbers = super().__getitem__(k)
        return np.array(numbers) if isinstance(k, slice) else numbers

    def __setitem__(self, k: Any, x: Any) -> None:
        if isinstance(k, slice):
            count = len(range(*k.indices(len(self))))
            super().__setitem__(k, [self.cast(y) for y in np.broadcast_to(x, count).tolist()])
        else:
            super().__setitem__(k, self.cast(x))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *numbers: Any, **words: Any) -> Any:
        arrays = [np.array(list(x)) if isinstance(x, FieldEntries) else x for x in numbers]
        return getattr(ufunc, method)(*arrays, **words)


class FieldRow:
    """Fields of one vertex or edge, or of the context, by name. `id` is the number of the vertex;
    `sent`: of a mirror, the shared fields as the master has sent them.
    """

    __slots__ = ("__dict__", "id", "sent")
    id: int
    sent: dict[str, Any]
    casts: dict[str, Cast] = {}
    lengths: dict[str, int] = {}

    def __init__(self, number: int, fields: dict[str, Any]) -> None:
        object.__setattr__(self, "id", number)
        object.__setattr__(self, "sent", {})
        for name, x in fields.items():
            cast, length = self.casts[name], self.lengths[name]
            self.__dict__[name] = (
                FieldEntries(cast, np.broadcast_to(x, length).tolist()) if length else cast(x)
            )

    def __setattr__(self, name: str, x: Any) -> None:
        if self.lengths.get(name, 1):
            raise AttributeError(f"{name} is no number of a field that may be set")
        self.__dict__[name] = self.casts[name](x)

    def store(self, name: str, x: Any) -> None:
        """Set a whole field, of one number or many."""
        if self.lengths[name]:
            self.__dict__[name][:] = list(x)
        else:
            self.__dict__[name] = self.casts[name](x)

    def keep_sent(self, name: str) -> None:
        """Keep a shared field as it is: changes from here on are those that are not sent."""
        x = self.__dict__[name]
        self.sent[name] = list(x) if self.lengths[name] else x


def row_class(fields: Sequence[FieldSpec]) -> type[FieldRow]:
    """Make the class of rows with these fields."""
    casts = {field.name: cast_to(field.dtype) for field in fields}
    lengths = {field.name: field.length for field in fields}
    return type("RowOfFields", (FieldRow,), {"__slots__": (), "casts": casts, "lengths": lengths})


class EntryRow:
    """A row as `each` shows it: of the fields that are as long, entry k alone, and no others."""

    __slots__ = ("_k", "_length", "_row", "id")
    id: int

    def __init__(self, row: FieldRow, length: int, k: int) -> None:
        for name, x in (("_row", row), ("_length", length), ("_k", k), ("id", row.id)):
            object.__setattr__(self, name, x)

    def _find(self, name: str) -> FieldEntries:
        if self._row.lengths.get(name) != self._length:
            raise AttributeError(f"{name} does not have an entry for each of {self._length}")
        return self._row.__dict__[name]

    def __getattr__(self, name: str) -> Any:
        return self._find(name)[self._k]

    def __setattr__(self, name: str, x: Any) -> None:
        self._find(name)[self._k] = x


def elementwise(f: Callable, *values: Any) -> Any:
    """Call f on numbers, or on the entries of fields."""
    if isinstance(values[0], list):
        return [f(*numbers) for numbers in zip(*values, strict=True)]
    return f(*values)


def combine(field: FieldSpec, functions: Functions, gathered: Sequence[Any]) -> Any:
    """Combine what workers have gathered, in their order, beginning with `init`."""
    start = neutral(field)
    result: Any = [start] * field.length if field.length else start
    for x in gathered:
        if field.combine == "sum":
            result = elementwise(lambda a, b: a + b, result, x)
        elif field.combine in ("min", "max"):
            result = elementwise(min if field.combine == "min" else max, result, x)
        elif field.length:
            functions[field.combine][0](result, list(x))
        else:
            result = functions[field.combine][0](float(result), float(x))
    return result


def fold(field: FieldSpec, old: Any, changes: list[Any], edges: list[int]) -> Any:
    """Return the master's value of a shared field after the changes of workers with so many edges
    of the vertex (docs/program.md, "Several changes of one vertex").
    """
    weights = edges if field.combine == "mean" and any(edges) else [1] * len(edges)
    whole = 1 if field.combine == "sum" else sum(weights)
    if field.combine == "sum":
        weights = [1] * len(edges)

    def add(number: Any, *parts: Any) -> Any:
        change = sum(n * c for n, c in zip(weights, parts, strict=True))
        return number + (change if whole == 1 else change / whole)

    return elementwise(add, old, *changes)


class VertexReplicas:
    """The vertices of one type on all workers: `masters[v]`, and `rows[w][v]` where worker w has
    edges of v. A vertex without edges is where its master is. `alone`: where no vertex is cut, each
    row is the master itself.
    """

    def __init__(
        self,
        fields: Sequence[FieldSpec],
        values: dict[str, np.ndarray],
        homes: Sequence[int],
        shares: dict[int, Shares],
        workers: int,
    ) -> None:
        self.fields, self.homes, self.shares = fields, homes, shares
        self.alone = alone = all(list(share) == [homes[v]] for v, share in shares.items())
        make = row_class(fields)

        def row(v: int, absent: str) -> FieldRow:
            kept = [field for field in fields if field.kind != absent]
            return make(
                v,
                {f.name: values[f.name][v] if f.kind == "data" else neutral(f) for f in kept},
            )

        self.masters = [row(v, "" if alone else "mirror") for v in range(len(shares))]
        self.rows: list[dict[int, FieldRow]] = [{} for _ in range(workers)]
        for v, share in shares.items():
            for w in share:
                self.rows[w][v] = self.masters[v] if alone else row(v, "master")
                self._mark_sent(self.rows[w][v])

    def names(self, *kinds: str) -> list[str]:
        """The fields of these kinds."""
        return [field.name for field in self.fields if field.kind in kinds]

    def _mark_sent(self, row: FieldRow) -> None:
        for name in self.names("shared"):
            row.keep_sent(name)

    def gather(self, v: int, shares: Shares, functions: Functions) -> None:
        """Bring together at the master of v what the rows of these workers have gathered."""
        if self.alone:
            return
        master = self.masters[v]
        rows = [self.rows[w][v] for w in sorted(shares)]
        edges = [shares[w] for w in sorted(shares)]
        for field in self.fields:
            name = field.name
            if field.kind == "shared":
                changes = [
                    elementwise(lambda a, b: a - b, row.__dict__[name], row.sent[name])
                    for row in rows
                ]
                master.store(name, fold(field, master.__dict__[name], changes, edges))
                for row in rows:
                    row.keep_sent(name)
            elif field.kind == "delta":
                master.store(name, combine(field, functions, [row.__dict__[name] for row in rows]))
                for row in rows:
                    _clear(field, row)

    def clear(self, v: int) -> None:
        """Clear the deltas of the master of v."""
        for field in self.fields:
            if field.kind == "delta":
                _clear(field, self.masters[v])

    def send(self, v: int) -> None:
        """Send value and shared fields of the master of v to its rows, which keep their own changes
        that are not gathered yet.
        """
        if self.alone:
            return
        master = self.masters[v]
        for w in self.shares[v]:
            row = self.rows[w][v]
            for name in self.names("value"):
                row.store(name, master.__dict__[name])
            for name in self.names("shared"):
                own = elementwise(lambda a, b: a - b, row.__dict__[name], row.sent[name])
                row.store(name, master.__dict__[name])
                row.keep_sent(name)
                row.store(name, elementwise(lambda a, b: a + b, row.__dict__[name], own))


def _clear(field: FieldSpec, row: FieldRow) -> None:
    start = neutral(field)
    row.store(field.name, [start] * field.length if field.length else start)


class Taus:
    """The context on all workers: `root` is what GlobalSync sees, `rows[w]` what worker w has. On
    one worker they are one row.
    """

    def __init__(self, fields: Sequence[FieldSpec], workers: int) -> None:
        self.fields = fields
        make = row_class(fields)
        start = {field.name: neutral(field) for field in fields}
        self.root = make(0, start)
        self.rows = [self.root] if workers == 1 else [make(0, start) for _ in range(workers)]

    def gather(self, functions: Functions, totals: bool) -> None:
        """Bring together shared fields, and totals if wanted, at the root."""
        if self.rows[0] is self.root:
            return
        for field in self.fields:
            parts = [row.__dict__[field.name] for row in self.rows]
            old = self.root.__dict__[field.name]
            if field.kind == "shared":
                changes = [elementwise(lambda a, b: a - b, part, old) for part in parts]
                self.root.store(field.name, fold(field, old, changes, [1] * len(changes)))
            elif field.kind == "total" and totals:
                self.root.store(field.name, combine(field, functions, [old, *parts]))

    def send(self, totals: bool) -> None:
        """Send the root's fields to all workers; if totals have been taken, clear them."""
        for field in self.fields:
            for row in [self.root, *self.rows]:
                if field.kind != "total":
                    row.store(field.name, self.root.__dict__[field.name])
                elif totals:
                    _clear(field, row)

    def forget_metrics(self) -> None:
        """Set metrics to NaN, as at the beginning of an epoch."""
        for field in self.fields:
            if field.kind == "metric":
                for row in [self.root, *self.rows]:
                    _clear(field, row)

    def metrics(self) -> dict[str, float]:
        """Return the metrics that an epoch reports: those that are not NaN."""
        names = [field.name for field in self.fields if field.kind == "metric"]
        found = {name: self.root.__dict__[name] for name in names}
        return {name: x for name, x in found.items() if x == x}


def as_array(field: FieldSpec, rows: Sequence[FieldRow]) -> np.ndarray:
    """Return a field of n rows: (n,) or (n, length)."""
    shape = (len(rows), field.length) if field.length else (len(rows),)
    numbers = [row.__dict__[field.name] for row in rows]
    return np.array(numbers, dtype=field.dtype).reshape(shape)
