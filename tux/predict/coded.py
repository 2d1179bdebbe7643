"""The best items for one query, exactly, from items that are held as signed bytes.

`tux.predict.topk` reads all factors of 32 bits once for many queries. One query alone waits for the
memory that it reads: here that is a quarter. Each number of an item y is a code c of a signed byte
times a step s of the item, and the query q is a code d times a step t, so that

    q . y  =  s t (c . d)  +  at most |q| |y - s c| + |q - t d| |s c|.

Codes are so small that four products have room in 16 bits, as processors multiply most numbers of
that size at once. The n items whose lower bounds are the highest give a least score; only items
whose upper bounds reach it can be among the best. Their scores are computed again in 64 bits from
the factors themselves, as `topk` does it, so the result has no error of the codes. Items are held
by falling length, and the search ends where the longest of the rest cannot reach the least score
(Teflioudi, Gemulla and Mykytiuk, SIGMOD 2015, have the bound by lengths).
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

GROUP = 4  # products that are summed in 16 bits

ITEM_CODE, QUERY_CODE = 127, 64
"""The largest codes of a number of an item and of a query: `GROUP` products are below 2^15."""

FLOAT_ERROR = 1e-6
"""A bound of the errors of products and sums in 32 bits, as a share of their values."""

NONE = np.empty(0, np.int64)


class Codes(NamedTuple):
    """Items as codes, by falling length of the items."""

    order: np.ndarray  # (N,) int64: their positions
    codes: np.ndarray  # (blocks, r, BLOCK) int8: item i of a block is codes[block, :, i]
    steps: np.ndarray  # (blocks, BLOCK) float32
    errors: np.ndarray  # (blocks, BLOCK) float32: at least |y - s c|
    bias: np.ndarray  # (blocks, BLOCK) float32; -infinity behind the last item
    longest: np.ndarray  # (blocks,) float32: at least |y| and |s c| of each block's items


class CodedItems:
    """Items (N, r) with a `bias` (N,), or scaled by `scale` (N,), as codes and as they are. The
    codes take about r + 20 bytes an item. DataError for numbers that are not finite.
    """

    def __init__(
        self, items: np.ndarray, bias: np.ndarray | None = None, scale: np.ndarray | None = None
    ) -> None:
        self._items = read_only(np.ascontiguousarray(items, np.float32))
        self._bias = None if bias is None else np.asarray(bias, np.float64)
        self._scale = None if scale is None else np.asarray(scale, np.float64)
        refuse_infinite(self._items, self._bias)
        self._codes = _encode(self._items, self._bias, self._scale)
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
        codes, numbers = _code_query(query, self._codes.codes.shape[1])
        scales = np.array([*numbers, self._top_bias, self._bias_error], np.float32)
        places = _candidates(*self._codes, codes, scales, n, read_only(exclude))
        own_of = np.array([own])
        scores = exact_scores(
            read_only(query[None]), self._items, places[None], own_of, self._bias, self._scale
        )[0]
        order = np.lexsort((places, -scores))[:n]
        return places[order], scores[order]


def refuse_infinite(*arrays: np.ndarray | float | None) -> None:
    """Raise DataError for a number of a model that is not finite."""
    if not all(np.isfinite(each).all() for each in arrays if each is not None):
        raise DataError("vectors of the model are not finite numbers")


def _encode(items: np.ndarray, bias: np.ndarray | None, scale: np.ndarray | None) -> Codes:
    """Return items (N, r) as codes. Places behind the last item have codes of 0."""
    length = np.sqrt(np.einsum("ij,ij->i", items, items, dtype=np.float64))
    length = length if scale is None else length * scale
    order = np.argsort(-length, kind="stable")
    rows, steps, errors = _code_rows(items, scale, order)
    blocks = len(rows) // BLOCK
    biases, lengths = np.full(len(rows), -np.inf), np.zeros(len(rows))
    biases[: len(order)] = 0.0 if bias is None else bias[order]
    lengths[: len(order)] = length[order]
    longest = (lengths + errors).reshape(blocks, BLOCK).max(axis=1, initial=0)
    shaped = (
        each.reshape(blocks, BLOCK) for each in (steps, errors + FLOAT_ERROR * lengths, biases)
    )
    codes = np.ascontiguousarray(rows.reshape(blocks, BLOCK, rows.shape[1]).transpose(0, 2, 1))
    floats = (each.astype(np.float32) for each in (*shaped, longest * (1 + FLOAT_ERROR)))
    return Codes(*map(read_only, (order.astype(np.int64), codes, *floats)))


def _code_rows(
    items: np.ndarray, scale: np.ndarray | None, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the codes of items in an order, (m, width) int8, their steps and errors, (m,). With
    zeros, m is a multiple of `BLOCK`, and the width one of `GROUP`.
    """
    padded, width = (-(-n // of) * of for n, of in zip(items.shape, (BLOCK, GROUP), strict=True))
    codes, (steps, errors) = np.zeros((padded, width), np.int8), np.zeros((2, padded))
    for at in range(0, len(order), PIECE):
        piece = order[at : at + PIECE]
        there = slice(at, at + len(piece))
        wide = items[piece] * (np.ones(1) if scale is None else scale[piece, None])
        codes[there, : items.shape[1]], steps[there], errors[there] = _codes_of(wide)
    return codes, steps, errors


def _codes_of(wide: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the codes of items (m, r) float64, their steps (m,), and the lengths of what the codes
    leave out, (m,).
    """
    step = np.abs(wide).max(axis=1, initial=0)[:, None] / ITEM_CODE
    codes = np.rint(np.divide(wide, step, out=np.zeros_like(wide), where=step > 0))
    left = wide - step * codes
    return codes.astype(np.int8), step[:, 0], np.sqrt(np.einsum("ij,ij->i", left, left))


def _code_query(query: np.ndarray, width: int) -> tuple[np.ndarray, tuple[float, ...]]:
    """Return a query (r,) as codes, (width,) int16, with their step, the query's length, and that
    of what the codes leave out.
    """
    wide = query.astype(np.float64)
    step = np.abs(wide).max(initial=0) / QUERY_CODE
    codes = np.zeros(width, np.int16)
    codes[: len(wide)] = np.rint(wide / (step or 1.0))
    left = wide - step * codes[: len(wide)]
    length, error = np.sqrt([wide @ wide, left @ left]) * (1 + FLOAT_ERROR)
    return codes, (step, length, error + FLOAT_ERROR * length)


@cached_njit
def _candidates(  # type: ignore[no-untyped-def]
    order, codes, steps, errors, bias, longest, query, scales, n, exclude
):
    """Return the positions of all items that may be among the best `n` for a query whose codes are
    `query` (r,) int16; `scales` has its step, its length, the length of what its codes leave out,
    the greatest bias and the error of biases.
    """
    step, length, top_bias, slack = scales[0], scales[1], scales[3], scales[4]
    lows, places, filled = np.empty(n, np.float32), np.empty(n, np.int64), 0
    kept, highs, count = np.empty(len(order), np.int64), np.empty(len(order), np.float32), 0
    scores, least = np.empty(BLOCK, np.int32), np.float32(-np.inf)
    part = np.empty(BLOCK, np.int16)
    for block in range(len(longest)):
        if longest[block] * length + top_bias + slack < least:
            break
        _multiply(codes, block, query, part, scores)
        first = block * BLOCK
        rest = scales[2] * longest[block] + slack
        above = np.int32(0)
        for i in range(BLOCK):
            score = np.float32(scores[i]) * (steps[block, i] * step) + bias[block, i]
            high = score + length * errors[block, i] + rest
            above |= np.int32(high >= least)
        if above == 0:
            continue
        for i in range(min(BLOCK, len(order) - first)):
            j = first + i
            score = np.float32(scores[i]) * (steps[block, i] * step) + bias[block, i]
            margin = length * errors[block, i] + rest
            if score + margin < least or is_among(exclude, 0, len(exclude), order[j]):
                continue
            kept[count], highs[count] = order[j], score + margin
            count += 1
            if filled < n:
                push_score(lows, places, filled, score - margin, order[j])
                filled += 1
            elif score - margin > least:
                replace_worst(lows, places, score - margin, order[j])
            if filled == n:
                least = lows[0]
    found = 0
    for i in range(count):
        if highs[i] >= least:
            kept[found] = kept[i]
            found += 1
    return kept[:found].copy()


@cached_njit
def _multiply(codes, block, query, part, sums):  # type: ignore[no-untyped-def]
    """Compute the sums of products of a query's codes and those of a block of items, (BLOCK,)
    int32. `part` (BLOCK,) int16 is room for sums of `GROUP` products.
    """
    sums[:] = 0
    for k in range(0, len(query), 4):
        a, b, c, d = query[k], query[k + 1], query[k + 2], query[k + 3]
        for i in range(BLOCK):
            part[i] = (
                a * codes[block, k, i]
                + b * codes[block, k + 1, i]
                + c * codes[block, k + 2, i]
                + d * codes[block, k + 3, i]
            )
        for i in range(BLOCK):
            sums[i] += part[i]
