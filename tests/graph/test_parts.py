"""A partitioned graph: nothing is lost or doubled, every vertex has one master, and both ends of
every route name the same rows.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.machines.team import BY, SMALL, cut_up, graphs, relaxed

from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays


def build(case):
    """Return the parts of a case of `graphs`."""
    edges, test, assignment, k, seed = case
    return cut_up(edges, test, k=k, by=assignment, seed=seed)


def vertices_of(part, name, rows):
    """Return dense indices of local rows of one type."""
    each = part.types[name]
    return each.order[each.rows[rows]]


def edges_of(part, data, *, held_out=False):
    """Return (dense source, dense target, fields) of a part's edges."""
    rows = (part.test_src, part.test_dst) if held_out else (part.src, part.dst)
    ends = [vertices_of(part, name, side) for name, side in zip(data.ends, rows, strict=True)]
    return *ends, part.test_fields if held_out else part.fields


@relaxed
@given(graphs())
def test_every_edge_is_in_its_part_with_its_fields(case):
    edges, _, assignment, _, _ = case
    for number, part in enumerate(build(case)):
        mine = np.flatnonzero(assignment == number)
        src, dst, fields = edges_of(part, edges)
        assert np.array_equal(src, edges.src[mine]) and np.array_equal(dst, edges.dst[mine])
        assert list(fields) == ["value"] and np.array_equal(fields["value"], mine)
        assert part.src.dtype == part.dst.dtype == np.int32


@relaxed
@given(graphs())
def test_every_held_out_edge_is_in_one_part(case):
    edges, test, *_ = case
    parts = build(case)
    found = []
    for part in parts:
        src, dst, fields = edges_of(part, edges, held_out=True)
        if test:
            places = (fields["value"] - 100).astype(np.int64)  # as `graphs` numbers these edges
            assert np.array_equal(src, test.src[places]) and np.array_equal(dst, test.dst[places])
            found += places.tolist()
        assert len(src) == len(dst) and (test or not len(src))
    assert sorted(found) == list(range(len(test or ())))


@relaxed
@given(graphs())
def test_a_held_out_edge_lies_at_the_home_of_an_end_that_is_whole(case):
    edges, *_ = case
    for part in build(case):
        ends = edges_of(part, edges, held_out=True)[:2]
        for name, side, other in zip(edges.ends, ends, reversed(edges.ends), strict=True):
            each = part.types[name]
            if not each.cut and (name == edges.ends[0] or part.types[other].cut):
                assert set(side[side < each.vertices].tolist()) <= set(
                    each.order[each.masters].tolist()
                )
                break


@relaxed
@given(graphs())
def test_a_held_out_vertex_without_edges_lies_on_one_worker(case):
    edges, test, assignment, k, seed = case
    ends = (
        ((), ())
        if test is None
        else (
            test.ids[of].decode(end)
            for of, end in zip(test.ends, (test.src, test.dst), strict=True)
        )
    )
    left, right = (np.asarray(end, np.int64) for end in ends)
    bare = {name: [100, 101, 102] for name in edges.ends}
    held = EdgeData.of(
        edges.ends, left, right, {"value": np.zeros(len(left))}, against=edges.ids, vertices=bare
    )
    parts = cut_up(edges, held, k=k, by=assignment, seed=seed)
    for name in edges.ids:
        for vertex in held.ids[name].encode(bare[name]):
            rows = [
                np.flatnonzero(part.types[name].order[part.types[name].rows] == vertex)
                for part in parts
            ]
            assert sum(map(len, rows)) == 1
            assert all(
                row >= part.types[name].n_train
                for part, row in zip(parts, rows, strict=True)
                for row in row
            )


@relaxed
@given(graphs())
def test_every_vertex_has_one_master_and_it_is_among_the_holders(case):
    edges, _, assignment, k, _ = case
    parts = build(case)
    for name, ids in edges.ids.items():
        types = [part.types[name] for part in parts]
        masters = np.concatenate([each.masters for each in types])
        assert sorted(masters) == list(range(len(ids)))
        for position in range(len(ids)):
            vertex = types[0].order[position]
            touching = np.zeros(len(edges), bool)
            for end, side in zip(edges.ends, (edges.src, edges.dst), strict=True):
                touching |= (end == name) & (side == vertex)
            holders = set(assignment[touching].tolist())
            (home,) = (h for h, each in enumerate(types) if position in each.masters)
            assert not holders or home in holders
            held = {w for w, each in enumerate(types) if position in each.rows[: each.n_train]}
            assert held == (holders if types[0].cut and holders else {home})
            assert types[0].cut or len(holders) <= 1


