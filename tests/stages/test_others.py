"""Exchange with `others`: edges beside that of a call, whose ends it may change too."""

import numpy as np
import pytest
from support.machines.team import train_team
from support.messages import message
from support.programs.programs import both, drive, start

from tux import (
    Apply,
    Edge,
    Exchange,
    MiniBatch,
    Program,
    ProgramError,
    Vertex,
    data,
    mirror,
    shared,
)
from tux.arrays.edges import EdgeData
from tux.graph import layout
from tux.stages.kernel.tickets import pair_ranges

#   two ranges of users by two of items: an edge in a tile has those of the tile beside it
#
#                items 0..5   items 6..11                        items 0..5   items 6..11
#   users 0..9   edges     <->  edges         over="user":          edges        edges
#   users 10..19 edges     <->  edges                                 ^            ^
#                                                                     v            v
#        over="item"                                                edges        edges
USERS, ITEMS = 20, 12
PAIRS = np.divmod(np.sort(np.random.default_rng(0).permutation(USERS * ITEMS)[:90]), ITEMS)
EDGES = EdgeData.of(("user", "item"), *PAIRS, {"w": np.arange(90) % 7})


def look_at_items(pair, others):
    pair.n = len(others)
    for other in others:
        pair.ends += other.item.id
        pair.sum += other.w


def look_at_users(pair, others):
    pair.n = len(others)
    for i in range(len(others)):
        pair.ends += others[i].user.id
        pair.sum += others[i].w


def look_at_vertices(pair, vertices):
    pair.n = len(vertices)
    for each in vertices:
        pair.ends += each.item.id


def mix(user, item, others, rng):
    """Change both ends and another item by each other, so that the order counts."""
    if len(others) > 0:
        other = others[rng.below(len(others))].item
        user.x = 0.5 * user.x + item.x - other.x
        item.x = 0.9 * item.x + 0.1 * user.x
        other.x = 0.8 * other.x - 0.1 * user.x


def change_another(user, others):
    if len(others) > 0:
        others[0].item.x += user.x


def read_another(user, others):
    if len(others) > 0:
        user.x += others[0].item.x


def sum_all(user, edges, others):
    user.x += len(others)


class LookingBeside(Program):
    """Edges that look at others."""

    user = Vertex(x=shared("f8", init=1))
    item = Vertex(x=shared("f8", init=2))
    pair = Edge("user", "item", w=data("f8"), n=mirror("i4"), ends=mirror("i4"), sum=mirror("f8"))

    def stages(self):
        mixed = Exchange(mix, over="item"), Apply("item"), Apply("user")
        return [MiniBatch(*mixed, order="rotated")]


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch):
    """Have ranges of few rows."""
    monkeypatch.setattr(layout, "ROWS_BESIDE", 1)


def test_ranges_of_few_vertices_are_one(monkeypatch):
    monkeypatch.setattr(layout, "ROWS_BESIDE", 12)
    worker = drive(
        start(LookingBeside(), EDGES, jit=False), Exchange(look_at_vertices, over="item")
    )
    assert set(worker.graph.edges.fields["n"].tolist()) == {ITEMS}


