"""The topology that a program asks for, made from the edges of a graph, or of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, ProgramError
from tux.graph.orders import order_of
from tux.graph.parts import Part
from tux.graph.topology import Topology
from tux.program.base_program import BaseProgram
from tux.program.returns import call_hook


def topology_kind(program: BaseProgram) -> str:
    """Return the topology that a program asks for: "directed", "undirected" or ""; else
    ProgramError.
    """
    return call_hook(program.input, "topology", program)


def topology_of_parts(program: BaseProgram, parts: Sequence[Part]) -> Topology:
    """Make the topology from the edges of all parts, which know their vertices by position."""
    name = program.edge.ends[0]
    src, dst = (
        np.concatenate([part.types[name].rows[getattr(part, end)] for part in parts])
        for end in ("src", "dst")
    )
    weights = (
        np.concatenate([part.fields["weight"] for part in parts])
        if "weight" in parts[0].fields
        else None
    )
    n, kind = parts[0].types[name].vertices, topology_kind(program)
    return _add_tables(
        program, Topology.of(src, dst, n, directed=kind == "directed", weights=weights)
    )


def topology_of(program: BaseProgram, edges: EdgeData, seed: int) -> Topology | None:
    """Make the topology that a program asks for, with the arrays that it computes from it; None if
    it asks for none, or there are no edges.
    """
    kind = topology_kind(program)
    if not kind or not len(edges):
        return None
    if edges.ends[0] != edges.ends[1]:
        raise ProgramError(
            f"{type(program).__name__} looks at neighbours of one type, but its edges join two"
        )
    n, weights = len(edges.ids[edges.ends[0]]), edges.fields.get("weight")
    _check_weights(edges, weights)
    position_of = np.empty(n, np.int32)
    position_of[order_of(edges, edges.ends[0], seed)] = np.arange(n, dtype=np.int32)
    topology = Topology.of(
        position_of[edges.src],
        position_of[edges.dst],
        n,
        directed=kind == "directed",
        weights=weights,
    )
    return _add_tables(program, topology)


def _check_weights(edges: EdgeData, weights: np.ndarray | None) -> None:
    """Raise DataError for the first edge whose weight is not above 0, with its ends."""
    if weights is None or not len(wrong := np.flatnonzero(~(weights > 0))):
        return
    at = int(wrong[0])
    ends = (
        (end, codes[at : at + 1])
        for end, codes in zip(edges.ends, (edges.src, edges.dst), strict=True)
    )
    source, target = (str(edges.ids[end].decode(code)[0]) for end, code in ends)
    raise DataError(
        f"the edge from {source} to {target} has the weight {weights[at]:g}",
        where=f"edge {at + 1:,}, without bad rows",
        do="Give weights above 0, or leave such edges out.",
    )


def _add_tables(program: BaseProgram, topology: Topology) -> Topology:
    """Add the arrays that the program's input computes from the topology."""
    tables = call_hook(program.input, "extra_tables", program, topology)
    return replace(
        topology, more={name: np.ascontiguousarray(table) for name, table in tables.items()}
    )
