"""A case: a program with a graph, and all under which the engine runs it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from support.prove.draw import draw_program
from support.prove.spec import GraphSpec, ProgramSpec

from tux.arrays.edges import EdgeData
from tux.graph.union import Union
from tux.partition import PARTITIONERS

MOST_WORKERS = 5
MOST_SLACK = 4


class DrawnCase(NamedTuple):
    """All that a seed decides. `parts`: the worker of each edge, type by type. `kept`: the epoch
    from whose checkpoint the run goes on once more, 0 for none; `moved`: on how many workers.
    """

    seed: int
    program: ProgramSpec
    steady: bool
    graph: GraphSpec
    workers: int
    slack: int
    parts: dict[str, np.ndarray]
    epochs: int
    kept: int
    jit: bool = False
    threads: int = 1


def draw_case(seed: int, *, jit: bool = False) -> DrawnCase:
    """Draw the case of a seed."""
    program, steady = draw_program(seed)
    draw, rng = random.Random(-1 - seed), np.random.default_rng(seed)
    graph = draw_graph(program, draw, rng)
    workers = draw.randint(1, MOST_WORKERS)
    epochs = draw.choice((1, 1, 2, 3))
    return DrawnCase(
        seed,
        program,
        steady,
        graph,
        workers,
        draw.randint(0, MOST_SLACK) if steady else 0,
        draw_parts(program, graph, workers, draw, rng),
        epochs,
        draw.randint(1, epochs - 1) if epochs > 1 and draw.random() < 0.5 else 0,
        jit,
        draw.choice((1, 2, 3)) if jit else 1,
    )


def draw_graph(program: ProgramSpec, draw: random.Random, rng: np.random.Generator) -> GraphSpec:
    """Draw a graph with hubs, repeated edges, self-loops and vertices without edges."""
    sizes = {vertex.name: draw.randint(1, 9) for vertex in program.vertices}
    ends, edge_data = {}, {}
    for number, edge in enumerate(program.edges):
        m = draw.choice((3, 8, 20)) if not number else draw.choice((0, 1, 6, 15))
        columns = [rng.integers(0, max(1, sizes[end] - draw.randint(0, 2)), m) for end in edge.ends]
        for column in columns:
            if draw.random() < 0.3:
                column[: m // 2] = 0  # a hub
        ends[edge.name] = np.array(columns).reshape(2, m)
        edge_data[edge.name] = {
            each.name: rng.integers(0, 6, m) for each in edge.fields if each.kind == "data"
        }
    vertex_data = {
        vertex.name: {
            each.name: rng.integers(0, 6, sizes[vertex.name]).astype(each.dtype)
            for each in vertex.fields
            if each.kind == "data"
        }
        for vertex in program.vertices
    }
    return GraphSpec(sizes, ends, edge_data, vertex_data)


def edges_of(program: ProgramSpec, graph: GraphSpec) -> EdgeData:
    """Return the graph as tux has it; the ids of vertices are their numbers."""
    made, known = [], None
    for edge in program.edges:
        each = EdgeData.of(
            edge.ends,
            *graph.ends[edge.name],
            graph.edge_data[edge.name],
            against=known,
            vertices={end: range(graph.sizes[end]) for end in edge.ends},
        )
        known = each.ids
        made.append(each)
    first, *others = made
    joined = first.join(dict(zip((e.name for e in program.edges[1:]), others, strict=True)))
    return replace(joined, vertex_fields=graph.vertex_data)


def draw_parts(program, graph, workers, draw, rng) -> dict[str, np.ndarray]:
    """Draw the worker of each edge: by a partitioner or at random, at times with workers that have
    none; edges of a vertex that is whole lie together.
    """
    whole = [vertex.name for vertex in program.vertices if vertex.whole]
    active = max(1, workers - (draw.random() < 0.2))
    out = {}
    if not whole and draw.random() < 0.3:
        union = Union.of(edges_of(program, graph))
        by = PARTITIONERS[draw.choice(("random", "ne", "hdrf", "dbh", "grid"))]
        parts = by(union.src, union.dst, workers, 0, bipartite=bool(union.sides))
        lengths = np.cumsum([graph.ends[edge.name].shape[1] for edge in program.edges])[:-1]
        return dict(zip((e.name for e in program.edges), np.split(parts, lengths), strict=True))
    place = {name: rng.integers(0, active, graph.sizes[name]) for name in whole}
    for edge in program.edges:
        ends = graph.ends[edge.name]
        out[edge.name] = rng.integers(0, active, ends.shape[1]).astype(np.int16)
        for end, column in zip(edge.ends, ends, strict=True):
            if end in whole:
                out[edge.name] = place[end][column].astype(np.int16)
    return out
