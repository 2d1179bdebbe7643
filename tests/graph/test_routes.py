"""Routes through blocks: for any blocks both ends name the same vertices in the same order, and
blocks share out all of them.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machines.team import BY, SMALL, cut_up, graphs, relaxed, train_team

from tux import Context, Edge, Program, Vertex, delta, shared, total, value
from tux.arrays.networks import from_arrays
from tux.engine.model_shares import ModelShare
from tux.graph.routes import ALL, Routes
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

# Two workers, the second with all even items. Positions of the 6 items in two blocks of 3.
PAIRS = from_arrays([0, 0, 0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5, 0, 2, 4], ends=("user", "item"))


def boundaries(n):
    """Draw boundaries of the blocks of n positions, empty blocks among them."""
    return st.lists(st.integers(0, n), max_size=4).map(
        lambda inner: np.array([0, *sorted(inner), n])
    )


def traveling_rows(types, routes, w, h, blocks):
    """Return the positions that worker w has of the rows which travel to home h, and the positions
    that home h has of them.
    """
    blocks = np.array(blocks)
    return types[w].rows[routes[w].up(h, blocks)].tolist(), types[h].masters[
        routes[h].down(w, blocks)
    ].tolist()


@relaxed
@given(st.data(), graphs())
def test_both_ends_agree_on_any_blocks(data, case):
    edges, test, assignment, k, seed = case
    parts = cut_up(edges, test, k=k, by=assignment, seed=seed)
    for name in (name for name, each in parts[0].types.items() if each.cut):
        types = [part.types[name] for part in parts]
        cuts = data.draw(boundaries(types[0].vertices))
        routes = [Routes(each, cuts) for each in types]
        several = data.draw(
            st.lists(st.integers(0, len(cuts) - 2), min_size=1, unique=True).map(sorted)
        )
        for w in range(k):
            for h in range(k):
                each = [traveling_rows(types, routes, w, h, [b]) for b in range(len(cuts) - 1)]
                for block, (up, down) in enumerate(each):
                    assert up == down and all(
                        cuts[block] <= position < cuts[block + 1] for position in up
                    )
                up, down = traveling_rows(types, routes, w, h, several)
                assert up == down == sum((each[b][0] for b in several), [])
                up, down = traveling_rows(types, routes, w, h, [ALL])
                assert up == down == sum((up for up, _ in each), [])


@relaxed
@given(st.data(), graphs())
def test_blocks_share_out_the_masters(data, case):
    edges, _, assignment, k, seed = case
    for part in cut_up(edges, k=k, by=assignment, seed=seed):
        for each in part.types.values():
            cuts = data.draw(boundaries(each.vertices))
            routes = Routes(each, cuts)
            ranges = [routes.masters(block) for block in range(len(cuts) - 1)]
            assert [n for lo, hi in ranges for n in range(lo, hi)] == list(range(len(each.masters)))
            for block, (lo, hi) in enumerate(ranges):
                assert (
                    (cuts[block] <= each.masters[lo:hi]) & (each.masters[lo:hi] < cuts[block + 1])
                ).all()
            assert routes.masters(ALL) == (0, len(each.masters))


def test_without_blocks_all_rows_are_taken():
    types = [part.types["item"] for part in cut_up(PAIRS, by=[0] * 6 + [1] * 3)]
    routes, everything = [Routes(each, None) for each in types], [[], []]
    for w in range(2):
        for h in range(2):
            up, down = traveling_rows(types, routes, w, h, [ALL])
            assert up == down
            everything[w] += up
    assert (
        sorted(everything[0]) == list(range(6))
        and sorted(everything[1]) == types[1].rows.tolist()
        and len(types[1].rows) == 3
    )
    assert [routes[w].masters(ALL) for w in range(2)] == [(0, len(each.masters)) for each in types]


@pytest.mark.parametrize("blocks", [[0], [1], [0, 1]])
def test_blocks_by_hand(blocks):
    types = [part.types["item"] for part in cut_up(PAIRS, by=[0] * 6 + [1] * 3)]
    routes = [Routes(each, np.array([0, 3, 6])) for each in types]
    within = [position for block in blocks for position in range(3 * block, 3 * block + 3)]
    for w in range(2):
        found = sorted(
            traveling_rows(types, routes, w, 0, blocks)[0]
            + traveling_rows(types, routes, w, 1, blocks)[1]
        )
        assert found == [position for position in within if position in types[w].rows]


def count(item, tau):
    item.n += 1
    tau.n += 1


def count_items(item):
    item.n += 1


def keep(item):
    item.seen += item.n


def note(tau):
    tau.edges = tau.n


class EdgeCounts(Program):
    """Edges of each item, and of all."""

    user = Vertex()
    item = Vertex(n=delta("i8"), seen=value("i8"))
    link = Edge("user", "item")
    tau = Context(n=total("i8"), edges=value("i4"))

    def stages(self):
        return [Exchange(count), Apply("item", keep), GlobalSync(note)]


class CountByUser(EdgeCounts):
    """Edges of each item, and of all, user by user; the items are those that a block touches."""

    def stages(self):
        return [MiniBatch(Exchange(count_items, over="user"), Apply("item", keep), vertices=1)]


def count_sent_bytes(program, slack=0):
    """Return the bytes that the two workers send each other in one epoch, by vertex type. Records
    must have the same numbers.
    """
    team = train_team(program, SMALL, 1, by=BY, slack=slack, delivery=1)
    assert team.gather("item", "seen").tolist() == [1, 2, 2, 0] and team.agrees("item", "seen")
    records = [each[0] for each in team.records]
    assert sum(record["bytes_dense"] for record in records) == sum(
        sum(worker.total_dense().values()) for worker in team.workers
    )
    assert sum(record["bytes_sent"] for record in records) == sum(team.total_sent().values())
    assert all(
        sum(record.get(f"bytes_sent_{name}", 0) for record in records) == n
        for name, n in team.total_sent().items()
    )
    return team.total_sent()


def test_bytes_of_one_synchronisation_by_hand():
    """Only i2 has a mirror away from its master. A head is 12 bytes up and 4 down, and a form 1;
    where i2 goes, its field, 8.
    """
    assert count_sent_bytes(EdgeCounts()) == {"item": (13 + 8) + 13 + (5 + 8) + 5, "tau": 9 + 5}


@pytest.mark.parametrize("slack", [0, 2])
def test_bytes_of_blocks_by_hand(slack):
    """As above, and a byte that says how it is told which rows are touched, and one of which rows
    they are where i2 is; it goes up for u2 or u1, by its home, and down for both.
    """
    heads = 14 + 14 + 6 + 6
    assert count_sent_bytes(CountByUser(), slack) == {"item": 4 * heads + 3 * (8 + 1)}


class Touch(Program):
    """One of ten numbers of one of many items changes."""

    user = Vertex()
    item = Vertex(x=shared("i8", 10))
    link = Edge("user", "item")

    def stages(self):
        return [Exchange(touch), Apply("item")]


def touch(user, item, rng):
    if item.x[3] == 0 and rng.below(20) == 0:
        item.x[3] = 1


def test_what_did_not_change_does_not_travel():
    users, items = np.divmod(np.arange(2000), 1000)
    team = train_team(
        Touch(),
        from_arrays(users, items, ends=("user", "item")),
        1,
        by=users.astype(np.int16),
        delivery=1,
    )
    changed = np.count_nonzero(team.gather("item", "x"))
    assert 20 < changed < 200 and team.agrees("item", "x")
    dense = sum(sum(worker.total_dense().values()) for worker in team.workers)
    assert (
        dense == 2 * 1000 * 80
        and 0 < sum(team.total_sent().values()) <= 100 + 2 * (2 + 8) * changed
    )


def test_one_worker_sends_nothing():
    assert train_team(EdgeCounts(), SMALL, 1, k=1, by=[0] * 5).total_sent() == {}
    assert set(train_team(EdgeCounts(), SMALL, 1, by=[0] * 5).total_sent()) == {"tau"}, (
        "nor do several where nothing is cut, but for the context"
    )


def add_deep(item, user):
    for i in range(2):
        item.x[i, 0, 1, 0, 1] += 1
        user.y += item.x[i, 0, 1, 0, 1]


class Deep(Program):
    """A field of five dimensions of its own."""

    user = Vertex(y=shared("f8"))
    item = Vertex(x=shared("f8", 2, 1, 2, 1, 2))
    link = Edge("user", "item")

    def stages(self):
        return [Exchange(add_deep), Apply("item"), Apply("user")]


def test_fields_of_many_dimensions_travel():
    team = train_team(Deep(), SMALL, 2, by=BY)
    assert team.agrees("item", "x") and team.gather("item", "x")[:, 1, 0, 1, 0, 1].tolist() == [
        2,
        4,
        4,
        0,
    ]
    for worker in team.workers:
        messages = [each for t in (0, 1) for each in ModelShare(worker).messages(t, 0, 4, 2)]
        assert all(array.ndim <= 4 for message in messages for array in message.arrays)
