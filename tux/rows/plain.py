"""Rows, edges and parameters in plain Python: what a UDF meets under `--no-jit`, in a test or in a
debugger.

Scalars are read as Python numbers, so arithmetic is in double precision; they are rounded to the
field's dtype when stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from tux.rows.extreme import assignment_message, plain_extreme
from tux.rows.table import RowSpec

Arrays = tuple[np.ndarray, ...]


class PlainRow:
    """Row `index` of a table given as field names and arrays (n, *shape); attributes read,
    write, or view the fields.
    """

    __slots__ = ("_spec", "_arrays", "_index")

    def __init__(self, spec: RowSpec, arrays: dict[str, np.ndarray], index: int) -> None:
        object.__setattr__(self, "_spec", spec)
        object.__setattr__(self, "_arrays", arrays)
        object.__setattr__(self, "_index", index)

    def _array(self, name: str) -> np.ndarray:
        try:
            return self._arrays[name]
        except KeyError:
            spec = self._spec
            what = f"{spec.table} has no field {name} (fields: {spec.visible})"
            raise AttributeError(what) from None

    def __getattr__(self, name: str) -> Any:
        array = self._array(name)
        for paired, combine in self._spec.pairs:
            if paired == name:
                return plain_extreme(array[self._index], largest=combine == "argmax")
        if name in self._spec.coded:
            return array[0][array[1][self._index] if len(array) > 1 else 0].item()
        if isinstance(array, tuple):  # ragged: values and bounds
            return array[0][array[1][self._index] : array[1][self._index + 1]]
        return array[self._index].item() if array.ndim == 1 else array[self._index]

    def __setattr__(self, name: str, value: Any) -> None:
        array = self._array(name)
        if self._spec.pairs and name in dict(self._spec.pairs):
            raise TypeError(assignment_message(f"{self._spec.table}.{name}"))
        if name in self._spec.coded:
            raise ValueError(f"{self._spec.table}.{name} is read-only here")
        if isinstance(array, tuple) or array.ndim > 1:
            raise TypeError(
                f"{self._spec.table}.{name} has several entries: assign to "
                f"{self._spec.table}.{name}[k], or {self._spec.table}.{name}[:]"
            )
        try:
            array[self._index] = value
        except ValueError as error:
            if "read-only" in str(error):
                raise ValueError(f"{self._spec.table}.{name} is read-only here") from None
            raise


class Neighbour:
    """One edge seen from the enumerated vertex: the edge's fields, and under `role` the other
    end's row.
    """

    __slots__ = ("_edge", "_role", "_other")

    def __init__(self, edge: PlainRow, role: str, other: PlainRow) -> None:
        for name, part in (("_edge", edge), ("_role", role), ("_other", other)):
            object.__setattr__(self, name, part)

    def __getattr__(self, name: str) -> Any:
        return self._other if name == self._role else getattr(self._edge, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._edge, name, value)


class PlainEdges:
    """The local edges of one vertex: indexable, iterable, with a length. `made(j)` makes the j-th
    of them.
    """

    def __init__(self, count: int, made: Callable[[int], Neighbour]) -> None:
        self._count, self._made = count, made

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: int) -> Neighbour:
        if not -self._count <= i < self._count:
            raise IndexError(f"index {i} is out of bounds for edges with size {self._count}")
        return self._made(int(i) % self._count)

    def __iter__(self) -> Iterator[Neighbour]:
        return map(self._made, range(self._count))


def plain_row(spec: RowSpec) -> Callable[[Arrays, int], PlainRow]:
    """Return the plain counterpart of `tux.rows.row.compiled_row`."""
    return lambda arrays, index: PlainRow(
        spec, dict(zip(spec.names, arrays, strict=True)), int(index)
    )


def plain_lane(spec: RowSpec) -> Callable[[Arrays, int], PlainRow]:
    """Return the plain counterpart of `tux.rows.row.compiled_lane`."""
    return plain_row(spec)


class Parameters(SimpleNamespace):
    """The parameters that functions see, by attribute: numbers, and meanings of choices."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"p.{name} is no number that the program declares")


def plain_parameters(
    names: Sequence[str], meanings: tuple[tuple[str, Any], ...] = ()
) -> Callable[[tuple[Any, ...]], SimpleNamespace]:
    """Return the plain counterpart of `tux.rows.row.compiled_parameters`."""
    return lambda values: Parameters(
        **{
            n: v.item() if isinstance(v, np.generic) else v
            for n, v in zip(names, values, strict=True)
        },
        **dict(meanings),
    )


def plain_edges(edge: RowSpec, role: str, other: RowSpec) -> Any:
    """Return the plain counterpart of `tux.rows.edge_slice.compiled_edges`."""
    edge_row, other_row = plain_row(edge), plain_row(other)

    def edges(
        edge_arrays: Arrays,
        other_arrays: Arrays,
        ends: np.ndarray,
        index: Any,
        lo: int,
        hi: int,
        first: int,
    ) -> PlainEdges:
        def make_neighbour(j: int) -> Neighbour:
            at = lo + j if isinstance(index, tuple) else index[lo + j]
            other = other_row(other_arrays, first + int(ends[lo + j]))
            return Neighbour(edge_row(edge_arrays, at), role, other)

        return PlainEdges(int(hi - lo), make_neighbour)

    return edges
