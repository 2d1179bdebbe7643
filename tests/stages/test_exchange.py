"""Exchange: what UDFs see and change along edges, in either form and from either end."""

import numpy as np
import pytest
from support.programs.programs import (
    NodeDegrees,
    Spy,
    both,
    both_later,
    by_edge,
    column,
    drive,
    start,
)

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    data,
    delta,
    mirror,
    param,
    shared,
    total,
    uniform,
    value,
)
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Apply, Exchange, MiniBatch

#   a --1-- 1
#    `--2--.
#   b --3-- 2
#   c --4-- 3
EDGES = from_arrays(
    ["a", "a", "b", "c"], [1, 2, 2, 3], ends=("user", "item"), value=np.float32([1, 2, 3, 4])
)

#   held out:  c --5-- 1,  d --6-- 4   (d and 4 are new)
HELD = EdgeData.of(
    ("user", "item"), ["c", "d"], [1, 4], {"value": np.float32([5, 6])}, against=EDGES.ids
)


class ExchangeShop(Program):
    """Both ends have something to change and something to read."""

    gain: float = param(0.5)

    user = Vertex(n=shared("i8"), x=shared("f8", 2), y=value("f8", init=uniform()))
    item = Vertex(n=shared("i8"), x=shared("f8", 2), y=value("f8", init=uniform()))
    rating = Edge("user", "item", value=data("f4"), seen=mirror("f8"), draw=mirror("f8"))
    tau = Context(n=total("i8"), sum=total(), ends=total("f8", 2))


def along(user, item, rating, tau, p):
    user.n += 1
    item.n += 10
    user.x[1] += p.gain * rating.value
    item.x[0] += user.y
    rating.seen = 2 * rating.value
    tau.n += 1
    tau.sum += rating.value


@both
def test_per_edge(jit):
    worker = drive(start(ExchangeShop(), EDGES, jit=jit), Exchange(along))
    y = column(worker, "user", "y")
    assert column(worker, "user", "n").tolist() == [2, 1, 1] and column(
        worker, "item", "n"
    ).tolist() == [10, 20, 10]
    assert column(worker, "user", "x").tolist() == [[0, 1.5], [0, 1.5], [0, 2]]
    np.testing.assert_allclose(column(worker, "item", "x")[:, 0], [y[0], y[0] + y[1], y[2]])
    assert by_edge(worker, "seen") == {("a", 1): 2, ("a", 2): 4, ("b", 2): 6, ("c", 3): 8}
    assert (worker.tau.n, worker.tau.sum) == (4, 10) and worker.edges_visited == 4


def test_edges_are_held_in_one_order_whatever_is_held_out():
    alone, batch = Exchange(along), MiniBatch(Exchange(along))
    worker = drive(start(ExchangeShop(), EDGES, HELD, jit=False), alone, batch)
    assert len(worker.graph.edges.layouts) == 1
    assert worker.tau.n == 2 * len(EDGES)


def around(item, edges, tau):
    item.n = len(edges)
    for edge in edges:
        item.x[0] += edge.value * edge.user.y
        edge.user.n += 1
        edge.user.x[1] = item.y
        edge.seen = edge.value
    for i in range(len(edges)):
        edges[i].seen += 10 * item.n
        item.x[1] = max(item.x[1], edges[i].user.y)
        tau.n += i


@pytest.mark.slow(after=1)
@both
@pytest.mark.parametrize("prepared", [False, True], ids=["alone", "second layout"])
def test_per_vertex(jit, prepared):
    worker = start(ExchangeShop(), EDGES, jit=jit)
    if prepared:
        worker.prepare([Exchange(along)])
    drive(worker, Exchange(around))
    y, z = column(worker, "user", "y"), column(worker, "item", "y")
    assert column(worker, "item", "n").tolist() == [1, 2, 1] and column(
        worker, "user", "n"
    ).tolist() == [2, 1, 1]
    np.testing.assert_allclose(
        column(worker, "item", "x"),
        [[y[0], y[0]], [2 * y[0] + 3 * y[1], max(y[:2])], [4 * y[2], y[2]]],
    )
    assert (
        column(worker, "user", "x")[0, 1] in z[:2]
        and column(worker, "user", "x")[1:, 1].tolist() == z[1:].tolist()
    )
    assert by_edge(worker, "seen") == {("a", 1): 11, ("a", 2): 22, ("b", 2): 23, ("c", 3): 14}
    assert worker.tau.n == 1 and worker.edges_visited == 4


