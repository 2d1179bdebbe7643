"""What checked UDFs call: each index is compared with its array's length, each number to be stored
is tested for NaN.

`tux.stages.rewrite` puts these calls into a UDF's source. `site` is the number of the place in the
source, `axis` the dimension that an index belongs to. Each function stands here in plain Python,
and below it as numba compiles it.

An index is right as in Python: from -n to n - 1 for a length of n. Slices are cut to the length and
never wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from tux.rows.edge_slice import EdgesType


class OutOfBounds(IndexError):
    """Its arguments: the site, the axis, the index, and the length of that axis."""


class BecameNan(ArithmeticError):
    """Its argument: the site at which NaN was to replace a number."""


def index(x: Any, i: Any, axis: int, site: int) -> Any:
    """`i`, which is an index of `x`; raises OutOfBounds."""
    if not isinstance(i, int | np.integer) or not hasattr(x, "__len__"):
        return i
    n = x.shape[axis] if isinstance(x, np.ndarray) else len(x)
    if not -n <= i < n:
        raise OutOfBounds(site, axis, int(i), n)
    return i


def held(x: Any, i: int, site: int) -> Any:
    """`x`, which has the constant index `i`; raises OutOfBounds."""
    index(x, i, 0, site)
    return x


def load(x: Any, i: Any, site: int) -> Any:
    """``x[i]``; raises OutOfBounds."""
    return x[index(x, i, 0, site)]


def not_nan(old: Any, new: Any, site: int) -> None:
    """Raises BecameNan where `new` is NaN and `old`, which it replaces, is a number."""
    if isinstance(new, float | np.floating) and new != new and old == old:
        raise BecameNan(site)


FUNCTIONS = {"_tux_index": index, "_tux_held": held, "_tux_load": load, "_tux_not_nan": not_nan}
"""The names under which checked UDFs find them."""

_SIZED = (types.UniTuple, types.BaseTuple, types.List, types.ListType, EdgesType)


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
    return lambda x, i, axis, site: i  # keys of a dictionary, arrays of indices


@overload(held)
def _held(x, i, site):  # type: ignore[no-untyped-def]
    def impl(x, i, site):  # type: ignore[no-untyped-def]
        index(x, i, 0, site)
        return x

    return impl


@overload(load)
def _load(x, i, site):  # type: ignore[no-untyped-def]
    return lambda x, i, site: x[index(x, i, 0, site)]


@overload(not_nan)
def _not_nan(old, new, site):  # type: ignore[no-untyped-def]
    if isinstance(new, types.Float) and isinstance(old, types.Float):

        def impl(old, new, site):  # type: ignore[no-untyped-def]
            if new != new and old == old:
                raise BecameNan(site)

        return impl
    return lambda old, new, site: None