@relaxed
@given(graphs())
def test_rows_ascend_and_what_only_held_out_edges_need_comes_last(case):
    edges, *_ = case
    for part in build(case):
        for name, each in part.types.items():
            trained, extra = each.rows[: each.n_train], each.rows[each.n_train :]
            assert (
                (np.diff(trained) > 0).all()
                and (np.diff(extra) > 0).all()
                and (np.diff(each.masters) > 0).all()
            )
            assert len(np.unique(each.rows)) == len(each.rows) and (trained < each.vertices).all()
            touched = {
                row
                for end, rows in zip(edges.ends, (part.test_src, part.test_dst), strict=True)
                if end == name
                for row in rows
            }
            assert set(range(each.n_train, len(each.rows))) <= touched
            assert {each.rows.dtype, each.masters.dtype} == {np.dtype(np.int32)}
            assert each.cut or np.array_equal(trained, each.masters)


@relaxed
@given(graphs())
def test_a_type_is_cut_if_some_vertex_has_several_replicas(case):
    edges, _, assignment, k, _ = case
    parts = build(case)
    for name in edges.ids:
        places = set()
        for end, side in zip(edges.ends, (edges.src, edges.dst), strict=True):
            places |= (
                set(zip(side.tolist(), assignment.tolist(), strict=True)) if end == name else set()
            )
        several = len(places) > len({vertex for vertex, _ in places})
        assert {part.types[name].cut for part in parts} == {several}


@relaxed
@given(graphs())
def test_both_ends_of_every_route_name_the_same_vertices_in_the_same_order(case):
    edges, _, _, k, _ = case
    parts = build(case)
    for name in edges.ids:
        types = [part.types[name] for part in parts]
        for w, here in enumerate(types):
            for h, home in enumerate(types):
                if here.cut:
                    assert np.array_equal(here.rows[here.up[h]], home.masters[home.down[w]])
                assert np.array_equal(here.rows[here.peek_up[h]], home.masters[home.peek_down[w]])
            training = np.concatenate([*here.up, np.empty(0, np.int32)])
            assert sorted(training) == (list(range(here.n_train)) if here.cut else [])
            extra = np.concatenate(here.peek_up)
            known = np.arange(here.n_train, len(here.rows))[
                here.rows[here.n_train :] < here.vertices
            ]
            assert sorted(extra) == known.tolist()
            assert {
                array.dtype
                for routes in (here.up, here.down, here.peek_up, here.peek_down)
                for array in routes
            } == {np.dtype(np.int32)}


@relaxed
@given(graphs())
def test_degrees_are_those_of_the_whole_graph(case):
    edges, *_ = case
    for part in build(case):
        for name, side, degrees in zip(
            edges.ends, (edges.src, edges.dst), part.degrees, strict=True
        ):
            each = part.types[name]
            whole = np.bincount(side, minlength=each.vertices)
            assert np.array_equal(degrees, whole[each.order[: each.vertices]])


@settings(relaxed, max_examples=examples(40))
@given(graphs(), st.integers(1, 6), st.booleans())
def test_the_order_of_vertices_does_not_depend_on_the_parts(case, k, random):
    edges, test, _, _, seed = case
    first, again = (
        build(case),
        cut_up(edges, test, k=k, by="random" if random else "bicut", seed=seed),
    )
    for name, ids in (test or edges).ids.items():
        one, other = first[0].types[name], again[-1].types[name]
        assert np.array_equal(one.order, other.order) and sorted(one.order) == list(range(len(ids)))
        assert np.array_equal(one.order[one.vertices :], np.arange(one.vertices, len(ids))), (
            "unseen vertices come last"
        )
    assert all(
        np.array_equal(a, b) for a, b in zip(first[0].degrees, again[-1].degrees, strict=True)
    )


def test_another_seed_gives_another_order_and_the_same_seed_the_same():
    edges = from_arrays(np.arange(40), np.arange(40), ends=("user", "item"))
    orders = [
        cut_up(edges, by=np.zeros(40), seed=seed)[0].types["user"].order.tolist()
        for seed in (0, 0, 1)
    ]
    assert orders[0] == orders[1] != orders[2]


def test_whole_and_cut_types():
    parts = cut_up(SMALL, by=BY)
    assert [part.types["user"].cut for part in parts] == [False, False] and parts[0].types[
        "item"
    ].cut
    assert [len(part.src) for part in parts] == [4, 1]
    lone = [part.types["user"].order[part.types["user"].rows].tolist() for part in parts]
    assert sorted(lone[0] + lone[1]) == [0, 1, 2, 3] and {0, 1} <= set(lone[0]) and 2 in lone[1]
    rows, masters = (
        [sorted(part.types["item"].order[getattr(part.types["item"], held)]) for part in parts]
        for held in ("rows", "masters")
    )
    assert [[item for item in held if item != 3] for held in rows] == [[0, 1, 2], [2]]
    assert [3 in held for held in rows] == [3 in held for held in masters], (
        "a vertex without edges has a row where its master is"
    )
    assert sum(map(len, masters)) == 4


