"""The best items for one query, exactly, from items that are held as signed bytes.

`tux.predict.topk` reads all factors of 32 bits once for many queries. One query alone waits for the
memory that it reads: here that is a quarter. Each number of an item y is a code c of a signed byte
times a step s of the item, and the query q is a code d of 16 bits times a step t, so that

    q . y  =  s t (c . d)  +  at most |q| w,     w = |y - s c| + rho |s c|,

where rho bounds |q - t d| / |q|. The sum of codes is of 32-bit integers. The n items whose lower
bounds are the highest give a least score; only items whose upper bounds reach it can be among the
best. Their scores are computed again in 64 bits from the factors themselves, as `topk` does it, so
the result has no error of the codes. Items are held by falling length, and the search ends where
the longest of the rest cannot reach the least score (Teflioudi, Gemulla and Mykytiuk, SIGMOD 2015,
have the bound by lengths).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.errors import DataError, UsageError
from tux.predict.topk import exact_scores, is_among, push_score, read_only, replace_worst

BLOCK = 64
"""Items whose scores are computed before they are compared."""

PIECE = 1 << 14  # items that are held in 64 bits at a time

ITEM_CODE, QUERY_CODE = 127, 32767
"""The largest codes of a number of an item and of a query."""

FLOAT_ERROR = 1e-6
"""A bound of the errors of products and sums in 32 bits, as a share of their values."""

NONE = np.empty(0, np.int64)


class Codes(NamedTuple):
    """Items as codes, by falling length of the items."""

    order: np.ndarray  # (N,) int64: their positions
    codes: np.ndarray  # (N, r) int8
    steps: np.ndarray  # (N,) float32
    bounds: np.ndarray  # (N,) float32: w of the module's text
    bias: np.ndarray  # (N,) float32
    longest: np.ndarray  # (blocks,) float32: at least the length of each block's items


class CodedItems:
    """Items (N, r) with a `bias` (N,), or scaled by `scale` (N,), as codes and as they are. The
    codes take r + 20 bytes an item. DataError for numbers that are not finite.
    """

    def __init__(
        self, items: np.ndarray, bias: np.ndarray | None = None, scale: np.ndarray | None = None
    ) -> None:
        self._items = read_only(np.ascontiguousarray(items, np.float32))
        self._bias = None if bias is None else np.asarray(bias, np.float64)
        self._scale = None if scale is None else np.asarray(scale, np.float64)
        for given in (self._items, self._bias):
            if given is not None and not np.isfinite(given).all():
                raise DataError("vectors of the model are not finite numbers")
        # a sum of 32 bits has room for all products of two codes
        room = (2**31 - 1) // (ITEM_CODE * max(self._items.shape[1], 1))
        self._largest = min(QUERY_CODE, room)
        self._codes = _encode(self._items, self._bias, self._scale, self._largest)
        biases = np.zeros(1) if self._bias is None or not len(self) else self._bias
        self._top_bias = float(biases.max())
        self._bias_error = FLOAT_ERROR * float(np.abs(biases).max())

    def __len__(self) -> int:
        return len(self._items)

    def best(
        self, query: np.ndarray, n: int, exclude: np.ndarray = NONE, own: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the `n` items of the highest scores ``query . items[j] * scale[j] + bias[j] + own``:
        their positions and scores, (k,) int64 and float32, as `tux.predict.topk.recommend` finds
        them. k is n, or less where there are no more. `exclude` (m,): positions, ascending, that
        are not to be found.

        `query` (r,). UsageError for one of another length, or that is not finite.
        """
        query = np.ascontiguousarray(query, np.float32)
        if query.shape != self._items.shape[1:] or not np.isfinite(query).all():
            raise UsageError(
                f"a query of shape {query.shape} does not fit items of {self._items.shape[1]} "
                "finite numbers"
            )
        n = min(n, len(self))
        if n < 1:
            return NONE, np.empty(0, np.float32)
        wide = query.astype(np.float64)
        step = np.abs(wide).max(initial=0) / self._largest
        codes = np.rint(wide / (step or 1.0)).astype(np.int16)
        length = np.sqrt(wide @ wide) * (1 + FLOAT_ERROR)
        scales = np.array([step, length, self._top_bias, self._bias_error], np.float32)
        places = _candidates(*self._codes, codes, scales, n, read_only(exclude))
        own_of = np.array([own])
        scores = exact_scores(
            read_only(query[None]), self._items, places[None], own_of, self._bias, self._scale
        )[0]
        order = np.lexsort((places, -scores))[:n]
        return places[order], scores[order]