def first_and_last(user, edges):
    if len(edges) > 0:
        user.x[0], user.x[1] = edges[0].value, edges[-1].value


@both_later
def test_negative_positions_count_from_the_end(jit):
    worker = drive(start(ExchangeShop(), EDGES, jit=jit), Exchange(first_and_last))
    assert [sorted(x) for x in column(worker, "user", "x").tolist()] == [[1, 2], [3, 3], [4, 4]]


def enter(user, tau):
    user.x[0] = 100
    tau.ends[0] += 1


def gather(user, rating, tau, p):
    user.x[0] += rating.value
    tau.n += user.x[0] > 100


def leave(user, tau):
    user.x[1] = user.x[0]
    tau.ends[1] += user.x[1]


@both_later
def test_enter_and_leave_enclose_a_vertexs_edges(jit):
    worker = drive(
        start(ExchangeShop(), EDGES, jit=jit), Exchange(gather, enter=enter, leave=leave)
    )
    assert column(worker, "user", "x").tolist() == [[103, 103], [103, 103], [104, 104]]
    assert worker.tau.ends.tolist() == [3, 310] and worker.tau.n == 4


def test_enter_names_the_enumerated_end():
    def enter_item(item):
        item.n = -5

    def add(item):
        item.n += 1

    worker = drive(start(ExchangeShop(), EDGES, jit=False), Exchange(add, enter=enter_item))
    assert column(worker, "item", "n").tolist() == [-4, -3, -4]


def visit(user, edges, tau):
    tau.n += 1
    tau.sum += len(edges)


def arrive(user, tau):
    tau.n += 1


def nothing(user):
    pass


def test_vertices_of_held_out_edges_alone_are_not_enumerated_in_training():
    def count_visits(stage):
        return drive(start(ExchangeShop(), EDGES, HELD, jit=False), stage).tau.n

    assert (
        count_visits(MiniBatch(Exchange(visit)))
        == count_visits(MiniBatch(Exchange(nothing, enter=arrive)))
        == 3
    )
    assert count_visits(Exchange(visit)) == count_visits(Exchange(nothing, enter=arrive)) == 3


def measure(user, item, rating, tau):
    tau.n += 1
    tau.sum += rating.value * user.y
    tau.ends[0] += item.y


@both_later
def test_held_out_edges(jit):
    worker = start(ExchangeShop(), EDGES, HELD, jit=jit)
    drive(worker, Exchange(measure, held_out=True))
    y, z = column(worker, "user", "y"), column(worker, "item", "y")
    assert len(y) == 4 and len(z) == 4
    np.testing.assert_allclose(
        [worker.tau.n, worker.tau.sum, worker.tau.ends[0]], [2, 5 * y[2] + 6 * y[3], z[0] + z[3]]
    )
    assert worker.edges_visited == 0 and worker.graph.held_out.fields["value"][:].tolist() == [5, 6]


def test_a_held_out_vertex_without_edges_is_visited():
    """u8 and u9 are in the held-out file alone, u9 without an edge; training's users without a
    held-out edge are passed over.
    """
    held = EdgeData.of(
        ("user", "item"),
        [0, 8],
        [0, 1],
        {"value": [1, 1]},
        against=EDGES.ids,
        vertices={"user": [9]},
    )
    for jit in (False, True):
        tau = drive(start(ExchangeShop(), EDGES, held, jit=jit), Exchange(visit, held_out=True)).tau
        assert (tau.n, tau.sum) == (3, 2)
    bare = EdgeData.of(
        ("user", "item"), [], [], {"value": []}, against=EDGES.ids, vertices={"user": [9]}
    )
    tau = drive(start(ExchangeShop(), EDGES, bare, jit=False), Exchange(visit, held_out=True)).tau
    assert (tau.n, tau.sum) == (1, 0)


def test_no_held_out_edges_is_no_work():
    assert (
        drive(start(ExchangeShop(), EDGES, jit=False), Exchange(measure, held_out=True)).tau.n == 0
    )


#    .-.                                    4   (no edge)
#    '>1 --> 2 --> 3 --.
#       `--------->^<--'
CHAIN = EdgeData.of(("node", "node"), [1, 1, 2, 1, 3], [1, 2, 3, 3, 3], {}, vertices={"node": [4]})


@both
def test_edges_within_one_type(jit):
    program = NodeDegrees()
    worker = drive(start(program, CHAIN, jit=jit), *program.stages())
    assert column(worker, "node", "outdegree").tolist() == [3, 1, 1, 0]
    assert column(worker, "node", "indegree").tolist() == [1, 1, 3, 0]


