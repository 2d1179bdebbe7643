"""Hubs and authorities (Kleinberg 1999)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import NOTHING
from tux.networkx_backend.products import sum_neighbours


def hits(
    G: CompactGraph,
    max_iter: int = 100,
    tol: float = 1.0e-8,
    nstart: Mapping[Any, float] | None = None,
    normalized: bool = True,
) -> tuple[dict[Any, float], dict[Any, float]]:
    """Return the hub and the authority value of each node: the singular vectors of the largest
    singular value of the adjacency matrix, by ARPACK as in `networkx.hits`. Needs SciPy.
    """
    n = len(G)
    if n == 0:
        return {}, {}
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import ArpackNoConvergence, svds

    values = G.values("weight").numbers
    if max_iter <= 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    columns = G.out.entries()
    entries = np.ones(len(columns)) if values is NOTHING else values
    matrix = csr_array((entries, columns, G.out.offsets), shape=(n, n))
    start = None if nstart is None else np.array(list(nstart.values()))
    try:
        _, _, found = svds(matrix, k=1, v0=start, maxiter=max_iter, tol=tol)
    except ArpackNoConvergence as error:
        raise nx.PowerIterationFailedConvergence(max_iter) from error
    authorities = found.flatten().real
    hubs = sum_neighbours(G.out, values, authorities)
    if normalized:
        hubs, authorities = hubs / hubs.sum(), authorities / authorities.sum()
    return G.nodes.table(hubs), G.nodes.table(authorities)
