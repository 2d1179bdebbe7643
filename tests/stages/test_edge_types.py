"""Programs with several edge types: stages along each, whole and cut."""

import numpy as np
import pytest
from support.machines.team import train_team
from support.programs.programs import complete, start
from support.programs.typed_programs import (
    SocialShop,
    befriend,
    buy,
    price,
    shop_edges,
    shop_model,
    spread,
)

from tux import (
    Apply,
    Edge,
    Exchange,
    ForEach,
    MiniBatch,
    Program,
    ProgramError,
    Vertex,
    data,
    delta,
    shared,
    value,
)
from tux.arrays.edges import EdgeData
from tux.engine.training import Training
from tux.graph.layout import Layout


def fields_of(worker, edges):
    """Return the fields of the model that one worker holds, by dense index."""
    out = {}
    for name in shop_model(edges, 0):
        kind, field = name.split(".")
        rows = worker.graph.vertices[kind].row_of
        out[name] = worker.tables[kind].arrays[field][rows]
    return out


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_on_one_worker(jit, threads):
    edges = shop_edges()
    worker = complete(SocialShop(), edges, 3, jit=jit, threads=threads)
    for name, expected in shop_model(edges, 3).items():
        np.testing.assert_array_equal(fields_of(worker, edges)[name], expected, err_msg=name)
    assert (worker.tables["tag"].arrays["marked"] == 7).all()


@pytest.mark.parametrize("by", ["random", "bicut", "ne", "hdrf", "dbh"])
@pytest.mark.parametrize("k", [2, 3])
def test_on_several_workers(by, k):
    edges = shop_edges(k)
    team = train_team(SocialShop(), edges, 2, k=k, by=by)
    for name, expected in shop_model(edges, 2).items():
        found = team.gather(*name.split("."))
        np.testing.assert_array_equal(found, expected, err_msg=name)
    visited = sum(worker.edges_visited for worker in team.workers)
    lengths = [len(each) for each in edges.by_type.values()]
    assert visited == 2 * (lengths[0] + 2 * lengths[1] + lengths[2])


def test_compiled_on_several_workers():
    edges = shop_edges(5)
    team = train_team(SocialShop(), edges, 2, k=2, by="random", jit=True)
    for name, expected in shop_model(edges, 2).items():
        np.testing.assert_array_equal(team.gather(*name.split(".")), expected, err_msg=name)


def test_each_type_has_a_layout_of_its_own():
    worker = start(SocialShop(), shop_edges(), jit=False)
    Training(worker)
    graph = worker.graph
    for edges in (graph.edges, *graph.others.values()):
        assert edges.layouts and all(isinstance(each, Layout) for each in edges.layouts.values())
    kinds = {kind for (kind, *_) in graph.others["tagged"].layouts}
    assert kinds == {"grouped", "tiled"}


def test_the_type_that_a_stage_sees():
    program = SocialShop()
    assert Exchange(spread, edge="tagged").role(program) == "item"
    assert Exchange(befriend, edge="friend").role(program) == "src"
    assert Exchange(buy).seen_by(program) is program
    assert ForEach("tag", spread).seen_by(program).edge_name == "tagged"
    assert ForEach("user", spread).seen_by(program).edge_name == "bought"
    inside = MiniBatch(Exchange(befriend, edge="friend"), over="dst")
    assert inside.inner_scope(program, "")[1] == "dst"
    assert program.edge_name == "bought" and [*program.edge_types] == ["bought", "tagged", "friend"]


def rate(user, item, bought, tagged):
    user.paid += tagged.seen


REFUSED = {
    "no type": (
        Exchange(buy, edge="tags"),
        "Exchange(buy, edge=tags): SocialShop has no edge type 'tags'",
        "did you mean tagged? edge types: bought, tagged, friend",
    ),
    "an edge of another type": (
        Exchange(rate),
        "Exchange(rate) visits edges of type bought, and rate has the parameter tagged, another "
        "edge type",
        'write Exchange(rate, edge="tagged")',
    ),
    "held out": (
        Exchange(spread, edge="tagged", held_out=True),
        "Exchange(spread, edge=tagged) visits held-out edges, which are of the type bought alone",
        "leave held_out or edge out, or declare tagged before bought",
    ),
    "two types in a mini-batch": (
        MiniBatch(Exchange(buy), Exchange(spread, edge="tagged"), over="item"),
        "MiniBatch has Exchanges along bought and tagged: Exchange(buy), Exchange(spread, "
        "edge=tagged)",
        "give each edge type a MiniBatch of its own",
    ),
}


