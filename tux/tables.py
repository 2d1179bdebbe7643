"""Tables: the arrays behind rows. Which fields a UDF sees, and which of them it may write, follows from the side it runs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tux.fields import Field

# side -> field kinds it sees, and those of them it writes (the table in tux.fields). The context's totals are added to from everywhere.
SIDES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "exchange": (("value", "shared", "delta", "mirror", "data"), ("shared", "delta", "mirror")),
    "apply": (("value", "shared", "delta", "master", "data"), ("value", "shared", "master")),
    "aggregate": (("value", "shared", "master", "data"), ()),
    "score": (("value", "shared", "mirror", "data"), ()),
    "exchange of tau": (("value", "shared", "delta"), ("shared", "delta")),
    "apply of tau": (("value", "shared", "delta"), ("delta",)),
    "aggregate of tau": (("value", "shared", "delta"), ("delta",)),
    "score of tau": (("value", "shared"), ()),
    "sync of tau": (("value", "shared", "delta"), ("value", "shared")),
}


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised C-contiguous array that starts at a multiple of 64 bytes, so that vector loads do not straddle cache lines."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


@dataclass(frozen=True)
class Table:
    """One vertex type's, the edges' or the context's fields, each an array (n, *shape)."""

    name: str
    declared: dict[str, Field]
    arrays: dict[str, np.ndarray]

    @staticmethod
    def allocate(name: str, declared: dict[str, Field], n: int) -> Table:
        """A table of n rows, not yet initialised."""
        return Table(name, declared, {f: aligned((n, *d.lengths), d.dtype) for f, d in declared.items()})

    def seen(self, side: str) -> tuple[tuple[str, ...], tuple[np.ndarray, ...]]:
        """Names and arrays of the fields that a UDF on `side` sees; those that it must not write are read-only views."""
        sees, writes = SIDES[f"{side} of tau" if self.name == "tau" else side]
        names = tuple(f for f, d in self.declared.items() if d.kind in sees)
        return names, tuple(self.arrays[f] if self.declared[f].kind in writes else _frozen(self.arrays[f]) for f in names)

    def clear_deltas(self, rows: Any = slice(None)) -> None:
        """Set the delta fields of `rows` back to their identities."""
        for f, d in self.declared.items():
            if d.kind == "delta":
                self.arrays[f][rows] = d.identity

    def row_bytes(self) -> int:
        """Bytes of one row over all fields."""
        return sum(a.itemsize * int(np.prod(a.shape[1:], dtype=np.int64)) for a in self.arrays.values())


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
