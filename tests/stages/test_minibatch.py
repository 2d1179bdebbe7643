"""MiniBatch: blocks of the seeded order, cut by vertices or edges, in an order that changes by
epoch; each block is one clock.
"""

import numpy as np
import pytest
from support.oracles import oracle
from support.programs.programs import Spy, both, column, drive, random_pairs, start

from tux import Context, Edge, Program, Vertex, mirror, param, shared, total, value
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.cluster.simulated import SimulatedCluster
from tux.engine.worker import Worker
from tux.graph.cut import cut
from tux.graph.local import LocalGraph
from tux.partition import bicut
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch
from tux.stages.blocks.block_cuts import VISIT
from tux.stages.blocks.fused import FusedBlocks

LEFT, RIGHT = random_pairs(30, 20, 120, seed=1)
EDGES = from_arrays(LEFT, RIGHT, ends=("user", "item"))
HELD = EdgeData.of(("user", "item"), [0, 99], [99, 1], {}, against=EDGES.ids)
USERS, ITEMS = len(EDGES.ids["user"]), len(EDGES.ids["item"])


class VisitCounts(Program):
    """Counts of what was done to each vertex and edge."""

    size: int = param(5)

    user = Vertex(edges=shared("i8"), applied=value("i8"))
    item = Vertex(edges=shared("i8"), applied=value("i8"))
    link = Edge("user", "item", visits=mirror("i8"))
    tau = Context(n=total("i8"), epochs=value("i8"))


def visit(user, item, link, tau):
    user.edges += 1
    item.edges += 1
    link.visits += 1
    tau.n += 1


def visit_from(user, edges, tau):
    user.edges += len(edges)
    for edge in edges:
        edge.item.edges += 1
        edge.visits += 1
        tau.n += 1


def visit_item(item):
    item.edges += 1


def count_applies(v):
    v.applied += 1


def noting(into):
    """Return a stage that notes each block's number."""
    return Spy(lambda worker, block: into.append(block.number))


def order(*, epoch=0, seed=0, **options):
    """Return the numbers of blocks in the order of one epoch."""
    worker, numbers = start(VisitCounts(), EDGES, HELD, seed=seed, jit=False), []
    worker.epoch = epoch
    drive(worker, MiniBatch(noting(numbers), over="user", **options))
    return numbers


SIZES = [
    {},
    {"vertices": 1},
    {"vertices": 7},
    {"vertices": 1000},
    {"edges": 1},
    {"edges": 25},
    {"edges": 10**6},
]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("udf", [visit, visit_from])
def test_blocks_cover_everything_exactly_once(size, udf):
    worker = start(VisitCounts(), EDGES, HELD, jit=False)
    batch = MiniBatch(Exchange(udf, over="user"), Apply("user", count_applies), **size)
    batch = batch.prepare(worker)
    worker.run([batch])
    assert (
        worker.graph.edges.fields["visits"] == 1
    ).all() and worker.tau.n == 120 == worker.edges_visited
    assert column(worker, "user", "edges").tolist() == [*np.bincount(EDGES.src), 0]
    assert column(worker, "user", "applied").tolist() == [1] * USERS + [0]
    assert worker.clock == len(batch.cuts) - 1


@pytest.mark.slow(after=1)
@both
@pytest.mark.parametrize("udf", [visit, visit_from])
def test_compiled_blocks(jit, udf):
    worker = start(VisitCounts(), EDGES, HELD, jit=jit)
    touched = []
    spy = Spy(
        lambda worker, block: touched.append(
            (block.number, column(worker, "item", "applied").copy())
        )
    )
    batch = MiniBatch(
        spy,
        Exchange(udf, over="user"),
        Apply("user", count_applies),
        Apply("item", count_applies),
        spy,
        edges=25,
    )
    batch = batch.prepare(worker)
    worker.run([batch])
    assert (worker.graph.edges.fields["visits"] == 1).all() and len(batch.cuts) > 4
    block_of = np.repeat(np.arange(len(batch.cuts) - 1), np.diff(batch.cuts))[
        worker.graph.vertices["user"].row_of[:USERS]
    ]
    expected = oracle.pairs_touched(block_of, EDGES.src, EDGES.dst)
    assert column(worker, "item", "applied").tolist() == [*expected, 0] and expected.max() > 1
    for (number, before), (_, after) in zip(touched[::2], touched[1::2], strict=True):
        assert set(np.flatnonzero(after - before)) == set(EDGES.dst[block_of[EDGES.src] == number])


def test_sizes():
    worker = start(VisitCounts(), EDGES, HELD, jit=False)
    batch = MiniBatch(noting([]), over="user", vertices=7).prepare(worker)
    assert batch.cuts.tolist() == [0, 7, 14, 21, 28, USERS]
    batch = MiniBatch(noting([]), over="item", edges=30).prepare(worker)
    degrees = np.bincount(worker.graph.edges.dst, minlength=ITEMS)
    assert [len(batch.cuts), batch.cuts[-1]] == [5, ITEMS]
    assert abs(np.add.reduceat(degrees, batch.cuts[:-1]) - 30).max() <= degrees.max()


def test_order_of_blocks_changes_by_epoch_and_repeats_by_seed():
    orders = [order(vertices=2, epoch=epoch) for epoch in range(4)]
    assert len(set(map(tuple, orders))) == 4 and all(
        sorted(numbers) == list(range(15)) for numbers in orders
    )
    assert orders == [order(vertices=2, epoch=epoch) for epoch in range(4)]
    assert order(vertices=2, seed=1) != orders[0]
    assert order(vertices=2, order="fixed") == list(range(15))


