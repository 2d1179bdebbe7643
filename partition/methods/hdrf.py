"""HDRF: high-degree replicated first, the streaming rule that cuts hubs to keep other vertices
whole (Petroni et al., CIKM 2015).
"""

from __future__ import annotations

import numpy as np

from tux.partition.common.ends import Progress
from tux.partition.common.scored import place_by_score


def hdrf(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
    lam: float = 1.1,
    degrees: str = "exact",
) -> np.ndarray:
    """Place each edge (u, v), in the order given, in the part p with the highest score; parts (m,)
    int16.

        score(p) = [p in A(u)] (1 + theta(u)) + [p in A(v)] (1 + theta(v)) + lam (max - load[p]) /
            (1 + max - min)

    theta(u) = d(v) / (d(u) + d(v)) and theta(v) = 1 - theta(u), d being the degrees "exact": of the
    whole graph, which takes one more pass and gives a few per cent fewer replicas; or "partial": so
    far, this edge included, as published. A self-loop counts twice. Of equal scores the least
    loaded part has it, of these the first in an order of the parts that the seed shuffles.

    With `lam` <= 1 (published: 1) a part that holds an end always wins over one that holds none,
    and edges in the order of a search (BFS, a crawl) may all go to one part. A `lam` a little above
    1 mostly, and a `cap` always, prevents that. The result is exact, yet the time of an edge does
    not grow with k but with |A(u)| + |A(v)|. Memory O(n + m + sum |A(v)|). ValueError for a `lam`
    below 0 or not finite.
    """
    if degrees not in ("partial", "exact"):
        raise ValueError(f"degrees={degrees!r}: they can be partial or exact")
    return place_by_score(
        src,
        dst,
        k,
        seed,
        bipartite,
        cap,
        progress,
        theta=1.0,
        lam=lam,
        counted=degrees == "partial",
    )
