"""BiCut: all edges of a vertex of the favourite side stay together; only the other side is cut (Chen et al., APSys 2014)."""

from __future__ import annotations

import numpy as np

from tux.partition.hashing import by_hash, check_parts


def favourite_side(src: np.ndarray, dst: np.ndarray) -> str:
    """The side with more vertices, "source" or "target": it has the lower degrees, so the other side is cheaper to cut."""
    sources, targets = (np.count_nonzero(np.bincount(side)) if len(side) else 0 for side in (src, dst))
    return "source" if sources >= targets else "target"


def bicut(src: np.ndarray, dst: np.ndarray, k: int, seed: int = 0, favourite: str = "auto") -> np.ndarray:
    """Each edge to part ``hash(favourite end) mod k``; parts (m,) int16.

    Vertices of the favourite side ("source", "target", or "auto": the one with more vertices) have one replica each.
    `src`, `dst` (m,) are dense indices. ValueError for an impossible k or side.
    """
    check_parts(k)
    if favourite not in ("auto", "source", "target"):
        raise ValueError(f"favourite side {favourite!r}: it can be auto, source or target")
    side = favourite_side(src, dst) if favourite == "auto" else favourite
    return by_hash(src if side == "source" else dst, k, seed)
