"""Small symmetric matrices in functions on rows, by their lower triangle.

A matrix of n rows is an array (n (n + 1) / 2,): row i, of i + 1 entries, begins at i (i + 1) / 2.
All of these are plain loops in place, which are compiled with the functions that call them. They
need no library, and start no threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def packed_add(a: Any, x: Any, y: Any, count: Any) -> None:
    """Add the sum of x[k] y[k]' over the first `count` rows k to the symmetric matrix `a`, which is
    packed. The sum must be symmetric, as if x is y, or y with each row times a number.

    `x` and `y` are (m, n), m a multiple of 4; up to 3 rows behind the first are overwritten by 0.
    `a` is (n (n + 1) / 2,): of the lower triangle, row after row.
    """
    n = x.shape[1]
    while count % 4:
        for i in range(n):
            x[count, i] = 0
            y[count, i] = 0
        count += 1
    for k in range(0, count, 4):
        x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        y0, y1, y2, y3 = y[k], y[k + 1], y[k + 2], y[k + 3]
        at = 0
        for i in range(n):
            w0, w1, w2, w3 = x0[i], x1[i], x2[i], x3[i]
            for j in range(i + 1):
                a[at + j] += w0 * y0[j] + w1 * y1[j] + w2 * y2[j] + w3 * y3[j]
            at += i + 1


def packed_solve(a: Any, b: Any) -> bool:
    """Solve a x = b in place by Cholesky's method: the packed matrix `a` becomes its factor, and
    `b` (n,) becomes x. Returns False, and neither is of use, if `a` is not positive definite.

    `a` is (n (n + 1) / 2,): of the lower triangle, row after row.
    """
    n, row = len(b), 0
    for i in range(n):
        at = 0
        for j in range(i + 1):
            rest = a[row + j]
            for k in range(j):
                rest -= a[row + k] * a[at + k]
            at += j + 1
            if j < i:
                a[row + j] = rest / a[at - 1]
            elif rest > 0:
                a[row + i] = np.sqrt(rest)
            else:
                return False
        rest = b[i]
        for k in range(i):
            rest -= a[row + k] * b[k]
        b[i] = rest / a[row + i]
        row += i + 1
    for i in range(n - 1, -1, -1):
        row -= i + 1
        b[i] /= a[row + i]
        for k in range(i):
            b[k] -= a[row + k] * b[i]
    return True