def _encode(
    items: np.ndarray, bias: np.ndarray | None, scale: np.ndarray | None, largest: int
) -> Codes:
    """Return items (N, r) as codes. `largest`: the largest code of a query."""
    length = np.sqrt(np.einsum("ij,ij->i", items, items, dtype=np.float64))
    length = length if scale is None else length * scale
    order = np.argsort(-length, kind="stable")
    length = length[order]
    codes = np.empty(items.shape, np.int8)
    steps, errors = np.empty(len(order)), np.empty(len(order))
    for at in range(0, len(order), PIECE):
        piece = slice(at, at + PIECE)
        wide = items[order[piece]] * (np.ones(1) if scale is None else scale[order[piece], None])
        codes[piece], steps[piece], errors[piece] = _codes_of(wide)
    rho = np.sqrt(items.shape[1]) / (2 * largest)
    parts = {
        "steps": steps,
        "bounds": errors + (rho + FLOAT_ERROR) * (length + errors),
        "bias": np.zeros(len(order)) if bias is None else bias[order],
        "longest": length[::BLOCK] * (1 + FLOAT_ERROR),
    }
    floats = {name: read_only(each.astype(np.float32)) for name, each in parts.items()}
    return Codes(read_only(order.astype(np.int64)), read_only(codes), **floats)


def _codes_of(wide: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the codes of items (m, r) float64, their steps (m,), and the lengths of what the codes
    leave out, (m,).
    """
    step = np.abs(wide).max(axis=1, initial=0)[:, None] / ITEM_CODE
    codes = np.rint(np.divide(wide, step, out=np.zeros_like(wide), where=step > 0))
    left = wide - step * codes
    return codes.astype(np.int8), step[:, 0], np.sqrt(np.einsum("ij,ij->i", left, left))


@cached_njit
def _candidates(  # type: ignore[no-untyped-def]
    order, codes, steps, bounds, bias, longest, query, scales, n, exclude
):
    """Return the positions of all items that may be among the best `n` for a query whose codes are
    `query` (r,) int16; `scales` has its step, its length, the greatest bias and the error of
    biases.
    """
    step, length, top_bias, error = scales[0], scales[1], scales[2], scales[3]
    lows, places, filled = np.empty(n, np.float32), np.empty(n, np.int64), 0
    kept, highs, count = np.empty(len(codes), np.int64), np.empty(len(codes), np.float32), 0
    scores, least = np.empty(BLOCK, np.float32), np.float32(-np.inf)
    for block in range(len(longest)):
        if longest[block] * length + top_bias + error < least:
            break
        first = block * BLOCK
        width = min(BLOCK, len(codes) - first)
        above = np.int32(0)
        for i in range(width):
            j, total = first + i, np.int32(0)
            for k in range(len(query)):
                total = np.int32(total + np.int32(codes[j, k]) * np.int32(query[k]))
            scores[i] = np.float32(total) * (steps[j] * step) + bias[j]
            above |= np.int32(scores[i] + length * bounds[j] + error >= least)
        if above == 0:
            continue
        for i in range(width):
            j = first + i
            margin = length * bounds[j] + error
            high, low = scores[i] + margin, scores[i] - margin
            if high < least or is_among(exclude, 0, len(exclude), order[j]):
                continue
            kept[count], highs[count] = order[j], high
            count += 1
            if filled < n:
                push_score(lows, places, filled, low, order[j])
                filled += 1
            elif low > least:
                replace_worst(lows, places, low, order[j])
            if filled == n:
                least = lows[0]
    found = 0
    for i in range(count):
        if highs[i] >= least:
            kept[found] = kept[i]
            found += 1
    return kept[:found].copy()
