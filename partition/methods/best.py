"""best: the fewest replicas that we can find in 30 times the time of NE++."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event

import numpy as np

from tux.partition.common.adjacency import adjacency
from tux.partition.common.bundles import Annealing, by_neighbour
from tux.partition.common.capacity import capacity
from tux.partition.common.chunked import slice_edges
from tux.partition.common.clustering import cluster_vertices
from tux.partition.common.ends import Progress, ends
from tux.partition.common.lower_degree import lower_degree
from tux.partition.methods.ne import full, grow_parts, join_chunks
from tux.partition.replicas import replicas

_RACE = 0.4  # of the work, after which the better search goes on alone


def best(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
) -> np.ndarray:
    """Return the better of NE++ and multilevel clustering with the lower-degree rule, refined;
    parts (m,) int16.

    Without `cap`, no part has more than max(ceil(m/k), floor(1.03 m/k)) edges. Both starts are
    annealed (see `bundles.py`), and the one with fewer replicas after two fifths of the work is
    finished: clusters won on planted communities and at k = 32 on social graphs, NE++ on most
    others, and the replicas at the start do not tell (on Epinions clusters begin a quarter worse
    and end 2 % better). Never more replicas than `ne` gives with the same seed. Memory is linear in
    edges and vertices whatever k: about 60 bytes an edge beside the ends. Two threads do these two
    fifths.
    """
    edges = ends(src, dst, bipartite)
    m = len(edges.src)
    limit = capacity(m, k, 1.03 if cap is None else cap)
    parts = join_chunks(grow_parts(slice_edges(edges), k, full(m, k, cap), seed))
    if m == 0 or k == 1:
        return parts
    fewest = len(replicas(edges, parts, k).part)
    lists = by_neighbour(adjacency(edges))
    dealt = lower_degree(edges, lists.degree, cluster_vertices(edges, lists, k), k, limit)
    searches = [Annealing(edges, lists, start, k, limit, seed) for start in (parts.copy(), dealt)]
    _race(searches)
    winner = min(searches, key=lambda search: search.replicas)
    winner.run(1.0, progress)
    return winner.parts if winner.replicas < fewest else parts


def _race(searches: Sequence[Annealing]) -> None:
    """Run the searches side by side, each in a thread of its own, for their share of the work. At
    Ctrl-C each ends after the sweep that is under way.
    """
    over = Event()

    def check(share: float) -> None:
        if over.is_set():
            raise CancelledError

    with ThreadPoolExecutor(len(searches)) as pool:
        try:
            for running in [pool.submit(search.run, _RACE, check) for search in searches]:
                running.result()
        finally:
            over.set()
