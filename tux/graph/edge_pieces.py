"""The training edges of a run that has ended, for tables that are made of them: in pieces, and read
only when they are asked for.

One worker has them in memory. Of several, the launcher finds them in the folder of the job, where
each worker has read its own: nothing is kept in memory for the sake of those who never ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from tux.graph import store
from tux.graph.local import LocalGraph
from tux.program.base_program import BaseProgram

PIECE = 1 << 20  # edges

Pieces = Iterable[tuple[np.ndarray, np.ndarray]]
"""Dense indices of both ends of some edges, (m,) each; an edge that is repeated may be there
once or more often.
"""


def edges_of_graph(graph: LocalGraph) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the edges of a graph in one part."""
    edges = graph.edges
    first, second = (graph.vertices[name].order for name in edges.declared.ends)
    for lo in range(0, len(edges), PIECE):
        yield first[edges.src[lo : lo + PIECE]], second[edges.dst[lo : lo + PIECE]]


def edges_of_parts(
    program: BaseProgram, folder: Path, parts: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the edges of all parts in a folder, those that count 0 left out. DataError if a part is
    missing.
    """
    for number in range(parts):
        part = store.load(folder, number)
        first, second = (
            part.types[name].order[part.types[name].rows] for name in program.edge.ends
        )
        times = part.fields.get(program.edge.repeats) if program.edge.repeats else None
        for lo in range(0, len(part.src), PIECE):
            piece = slice(lo, lo + PIECE)
            there = slice(None) if times is None else times[piece] > 0
            yield first[part.src[piece][there]], second[part.dst[piece][there]]
