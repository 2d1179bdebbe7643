"""Edges that are made when a run reads them. Only the run holds them then, and frees their columns
as it lays them out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tux.arrays.edges import EdgeData
from tux.inputs.memory import MemoryData


@dataclass(frozen=True)
class DeferredEdges(MemoryData):
    """Data in memory, and the function that makes edges of them."""

    make: Callable[[], EdgeData]