class Net(Program):
    """One type of vertex."""

    node = Vertex(n=shared("i8"), m=shared("i8"), w=value("f8", init=uniform()), sum=delta("f8"))
    link = Edge("node", "node", count=mirror("i4"))
    tau = Context(loops=total("i8"))


def from_src(src, edges):
    for edge in edges:
        src.sum += edge.dst.w
        edge.dst.m += 1
        edge.count += 1


def from_dst(dst, edges):
    for edge in edges:
        dst.sum += edge.src.w
        edge.src.m += 1
        edge.count += 1


@both_later
@pytest.mark.parametrize("udf", [from_src, from_dst])
def test_per_vertex_within_one_type(jit, udf):
    worker = drive(start(Net(), CHAIN, jit=jit), Exchange(udf))
    w = column(worker, "node", "w")
    sums, counts = (
        ([w[0] + w[1] + w[2], w[2], w[2], 0], [1, 1, 3, 0])
        if udf is from_src
        else ([w[0], w[0], w[0] + w[1] + w[2], 0], [3, 1, 1, 0])
    )
    np.testing.assert_allclose(column(worker, "node", "sum"), sums)
    assert (
        column(worker, "node", "m").tolist() == counts
        and worker.graph.edges.fields["count"].tolist() == [1] * 5
    )


def meet(src, dst, tau):
    before = dst.n
    src.n += 1
    tau.loops += dst.n - before


@both
def test_a_self_loop_passes_one_row_twice(jit):
    assert drive(start(Net(), CHAIN, jit=jit), Exchange(meet)).tau.loops == 2


def test_over_may_be_the_type_where_both_ends_have_it():
    for over in ("node", "src", "dst"):
        assert drive(start(Net(), CHAIN, jit=False), Exchange(meet, over=over)).tau.loops == 2


def unknown_parameter(user, film):
    user.n += 1


def both_forms(user, item, edges):
    user.n += len(edges)


def with_default(user, n=3):
    user.n += n


ERRORS = [
    (
        lambda: Exchange(unknown_parameter),
        "(?s)unknown_parameter of Exchange.unknown_parameter. has a parameter 'film'.*user, item, "
        "rating, tau, p, rng",
    ),
    (
        lambda: Exchange(both_forms),
        "(?s)parameter 'item' that it cannot be given.*user, edges, tau, p, rng",
    ),
    (
        lambda: Exchange(visit, over="item"),
        "(?s)parameter 'user' that it cannot be given.*item, edges, tau, p, rng",
    ),
    (
        lambda: Exchange(gather, over="item", enter=enter),
        "(?s)UDF enter .*parameter 'user'.*item, tau, p, rng",
    ),
    (lambda: Exchange(with_default), "UDF with_default has parameter n=3"),
    (
        lambda: Exchange(along, over="film"),
        "(?s)Exchange.along, over=film.: 'film' is no end of rating.*user, item",
    ),
    (lambda: Exchange(len), "was given <built-in function len>"),
]


@pytest.mark.slow(after=5)
@pytest.mark.parametrize(("make", "message"), ERRORS)
@both
def test_errors_say_what_a_udf_may_ask_for(make, message, jit):
    with pytest.raises(ProgramError, match=message):
        start(ExchangeShop(), EDGES, jit=jit).prepare([make()])


def test_errors_say_where_the_udf_stands():
    with pytest.raises(ProgramError) as error:
        start(ExchangeShop(), EDGES).prepare([Exchange(unknown_parameter)])
    assert error.value.where.endswith(
        f"test_exchange.py:{unknown_parameter.__code__.co_firstlineno}"
    )


def test_a_spy_sees_the_whole_graph_as_no_block():
    blocks = []
    drive(
        start(ExchangeShop(), EDGES, jit=False),
        Spy(lambda worker, block: blocks.append(block)),
        Apply("user"),
    )
    assert blocks == [None]


def draw_topic(document, word, token, rng):
    token.topic = rng.below(9)


class RepeatedTokens(Program):
    document, word = Vertex(), Vertex()
    token = Edge("document", "word", repeats="count", topic=mirror("i4"))


def test_edges_that_a_row_repeats_would_draw_alike():
    edges = EdgeData.of(("document", "word"), [0, 1], [0, 0], {"count": np.int32([3, 2])})
    with pytest.raises(ProgramError, match="edges that a row repeats would draw alike"):
        start(RepeatedTokens(), edges, jit=False).prepare([Exchange(draw_topic)])
