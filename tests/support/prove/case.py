"""A case: a program with a graph, and all under which the engine runs it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from support.prove.draw import draw_program
from support.prove.draw_lists import PAGE, draw_list_program
from support.prove.open_changes import leaves_changes
from support.prove.spec import GraphSpec, ProgramSpec

from tux.arrays.edges import EdgeData
from tux.graph.union import Union
from tux.parallel_load.algorithm.plan import IN_SHARES
from tux.partition import PARTITIONERS

MOST_WORKERS = 5
MOST_SLACK = 4
ROTATED = ("rotated", "pipelined")
WATCHED = 4
"""Of so many seeds one has its turns watched."""
LOADED = 0.06
"""The share of the cases that are loaded in shares, too."""
KEPT = 0.3
"""The share of the cases of several epochs that go on from a checkpoint."""
MOVED = 0.5
"""The share of these that go on on other workers, not on as many."""


class SharedLoad(NamedTuple):
    """A load of a graph in shares: how many loaders make the parts of how many workers, by which
    partitioner; and the seed of the order of vertices.
    """

    loaders: int
    workers: int
    partitioner: str
    seed: int


class DrawnCase(NamedTuple):
    """All that a seed decides. `parts`: the worker of each edge, type by type. `kept`: the epoch
    from whose checkpoint the run goes on once more, 0 for none. `moved`: on how many other workers
    it goes on, 0 for as many, and `moved_parts` their edges. `load`: how it is loaded
    in shares for another run of its own, None if it is not. `watched`: whether the turns of threads
    are watched (`support.prove.watched`), in plain Python.
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
    moved: int = 0
    moved_parts: dict[str, np.ndarray] = {}
    load: SharedLoad | None = None
    watched: bool = False


def draw_case(seed: int, *, jit: bool = False) -> DrawnCase:
    """Draw the case of a seed."""
    program, steady = draw_program(seed)
    draw, rng = random.Random(-1 - seed), np.random.default_rng(seed)
    graph = draw_graph(program, draw, rng)
    case = draw_conditions(seed, program, graph, draw, rng, steady=steady, jit=jit)
    return case._replace(watched=seed % WATCHED == 1 and not jit)


def draw_list_case(seed: int, *, jit: bool = False) -> DrawnCase:
    """Draw a case of a program that makes lists."""
    program, steady = draw_list_program(seed)
    draw, rng = random.Random(f"list case {seed}"), np.random.default_rng([3, seed])
    graph = draw_graph(program, draw, rng)
    parameters = program.parameters | {"n": graph.sizes[PAGE]}
    program = program._replace(parameters=parameters)
    return draw_conditions(seed, program, graph, draw, rng, steady=steady, jit=jit)


def draw_open_case(seed: int, *, jit: bool = False) -> DrawnCase:
    """Draw a case of a program whose epochs end with changes that were not sent, and which goes on
    on other workers. Vertices have no mirror fields, if it can be, as these are refused; and
    mini-batches no order by which workers choose what they enumerate, and so what they send.
    """
    draw, rng = random.Random(f"open case {seed}"), np.random.default_rng([6, seed])
    for _ in range(20):
        program, steady = draw_program(10**6 + draw.randrange(10**6))
        text = repr((program.stages, [vertex.fields for vertex in program.vertices]))
        if not any(f"'{word}'" in text for word in ("mirror", *ROTATED)):
            break
    else:
        return draw_case(seed, jit=jit)
    last = len(program.stages) - bool(program.context)  # a GlobalSync, which takes all totals
    stages, first = program.stages[:last], draw.randrange(max(last, 1))
    stages = stages[first:] + stages[:first] + program.stages[last:]
    program = program._replace(stages=stages)
    graph = draw_graph(program, draw, rng)
    case = draw_conditions(seed, program, graph, draw, rng, steady=steady, jit=jit)
    epochs = draw.choice((2, 3))
    return move(case._replace(epochs=epochs, kept=draw.randint(1, epochs - 1)), draw, rng)


def draw_conditions(
    seed: int,
    program: ProgramSpec,
    graph: GraphSpec,
    draw: random.Random,
    rng: np.random.Generator,
    *,
    steady: bool,
    jit: bool,
) -> DrawnCase:
    """Draw all under which a program runs on a graph: a slack where its results are the same at
    any.
    """
    workers = draw.randint(1, MOST_WORKERS)
    epochs = draw.choice((1, 1, 2, 3))
    slack = draw.randint(0, MOST_SLACK) if steady else 0
    case = DrawnCase(
        seed,
        program,
        steady,
        graph,
        workers,
        0 if leaves_changes(program) else slack,
        draw_parts(program, graph, workers, draw, rng),
        epochs,
        draw.randint(1, epochs - 1) if epochs > 1 and draw.random() < KEPT else 0,
        jit,
        draw.choice((1, 2, 3)) if jit else 1,
    )
    return draw_load(draw_move(case))


def draw_load(case: DrawnCase) -> DrawnCase:
    """Draw how a case is loaded in shares, if it is, by random numbers of its own."""
    draw = random.Random(f"load {case.seed}")
    if draw.random() > LOADED:
        return case
    whole = any(vertex.whole for vertex in case.program.vertices)
    partitioner = draw.choice(("bicut", "aweto") if whole else IN_SHARES)
    workers = draw.randint(2, MOST_WORKERS)
    return case._replace(load=SharedLoad(draw.randint(1, 4), workers, partitioner, case.seed))


def draw_move(case: DrawnCase) -> DrawnCase:
    """Draw the other workers on which a case goes on, if it does. It has random numbers of its own,
    so that nothing else changes.
    """
    draw, rng = random.Random(f"move {case.seed}"), np.random.default_rng([1, case.seed])
    return case if not case.kept or draw.random() > MOVED else move(case, draw, rng)


def move(case: DrawnCase, draw: random.Random, rng: np.random.Generator) -> DrawnCase:
    """Draw the other workers on which a case goes on from its checkpoint."""
    moved = draw.choice([each for each in range(1, MOST_WORKERS + 1) if each != case.workers])
    parts = draw_parts(case.program, case.graph, moved, draw, rng)
    return case._replace(moved=moved, moved_parts=parts)


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
    vertices = {name: range(size) for name, size in graph.sizes.items()}
    return replace(join_edges(program, graph, vertices), vertex_fields=graph.vertex_data)


def join_edges(program: ProgramSpec, graph: GraphSpec, vertices: dict[str, range]) -> EdgeData:
    """Return the edges as tux has them, with the ids of these vertices, if they have no edge."""
    made, known = [], None
    for edge in program.edges:
        each = EdgeData.of(
            edge.ends,
            *graph.ends[edge.name],
            graph.edge_data[edge.name],
            against=known,
            vertices={end: vertices[end] for end in edge.ends if end in vertices},
        )
        known = each.ids
        made.append(each)
    first, *others = made
    return first.join(dict(zip((e.name for e in program.edges[1:]), others, strict=True)))


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
