"""The model of a session as it is now: fields of vertices and of the context, which are read from
the masters when they are asked for, and may be set between two runs of stages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tux.api.table import Vertices
from tux.arrays.given import to_given_type
from tux.arrays.ragged import Lists
from tux.base.errors import UsageError
from tux.base.text import did_you_mean
from tux.engine.worker import Worker
from tux.program.computed import Computed
from tux.program.fields import Field
from tux.runs.workers_here import (
    context_table,
    read_field,
    vertex_ids,
    write_context,
    write_field,
)

OpenWorkers = Callable[[], Sequence[Worker]]
"""A function that returns the workers of a session, or raises UsageError if it is closed."""

SET = ("value", "shared", "master")
"""The kinds of fields that can be set."""


class MasterColumns(Mapping[str, Any]):
    """The ids of the vertices of a type and the fields that masters hold, each read when it is
    asked for: (n,), (n, k) or lists. Deltas, and mirror fields that are never sent, are left out.
    """

    def __init__(self, workers: OpenWorkers, name: str, id_type: str) -> None:
        self.workers, self.name = workers, name
        ids, n = vertex_ids(workers()[0], name)
        self._ids = np.asarray(to_given_type(ids.values[:n], id_type))
        table = workers()[0].tables[name]
        self.declared = {
            field: each
            for field, each in table.declared.items()
            if each.kind in (*SET, "data") or each.in_model
            if table.arrays[field][:0].size or 0 not in table.arrays[field].shape[1:]
        }

    def __getitem__(self, field: str) -> Any:
        workers = self.workers()
        if field == "id":
            return self._ids
        if field not in self.declared:
            raise KeyError(field)
        found = read_field(workers, self.name, field)
        if isinstance(found, Lists) or found.ndim == 1:
            return found
        return found.reshape(len(found), -1)

    def __iter__(self) -> Iterator[str]:
        return iter(["id", *self.declared])

    def __len__(self) -> int:
        return 1 + len(self.declared)


class LiveVertices(Vertices):
    """The vertices of one type in a session: what their masters hold at the time of reading.

    ``vertices["x"]`` is an array whose row i belongs to the vertex ``vertices.ids[i]``, and
    ``vertices["x"] = array`` gives the field of all of them new values: on the masters, and on all
    their replicas. One number is the value of all.
    """

    _columns: MasterColumns  # type: ignore[assignment]

    def __init__(self, columns: MasterColumns) -> None:
        self._columns = columns

    @property
    def declared(self) -> dict[str, Field]:
        """The declarations of the fields."""
        return self._columns.declared

    def __setitem__(self, field: str, values: Any) -> None:
        columns = self._columns
        called, workers = f"{columns.name}.{field}", columns.workers()
        declared = columns.declared.get(field)
        can = [name for name, each in columns.declared.items() if each.kind in SET]
        if declared is None or declared.kind not in SET:
            what = f"a field of the kind {declared.kind}" if declared else "no field that stays"
            raise UsageError(
                f"{called} cannot be set: it is {what}",
                do=f"{did_you_mean(field, can)}fields that can be set: {', '.join(can) or 'none'}",
            )
        array = workers[0].tables[columns.name].arrays[field]
        shape = (len(self), *array.shape[1:])
        write_field(workers, columns.name, field, _fit(values, shape, array.dtype, called))


class LiveContext:
    """The context of a session: ``tau.loss`` reads a number, or an array, as all workers know it;
    ``tau.step = 0.5`` sets one that is a `value` or `shared`. A GlobalSync alone reads totals.
    """

    def __init__(self, workers: OpenWorkers) -> None:
        object.__setattr__(self, "_workers", workers)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        workers = self._workers()
        self._find(name, workers)
        row = context_table(workers).arrays[name][0]
        return row.copy() if row.ndim else row.item()

    def __setattr__(self, name: str, value: Any) -> None:
        workers = self._workers()
        declared = self._find(name, workers)
        if isinstance(declared, Computed) or declared.reported:
            raise UsageError(
                f"tau.{name} cannot be set: stages compute it, and each run forgets it before",
                do='keep the number in a field declared as value("f8"), or in a variable',
            )
        array = context_table(workers).arrays[name]
        write_context(workers, name, _fit(value, array.shape, array.dtype, f"tau.{name}"))

    def __dir__(self) -> list[str]:
        return [name for name, each in self._declarations().items() if each.kind != "delta"]

    def __repr__(self) -> str:
        return "\n".join(["tau:", *(f"  {name} {getattr(self, name)}" for name in dir(self))])

    def _declarations(self) -> dict[str, Field]:
        return context_table(self._workers()).declared

    def _find(self, name: str, workers: Sequence[Worker]) -> Field:
        """Return the declaration of a field that is read between two runs."""
        declared = context_table(workers).declared
        if name not in declared:
            known = dir(self)
            do = f"{did_you_mean(name, known)}there are: {', '.join(known) or 'none'}"
            raise UsageError(f"no field of tau {name!r}", do=do)
        if declared[name].kind == "delta":
            raise UsageError(
                f"tau.{name} is a total, of which each worker has gathered a share",
                do="run a GlobalSync that sets a value or a metric from it, and read that",
            )
        return declared[name]


def _fit(values: Any, shape: tuple[int, ...], dtype: np.dtype, called: str) -> np.ndarray:
    """Return values as an array of this shape, or of which each row is laid out flat. UsageError
    for another shape, and for a number that the dtype does not hold.
    """
    given = np.asarray(values)
    if given.shape[:1] == shape[:1] and given.size == np.prod(shape):
        given = given.reshape(shape)
    if given.dtype.kind not in "biuf" or given.shape not in ((), shape):
        raise UsageError(
            f"{called} is {dtype} {shape}, and is given {given.dtype} {given.shape}",
            do="give an array of this shape, in the order of ids, or one number",
        )
    with np.errstate(invalid="ignore", over="ignore"):
        fitted = given.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(fitted, given):
        lost = given[fitted != given].flat[0]
        raise UsageError(
            f"{called} is {dtype}, which does not hold {lost}",
            do="give numbers that it holds, or declare the field with another dtype",
        )
    return np.broadcast_to(fitted, shape)