@pytest.mark.parametrize("over", ["user", "item"])
@both
def test_others_lead_to_the_other_range_of_the_end_that_over_names(jit, over, monkeypatch):
    monkeypatch.setattr(layout, "MIN_TILES", 2)
    worker, look = (
        start(LookingBeside(), EDGES, jit=jit),
        {"user": look_at_users, "item": look_at_items},
    )
    drive(worker, Exchange(look[over], over=over))
    edges = worker.graph.edges
    rows = {"user": edges.src, "item": edges.dst}
    half = {"user": rows["user"] < USERS // 2, "item": rows["item"] < ITEMS // 2}
    ids = worker.graph.vertices[over].order[rows[over]]
    away = "item" if over == "user" else "user"
    for e in range(len(edges)):
        beside = (half[away] == half[away][e]) & (half[over] != half[over][e])
        assert edges.fields["n"][e] == beside.sum() > 0
        assert edges.fields["ends"][e] == ids[beside].sum()
        assert edges.fields["sum"][e] == edges.fields["w"][beside].sum()


@both
def test_vertices_are_the_other_range(jit, monkeypatch):
    monkeypatch.setattr(layout, "MIN_TILES", 2)
    worker = start(LookingBeside(), EDGES, jit=jit)
    drive(worker, Exchange(look_at_vertices, over="item"))
    edges, order = worker.graph.edges, worker.graph.vertices["item"].order
    half = edges.dst < ITEMS // 2
    assert (edges.fields["n"] == ITEMS // 2).all()
    sums = order[ITEMS // 2 :].sum(), order[: ITEMS // 2].sum()
    assert (edges.fields["ends"] == np.where(half, *sums)).all()


@both
def test_a_lone_range_has_its_own_edges(jit, monkeypatch):
    monkeypatch.setattr(layout, "MIN_TILES", 1)
    worker = start(LookingBeside(), EDGES, jit=jit)
    drive(worker, Exchange(look_at_items, over="item"))
    assert set(worker.graph.edges.fields["n"].tolist()) == {90}
    assert set(worker.graph.edges.fields["ends"].tolist()) == {PAIRS[1].sum()}


def test_ranges_are_paired_in_the_order_of_the_list():
    numbers = np.array([4, 7, 2, 9, 4, 2, 7, 5])  # in this order 4, 7 | 2, 9 and 5
    assert pair_ranges(numbers).tolist() == [2, 9, 4, 7, 2, 4, 9, 5]
    assert pair_ranges(np.array([3, 3])).tolist() == [3, 3]
    assert pair_ranges(np.empty(0, np.int64)).tolist() == []


def test_another_pass_has_other_pairs(monkeypatch):
    monkeypatch.setattr(layout, "MIN_TILES", 6)
    worker = start(LookingBeside(), EDGES)
    (step,) = worker.prepare([Exchange(mix, over="item")])
    found = set()
    for epoch in range(8):
        worker.epoch = epoch
        items = step.items()
        assert items.edges == len(EDGES)
        found.add(
            tuple(sorted(zip(items.array[:, 0].tolist(), items.beside[:, 0].tolist(), strict=True)))
        )
    assert len(found) > 4


@pytest.mark.slow
@pytest.mark.parametrize(("k", "slack"), [(1, 0), (2, 0), (3, 1)])
def test_the_same_for_any_number_of_threads(k, slack, all_threads, monkeypatch):
    monkeypatch.setattr(layout, "MIN_TILES", 4)
    found = []
    for threads in (1, 2, 3):
        how = {"k": k, "slack": slack, "by": "bicut", "jit": True, "threads": threads}
        team = train_team(LookingBeside(), EDGES, 4, **how)
        found.append([team.gather(kind, "x").tobytes() for kind in ("user", "item")])
    assert found[0] == found[1] == found[2] and max(all_threads) == 3


@pytest.mark.parametrize(
    ("udf", "tickets"),
    [
        (mix, "tiles, tickets of rows and columns"),
        (change_another, "tiles, tickets of rows"),
        (read_another, "tiles, tickets of columns"),
    ],
)
def test_threads_take_turns_at_what_is_changed_by_way_of_others(udf, tickets):
    """Rows are those of items here, columns those of users."""
    assert str(Exchange(udf, over="item").plan(LookingBeside(), "item")) == tickets


def test_others_are_for_functions_on_edges():
    with pytest.raises(ProgramError, match=message("udf-of-has-a-parameter", "sum_all", "others")):
        start(LookingBeside(), EDGES).prepare([Exchange(sum_all, over="user", additive=True)])


def test_no_type_is_called_others():
    with pytest.raises(ProgramError, match="other edges of a block"):

        class Named(Program):
            others = Vertex()
            link = Edge("others", "others")
