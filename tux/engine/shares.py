"""The share of the graph of each worker of a cut, and the outline of its epochs, made anew from the
data. `tux.checkpoint.redistribute` needs them to turn states of one cut into states of another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.clock.schedule import Outline
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph import store
from tux.graph.local import LocalGraph
from tux.graph.manifest import read_manifest
from tux.graph.partitioned import NUMBER, partition_inputs
from tux.graph.parts import Part
from tux.graph.share import (
    NONE,
    EdgeNames,
    Keep,
    Share,
    TypeShare,
    names_by_ends,
    sort_names,
    types_of,
)
from tux.program.program import Program, stages_of

WHOLE = ""
"""Stands for the digest of the graph's part, where the graph is in one."""


class Shares(NamedTuple):
    """The shares of all workers of a cut, by rank, and the digests of their parts. `outlines`: the
    stages of an epoch and its clocks, by worker, if they were asked for.
    """

    shares: list[Share]
    digests: list[str]
    outlines: list[tuple[list[str], Outline]]

    def add(self, share: Share, outline: tuple[list[str], Outline] | None) -> None:
        """Add the share of the next worker, and the outline if there is one."""
        self.shares.append(share)
        self.outlines.extend([outline] if outline else [])


def number_edges(program: Program, edges: EdgeData | None) -> EdgeData | None:
    """Add a column of numbers to edges: to an edge that stands for several, as the program repeats
    it, the number of the first of these.
    """
    if edges is None:
        return None
    others = {
        name: replace(each, fields={**each.fields, NUMBER: np.arange(len(each))})
        for name, each in edges.others.items()
    }
    numbers = np.arange(len(edges))
    if program.edge.repeats in edges.fields:
        times = edges.fields[program.edge.repeats].astype(np.int64)
        numbers = np.cumsum(times) - times
    return replace(edges, fields={**edges.fields, NUMBER: numbers}, others=others)


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
    options |= {"seed": seed}
    options.setdefault("common", {})
    if k == 1:
        return _whole_share(program, inputs, epoch, options)
    parts = partition_inputs(program, inputs, partitioner, k, seed).parts
    bare = [_remove_numbers(part) for part in parts]
    out = Shares([], [store.digest_of(bare, rank) for rank in range(k)], [])
    for rank, part in enumerate(parts):
        graph = LocalGraph.of(program, part)
        named = partial(_numbers, _columns(part), graph)
        out.add(*_worker_share(program, graph, named, rank, k, epoch, **options))
    return out


def shares_in_folder(
    program: Program, folder: Path, keep: Keep, *, epoch: int | None = None, **options: Any
) -> Shares:
    """Return the shares of the workers of a `folder` of parts, in which a partitioner has placed
    edges by their ends. One part at a time is looked at, and `keep` holds what is made of it.
    `epoch` and `options`: see `shares_of`; these have the seed.
    """
    k = read_manifest(folder).parts
    options.setdefault("common", {})
    out = Shares([], [store.digest(folder, rank) for rank in range(k)], [])
    for rank in range(k):
        graph = LocalGraph.of(program, store.load(folder, rank))
        named = partial(names_by_ends, graph)
        out.add(*_worker_share(program, graph, named, rank, k, epoch, keep, **options))
    return out


def share_of_all(folder: Path) -> Shares:
    """Return the share that one worker has of the graph of which a `folder` has the parts. It has
    no names of edges, nor bounds of lists.
    """
    types = store.load(folder, 0).types.values()
    own = {t.name: TypeShare(range(len(t.order)), t.vertices, None, t.order) for t in types}
    return Shares([Share(own, {})], [WHOLE], [])


def _whole_share(
    program: Program, inputs: Any, epoch: int | None, options: Mapping[str, Any]
) -> Shares:
    """Make the share of the only worker."""
    train, test = inputs.train, inputs.test
    graph = LocalGraph.whole(program, train, test, options["seed"])
    columns = {"edges": train.fields, "held_out": test.fields if test else {}}
    columns |= {f"edges.{name}": each.fields for name, each in train.others.items()}
    out = Shares([], [WHOLE], [])
    out.add(
        *_worker_share(program, graph, partial(_numbers, columns, graph), 0, 1, epoch, **options)
    )
    return out


def _remove_numbers(part: Part) -> Part:
    """Return a part without the numbers of its edges."""
    return replace(
        part,
        fields=_drop_numbers(part.fields),
        test_fields=_drop_numbers(part.test_fields),
        others={
            name: each._replace(fields=_drop_numbers(each.fields))
            for name, each in part.others.items()
        },
    )


def _columns(part: Part) -> dict[str, Mapping[str, np.ndarray]]:
    """Return the columns of each set of edges of a part, by its name in `Share`."""
    own = {"edges": part.fields, "held_out": part.test_fields}
    return own | {f"edges.{name}": each.fields for name, each in part.others.items()}


def _drop_numbers(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Remove the column with the number of the edge."""
    return {name: array for name, array in columns.items() if name != NUMBER}


def _worker_share(
    program: Program,
    graph: LocalGraph,
    name_edges: Callable[[str], np.ndarray],
    rank: int,
    workers: int,
    epoch: int | None,
    keep: Keep = lambda array: array,
    **options: Any,
) -> tuple[Share, tuple[list[str], Outline] | None]:
    """Make the share of a worker, and the outline of its epochs; `name_edges` names the edges of a
    set, given in the order of the data, and `keep` holds what the share has of them.

    The layouts of its stages decide the order of its edges. If that or the outline is wanted, the
    stages are prepared here as on the worker, but not compiled.
    """
    every = graph.edge_sets
    changing = [
        name
        for name, edges in every.items()
        if len(edges) and any(f.kind != "data" for f in edges.declared.fields.values())
    ]
    named = dict.fromkeys(every, EdgeNames(NONE, NONE))
    names = {name: name_edges(name) for name in changing}
    for name in changing:
        # it moves as the other columns do
        every[name].fields[NUMBER] = np.arange(len(every[name]))
    types = types_of(program, graph, keep)
    outline = None
    if changing or epoch is not None:
        worker = Worker(
            program, graph, rank=rank, workers=workers, jit=False, fills=False, **options
        )
        training = Training(worker)
        for name in changing:
            numbers = every[name].changing(NUMBER)
            del every[name].fields[NUMBER]
            places = np.empty(len(numbers), np.int32)
            places[numbers] = np.arange(len(numbers), dtype=np.int32)
            named[name] = sort_names(names.pop(name), places, keep)
        if epoch is not None:
            worker.epoch = epoch
            outline = _labels(program, worker), training.outline()
        worker.release()
    return Share(types, named), outline


def _labels(program: Program, worker: Worker) -> list[str]:
    """List the labels of the stages of an epoch."""
    return [stage.label for stage in stages_of(program, "stages", worker.cluster)]


def _numbers(
    columns: Mapping[str, Mapping[str, np.ndarray]], graph: LocalGraph, name: str
) -> np.ndarray:
    """Return the numbers of a set of edges; an edge that is repeated gets one for each repetition.
    `columns` are those of each set as they were read.
    """
    own, repeats = columns[name], graph.edge_sets[name].declared.repeats
    first: np.ndarray = own[NUMBER]
    if repeats not in own:
        return first
    times = own[repeats].astype(np.int64)
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
