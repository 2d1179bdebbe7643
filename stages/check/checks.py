"""Functions that checked UDFs call: each index is compared with its array's length, each number to
be stored is tested: NaN, and numbers that a whole number's type cannot hold.

`tux.stages.check.rewrite` puts these calls into a UDF's source. `site` is the number of the place
in the source, `axis` the dimension that an index belongs to. Each function stands here in plain
Python, and below it as numba compiles it.

An index is right as in Python: from -n to n - 1 for a length of n. Slices are cut to the length and
never wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from tux.rows.edge_slice import EdgesType
from tux.rows.extreme import ExtremesType


class OutOfBounds(IndexError):
    """An index that is out of bounds. Its arguments: the site, the axis, the index, and the length
    of that axis.
    """


class BecameNan(ArithmeticError):
    """A NaN that was to replace a number. Its argument: the site."""


class UnlikeShapes(ValueError):
    """Arrays whose lengths do not go together. Its argument: the site."""


class UnfitNumber(ArithmeticError):
    """A number that a field of whole numbers cannot hold. Its arguments: the site, the number, and
    the least and largest that the field holds; both 0 where this is not known.
    """


def index(x: Any, i: Any, axis: int, site: int) -> Any:
    """Return `i`, which is an index of `x`; raise OutOfBounds if it is not."""
    if isinstance(i, np.ndarray) and isinstance(x, np.ndarray):
        return i  # numpy looks at each
    if not isinstance(i, int | np.integer) or not hasattr(x, "__len__"):
        return i
    n = x.shape[axis] if isinstance(x, np.ndarray) else len(x)
    if not -n <= i < n:
        raise OutOfBounds(site, axis, int(i), n)
    return i


def check_entry(x: Any, i: int, site: int) -> Any:
    """Return `x` if it has an entry at the constant index `i`; else raise OutOfBounds."""
    index(x, i, 0, site)
    return x


def load(x: Any, i: Any, site: int) -> Any:
    """Return ``x[i]``; raise OutOfBounds if there is no such entry."""
    return x[index(x, i, 0, site)]


def alike(x: Any, value: Any, site: int) -> None:
    """Raise UnlikeShapes where `value` is an array that cannot be added to the array `x` in
    place.
    """
    if isinstance(x, np.ndarray) and isinstance(value, np.ndarray):
        lengths = zip(reversed(x.shape), reversed(value.shape), strict=False)
        if value.ndim > x.ndim or any(n not in (1, m) for m, n in lengths):
            raise UnlikeShapes(site)


def fits(old: Any, new: Any, site: int) -> None:
    """Raise BecameNan where `new` is NaN and `old`, which it replaces, is a number. Raise
    UnfitNumber where `old` is a whole number and `new` is none, or is out of its range.
    """
    is_float = isinstance(new, float | np.floating)
    if is_float and new != new and old == old:
        raise BecameNan(site)
    if not isinstance(old, int | np.integer) or isinstance(old, bool):
        return
    low, high = _range(type(old)) if isinstance(old, np.integer) else (0, 0)
    if is_float and new != np.trunc(new) or high and not low <= new <= high:
        raise UnfitNumber(site, float(new), low, high)


def _range(kind: type[np.integer[Any]]) -> tuple[int, int]:
    """Return the least and the largest number of a type; 0 and 0 if it has 64 bits, in which
    arithmetic wraps around without a trace.
    """
    limits = np.iinfo(kind)
    return (0, 0) if limits.bits == 64 else (int(limits.min), int(limits.max))


FUNCTIONS = {
    "_tux_index": index,
    "_tux_held": check_entry,
    "_tux_load": load,
    "_tux_fits": fits,
    "_tux_alike": alike,
}
"""The names under which checked UDFs find them."""

_SIZED = (
    types.NumpyFlatType,
    types.UniTuple,
    types.BaseTuple,
    types.List,
    types.ListType,
    EdgesType,
    ExtremesType,
)


@overload(index)
def _index(x, i, axis, site):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Array) and isinstance(i, types.Integer):

        def of_array(x, i, axis, site):  # type: ignore[no-untyped-def]
            n, at = x.shape[axis], np.int64(i)
            if at < -n or at >= n:
                raise OutOfBounds(site, axis, at, n)
            return i

        return of_array
    if isinstance(x, _SIZED) and isinstance(i, types.Integer):

        def of_sized(x, i, axis, site):  # type: ignore[no-untyped-def]
            n, at = len(x), np.int64(i)
            if at < -n or at >= n:
                raise OutOfBounds(site, axis, at, n)
            return i

        return of_sized
    if isinstance(x, types.Array) and isinstance(i, types.Array):
        is_mask = isinstance(i.dtype, types.Boolean)

        def of_several(x, i, axis, site):  # type: ignore[no-untyped-def]
            n = x.shape[axis]
            if is_mask and len(i) != n:
                raise OutOfBounds(site, axis, len(i), n)
            if not is_mask:
                for at in i.flat:
                    if at < -n or at >= n:
                        raise OutOfBounds(site, axis, np.int64(at), n)
            return i

        return of_several
    return lambda x, i, axis, site: i  # keys of a dictionary


@overload(alike)
def _alike(x, value, site):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Array) and isinstance(value, types.Array):
        more = value.ndim - x.ndim
        if more > 0:

            def deeper(x, value, site):  # type: ignore[no-untyped-def]
                raise UnlikeShapes(site)

            return deeper

        def of_arrays(x, value, site):  # type: ignore[no-untyped-def]
            for axis in range(value.ndim):
                n = value.shape[axis]
                if n != 1 and n != x.shape[axis - more]:
                    raise UnlikeShapes(site)

        return of_arrays
    return lambda x, value, site: None


@overload(check_entry)
def _check_entry(x, i, site):  # type: ignore[no-untyped-def]
    def impl(x, i, site):  # type: ignore[no-untyped-def]
        index(x, i, 0, site)
        return x

    return impl


@overload(load)
def _load(x, i, site):  # type: ignore[no-untyped-def]
    return lambda x, i, site: x[index(x, i, 0, site)]


@overload(fits)
def _fits(old, new, site):  # type: ignore[no-untyped-def]
    if isinstance(new, types.Float) and isinstance(old, types.Float):

        def impl(old, new, site):  # type: ignore[no-untyped-def]
            if new != new and old == old:
                raise BecameNan(site)

        return impl
    if isinstance(old, types.Integer) and isinstance(new, types.Float | types.Integer):
        low, high = _range(getattr(np, types.unliteral(old).name))
        whole = isinstance(new, types.Integer)

        def whole_number(old, new, site):  # type: ignore[no-untyped-def]
            if not whole and new != np.trunc(new) or high and not low <= new <= high:
                raise UnfitNumber(site, np.float64(new), low, high)

        return whole_number
    return lambda old, new, site: None
