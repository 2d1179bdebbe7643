"""The dirty elements of a message's rows as arrays, in one of four forms: the smallest is sent.

    NOTHING    no element
    DENSE      every element of every row, in the order of the rows, which both ends know
    ROWS       a bitmap of the rows with a dirty element, and all elements of those
    ELEMENTS   the places (row in the message * width + column) of the dirty elements, and these

The first array of a packed message has the form of each field; the arrays of the fields follow.
`unpack` checks them against the rows that they belong to.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.rows.table import freeze

NOTHING, DENSE, ROWS, ELEMENTS = range(4)

Arrays = list[np.ndarray]


class FieldElements(NamedTuple):
    """Some elements of a field: `values` (r, width) belong into rows `rows` (r,) of
    ``field.reshape(-1, width)``.

    Both arrays are read-only. Single elements are rows of width 1, so that code for rows works for
    them too. `NEVER` has no element and stands for every field. It has no width: code that finds no
    rows need not ask for it.
    """

    rows: np.ndarray
    values: np.ndarray
    width: int

    def of(self, array: np.ndarray) -> np.ndarray:
        """View `array`, which belongs to a field, in the shape (n, width) that `rows` number."""
        return array.reshape(array.size // self.width if self.width else len(array), self.width)


@cached_njit
def _count(dirty):  # type: ignore[no-untyped-def]
    """Return (rows with a dirty element, dirty elements) of flags (r, w) uint8."""
    rows = elements = 0
    if dirty.shape[1] == 1:  # flat, so that it is done many at a time
        for flag in dirty.reshape(-1):
            elements += flag
        return elements, elements
    for j in range(dirty.shape[0]):
        here = 0
        for k in range(dirty.shape[1]):
            here += dirty[j, k]
        elements += here
        rows += here > 0
    return rows, elements


@cached_njit
def _choose(values, dirty, at, out, flags):  # type: ignore[no-untyped-def]
    """Copy the rows `at` of `values` and `dirty` (r, w) to `out` and `flags`. Return the number of
    dirty elements among them.
    """
    changes = 0
    for j in range(len(at)):
        for k in range(values.shape[1]):
            out[j, k], flags[j, k] = values[at[j], k], dirty[at[j], k]
            changes += dirty[at[j], k]
    return changes


@cached_njit
def _changed_rows(values, dirty, bitmap, out):  # type: ignore[no-untyped-def]
    """Copy the rows of `values` (r, w) that have a dirty element to `out`, and set a bit for each
    in `bitmap`, which is all zero. The highest bit is the first row.
    """
    at = 0
    for j in range(dirty.shape[0]):
        some = 0
        for k in range(dirty.shape[1]):
            some |= dirty[j, k]
        if some:
            bitmap[j >> 3] |= 128 >> (j & 7)
            for k in range(dirty.shape[1]):
                out[at, k] = values[j, k]
            at += 1


@cached_njit
def _changed_elements(values, dirty, places, out):  # type: ignore[no-untyped-def]
    """Copy the dirty elements of `values` (m,) to `out`, and their places to `places`."""
    at = 0
    for i in range(len(dirty)):
        if dirty[i]:
            places[at], out[at] = i, values[i]
            at += 1


@cached_njit
def _rows_in(bitmap, rows, out):  # type: ignore[no-untyped-def]
    """Copy each of `rows` whose bit in `bitmap` is set to `out`. Return False if `out` is not full
    afterwards, or too small.
    """
    at = 0
    for j in range(len(rows)):
        if bitmap[j >> 3] & (128 >> (j & 7)):
            if at == len(out):
                return False
            out[at] = rows[j]
            at += 1
    return at == len(out)


@cached_njit
def _locate_elements(places, rows, width, out):  # type: ignore[no-untyped-def]
    """Turn `places`, which count elements within the message's `rows`, into places in the whole
    field, and write these to `out`. Return False if a place is beyond the rows, or they do not
    ascend.
    """
    for i in range(len(places)):
        j = places[i] // width
        if j >= len(rows) or (i > 0 and places[i] <= places[i - 1]):
            return False
        out[i] = np.int64(rows[j]) * width + places[i] % width
    return True


Flagged = tuple[np.ndarray, np.ndarray | None]
"""The values (r, *shape) of a field's rows, and flags (r, width) uint8, 1 where they are dirty;
None: nowhere, and the values do not count.
"""


def pick_changed_fields(fields: Iterable[Flagged], rows: np.ndarray) -> list[FieldElements]:
    """Make the payload that a member hands to itself: of each field, all values (r, width) in
    `rows`, or `NEVER` if none of them is dirty.
    """
    rows = freeze(rows)
    return [
        FieldElements(rows, freeze(values), values.shape[1]) if dirty is not None else NEVER
        for values, dirty in fields
    ]


def choose_rows(fields: Iterable[Flagged], at: np.ndarray) -> list[Flagged]:
    """Copy of each field the rows at places `at` (r,) among its own, with their flags."""
    out: list[Flagged] = []
    for values, dirty in fields:
        if dirty is None:
            out.append((values, None))
            continue
        some = np.empty((len(at), dirty.shape[1]), values.dtype)
        flags = np.empty(some.shape, np.uint8)
        changes = _choose(bits(values.reshape(dirty.shape)), dirty, at, bits(some), flags)
        out.append((some, flags if changes else None))
    return out


def pack(fields: Iterable[Flagged]) -> Arrays:
    """Make the arrays of a message about these fields."""
    forms, packed = [], []
    for values, dirty in fields:
        if dirty is None:
            forms.append(NOTHING)
            continue
        form, arrays = _smallest(values.reshape(dirty.shape), dirty)
        forms.append(form)
        packed.extend(arrays)
    return [np.array(forms, np.uint8), *packed]


def _smallest(values: np.ndarray, dirty: np.ndarray) -> tuple[int, Arrays]:
    rows, elements = _count(dirty)
    if not elements:
        return NOTHING, []
    (count, width), size = dirty.shape, values.itemsize
    kind = np.dtype(np.uint16 if dirty.size <= 1 << 16 else np.uint32)
    sizes = [
        values.nbytes,
        (count + 7) // 8 + rows * width * size,
        elements * (kind.itemsize + size),
    ]
    form = DENSE + sizes.index(min(sizes))
    if form == ROWS:
        bitmap, out = np.zeros((count + 7) // 8, np.uint8), np.empty((rows, width), values.dtype)
        _changed_rows(bits(values), dirty, bitmap, bits(out))
        return form, [bitmap, out]
    if form == ELEMENTS:
        places, out = np.empty(elements, kind), np.empty(elements, values.dtype)
        _changed_elements(bits(values).reshape(-1), dirty.reshape(-1), places, bits(out))
        return form, [places, out]
    return form, [values]


def unpack(
    arrays: Sequence[np.ndarray], fields: Sequence[np.ndarray], rows: np.ndarray
) -> list[FieldElements]:
    """Turn the arrays that `pack` has made of `rows` back into elements of each of `fields`, local
    arrays (n, *shape). ValueError if `arrays` do not fit these rows and fields.
    """
    rest, rows = iter(arrays), freeze(rows.astype(np.int32, copy=False))
    forms = _next_array(rest)
    if forms.dtype != np.uint8 or forms.shape != (len(fields),):
        raise ValueError(f"{forms.size} forms as {forms.dtype} for {len(fields)} fields")
    picked = [
        _unpack_field(form, rest, field, rows) if form else NEVER
        for form, field in zip(forms.tolist(), fields, strict=True)
    ]
    if next(rest, None) is not None:
        raise ValueError("there are more arrays than its fields need")
    return picked


def _next_array(arrays: Iterator[np.ndarray]) -> np.ndarray:
    """Take the next array; ValueError if there is none."""
    array = next(arrays, None)
    if array is None:
        raise ValueError("an array is missing")
    return array


def _unpack_field(
    form: int, rest: Iterator[np.ndarray], field: np.ndarray, rows: np.ndarray
) -> FieldElements:
    width = math.prod(field.shape[1:])
    where = _next_array(rest) if form in (ROWS, ELEMENTS) else rows
    values = _next_array(rest)
    if values.dtype != field.dtype:
        raise ValueError(f"its values are {values.dtype}, the field is {field.dtype}")
    if form == ROWS:
        if where.dtype != np.uint8 or where.shape != ((len(rows) + 7) // 8,):
            raise ValueError(f"a bitmap of {where.size} {where.dtype} for {len(rows)} rows")
        picked = np.empty(values.size // max(width, 1), np.int32)
        if not _rows_in(freeze(where), rows, picked):
            raise ValueError(f"it has {len(picked)} rows, and its bitmap has others")
        rows = picked
    elif form == ELEMENTS:
        if (
            where.dtype.kind != "u"
            or where.itemsize not in (2, 4)
            or where.shape != (values.size,)
            or values.ndim != 1
            or not width
        ):
            raise ValueError(f"{where.size} places as {where.dtype} for {values.size} values")
        picked = np.empty(len(where), np.int32 if field.size < 2**31 else np.int64)
        if not _locate_elements(freeze(where), rows, width, picked):
            raise ValueError("its elements are not ascending, or one is beyond the last row")
        rows, width = picked, 1
    elif form != DENSE:
        raise ValueError(f"there is no form {form} of a field")
    if values.size != len(rows) * width:
        raise ValueError(f"{values.size} values for {len(rows)} rows of {width}")
    return FieldElements(freeze(rows), freeze(values.reshape(len(rows), width)), width)


def empty_arrays(fields: Sequence[np.ndarray]) -> Arrays:
    """Make the arrays of a message about no rows of `fields`. This also compiles, or loads, all
    that messages about these fields may need.
    """
    for size in {field.itemsize for field in fields}:
        _run_kernels(size)
    return [
        np.full(len(fields), DENSE, np.uint8),
        *(np.empty((0, math.prod(field.shape[1:])), field.dtype) for field in fields),
    ]


@cache
def _run_kernels(size: int) -> None:
    """Run each kernel on one element of so many bytes."""
    values, dirty, at, out = (
        np.zeros((1, 1), f"u{size}"),
        np.ones((1, 1), np.uint8),
        np.zeros(1, np.int32),
        np.empty(1, np.int32),
    )
    _count(dirty)
    _changed_rows(values, dirty, np.zeros(1, np.uint8), values.copy())
    _choose(values, dirty, at, values.copy(), dirty.copy())
    _rows_in(freeze(np.array([128], np.uint8)), freeze(at), out)
    for kind in (np.uint16, np.uint32):
        _changed_elements(values[0], dirty[0], np.empty(1, kind), values[0].copy())
        _locate_elements(freeze(np.zeros(1, kind)), freeze(at), 1, out)


def fill_elements(picked: FieldElements, field: np.ndarray, identity: int | float) -> np.ndarray:
    """Make an array like `field` with the picked values, and `identity` elsewhere."""
    out = np.full_like(field, identity)
    if len(picked.rows):
        picked.of(out)[picked.rows] = picked.values
    return out


def whole_rows(
    picked: FieldElements, field: np.ndarray, identity: int | float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (r,) of `field` that have picked elements, and these rows (r, *shape) with
    the picked values, and `identity` elsewhere.
    """
    parts = math.prod(field.shape[1:]) // picked.width
    if parts == 1:
        return picked.rows, picked.values.reshape(-1, *field.shape[1:])
    rows, at = np.unique(picked.rows // parts, return_inverse=True)
    out = np.full((len(rows), *field.shape[1:]), identity, field.dtype)
    picked.of(out)[at * parts + picked.rows % parts] = picked.values
    return rows, out


def bits(array: np.ndarray) -> np.ndarray:
    """View numbers as unsigned integers of the same bits. Copying then needs four kinds of arrays
    only, and in comparisons -0.0 differs from 0.0, and a NaN equals itself.
    """
    return array.view(f"u{array.itemsize}")


NEVER = FieldElements(freeze(np.empty(0, np.int32)), freeze(np.empty((0, 0), np.uint8)), 0)
"""No element of any field."""
