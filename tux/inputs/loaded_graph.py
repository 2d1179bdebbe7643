"""The graph that loaders have made for a run, as the run sees it: its ids and no edges, and what is
odd in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.npy import map_npy
from tux.base.disk import writing
from tux.base.text import data_name
from tux.graph.cut_folder import without_edges
from tux.graph.links import held_out_edges
from tux.graph.store import StoredIds, edges_prefix
from tux.graph.union import two_sides
from tux.inputs.by_type import SourceOfTypes, describe_new_ids, sources_by_type
from tux.inputs.sizes import EdgeTotals
from tux.inputs.tables_in_shares import points_read
from tux.inputs.untyped import Sides, check_one_type
from tux.io.formats.format import Format
from tux.io.source.input_files import input_files
from tux.io.source.odd_ids import odd_ids
from tux.io.source.precision import range_notes
from tux.parallel_load.algorithm.folder import HELD, SIDES
from tux.parallel_load.algorithm.loader import count_edges
from tux.parallel_load.process.loader_process import RowsRead
from tux.parallel_load.process.loading import LoadedGraph
from tux.program.base_program import other_types
from tux.program.input import Points
from tux.program.program import Program


def totals_of_types(graph: LoadedGraph, repeats: str) -> EdgeTotals:
    """Return the numbers of edges of each type that loaders have read, with held-out links; the
    column `repeats` says how often each edge of the first type is there.
    """
    counts = count_edges([each.loaded for each in graph.ended])
    totals = {name: EdgeTotals(count, graph.repeated_edges(name)) for name, count in counts.items()}
    held, often = graph.held, graph.total_given(repeats)
    first = counts[""] + held.edges, graph.repeated_edges() + held.repeated
    del totals[""]
    return EdgeTotals(*first, totals, often)


def read_bare_graph(
    folder: Path, program: Program, graph: LoadedGraph, *, tables: bool, every: bool
) -> EdgeData:
    """Return the ids of the parts in a folder that loaders have made, with the notes and names that
    the loaders have read, without an edge. Ids are read from the folder when they are asked for.
    `tables`: the files were tables of edges; `every`: all ids are theirs, and of one edge type.
    """
    others = other_types(program)
    bare = without_edges(folder, program.edge.ends, program.edge.columns, others)
    if isinstance(program.input, Points):
        return points_read(graph, bare)
    return add_rows_read(bare, folder, graph, tables=tables, every=every)


def add_rows_read(
    bare: EdgeData, folder: Path, graph: LoadedGraph, *, tables: bool, every: bool
) -> EdgeData:
    """Return the ids of the parts in a folder, which are without an edge, with what
    `read_bare_graph` adds to them.
    """
    odd = {}
    if tables:  # else ids are numbers of rows, and of columns or words
        words = [name for name in dict.fromkeys(bare.ends) if _are_strings(bare.ids[name])]
        own = {name: _ids_of_first(folder, bare, name, every=every) for name in words}
        odd = {"": odd_ids(own)}
    counts = count_edges([each.loaded for each in graph.ended])
    counts[""] += graph.held.edges
    read = {
        name: _rows_read(each, graph.rows_read(name), counts[name], odd.get(name, ()))
        for name, each in bare.by_type.items()
    }
    return replace(read.pop(""), others=read)


def _rows_read(each: EdgeData, read: RowsRead, rows: int, odd: Sequence[str]) -> EdgeData:
    """Return edges of a type, which are not here, with the facts about their `rows`, and with the
    sentences about `odd` ids.
    """
    return replace(
        each,
        columns=read.names,
        rows=rows if read.rows is None else read.rows,
        skipped=read.skipped,
        first_skipped=read.first_skipped,
        notes=(*read.notes, *odd, *range_notes(read.ranges)),
    )


def _are_strings(ids: Ids) -> bool:
    """Return whether the ids of a folder are strings: others are never odd."""
    return isinstance(ids, StoredIds) and ids.are_strings


def _ids_of_first(folder: Path, bare: EdgeData, kind: str, *, every: bool) -> Ids:
    """Return the ids of a vertex type that occur in edges of the first type: they come before all
    others. `every`: all do, also those of which no edge is left.
    """
    ids = bare.ids[kind]
    values = ids.read() if isinstance(ids, StoredIds) else ids.values
    if every:
        return Ids(values)
    there = vertices_at_ends(folder, bare, kind, "")
    return Ids(values[: np.count_nonzero(there)])


def vertices_at_ends(
    folder: Path, bare: EdgeData, kind: str, edges: str, *sides: int
) -> np.ndarray:
    """Return for each vertex of a type, by index, whether it is at an end of an edge of the type
    `edges`, of those in parts in a folder; or whether it is at an end of these `sides`.
    """
    order = map_npy(folder / f"{kind}.order.npy")
    there = np.zeros(len(bare.ids[kind]), np.bool_)
    before = folder / f"{SIDES}.npy"
    if not edges and kind in bare.ends and before.exists():  # degrees count the edges that are left
        known = map_npy(before)
        there[: len(known)] = (known & sum(1 << side for side in sides or (0, 1))) > 0
        return there
    for side in sides or (0, 1):
        if bare.by_type[edges].ends[side] == kind:
            degrees = map_npy(folder / f"{edges_prefix(edges)}degrees.{side}.npy")
            there[order[degrees > 0]] = True
    return there


def take_held_out(folder: Path, bare: EdgeData) -> EdgeData | None:
    """Return the links that loaders have held out, and remove them from the folder of parts; None
    if they have held out none.
    """
    if not (folder / f"{SIDES}.npy").exists():
        return None
    src, dst, _ = (np.array(map_npy(folder / f"{name}.npy")) for name in HELD)
    with writing(folder):
        for name in HELD:
            (folder / f"{name}.npy").unlink()
    return held_out_edges(bare, src, dst)


def count_sides(folder: Path, bare: EdgeData, named: str | None = None) -> list[int]:
    """Count the vertices of either side that are at an end of an edge, of those in parts in a
    folder, where edges lead from one side to another; only edges of the type `named`, if one is.
    """
    types = [*bare.by_type] if named is None else [named]
    sides = two_sides([bare.by_type[name].ends for name in types])
    counts = []
    for side in sides:
        there = (
            np.logical_or.reduce([vertices_at_ends(folder, bare, kind, name) for name in types])
            for kind in side
        )
        counts.append(sum(int(np.count_nonzero(each)) for each in there))
    return counts


def sides_of(folder: Path, bare: EdgeData, edges: str = "") -> Sides:
    """Return, for each vertex of the one type that edges of the type `edges` join, whether it is a
    source of one, and whether it is a target.
    """
    kind = bare.by_type[edges].ends[0]
    sides = [vertices_at_ends(folder, bare, kind, edges, side) for side in (0, 1)]
    return Sides(bare.ids[kind].values, *sides)


def odd_ids_lines(
    folder: Path,
    program: Program,
    bare: EdgeData,
    data: SourceOfTypes,
    formats: Mapping[str, Format],
    columns: str | None,
) -> Iterator[str]:
    """Yield the lines that reading the whole says of the ids of each edge type, where the parts lie
    in a folder. `formats`: of the files; `columns`: named for the first type. DataError where the
    names of columns say that two vertex types are one.
    """
    for name, source in sources_by_type(program, data).items():
        ends, format = bare.by_type[name].ends, formats[name]
        if ends[0] == ends[1]:
            files, sides = input_files(source), sides_of(folder, bare, name)
            named = None if name else columns
            if why := check_one_type(files, format, ends[0], sides, named):
                yield f"{data_name(files)}: {why}"
        if name:
            yield from _new_ids_lines(folder, bare, name, data_name({name: source}))


def _new_ids_lines(folder: Path, bare: EdgeData, edges: str, own: str) -> Iterator[str]:
    """Yield the lines of `tux.inputs.by_type.compare_ids` about the edges of the type `edges`, of
    those in parts in a folder; `own`: the name of their data.
    """
    types = [*bare.by_type]
    for kind in dict.fromkeys(bare.by_type[edges].ends):
        before = np.zeros(len(bare.ids[kind]), np.bool_)
        for name in types[: types.index(edges)]:
            before |= vertices_at_ends(folder, bare, kind, name)
        there = vertices_at_ends(folder, bare, kind, edges)
        if before.any():
            count, new = np.count_nonzero(there), np.count_nonzero(there & ~before)
            yield from describe_new_ids(kind, own, int(count), int(new))
