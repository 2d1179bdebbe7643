"""Results on edges: mirror fields of edges that are part of the model, such as assignments and
scores. Edges stay where they lie; at the end of a run each worker sends its own to the launcher
(`tux.engine.model_shares`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tux.messages.edge_rows import EdgeRows
from tux.program.base_program import BaseProgram, first_edge
from tux.program.fields import Field

if TYPE_CHECKING:
    from tux.engine.worker import Worker


def kept_edge_fields(program: BaseProgram) -> dict[str, dict[str, Field]]:
    """Return the fields that a model has of edges, sized, by edge type; types without any are left
    out.
    """
    out = {}
    for name, edge in program.edge_types.items():
        kept = {f: d.resolve(program.parameters) for f, d in edge.fields.items() if d.kept}
        if kept:
            out[name] = kept
    return out


def own_edge_rows(worker: Worker) -> dict[str, EdgeRows]:
    """Return this worker's edges with results, by type."""
    graph, out = worker.graph, {}
    for name, kept in kept_edge_fields(worker.program).items():
        edges = graph.edges if name == first_edge(worker.program) else graph.others[name]
        first, second = (graph.vertices[kind] for kind in edges.declared.ends)
        src, dst = (
            each.order[rows].astype(each.position_dtype)
            for each, rows in ((first, edges.src), (second, edges.dst))
        )
        out[name] = EdgeRows(src, dst, {f: edges.changing(f) for f in kept})
    return out


def edge_results(workers: Sequence[Worker]) -> Iterator[tuple[str, EdgeRows]]:
    """Yield the edges with results of `workers`, by type, as `sort_edges` does."""
    each_own = [own_edge_rows(worker) for worker in workers]
    for name in each_own[0]:
        yield name, sort_edges([each[name] for each in each_own])


def sort_edges(pieces: Sequence[EdgeRows]) -> EdgeRows:
    """Put pieces of edges of one type together, sorted by their ends; repeated pairs by their
    values.
    """
    src, dst = (np.concatenate([getattr(each, end) for each in pieces]) for end in ("src", "dst"))
    fields = {f: np.concatenate([each.fields[f] for each in pieces]) for f in pieces[0].fields}
    flat = [array.reshape(len(src), -1).T for array in fields.values()]
    order = np.lexsort([*(key for each in flat for key in each[::-1]), dst, src])
    columns = {f: array[order] for f, array in fields.items()}
    return EdgeRows(src[order], dst[order], columns)
