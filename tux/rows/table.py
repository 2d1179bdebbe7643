"""Tables: the arrays behind rows. Which fields a UDF sees, and which of them it may write,
follows from where it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.byte_codes import ByteCodes
from tux.arrays.ragged import Lists, take_lists
from tux.base.errors import out_of_memory
from tux.program.combining import PAIRED
from tux.program.fields import ID, Field, by_entry
from tux.program.merging import combine_values

# place where a UDF runs -> field kinds that it sees, and kinds that it writes (the table in
# tux.program.fields). The context's totals are added to from everywhere.
ACCESS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "exchange": (("value", "shared", "delta", "mirror", "data"), ("shared", "delta", "mirror")),
    "apply": (("value", "shared", "delta", "master", "data"), ("value", "shared", "master")),
    "apply_master_only": (("value", "shared", "master", "data"), ("value", "shared", "master")),
    "aggregate": (("value", "shared", "master", "data"), ("master",)),
    "score": (("value", "shared", "mirror", "data"), ()),
    "exchange of tau": (("value", "shared", "delta"), ("shared", "delta")),
    "apply_master_only of tau": (("value", "shared", "delta"), ("delta",)),
    "apply of tau": (("value", "shared", "delta"), ("delta",)),
    "aggregate of tau": (("value", "shared", "delta"), ("delta",)),
    "score of tau": (("value", "shared"), ()),
    "sync of tau": (("value", "shared", "delta"), ("value", "shared")),
}


class RowSpec(NamedTuple):
    """The fields that the rows of one table have in a kernel."""

    table: str
    names: tuple[str, ...]
    """Fields whose arrays are passed, in this order."""
    visible: str
    """All fields that a UDF may name, for messages."""
    pairs: tuple[tuple[str, str], ...] = ()
    """The fields that are a value with its key, and their combinations."""
    changing: tuple[str, ...] = ()
    """Read-only fields that other rows of the kernel change."""
    unused: tuple[str, ...] = ()
    """Fields that no UDF of the kernel reads or changes by this row, though it names one so."""
    coded: tuple[str, ...] = ()
    """Fields whose arrays are values and, unless all rows have one value, their codes."""


class Claim(NamedTuple):
    """The use that a kernel makes of the fields of one of its rows: those that its UDFs may write
    by this row, those that they may write by another row of the same table, and those that they do
    not even read by this row.
    """

    writes: frozenset[str]
    changing: Container[str] = ()
    unused: Container[str] = ()


MergeRows = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
"""A function that combines rows of values: those of a field (n, *shape), the numbers (r,) of the
rows that it changes, and the values (r, *shape) that they are given.
"""


def allocate_aligned(shape: tuple[int, ...], dtype: np.dtype, *, zero: bool = False) -> np.ndarray:
    """Allocate a C-contiguous array that starts at a multiple of 64 bytes, so that vector loads do
    not straddle cache lines. `zero`: it is full of 0, and pages that nobody writes take no memory;
    otherwise it is uninitialised.
    """
    size = math.prod(shape) * dtype.itemsize
    raw = (np.zeros if zero else np.empty)(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def allocate_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Allocate an array of 0 whose pages are all in memory. A loop that writes few elements has
    masked stores, each of which takes microseconds on a page that nobody has written.
    """
    return np.full(shape, 0, dtype)


