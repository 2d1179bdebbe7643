"""The share of the graph of each worker of a cut, and the outline of its epochs, made anew from the
data. `tux.checkpoint.redistribute` needs them to turn states of one cut into states of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.clock.schedule import Outline
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph import store
from tux.graph.local import LocalGraph
from tux.graph.partitioned import NUMBER, partition_inputs
from tux.graph.share import Share, types_of
from tux.program.program import Program, stages_of
from tux.program.stage import Cluster

WHOLE = ""
"""Stands for the digest of the graph's part, where the graph is in one."""


class Shares(NamedTuple):
    """The shares of all workers of a cut, by rank, and the digests of their parts. `outlines`: the
    stages of an epoch and its clocks, by worker, if they were asked for.
    """

    shares: list[Share]
    digests: list[str]
    outlines: list[tuple[list[str], Outline]]


def number_edges(program: Program, edges: EdgeData | None) -> EdgeData | None:
    """Add a column of numbers to edges: to an edge that stands for several, as the program repeats
    it, the number of the first of these.
    """
    if edges is None:
        return None
    numbers = np.arange(len(edges))
    if program.edge.repeats in edges.fields:
        times = edges.fields[program.edge.repeats].astype(np.int64)
        numbers = np.cumsum(times) - times
    return replace(edges, fields={**edges.fields, NUMBER: numbers})


def shares_of(
    program: Program,
    inputs: Any,
    partitioner: str,
    k: int,
    seed: int,
    *,
    epoch: int | None = None,
    **options: Any,
) -> Shares:
    """Cut the edges of a `tux.inputs.load.Inputs` for k workers, which get the `options`. `epoch`:
    the last epoch that has ended before those of the outlines.
    """
    inputs = replace(
        inputs, train=number_edges(program, inputs.train), test=number_edges(program, inputs.test)
    )
    if k == 1:
        graph = LocalGraph.whole(program, inputs.train, inputs.test, seed)
        columns = inputs.train.fields, inputs.test.fields if inputs.test else {}
        one = _worker_share(program, graph, columns, 0, 1, epoch, seed=seed, **options)
        return Shares([one[0]], [WHOLE], [one[1]] if one[1] else [])
    parts = partition_inputs(program, inputs, partitioner, k, seed).parts
    bare = [
        replace(p, fields=_drop_numbers(p.fields), test_fields=_drop_numbers(p.test_fields))
        for p in parts
    ]
    digests = [store.digest_of(bare, rank) for rank in range(k)]
    out = Shares([], digests, [])
    for rank, part in enumerate(parts):
        share, outline = _worker_share(
            program,
            LocalGraph.of(program, part),
            (part.fields, part.test_fields),
            rank,
            k,
            epoch,
            seed=seed,
            **options,
        )
        out.shares.append(share)
        out.outlines.extend([outline] if outline else [])
    return out


def _drop_numbers(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Remove the column with the number of the edge."""
    return {name: array for name, array in columns.items() if name != NUMBER}


def _worker_share(
    program: Program,
    graph: LocalGraph,
    columns: tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]],
    rank: int,
    workers: int,
    epoch: int | None,
    **options: Any,
) -> tuple[Share, tuple[list[str], Outline] | None]:
    """Make the share of a worker, and the outline of its epochs; `columns` are those of its edges
    and held-out edges as they were read.

    The layouts of its stages decide the order of its edges. If that or the outline is wanted, the
    stages are prepared here as on the worker, but not compiled.
    """
    edges, held_out = np.empty(0, np.int64), np.empty(0, np.int64)
    has_fields = any(f.kind != "data" for f in program.edge.fields.values())
    if has_fields and len(graph.edges):
        # it moves as the other columns do
        graph.edges.fields[NUMBER] = _numbers(program, columns[0])
    if has_fields and len(graph.held_out):
        held_out = _numbers(program, columns[1])
    outline = None
    if has_fields or epoch is not None:
        worker = Worker(program, graph, rank=rank, workers=workers, jit=False, **options)
        training = Training(worker)
        edges = graph.edges.fields.pop(NUMBER, edges)
        if epoch is not None:
            worker.epoch = epoch
            outline = _labels(program, worker), training.outline()
    return Share(types_of(program, graph), edges, held_out), outline


def _labels(program: Program, worker: Worker) -> list[str]:
    """List the labels of the stages of an epoch."""
    cluster = Cluster(worker.workers, worker.slack, worker.graph.has_test)
    return [stage.label for stage in stages_of(program, "stages", cluster)]


def _numbers(program: Program, columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the numbers of edges; an edge that is repeated gets one for each repetition."""
    first = columns[NUMBER]
    if program.edge.repeats not in columns:
        return first
    times = columns[program.edge.repeats].astype(np.int64)
    within = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    return np.repeat(first, times) + within


def are_alike(turns: int, before: Shares, after: Shares) -> bool:
    """Return whether the first `turns` clocks of an epoch, and those that follow, do the same to
    each vertex on the workers of both cuts, and on all workers of each.
    """
    every = [*before.outlines, *after.outlines]
    labels, (cuts, clocks) = every[0]
    blocks = [clock for clock in clocks if clock is not None]
    return all(
        own == labels
        and outline.cuts == cuts
        and outline.clocks[:turns] == clocks[:turns]
        and [clock for clock in outline.clocks if clock is not None] == blocks
        for own, outline in every
    )
