"""The payload of edges with results, which workers send at the end of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays.integers import index_dtype
from tux.messages.encoding import Arrays
from tux.messages.message import Message, checking
from tux.messages.payloads import check_range, check_values, demand, take_first


class EdgeRows(NamedTuple):
    """Edges with results: dense indices of both ends (m,), and the kept fields (m, ...) by name."""

    src: np.ndarray
    dst: np.ndarray
    fields: dict[str, np.ndarray]

    def arrays(self) -> Arrays:
        """Return them as arrays of a message."""
        flat = [array.reshape(len(self.src), -1) for array in self.fields.values()]
        return [self.src, self.dst, *flat]

    @staticmethod
    def read(message: Message, like: Mapping[str, np.ndarray], sizes: Sequence[int]) -> EdgeRows:
        """Read the edges that a message carries, with fields `like` these, between vertices of two
        types that have so many (`sizes`).
        """
        with checking(message):
            src, rest = take_first(message.arrays)
            dst, rest = take_first(rest)
            for ends, n in zip((src, dst), sizes, strict=True):
                demand(
                    ends.dtype == index_dtype(n) and ends.shape == src.shape and ends.ndim == 1,
                    "its first arrays are not dense indices of as many ends",
                )
                check_range(ends, n)
            values = check_values(rest, [*like.values()], [len(src)] * len(like))
            shaped = (
                array.reshape(len(src), *field.shape[1:])
                for array, field in zip(values, like.values(), strict=True)
            )
            return EdgeRows(src, dst, dict(zip(like, shaped, strict=True)))
