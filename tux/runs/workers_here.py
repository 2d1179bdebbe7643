"""The workers of a program as objects of this process, and what their masters hold together.

`tux.cluster.simulated.SimulatedCluster` carries their messages. `tux.runs.verify` compares programs
on such workers, and `tux.runs.on_demand` runs stages on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tux.arrays.ids import Ids
from tux.arrays.ragged import Lists
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.graph.partitioned import partition_inputs
from tux.inputs.load import Inputs
from tux.program.program import Program
from tux.rows.table import RowTable, lists_of_rows


def make_workers(
    program: Program,
    inputs: Inputs,
    workers: int,
    partitioner: str,
    seed: int,
    *,
    slack: int | str = 0,
    **options: Any,
) -> list[Worker]:
    """Make the workers of a program with the initial values of its fields; `options`: others of
    `tux.engine.partition.Partition`. One worker takes the training edges from `inputs`. TuxError
    where they cannot run the program.
    """
    if workers == 1 and not inputs.folder:
        graph = LocalGraph.whole(program, inputs.release_train(), inputs.test, seed)
        return [Worker(program, graph, seed=seed, **options)]
    parts = partition_inputs(program, inputs, partitioner, workers, seed).parts
    options |= {"seed": seed, "slack": slack, "workers": len(parts)}
    return [
        Worker(program, LocalGraph.of(program, part), rank=rank, **options)
        for rank, part in enumerate(parts)
    ]


def vertex_ids(worker: Worker, name: str) -> tuple[Ids, int]:
    """Return the ids of a type, and how many of them training knows: these come first."""
    vertices = worker.graph.vertices[name]
    return vertices.ids, vertices.n_train if vertices.part is None else vertices.part.vertices


def masters_here(worker: Worker, name: str) -> tuple[RowTable, np.ndarray]:
    """Return the table in which a worker has masters of a type, and the dense index (m,) of each of
    its first m rows, which are the masters of training.
    """
    held = worker.graph.vertices[name]
    ids = worker.master_ids(name) if held.is_cut else held.order[: held.n_train]
    return worker.masters(name), ids


def read_field(workers: Sequence[Worker], name: str, field: str) -> np.ndarray | Lists:
    """Return what all masters hold of a field, by vertex number: (n, ...), or lists."""
    n = vertex_ids(workers[0], name)[1]
    found = [masters_here(worker, name) for worker in workers]
    array = found[0][0].arrays[field]
    if found[0][0].declared[field].is_ragged:
        lists = [(ids, lists_of_rows(table, field, np.arange(len(ids)))) for table, ids in found]
        pieces = [(ids, each.counts, each.values) for ids, each in lists]
        return Lists.from_pieces(pieces, n, array.dtype)
    whole = np.zeros((n, *array.shape[1:]), array.dtype)
    for table, ids in found:
        whole[ids] = table.arrays[field][: len(ids)]
    return whole


def write_field(workers: Sequence[Worker], name: str, field: str, values: np.ndarray) -> None:
    """Give a field the `values` (n, ...) by vertex number, on all masters and replicas. Changes
    that replicas have not sent are dropped. No clock may be under way.
    """
    for worker in workers:
        table, ids = masters_here(worker, name)
        table.arrays[field][: len(ids)] = values[ids]
        if not worker.graph.vertices[name].is_cut:
            continue
        order = worker.graph.vertices[name].order
        rows = np.flatnonzero(order < len(values))  # others are of held-out edges alone
        replicas, mirrors = worker.tables[name].arrays[field], worker.mirrors.get(name)
        replicas[rows] = values[order[rows]]
        if mirrors is not None and field in mirrors.base:
            mirrors.base[field][rows] = replicas[rows]


def context_table(workers: Sequence[Worker]) -> RowTable:
    """Return the table that holds the context's true values."""
    one = workers[0]
    return one.server.special.table if len(workers) > 1 else one.tables["tau"]


def write_context(workers: Sequence[Worker], field: str, value: Any) -> None:
    """Give a field of the context a value, on its master and on all workers."""
    for worker in workers:
        for table in (worker.tables["tau"], worker.server.tau, worker.server.special.table):
            table.arrays[field][...] = value
        if worker.mirrors and field in worker.mirrors["tau"].base:
            worker.mirrors["tau"].base[field][...] = value