@pytest.mark.parametrize(("stage", "what", "do"), REFUSED.values(), ids=REFUSED)
def test_refusals_of_stages(stage, what, do):
    with pytest.raises(ProgramError) as error:
        start(SocialShop(), shop_edges(), jit=False).prepare([stage])
    assert (error.value.what, error.value.do) == (what, do)
    assert "test_edge_types.py" in error.value.where


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ({"repeats": "n"}, "edge tagged is declared repeats=, which the first edge type alone"),
        ({"held_out": "tag"}, "edge tagged is declared held_out=, which the first edge type alone"),
    ],
)
def test_words_of_the_first_type(words, what):
    with pytest.raises(ProgramError, match=what) as error:
        type(
            "Wrong",
            (Program,),
            {
                "user": Vertex(),
                "item": Vertex(),
                "tag": Vertex(),
                "bought": Edge("user", "item"),
                "tagged": Edge("item", "tag", **words),
            },
        )
    assert error.value.do == f"declare tagged before bought, or leave {[*words][0]} out"


def settle(user):
    user.wealth += user.paid


def test_an_apply_on_a_type_that_the_blocks_do_not_have():
    batch = MiniBatch(Exchange(spread, edge="tagged", additive=True), Apply("user", settle))
    with pytest.raises(ProgramError) as error:
        start(SocialShop(), shop_edges(), jit=False).prepare([batch])
    assert error.value.what == (
        "Apply(user, settle) stands in a MiniBatch along tagged, of which user is no end: its "
        "blocks have no users"
    )
    assert "put it behind the MiniBatch" in error.value.do
    with pytest.raises(ProgramError, match="of which user is no end"):
        batch.inner_scope(SocialShop(), "")


class WholeFriends(Program):
    user, item = Vertex(whole=True, x=shared("f8")), Vertex()
    bought, friend = Edge("user", "item"), Edge("user", "user")

    def stages(self):
        return [Exchange(meet, edge="friend"), Apply("user")]


def meet(src, dst):
    src.x += 1


def test_advice_where_no_partitioner_keeps_a_type_whole():
    edges = shop_edges()
    bought = EdgeData.of(("user", "item"), edges.src, edges.dst, {})
    friend = edges.others["friend"]
    data = bought.join(
        {"friend": EdgeData.of(friend.ends, friend.src, friend.dst, {}, against=bought.ids)}
    )
    with pytest.raises(ProgramError) as error:
        train_team(WholeFriends(), data, 1, k=3, by="bicut")
    assert "run it on one worker: an edge of type friend joins two of type user" in error.value.do


class LateItems(Program):
    """Items may wait with changes along bought edges for an Apply of items with tags."""

    user, tag = Vertex(), Vertex(fame=value("f8", init=1))
    item = Vertex(price=value("f8"), sold=delta("f8"), told=delta("f8"), q=shared("f8"))
    bought, tagged = Edge("user", "item", count=data("i4")), Edge("item", "tag")

    def __init__(self, *stages, **params):
        super().__init__(**params)
        self._stages = stages

    def stages(self):
        return list(self._stages)


def sell(user, item, bought):
    item.sold += bought.count


def add_fame(item, tag, tagged):
    item.told += tag.fame


def label_items(all=False):
    """Return a mini-batch along tagged edges with an Apply of items."""
    told = Exchange(add_fame, edge="tagged")
    return MiniBatch(told, Apply("item", price, all=all), over="tag", vertices=2)


def late_data():
    edges = shop_edges()
    tagged = edges.others["tagged"]
    return edges.join({"tagged": EdgeData.of(tagged.ends, tagged.src, tagged.dst, {})})


@pytest.mark.parametrize(
    "stages",
    [
        [Exchange(sell), label_items()],
        [label_items(), Exchange(sell)],  # they wait for the next epoch
        [ForEach("item", lambda item: None, once=True), Exchange(sell), label_items()],
    ],
)
def test_an_apply_of_touched_rows_takes_changes_along_its_own_edges_alone(stages):
    with pytest.raises(ProgramError) as error:
        Training(start(LateItems(*stages), late_data(), jit=False))
    assert error.value.what == (
        "Apply(item, price) in a MiniBatch along tagged takes changes only from workers that have "
        "such edges, and `sell` has changed item.sold before it, along bought"
    )
    assert 'put an Apply("item", ...) before the MiniBatch' in error.value.do


