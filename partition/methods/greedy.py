"""PowerGraph's greedy vertex cut, coordinated: one table A for the whole stream (Gonzalez et
al., OSDI 2012).
"""

from __future__ import annotations

import numpy as np

from tux.partition.common.ends import Progress
from tux.partition.common.scored import place_by_score


def greedy(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
) -> np.ndarray:
    """Place each edge (u, v), in the order given, in the part p with the highest score; parts (m,)
    int16.

        score(p) = [p in A(u)] + [p in A(v)] + (max - load[p]) / (1 + max - min)

    So: to the least loaded part that holds both ends, else one end, else of all. Of equal loads the
    first in an order of the parts that the seed shuffles. A part that holds an end always wins over
    one that holds none: edges in the order of a search (BFS, a crawl) may all go to one part,
    unless there is a `cap`. The time of an edge grows with |A(u)| + |A(v)|, not with k.
    """
    return place_by_score(
        src, dst, k, seed, bipartite, cap, progress, theta=0.0, lam=1.0, counted=True
    )
