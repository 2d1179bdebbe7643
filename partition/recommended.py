"""The choice of a partitioner for a graph by its shape, with the reason."""

from __future__ import annotations

import numpy as np

# edges; `ne` takes about 40 bytes for each beside the edges themselves
MOST_IN_MEMORY = 200_000_000


def recommend_partitioner(
    src: np.ndarray, dst: np.ndarray, k: int, *, bipartite: bool = False
) -> tuple[str, str]:
    """Return the name of a partitioner for k parts of the edges (src[i], dst[i]), and the reason in
    a line.

    Two types of vertices: see `recommend_for_types`. One type: `ne`, the fewest replicas for its
    time, or `two_phase` where its memory would not do.
    """
    if k == 1:
        return "random", "there is one part"
    if bipartite:
        sources, targets = (
            np.count_nonzero(np.bincount(side)) if len(side) else 0 for side in (src, dst)
        )
        return recommend_for_types(int(sources), int(targets))
    if len(src) > MOST_IN_MEMORY:
        return "two_phase", f"{len(src):,} edges of one type are more than ne would hold in memory"
    return "ne", f"{len(src):,} edges of one type: the fewest replicas for the time"


def recommend_for_types(sources: int, targets: int) -> tuple[str, str]:
    """Return the name of a partitioner for edges from so many vertices to so many of another type,
    and the reason in a line: `aweto`, which keeps the larger side whole.

    Nothing of that side travels, and a function of one of its vertices sees all edges of it, which
    no partitioner with fewer replicas can promise.
    """
    side, count = ("source", sources) if sources >= targets else ("target", targets)
    why = f"edges join two types, so the {count:,} vertices of the {side} side can stay whole"
    return "aweto", why
