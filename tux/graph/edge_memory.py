"""The memory that edges take, as a run tells it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tux.arrays.disk_columns import file_of


class EdgeMemory(NamedTuple):
    """The number of edges that workers hold for training, and the bytes that they take: in all, on
    disk, and of these in a kept order (`tux.graph.kept_order`).
    """

    edges: int = 0
    bytes: int = 0
    on_disk: int = 0
    kept: int = 0

    @staticmethod
    def of(edges: int, arrays: Iterable[np.ndarray]) -> EdgeMemory:
        """Count the bytes of the arrays of so many edges. An array that occurs again counts
        once.
        """
        held = {id(each): each for each in arrays}.values()
        files = [(each.nbytes, file) for each in held if (file := file_of(each))]
        on_disk = sum(size for size, _ in files)
        kept = sum(size for size, file in files if file.kept)
        return EdgeMemory(edges, sum(each.nbytes for each in held), on_disk, kept)

    @staticmethod
    def total(of: Iterable[EdgeMemory]) -> EdgeMemory:
        """Return the sum of all."""
        return EdgeMemory(*map(sum, zip(EdgeMemory(), *of, strict=True)))

    def __str__(self) -> str:
        where = f", {_in_megabytes(self.on_disk)} of them on disk" if self.on_disk else ""
        where += f", {_in_megabytes(self.kept)} of these kept" if self.kept else ""
        each = self.bytes / max(self.edges, 1)
        return f"{each:.1f} bytes each, {_in_megabytes(self.bytes)}{where}"


def _in_megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 1e6 else "less than 1 MB"
