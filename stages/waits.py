"""For blocks that run in the order of a list on several threads: behind which earlier block each
has to run. Pure functions on arrays.
"""

from __future__ import annotations

import numpy as np

from tux.partition.compiled import compiled


def last_shared(
    cuts: np.ndarray, apart: np.ndarray, runs: np.ndarray, others: np.ndarray, rows: int
) -> np.ndarray:
    """(blocks,) int32: how many blocks of its run must have ended before each begins: up to the
    last one before it that has a row of the other end too; 0: none has.

    Block b has the edges cuts[b]..cuts[b + 1], which lead to the rows `others` (m,), each below
    `rows`. Run i is the blocks runs[i]..runs[i + 1]. Blocks that are `apart` (blocks,)
    do not run among the others.
    """
    out = np.zeros(len(cuts) - 1, np.int32)
    _last_shared(cuts, apart, runs, others, np.full(rows, -1, np.int32), out)
    return out


@compiled
def _last_shared(cuts, apart, runs, others, last, out):  # type: ignore[no-untyped-def]
    """Write `last_shared` to `out`; `last` (rows,): -1."""
    for i in range(len(runs) - 1):
        for b in range(runs[i], runs[i + 1]):
            if apart[b]:
                continue
            found = runs[i] - 1
            for e in range(cuts[b], cuts[b + 1]):
                found = max(found, last[others[e]])
            for e in range(cuts[b], cuts[b + 1]):
                last[others[e]] = b
            out[b] = found + 1 - runs[i]


def share_cuts(
    lo: np.ndarray, hi: np.ndarray, others: np.ndarray, rows: int, shares: int
) -> np.ndarray | None:
    """(n, shares + 1) int64: where the edges lo[i]..hi[i] of vertex i are cut, so that share k of
    each has edges to the same range of the other end's `rows`. None where edges are not in the
    order of `others` (m,).
    """
    inner = rows * np.arange(1, shares) // shares
    out = np.empty((len(lo), shares + 1), np.int64)
    out[:, 0], out[:, -1] = lo, hi
    return out if _share_cuts(out, others, inner) else None


@compiled
def _share_cuts(out, others, inner):  # type: ignore[no-untyped-def]
    """Write the inner columns of `out`; whether all edges are in order."""
    for i in range(len(out)):
        first, last = out[i, 0], out[i, -1]
        for e in range(first + 1, last):
            if others[e] < others[e - 1]:
                return False
        for k in range(len(inner)):
            out[i, k + 1] = first + np.searchsorted(others[first:last], inner[k])
    return True