def test_a_worker_without_edges_and_more_workers_than_edges():
    parts = cut_up(SMALL, k=9, by=[7, 7, 7, 7, 7])
    assert [len(part.src) for part in parts] == [0] * 7 + [5, 0] and not any(
        part.types["item"].cut for part in parts
    )
    parts = cut_up(SMALL, k=9, by=[0, 2, 4, 6, 8])
    assert [len(part.src) for part in parts] == [1, 0] * 4 + [1] and parts[1].types["item"].cut
    item = [part.types["item"] for part in parts]
    assert [len(each.rows) for each in item][::2] == [1] * 5
    assert [len(each.rows) for each in item][1::2] == [len(each.masters) for each in item][1::2]


def test_a_type_without_vertices():
    none = EdgeData.of(("user", "item"), [], [], {}, vertices={"user": [1, 2]})
    parts = cut_up(none, k=3, by=[])
    assert [len(part.types["item"].rows) for part in parts] == [0, 0, 0] and sum(
        len(part.types["user"].rows) for part in parts
    ) == 2


def test_one_worker_has_everything_and_nothing_to_send():
    (part,) = cut_up(SMALL, k=1, by=[0] * 5)
    for each in part.types.values():
        assert (
            each.rows.tolist() == each.masters.tolist() == [0, 1, 2, 3]
            and not each.cut
            and each.n_train == 4
        )
        assert [len(rows) for rows in (*each.up, *each.down, *each.peek_up, *each.peek_down)] == [
            0
        ] * 4


@pytest.mark.parametrize("k", [1, 3])
def test_unseen_vertices_have_rows_but_no_master(k):
    held = EdgeData.of(
        ("user", "item"), [0, 99, 98], [99, 2, 98], {"value": [1, 2, 3]}, against=SMALL.ids
    )
    parts = cut_up(SMALL, held, k=k, by=np.arange(5) % k)
    assert sum(len(part.test_src) for part in parts) == 3
    for part in parts:
        for each in part.types.values():
            assert (
                (each.rows[: each.n_train] < 4).all()
                and (each.masters < 4).all()
                and len(each.order) == 6
            )
            assert all((each.rows[rows] < 4).all() for rows in each.peek_up)
            assert {4, 5} & set(each.rows[each.n_train :].tolist()) == {4, 5} & set(
                each.rows.tolist()
            )


@pytest.mark.parametrize("seed", range(3))
def test_masters_are_spread_over_the_holders(seed):
    """400 users that both workers hold, and 400 items without an edge."""
    edges = EdgeData.of(
        ("user", "item"),
        np.repeat(np.arange(400), 2),
        np.tile([0, 1], 400),
        {},
        vertices={"item": np.arange(402)},
    )
    for name in ("user", "item"):
        sizes = [
            len(part.types[name].masters)
            for part in cut_up(edges, by=np.tile([0, 1], 400), seed=seed)
        ]
        assert 150 < min(sizes) < 250


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_parts_do_not_depend_on_the_number_of_threads(monkeypatch, threads):
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 50, 400), rng.integers(0, 20, 400)
    edges = from_arrays(users, items, ends=("user", "item"), value=np.arange(400.0))
    made = {}
    for count in (1, threads):
        monkeypatch.setattr("tux.base.parallel._chosen", [count])
        made[count] = cut_up(edges, None, k=5, by=users % 5, seed=1)
    for one, other in zip(made[1], made[threads], strict=True):
        assert np.array_equal(one.src, other.src) and np.array_equal(one.dst, other.dst)
        assert np.array_equal(one.fields["value"], other.fields["value"])
        assert all(np.array_equal(one.types[t].rows, other.types[t].rows) for t in one.types)


@pytest.mark.parametrize("end", ["user", "item"])
@relaxed
@given(graphs())
def test_held_out_edges_lie_together_by_the_end_that_is_named(end, case):
    edges, test, assignment, k, seed = case
    if test is None or end not in edges.ends:
        return
    side, homes = edges.ends.index(end), {}
    for number, part in enumerate(cut_up(edges, test, k=k, by=assignment, seed=seed, held_out=end)):
        for vertex in edges_of(part, edges, held_out=True)[side].tolist():
            assert homes.setdefault(vertex, number) == number
