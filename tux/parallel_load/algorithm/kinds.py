"""Ids of many shares in one kind: int64 if all fit, else uint64 if all fit, else strings, as
`tux.arrays.ids.Ids` has them; and ids as messages.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.integers import LAST
from tux.parallel_load.algorithm.columns import MessageColumns
from tux.parallel_load.algorithm.rounds import Message, bounds_of

NEGATIVE, LARGE, STRINGS = range(3)
"""Properties of a share's ids that decide the kind of all: some ids are below 0, beyond int64, or
strings.
"""


def signs(values: np.ndarray) -> list[bool]:
    """Return whether a share has ids of each of the three kinds NEGATIVE, LARGE and STRINGS; its
    ids `values` are ascending.
    """
    if values.dtype.kind == "T":
        return [False, False, True]
    if not len(values):
        return [False, False, False]
    return [int(values[0]) < 0, int(values[-1]) > LAST, False]


def kind_of(signs: np.ndarray) -> np.dtype:
    """Return the kind of all ids, where each share (n, 3) has told its signs."""
    negative, large, strings = (bool(column.any()) for column in signs.T)
    if strings or (negative and large):
        return STRING
    return np.dtype(np.uint64 if large else np.int64)


def in_kind(values: np.ndarray, kind: np.dtype) -> tuple[np.ndarray, np.ndarray | None]:
    """Convert ascending ids to a kind. Return them ascending again, and the place of each among
    these; None where it is the same.
    """
    if values.dtype.kind == kind.kind:
        return values, None
    if kind.kind != "T":
        return values.astype(kind), None
    texts = values.astype(STRING)
    order = np.argsort(texts, kind="stable")
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return texts[order], places


def pack_ids(values: np.ndarray) -> Message:
    """Pack ids into arrays of numbers: themselves, or the lengths of strings and their bytes."""
    if values.dtype.kind != "T":
        return [values]
    texts = [text.encode() for text in values.tolist()]
    lengths = np.fromiter(map(len, texts), np.int32, len(texts))
    return [lengths, np.frombuffer(b"".join(texts), np.uint8)]


def unpack_ids(message: MessageColumns, kind: np.dtype) -> np.ndarray:
    """Take the next ids of a kind from a message, in the arrays in which a loader has packed them.
    Raise BadColumns if they do not fit.
    """
    if kind.kind != "T":
        return message.column(kind.kind)
    lengths, text = message.numbers(), message.content()
    bounds = bounds_of(lengths).tolist()
    if bounds[-1] != len(text):
        raise message.bad(f"ids of {bounds[-1]:,} bytes, and {len(text):,} have come")
    try:
        texts = [text[lo:hi].decode() for lo, hi in pairwise(bounds)]
    except UnicodeDecodeError as error:
        raise message.bad(f"an id is no text: {error}") from None
    return np.array(texts, STRING)
