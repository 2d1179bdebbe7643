"""A case whose graph several loaders make from shares of its rows (`tux.parallel_load`)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from support.machines.loaded import (
    cut_up_types,
    files,
    in_shares,
    one_process_of_types,
    typed_plan,
)
from support.prove.case import DrawnCase, SharedLoad, join_edges
from support.prove.spec import EdgePlacement, GraphSpec, MasterState, ProgramSpec
from support.prove.teams import RunnableProgram, make_team, read_outcome, read_placement

from tux.arrays.edges import EdgeData
from tux.graph import store
from tux.graph.partitioned import choose_method
from tux.graph.union import Union
from tux.inputs.vertices import join_table
from tux.io.vertices.table import VertexTable
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan, VertexTableRows


class LoadedRun(NamedTuple):
    """A run on parts that loaders have made: its case, where edges and masters are, and what it
    ends with.
    """

    case: DrawnCase
    placement: EdgePlacement
    outcome: MasterState


class LoadedInputs(NamedTuple):
    """The edges of a case with tables of their vertices, and these tables: the ids, in any order,
    and the fields.
    """

    edges: EdgeData
    tables: dict[str, tuple[np.ndarray, dict[str, np.ndarray]]]


def run_loaded(case: DrawnCase, load: SharedLoad, runnable: RunnableProgram) -> LoadedRun:
    """Run a case on parts that loaders make. AssertionError if these are not the files that one
    process writes.
    """
    inputs = read_inputs(case, np.random.default_rng([4, case.seed]))
    parts = place(case.program, inputs.edges, load)
    graph = renumber(case, inputs.edges)
    placed = case._replace(graph=graph, workers=load.workers, parts=parts)
    with made_parts(case, load, inputs) as folder:
        parts = [store.load(folder, rank) for rank in range(load.workers)]
        team = make_team(placed, runnable, parts).train(case.epochs)
        return LoadedRun(placed, read_placement(placed, team), read_outcome(placed, team))


def renumber(case: DrawnCase, edges: EdgeData) -> GraphSpec:
    """Return the graph of a case with the numbers that tux gives to its vertices, which functions
    see as `id`: those with edges come first.
    """
    pairs = zip(case.program.edges, edges.by_type.values(), strict=True)
    ends = {kind.name: np.array([each.src, each.dst]) for kind, each in pairs}
    return case.graph._replace(ends=ends, vertex_data=dict(edges.vertex_fields))


def read_inputs(case: DrawnCase, rng: np.random.Generator) -> LoadedInputs:
    """Return the graph of a case as tux reads it from edges and tables of vertices."""
    edges, tables = join_edges(case.program, case.graph, {}), {}
    for name, size in case.graph.sizes.items():
        ids = rng.permutation(size)
        fields = {f: each[ids] for f, each in case.graph.vertex_data[name].items()}
        tables[name] = ids, fields
        table, unneeded = VertexTable(name, ids, fields), dict.fromkeys(fields)
        edges = join_table(edges, name, table, lambda warning: None, unneeded)
    return LoadedInputs(edges, tables)


def place(program: ProgramSpec, edges: EdgeData, load: SharedLoad) -> dict[str, np.ndarray]:
    """Place the edges by the partitioner of a load, as one process does."""
    whole = whole_of(program)
    union = Union.of(edges, whole[0] if whole else "")
    ends = [each.ends for each in edges.by_type.values()]
    how = choose_method(ends, load.partitioner, load.workers, whole)
    parts = how.place(union.src, union.dst, load.workers, load.seed)
    lengths = np.cumsum([len(each) for each in edges.by_type.values()])[:-1]
    return dict(zip((e.name for e in program.edges), np.split(parts, lengths), strict=True))


def whole_of(program: ProgramSpec) -> list[str]:
    """List the vertex types that are whole."""
    return [vertex.name for vertex in program.vertices if vertex.whole]


@contextmanager
def made_parts(case: DrawnCase, load: SharedLoad, inputs: LoadedInputs) -> Iterator[Path]:
    """Give the folder of the parts that loaders make, after a comparison with one process."""
    how = inputs.edges, load.workers, load.partitioner, load.seed, whole_of(case.program)
    with tempfile.TemporaryDirectory() as folder:
        one, shares = Path(folder, "one"), Path(folder, "shares")
        one_process_of_types(one, *how)
        in_shares(shares, plan_of(load, inputs, how), share_out(case, load, inputs))
        made, wanted = files(shares), files(one)
        differ = [
            name for name in made.keys() | wanted.keys() if made.get(name) != wanted.get(name)
        ]
        assert not differ, f"loaded: {min(differ)} is not what one process writes"
        yield shares


def plan_of(load: SharedLoad, inputs: LoadedInputs, how: tuple) -> LoadingPlan:
    """Return the plan of the loaders."""
    edges, *others = how
    tables = {name: [*fields] for name, (_, fields) in inputs.tables.items()}
    return replace(typed_plan(edges, load.loaders, *others), tables=tables)


def share_out(case: DrawnCase, load: SharedLoad, inputs: LoadedInputs) -> list[InputShare]:
    """Cut the rows of edges and of tables into a share for each loader, some perhaps empty."""
    rng = np.random.default_rng([5, case.seed])
    shares = cut_up_types(rng, inputs.edges, load.loaders)
    for name, (ids, fields) in inputs.tables.items():
        inner = np.sort(rng.integers(0, len(ids) + 1, load.loaders - 1)).tolist()
        bounds = [0, *inner, len(ids)]
        for share, lo, hi in zip(shares, bounds[:-1], bounds[1:], strict=True):
            own = {f: each[lo:hi] for f, each in fields.items()}
            share.tables[name] = VertexTableRows(ids[lo:hi], own, dict.fromkeys(fields))
    return shares