@pytest.mark.parametrize("by", ["random", "ne"])
@pytest.mark.parametrize(
    "stages",
    [
        [Exchange(sell), Apply("item", price), label_items()],
        [Exchange(sell), label_items(all=True)],
    ],
)
def test_changes_that_an_apply_of_all_rows_takes_first(stages, by):
    data = late_data()
    one = complete(LateItems(*stages), data, 2)
    team = train_team(LateItems(*stages), data, 2, k=3, by=by)
    expected = one.tables["item"].arrays["price"][one.graph.vertices["item"].row_of]
    np.testing.assert_array_equal(team.gather("item", "price"), expected)


def add_one(user, item, bought):
    user.x += 1


def see(src, dst):
    src.y += dst.x


def set_y(user):
    user.z += user.y


class MeanChanges(Program):
    """A mean of changes, which is taken in a mini-batch along edges of the second type."""

    user = Vertex(x=shared("f8", combine="mean"), y=delta("f8"), z=value("f8"))
    item = Vertex()
    bought, friend = Edge("user", "item"), Edge("user", "user")

    def stages(self):
        batch = Exchange(see, edge="friend"), Apply("user", set_y)
        return [Exchange(add_one), MiniBatch(*batch, over="src", vertices=5)]


def test_a_mean_weighs_replicas_by_their_edges_of_all_types():
    graph = start(MeanChanges(), _friends_who_buy(), jit=False).graph
    assert (graph.along("friend").counts("user") == graph.counts("user")).all()
    assert graph.counts("user").sum() > len(graph.edges)


def _friends_who_buy():
    edges = shop_edges()
    bought = EdgeData.of(("user", "item"), edges.src, edges.dst, {})
    friend = edges.others["friend"]
    return bought.join(
        {"friend": EdgeData.of(friend.ends, friend.src, friend.dst, {}, against=bought.ids)}
    )


def visit(page):
    pass


class PagesAndFriends(Program):
    page, user = Vertex(), Vertex(n=delta("f8"))
    link, friend = Edge("page", "page"), Edge("user", "user")

    def stages(self):
        meeting = Exchange(lambda src, dst: None, edge="friend")
        return [MiniBatch(meeting, ForEach("page", visit), over="src")]


def test_blocks_of_one_type_do_not_have_vertices_of_another_whose_ends_are_called_alike():
    with pytest.raises(ProgramError, match="MiniBatch along friend, of which page is no end"):
        PagesAndFriends().stages()[0].inner_scope(PagesAndFriends(), "")


class WholeSources(Program):
    """Edges of the first type lie with their source, and other edges anywhere."""

    user, item = Vertex(n=delta("f8"), total=value("f8")), Vertex()
    friend, bought = Edge("user", "user", whole="src"), Edge("user", "item")

    def stages(self):
        return [Exchange(count_friends), Apply("user", keep_count)]


def count_friends(src, dst):
    src.n += 1


def keep_count(user):
    user.total = user.n


def test_whole_edges_of_the_first_of_several_types():
    src, dst = np.array([0, 0, 1, 2, 3, 3, 3]), np.array([1, 2, 3, 0, 1, 2, 0])
    friend = EdgeData.of(("user", "user"), src, dst, {})
    bought = EdgeData.of(("user", "item"), [0, 1, 9], [5, 6, 7], {}, against=friend.ids)
    data = friend.join({"bought": bought})
    team = train_team(WholeSources(), data, 1, k=2, by="source")
    np.testing.assert_array_equal(team.gather("user", "total"), [2, 1, 1, 3, 0])


class TwoKinds(Program):
    user, page = Vertex(f=shared("f8")), Vertex(f=shared("f8"))
    friend = Edge("user", "user")
    cites = Edge("page", "page")


def test_a_foreach_over_src_of_several_types_is_refused():
    with pytest.raises(ProgramError, match="`src` is an end of edges of several types") as error:
        ForEach("src", spread).seen_by(TwoKinds())
    assert error.value.do == "name the type of the vertices: user, page"
    assert ForEach("page", spread).seen_by(TwoKinds()).edge_name == "cites"
