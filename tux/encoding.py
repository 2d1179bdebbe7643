"""Three ways to say which elements of a message's rows have a new value; the smallest wins.

    DENSE      every element of every row, in the order of the rows, which both ends know
    ROWS       a bitmap of the rows that changed, and all elements of those
    ELEMENTS   the places (row in the message * width + column) of the elements that changed, and these

The first array of a packed message has the form of each field; the arrays of the fields follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tux.errors import Refused
from tux.partition.compiled import compiled

DENSE, ROWS, ELEMENTS = range(3)

Arrays = list[np.ndarray]


class Picked(NamedTuple):
    """Some elements of a field: `values` (r, width) belong into rows `rows` (r,) of ``field.reshape(-1, width)``.

    Both are read-only. Single elements are rows of width 1, so that whoever handles rows handles them too.
    """

    rows: np.ndarray
    values: np.ndarray
    width: int

    def of(self, array: np.ndarray) -> np.ndarray:
        """`array`, a field's, in the shape that `rows` number."""
        return array.reshape(array.size // self.width if self.width else len(array), self.width)


@compiled
def _count(marks):  # type: ignore[no-untyped-def]
    """(rows with a mark, marks) of (r, w) uint8."""
    rows = elements = 0
    for j in range(marks.shape[0]):
        here = 0
        for k in range(marks.shape[1]):
            here += marks[j, k]
        elements += here
        rows += here > 0
    return rows, elements


def pack(fields: Iterable[tuple[np.ndarray, np.ndarray]]) -> Arrays:
    """The arrays of a message, from the values (r, *shape) of each field and marks (r, width) uint8, 1 where they are news."""
    forms, packed = [], []
    for values, marks in fields:
        form, arrays = _smallest(values.reshape(marks.shape), marks)
        forms.append(form)
        packed.extend(arrays)
    return [np.array(forms, np.uint8), *packed]


def _smallest(values: np.ndarray, marks: np.ndarray) -> tuple[int, Arrays]:
    (count, width), size = marks.shape, values.itemsize
    rows, elements = _count(marks)
    kind = np.dtype(np.uint16 if marks.size <= 1 << 16 else np.uint32)
    sizes = [values.nbytes, (count + 7) // 8 + rows * width * size, elements * (kind.itemsize + size)]
    form = sizes.index(min(sizes))
    if form == ROWS:
        changed = marks.any(axis=1)
        return form, [np.packbits(changed), values[changed]]
    if form == ELEMENTS:
        places = np.flatnonzero(marks)
        return form, [places.astype(kind), values.reshape(-1)[places]]
    return form, [values]


def unpack(arrays: Sequence[np.ndarray], fields: Sequence[np.ndarray], rows: np.ndarray) -> list[Picked]:
    """What `pack` said of `rows`, for each of `fields`, the local arrays (n, *shape). Refused if that cannot be about them."""
    try:
        forms, rest = arrays[0], iter(arrays[1:])
        if forms.dtype != np.uint8 or forms.shape != (len(fields),):
            raise ValueError(f"{forms.size} fields for {len(fields)}")
        picked = [_picked(form, rest, field, rows) for form, field in zip(forms.tolist(), fields, strict=True)]
        if next(rest, None) is not None:
            raise ValueError("arrays to spare")
    except (IndexError, StopIteration, ValueError) as error:
        raise Refused(f"a message that does not fit its rows was refused: {error}") from None
    return picked


def _picked(form: int, rest: Iterable[np.ndarray], field: np.ndarray, rows: np.ndarray) -> Picked:
    width, rest = math.prod(field.shape[1:]), iter(rest)
    if form == ROWS:
        rows = rows[np.unpackbits(next(rest), count=len(rows)).astype(bool)]
    elif form == ELEMENTS:
        places = next(rest)
        if places.dtype.kind != "u":
            raise ValueError(f"places as {places.dtype}")
        places = places.astype(np.int64)
        rows, width = rows[places // width].astype(np.int64) * width + places % width, 1
    elif form != DENSE:
        raise ValueError(f"form {form}")
    values = next(rest)
    if values.dtype != field.dtype:
        raise ValueError(f"{values.dtype} for {field.dtype}")
    if len(rows) and values.size != len(rows) * width:
        raise ValueError(f"{values.size} values for {len(rows)} rows of {width}")
    kind = np.int32 if field.size < 2**31 else np.int64
    return Picked(_locked(rows.astype(kind, copy=False)), _locked(values.reshape(len(rows), width)), width)


def whole(picked: Picked, field: np.ndarray, identity: int | float) -> np.ndarray:
    """An array like `field` with the picked values, and `identity` elsewhere."""
    out = np.full_like(field, identity)
    picked.of(out)[picked.rows] = picked.values
    return out


def _locked(array: np.ndarray) -> np.ndarray:
    """A read-only view: what came by a socket is read-only, and one kind of array means one compilation."""
    view = array.view()
    view.flags.writeable = False
    return view