def _allocate_field(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Allocate an array for the field `name`, aligned to 64 bytes; raise TuxError if there is not
    so much memory.
    """
    try:
        return allocate_aligned(shape, dtype)
    except (MemoryError, ValueError):  # ValueError: more bytes than can be numbered
        rows = f"{shape[0]:,} rows of {math.prod(shape[1:]):,} numbers"
        size = math.prod(shape) * dtype.itemsize / 2**30
        raise out_of_memory(f"{name} needs {size:,.1f} GiB, for {rows} of {dtype}") from None


@dataclass(frozen=True)
class RowTable:
    """The fields of one vertex type, of the edges or of the context, each an array (n, *shape)."""

    name: str
    declared: dict[str, Field]
    arrays: dict[str, Any]  # of edges, a column may be coded (`tux.arrays.byte_codes`)
    # of the rows of ragged fields, (n + 1,)
    bounds: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    # of the context, see `columns`: (1, width) by the first of the fields
    joint: dict[str, np.ndarray] = field(default_factory=dict)
    # of vertices: the dense index of each row, (n,) of `index_dtype`, which UDFs read as `id`
    ids: Callable[[], np.ndarray] | None = None
    # of deltas of vertices that a function combines, by field: see `tux.stages.kernel.merges`
    merges: dict[str, MergeRows] = field(default_factory=dict)

    @staticmethod
    def allocate(
        name: str,
        declared: dict[str, Field],
        n: int,
        entries: np.ndarray | None = None,
        ids: Callable[[], np.ndarray] | None = None,
    ) -> RowTable:
        """Allocate a table of n rows, not yet initialised. A ragged field is one array (sum of
        `entries`,), row by row; `entries` (n,), or none.
        """
        if name == "tau":
            return _context(declared)
        bounds = np.zeros(n + 1, np.int64)  # which takes no memory until it is written
        if entries is not None:
            np.cumsum(entries, out=bounds[1:])
        shapes = {
            f: (int(bounds[-1]),) if d.is_ragged else (n, *d.lengths) for f, d in declared.items()
        }
        return RowTable(
            name,
            declared,
            {f: _allocate_field(f"{name}.{f}", shapes[f], d.dtype) for f, d in declared.items()},
            bounds,
            ids=ids,
        )

    def visible_fields(
        self,
        access: str,
        used: Container[str] | None = None,
        *,
        ids: bool = False,
        claim: Claim | None = None,
    ) -> tuple[RowSpec, tuple[Any, ...]]:
        """Return the fields that a UDF with `access` sees, and their arrays. Those that it must not
        write, or by its `claim` does not, are read-only views. With `used`, only the fields of
        these names are passed; `ids` of vertices only if they are asked for.

        A ragged field is a pair of arrays: values and bounds. A coded one: values and codes, or
        the value alone.
        """
        sees, writes = ACCESS[f"{access} of tau" if self.name == "tau" else access]
        writable = {f: d.kind in writes for f, d in self.declared.items() if d.kind in sees}
        names = tuple(f for f in writable if used is None or f in used)
        changed = {f for f in names if writable[f] and (claim is None or f in claim.writes)}
        coded = tuple(f for f in names if isinstance(self.arrays[f], ByteCodes))
        arrays = {
            f: self.arrays[f]
            if f in changed
            else tuple(map(freeze, self.arrays[f].arrays()))
            if f in coded
            else freeze(self.arrays[f])
            for f in names
        }
        shown = [f if written else f"{f} read-only" for f, written in writable.items()]
        passed = [
            (arrays[f], self.bounds) if self.declared[f].is_ragged else arrays[f] for f in names
        ]
        if self.ids:
            shown.append(f"{ID} read-only")
        if self.ids and ids:
            names, passed = (*names, ID), [*passed, freeze(self.ids())]
        spec = self.spec(names, ", ".join(shown) or "none")._replace(coded=coded)
        if claim is not None:
            changing = tuple(f for f in names if f in claim.changing and f not in changed)
            unused = tuple(f for f in names if f in claim.unused)
            spec = spec._replace(changing=changing, unused=unused)
        return spec, tuple(passed)

    def spec(self, names: tuple[str, ...], visible: str) -> RowSpec:
        """Return the specification of rows of these fields."""
        combined = {f: str(d.combine) for f, d in self.declared.items() if d.combine in PAIRED}
        pairs = tuple((f, combined[f]) for f in names if f in combined)
        return RowSpec(self.name, names, visible, pairs)

    def columns(self, kinds: tuple[str, ...]) -> list[tuple[str, np.ndarray, Field]]:
        """Return the columns in which fields of some kinds travel: name, array and declaration of
        each.

        The context's single row has many small fields; those of one kind, dtype and combination
        travel together, by the first one's name.
        """
        kept = [name for name, declared in self.declared.items() if declared.kind in kinds]
        if self.joint:
            return [
                (name, self.joint[name], self.declared[name]) for name in kept if name in self.joint
            ]
        return [(name, self.arrays[name], self.declared[name]) for name in kept]

    def by_entry(self, field: str) -> RowTable:
        """Return a table whose rows are the entries of a field along its first dimension, row by
        row: of the fields that have as many.
        """
        count = self.arrays[field].shape[1]
        ids, declared = self.ids, by_entry(self.declared, field, {})
        arrays = {
            f: self.arrays[f].reshape(len(self.arrays[f]) * count, *d.lengths)
            for f, d in declared.items()
        }
        numbers = (lambda: np.repeat(ids(), count)) if ids else None
        return RowTable(self.name, declared, arrays, ids=numbers)

    def clear_deltas(self, rows: Any = slice(None), only: Container[str] | None = None) -> None:
        """Set the delta fields of `rows` back to their identities; `only` some, or all."""
        for f, d in self.declared.items():
            if d.kind == "delta" and (only is None or f in only):
                self.arrays[f][rows] = d.identity

    def forget_reported(self) -> None:
        """Set the metrics to NaN."""
        for f, d in self.declared.items():
            if d.reported:
                self.arrays[f][...] = np.nan

    def combine_rows(self, name: str, own: np.ndarray, rows: Any, given: np.ndarray) -> None:
        """Combine the values of `rows`, each of them once, of the delta `name` with those `given`
        (r, *shape). `own`: the array in which it travels.
        """
        if merge := self.merges.get(name):
            numbers = np.arange(len(own))[rows] if isinstance(rows, slice) else rows
            merge(own, numbers, given)
        else:
            own[rows] = combine_values(self.declared[name], own[rows], given)

    def row_bytes(self) -> int:
        """Return the bytes of one row over all fields."""
        return sum(
            a.itemsize * int(np.prod(a.shape[1:], dtype=np.int64)) for a in self.arrays.values()
        )


def _context(declared: dict[str, Field]) -> RowTable:
    """Allocate the table of the context: fields of one kind, dtype and combination side by side,
    long ones first, at their alignment.
    """
    alike: dict[tuple[str, str, str], list[str]] = {}
    for name, d in declared.items():
        # a function combines one field at a time
        combine = d.combine if isinstance(d.combine, str) else f"by a function: {name}"
        alike.setdefault((d.kind, d.dtype.str, combine), []).append(name)
    arrays, joint = {}, {}
    for names in alike.values():
        sizes = {name: math.prod(declared[name].lengths) for name in names}
        both = allocate_aligned((1, sum(sizes.values())), declared[names[0]].dtype)
        at, joint[names[0]] = 0, both
        for name in sorted(names, key=lambda each: -sizes[each]):
            arrays[name] = both[:, at : at + sizes[name]].reshape(1, *declared[name].lengths)
            at += sizes[name]
    return RowTable("tau", declared, {name: arrays[name] for name in declared}, joint=joint)


def in_model(table: RowTable) -> list[str]:
    """Return the names of the fields that a model holds."""
    return [name for name, field in table.declared.items() if field.in_model]


def freeze(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array. Arrays that came over the wire are read-only, so all
    that are passed on are made so too: one kind of array is one compilation.
    """
    array = np.asarray(array)  # a mapped file's is a class of its own
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


PIECE = 1 << 20  # entries of a piece: see `pieces`


def pieces(table: RowTable, rows: np.ndarray) -> list[tuple[int, int]]:
    """Cut some rows of a table (r,) into ranges of 0 .. r, each with lists of PIECE entries and as
    many entries of the model's other fields, or one row: no message is to be too large.
    """
    entries = np.cumsum(table.bounds[rows + 1] - table.bounds[rows])
    bounds = np.concatenate([[0], entries])
    lists = np.searchsorted(bounds, np.arange(0, bounds[-1], PIECE), side="right") - 1
    plain = [f for f in in_model(table) if not table.declared[f].is_ragged]
    numbers = sum(math.prod(table.declared[f].lengths) for f in plain)
    others = np.arange(0, max(len(rows), 1), max(PIECE // max(numbers, 1), 1))
    cuts = np.unique(np.concatenate([lists, others])).tolist() + [len(rows)]
    return list(pairwise(cuts))


def lists_of_rows(table: RowTable, field: str, rows: np.ndarray) -> Lists:
    """Return the lists of `rows` of a ragged field: as many entries of each as the field that it
    names as its length says, else all.
    """
    starts, counts = table.bounds[rows], table.bounds[rows + 1] - table.bounds[rows]
    if length := table.declared[field].length:
        counts = np.clip(table.arrays[length][rows].astype(np.int64), 0, counts)
    return take_lists(table.arrays[field], starts, counts)
