"""BiCut: all edges of a vertex of the favourite side stay together; only the other side is cut
(Chen et al., APSys 2014).
"""

from __future__ import annotations

import numpy as np

from tux.partition.common.ends import EdgeEnds, Progress, ends
from tux.partition.methods.one_sided import by_one_end

FAVOURITES = ("auto", "source", "target")


def favourite_side(edges: EdgeEnds, favourite: str = "auto") -> str:
    """Return the side to keep whole, "source" or "target": with "auto" the one with more vertices
    that have edges.

    That side has the lower degrees, so the other one is cheaper to cut. ValueError for a side that
    does not exist.
    """
    if favourite not in FAVOURITES:
        raise ValueError(f"favourite side {favourite!r}: it can be {', '.join(FAVOURITES)}")
    if favourite != "auto":
        return favourite
    sources, targets = (
        int(np.count_nonzero(np.bincount(side))) if len(side) else 0
        for side in (edges.src, edges.dst)
    )
    return larger_side(sources, targets)


def larger_side(sources: int, targets: int) -> str:
    """Return the side with more vertices, which have edges; the sources if there are as many."""
    return "source" if sources >= targets else "target"


def bicut(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
    favourite: str = "auto",
) -> np.ndarray:
    """Place each edge in part ``hash(favourite end) mod k``; parts (m,) int16.

    Without `cap`, vertices of the favourite side ("source", "target", or "auto": the one with more
    vertices) have one replica each.
    """
    edges = ends(src, dst, bipartite)
    return by_one_end(
        edges.src if favourite_side(edges, favourite) == "source" else edges.dst,
        k,
        seed,
        cap,
        progress,
    )
