"""Vectors in functions on rows: inner products, sums and places, compiled with the caller as plain
loops. They need no library, and start no threads.

Each takes the first `n` entries, all of them if `n` is left out, and computes in the type of what
it is given: float32 of two fields of "f4". As in all functions on rows, sums may be taken in any
order.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from tux.program import fields


def dot(x: Any, y: Any, n: Any = -1) -> Any:
    """Return the inner product of `x` and `y`, (m,) each."""
    if n < 0:
        n = len(x)
    total = x.dtype.type(0)
    for k in range(n):
        total += x[k] * y[k]
    return total


def axpy(a: Any, x: Any, y: Any, n: Any = -1) -> None:
    """Add `a` times `x` to `y`, (m,) each."""
    if n < 0:
        n = len(x)
    for k in range(n):
        y[k] += a * x[k]


def norm2(x: Any, n: Any = -1) -> Any:
    """Return the Euclidean norm of `x` (m,)."""
    return np.sqrt(dot(x, x, n))


def dots(x: Any, rows: Any, out: Any, n: Any = -1) -> None:
    """Write the inner products of `x` (m,) and the first `n` of `rows` (r, m) into `out` (r,). Four
    rows are read at once, so that each entry of `x` is loaded once for them.
    """
    if n < 0:
        n = len(rows)
    for i in range(0, n - n % 4, 4):
        a, b, c, d = x.dtype.type(0), x.dtype.type(0), x.dtype.type(0), x.dtype.type(0)
        row0, row1, row2, row3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for k in range(len(x)):
            a += x[k] * row0[k]
            b += x[k] * row1[k]
            c += x[k] * row2[k]
            d += x[k] * row3[k]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
    for i in range(n - n % 4, n):
        out[i] = dot(x, rows[i])


def find_least(x: Any, n: Any = -1) -> Any:
    """Return the index of the smallest entry of `x` (m,), the first of equal ones; a NaN is
    none.
    """
    if n < 0:
        n = len(x)
    best = 0
    for k in range(1, n):
        if x[k] < x[best] or x[best] != x[best]:
            best = k
    return best


def find_most(x: Any, n: Any = -1) -> Any:
    """Return the index of the largest entry of `x` (m,), the first of equal ones; a NaN is none."""
    if n < 0:
        n = len(x)
    best = 0
    for k in range(1, n):
        if x[k] > x[best] or x[best] != x[best]:
            best = k
    return best


_IN_UDFS: dict[Callable[..., Any], Callable[..., Any]] = {
    fields.argmin: find_least,
    fields.argmax: find_most,
}


def meaning_in_udf(thing: Any) -> Any:
    """Return what a name means in functions on rows: ``argmin(x)``, whose name declares a field in
    a class, is `find_least` there. Anything else means what it is.
    """
    return _IN_UDFS.get(thing, thing) if isinstance(thing, FunctionType) else thing
