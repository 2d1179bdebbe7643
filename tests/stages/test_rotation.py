"""Rotation: no two workers change one vertex in place at once, however the graph is cut."""

import itertools

import numpy as np
import pytest
from support.machines.team import cut_up, walked_edges

from tux import Edge, Program, Vertex, shared
from tux.arrays.networks import from_arrays
from tux.cluster.simulated import SimulatedCluster
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.stages import Apply, Exchange, MiniBatch
from tux.stages.blocks import rotation


def touch(user, item):
    user.n += 1
    item.n += 1


def touch_each(item, edges):
    item.n += len(edges)


class Touches(Program):
    """Counts, in place, the edges of both ends."""

    user = item = Vertex(n=shared("i8"))
    link = Edge("user", "item")


def draw_skewed_edges(users, items, m):
    """Draw edges of which few vertices have most."""
    draw = np.random.default_rng(users)
    src, dst = ((n * draw.random(m) ** 3).astype(int) for n in (users, items))
    return from_arrays(src, dst, ends=("user", "item"))


SHAPES = {
    "wide": draw_skewed_edges(9, 60, 300),
    "even": draw_skewed_edges(30, 30, 300),
    "tall": draw_skewed_edges(60, 9, 300),
}
FEW = {"two items": draw_skewed_edges(40, 2, 200), "two users": draw_skewed_edges(2, 40, 200)}
# of one range, which one share has: the others have none
ONE = {"one item": draw_skewed_edges(40, 1, 60), "one user": draw_skewed_edges(1, 40, 60)}


def batches(edges, k, by, slack, udf=touch, **options):
    """Return workers on the parts of a graph, and the mini-batch of each, prepared."""
    parts = cut_up(edges, k=k, by=by)
    made = []
    for rank, part in enumerate(parts):
        graph = LocalGraph.of(Touches(), part)
        worker = Worker(Touches(), graph, jit=False, slack=slack, rank=rank, workers=k)
        inside = [Exchange(udf, over="item"), Apply("item"), Apply("user")]
        batch = MiniBatch(*inside, order="rotated", **options)
        made.append((worker, batch.prepare(worker)))
    return made


@pytest.mark.slow(after=10)
@pytest.mark.long(after=30)
@pytest.mark.parametrize("slack", [0, 1, 3])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("by", ["bicut", "source", "target", "random", "ne"])
@pytest.mark.parametrize("shape", [*SHAPES, *FEW])
def test_no_two_workers_change_a_vertex_before_they_have_heard_of_each_other(shape, by, k, slack):
    edges = {**SHAPES, **FEW}[shape]
    made = batches(edges, k, by, slack)
    for epoch in range(2):
        for worker, _ in made:
            worker.epoch = epoch
        clocks = [
            [walked_edges(worker, batch.steps[0], block) for block in batch.blocks()]
            for worker, batch in made
        ]
        assert len({len(each) for each in clocks}) == 1, "workers have equally many clocks"
        assert sum(len(src) for each in clocks for src, _ in each) == len(edges.src)
        for side in (0, 1):
            last = {}  # by vertex: the worker that changed it last, and when
            for t in range(len(clocks[0])):
                for rank, each in enumerate(clocks):
                    for vertex in set(each[t][side].tolist()):
                        other, then = last.get(vertex, (rank, t))
                        assert other == rank or t - then > slack, (
                            side,
                            vertex,
                            other,
                            then,
                            rank,
                            t,
                        )
                        last[vertex] = rank, t


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("by", ["bicut", "source", "target", "random"])
@pytest.mark.parametrize("shape", [*SHAPES, *FEW, *ONE])
def test_every_edge_is_walked_once_an_epoch(shape, by):
    edges = {**SHAPES, **FEW, **ONE}[shape]
    made = batches(edges, 3, by, 1)
    SimulatedCluster([worker for worker, _ in made]).run(lambda worker: [made[worker.rank][1]])
    for worker, _ in made:
        assert worker.edges_visited == len(worker.graph.edges)
    for name, ends in (("user", edges.src), ("item", edges.dst)):
        degrees = np.bincount(ends)
        for worker, _ in made:
            if worker.graph.vertices[name].is_cut:
                n = worker.server.tables[name].arrays["n"]
                assert n.tolist() == degrees[worker.master_ids(name)].tolist()


@pytest.mark.parametrize(
    ("by", "role"), [("source", "item"), ("target", "user"), ("random", "item")]
)
def test_workers_rotate_over_the_end_that_is_cut(by, role):
    for edges in SHAPES.values():
        assert {batch.plan.role for _, batch in batches(edges, 2, by, 0)} == {role}


def test_one_worker_and_functions_of_a_vertex_keep_the_end_that_was_named():
    edges = SHAPES["wide"]
    assert [batch.plan.role for _, batch in batches(edges, 1, "bicut", 0)] == ["item"]
    of_item = batches(edges, 2, "bicut", 0, touch_each)
    assert {batch.plan.role for _, batch in of_item} == {"item"}


def test_sizes_in_vertices_are_kept_and_empty_blocks_follow():
    for _, batch in batches(SHAPES["tall"], 2, "source", 2, vertices=4):
        assert batch.cuts.tolist() == [0, 4, 8, 9, 9, 9, 9]
    for _, batch in batches(SHAPES["tall"], 2, "source", 0, vertices=4):
        assert batch.cuts.tolist() == [0, 4, 8, 9]


@pytest.mark.parametrize(("workers", "slack"), list(itertools.product((2, 3, 7), (0, 2, 5))))
def test_a_round_of_shares(workers, slack):
    order = np.random.default_rng(0).permutation(rotation.least_blocks(workers, slack) + 3)
    rounds = workers + 1
    each = []
    for w in range(workers):
        mine = rotation.start(order, w, workers)
        each.append(list(rotation.both_ends(mine, rounds, w, workers, slack)))
    last = len(order) - 1
    for visits in each:
        assert len(visits) == rounds * len(order) + (rounds - 1) * slack
        cells = [(share, block) for share, block in visits if block != last]
        assert sorted(cells) == sorted(itertools.product(range(rounds), range(last)))
