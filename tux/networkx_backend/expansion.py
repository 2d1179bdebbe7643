"""networkx graphs of neighbour lists that were made from none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from tux.networkx_backend.lists import NeighbourLists
from tux.networkx_backend.nodes import NodeNumbers


def build_networkx(
    nodes: NodeNumbers, out: NeighbourLists, columns: Mapping[Any, np.ndarray], *, directed: bool
) -> Any:
    """Make a networkx Graph or DiGraph with the order of the nodes and of their lists; `columns`
    has the values of edges along `out`, (entries,) each.
    """
    made = (nx.DiGraph if directed else nx.Graph)()
    made.add_nodes_from(nodes)
    targets, dicts = nodes.pick(out.entries()), _dicts(columns, int(out.offsets[-1]))
    for number, node in enumerate(nodes):
        for at in range(out.offsets[number], out.offsets[number + 1]):
            other = targets[at]
            edge = dicts[at]
            if directed:
                made._pred[other][node] = edge
            elif node in made._adj[other]:
                edge = made._adj[other][node]  # both ends have one dict
            made._adj[node][other] = edge
    return made


def _dicts(columns: Mapping[Any, np.ndarray], count: int) -> list[dict[Any, Any]]:
    """Return the attributes of each of `count` entries as a dict."""
    if not columns:
        return [{} for _ in range(count)]
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
