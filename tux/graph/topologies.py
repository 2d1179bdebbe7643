"""The topology that a program asks for, made from the edges of a graph, or of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tux.arrays.edge_facts import EdgeFacts
from tux.arrays.edges import EdgeData
from tux.arrays.npy import map_npy, write_npy
from tux.base.errors import DataError, ProgramError
from tux.graph.manifest import change_manifest, read_manifest
from tux.graph.orders import order_of
from tux.graph.parts import Part
from tux.graph.topology import ARRAYS, WEIGHT, Topology
from tux.program.base_program import BaseProgram
from tux.program.returns import call_hook


def topology_kind(program: BaseProgram) -> str:
    """Return the topology that a program asks for: "directed", "undirected" or "". ProgramError for
    something else, and where its edges join two types.
    """
    kind = call_hook(program.input, "topology", program)
    if kind and program.edge.ends[0] != program.edge.ends[1]:
        raise ProgramError(
            f"{type(program).__name__} looks at neighbours of one type, but its edges join two",
            do='let topology return "", or declare both ends of its edges of one type',
        )
    return kind


def topology_of_parts(program: BaseProgram, parts: Sequence[Part]) -> Topology:
    """Make the topology from the edges of all parts, which know their vertices by position."""
    name = program.edge.ends[0]
    src, dst = (
        np.concatenate([part.types[name].rows[getattr(part, end)] for part in parts])
        for end in ("src", "dst")
    )
    weights = (
        np.concatenate([part.fields[WEIGHT] for part in parts])
        if WEIGHT in parts[0].fields
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
    check_weights(EdgeFacts.of(edges))
    n, weights = len(edges.ids[edges.ends[0]]), edges.fields.get(WEIGHT)
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


def check_weights(facts: EdgeFacts) -> None:
    """Raise DataError for the edge of least weight if that is not above 0."""
    weights = facts.number(WEIGHT)
    if weights is None or weights.least > 0:
        return
    source, target = facts.ids_of_ends(weights)
    raise DataError(
        f"the edge from {source} to {target} has the weight {weights.least:g}",
        where=f"edge {weights.row + 1:,}, without bad rows",
        do="Give weights above 0, or leave such edges out.",
    )


def tables_in_folder(program: BaseProgram, folder: Path) -> dict[str, np.ndarray]:
    """Compute the arrays that the program's input computes from the topology in a folder of parts;
    none if it asks for no topology.
    """
    if not topology_kind(program):
        return {}
    arrays = {name: map_npy(folder / f"topology.{name}.npy") for name in ARRAYS}
    return _extra_tables(program, Topology.from_arrays(arrays))


def write_tables(folder: Path, tables: Mapping[str, np.ndarray]) -> None:
    """Add arrays to the topology in a folder of parts, unless they are there. Raises DiskError."""
    manifest = read_manifest(folder)
    added = [name for name in tables if name not in manifest.topology]
    for name in added:
        write_npy(folder / f"topology.{name}.npy", tables[name])
    change_manifest(folder, manifest, topology=[*manifest.topology, *added])


def _add_tables(program: BaseProgram, topology: Topology) -> Topology:
    """Add the arrays that the program's input computes from the topology."""
    return replace(topology, more=_extra_tables(program, topology))


def _extra_tables(program: BaseProgram, topology: Topology) -> dict[str, np.ndarray]:
    tables = call_hook(program.input, "extra_tables", program, topology)
    return {name: np.ascontiguousarray(table) for name, table in tables.items()}