def test_members_of_a_block_never_change():
    worker, members = start(VisitCounts(), EDGES, jit=False), {}

    def note(worker, block):
        edges = worker.graph.edges
        found = set(edges.src[edges.fields["visits"] == worker.epoch + 1]) - members.get(-1, set())
        assert members.setdefault(block.number, found) == found and found <= set(range(*block.rows))
        members[-1] = members.get(-1, set()) | found

    batch = MiniBatch(Exchange(visit, over="user"), Spy(note), vertices=4).prepare(worker)
    for epoch in range(3):
        worker.epoch = epoch
        worker.run([batch])
        assert members.pop(-1) == set(range(USERS))


def role_of(blocks):
    """Return the enumerated end, of one kernel or of a block a clock."""
    return (blocks.walks[0] if isinstance(blocks, FusedBlocks) else blocks.plan).role


def test_enumerated_end_is_that_of_the_first_exchange():
    for batch in (
        MiniBatch(Exchange(visit, over="item"), vertices=3),
        MiniBatch(Exchange(visit_item, enter=applied_item), vertices=3),
    ):
        worker = start(VisitCounts(), EDGES, jit=False)
        blocks = batch.prepare(worker)
        worker.run([blocks])
        assert role_of(blocks) == "item" and blocks.cuts[-1] == ITEMS


def applied_item(item):
    item.edges += 0


def test_one_clock_a_block_and_one_for_other_stages():
    worker = start(VisitCounts(), EDGES, jit=False)
    drive(worker, MiniBatch(Exchange(visit), vertices=10))
    assert worker.clock == 3
    drive(worker, Exchange(visit), Apply("user", count_applies))
    assert worker.clock == 4


def count_epoch(tau):
    tau.epochs += 1


def test_other_stages_run_once_a_block():
    worker = drive(
        start(VisitCounts(), EDGES, jit=False),
        MiniBatch(Exchange(visit), GlobalSync(count_epoch), vertices=10),
    )
    assert worker.tau.epochs == 3


def test_within_one_type():
    class Net(Program):
        node = Vertex(edges=shared("i8"), applied=value("i8"))
        link = Edge("node", "node", visits=mirror("i8"))

    def meet(src, dst, link):
        src.edges += 1
        link.visits += 1

    edges = from_arrays(LEFT % 20, RIGHT, ends=("node", "node"))
    for over in ("", "src", "dst", "node"):
        worker = drive(
            start(Net(), edges, jit=False),
            MiniBatch(Exchange(meet, over=over), Apply("node", count_applies), vertices=6),
        )
        assert (worker.graph.edges.fields["visits"] == 1).all() and (
            worker.tables["node"].arrays["applied"] >= 1
        ).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: MiniBatch(Exchange(visit), vertices=3, edges=3),
            "more than one of vertices, edges and blocks",
        ),
        (lambda: MiniBatch(Exchange(visit), vertices=-1), "negative size"),
        (
            lambda: MiniBatch(Apply("user", count_applies), vertices=3),
            '(?s)no Exchange inside and names no end.*over="user"',
        ),
        (lambda: MiniBatch(Exchange(visit), over="film"), "'film' is no end of link"),
        (lambda: MiniBatch(Apply("user", count_applies), over="film"), "'film' is no end of link"),
        (
            lambda: MiniBatch(Exchange(visit, over="user"), Exchange(visit, over="item")),
            r"(?s)Exchange\(visit, over=item\) enumerates item in a MiniBatch over user",
        ),
        (lambda: MiniBatch(Exchange(visit, held_out=True), over="user", vertices=3), "held"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ProgramError, match=message):
        drive(start(VisitCounts(), EDGES, HELD, jit=False), make())


def test_a_worker_comes_round_several_times_where_vertices_have_many_edges():
    """Three items with 3,000 edges each on two workers: each visit has at most about VISIT edges
    an item, and no edge comes twice.
    """
    src, dst = np.divmod(np.arange(9000), 3)
    data = from_arrays(src, dst, ends=("user", "item"))
    parts = cut(data, None, bicut(data.src, data.dst, 2), 2, 0)
    workers = [
        Worker(SeenItems(), LocalGraph.of(SeenItems(), part), jit=False, rank=r, workers=2)
        for r, part in enumerate(parts)
    ]
    cluster, batches = SimulatedCluster(workers), []
    for worker in workers:
        batch = MiniBatch(Exchange(walk, over="item"), Apply("item"), edges=3000, order="rotated")
        batches.append(batch.prepare(worker))
    blocks = list(batches[0].blocks())
    assert blocks[0].rounds == round(3000 / 2 / VISIT) > 1 and {
        block.round for block in blocks
    } == set(range(blocks[0].rounds))
    cluster.run(lambda worker: [batches[worker.rank]])
    walked = [int(worker.edges_visited) for worker in workers]
    assert walked == [len(part.src) for part in parts]
    assert [int(worker.tables["item"].arrays["seen"].sum()) for worker in workers] == [9000, 9000]


def walk(item):
    item.seen += 1


class SeenItems(Program):
    user, item = Vertex(), Vertex(seen=shared("i8"))
    link = Edge("user", "item")
