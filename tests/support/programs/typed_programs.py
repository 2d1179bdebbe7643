"""Programs with several edge types, and their results in numpy. All numbers are whole, so sums do
not depend on their order.
"""

import numpy as np
import pandas as pd

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    ForEach,
    GlobalSync,
    MiniBatch,
    Program,
    Vertex,
    data,
    delta,
    metric,
    mirror,
    total,
    value,
)
from tux.arrays.edges import EdgeData

USERS, ITEMS, TAGS = 20, 15, 6


def buy(user, item, bought):
    item.sold += bought.count
    user.paid += bought.count * item.price


def spread(item, edges):
    for edge in edges:
        edge.tag.heard += item.price
        edge.seen += 1


def befriend(src, dst):
    dst.heard += src.wealth
    src.friends += 1


def settle(user):
    user.wealth += user.paid + user.heard
    user.known += user.friends


def price(item):
    item.price += item.sold + item.told


def tell(item, tag, tagged):
    item.told += tag.fame * tagged.seen


def rise(tag, p):
    tag.fame += tag.heard
    tag.marked = tag.marks


def mark(tag):
    tag.marks += 7


class SocialShop(Program):
    """Users who buy items, items with tags, and users who are friends."""

    user = Vertex(
        wealth=value("f8", init=1.0),
        known=value("f8"),
        paid=delta("f8"),
        heard=delta("f8"),
        friends=delta("f8"),
    )
    item = Vertex(price=value("f8", init=2.0), sold=delta("f8"), told=delta("f8"))
    tag = Vertex(
        fame=value("f8", init=3.0), marked=value("i4"), heard=delta("f8"), marks=delta("i4")
    )
    bought = Edge("user", "item", count=data("i4"))
    tagged = Edge("item", "tag", seen=mirror("i4"))
    friend = Edge("user", "user")
    epochs = 2

    def stages(self):
        return [
            ForEach("tag", mark, once=True),
            Exchange(spread, edge="tagged", additive=True),
            Apply("tag", rise),
            MiniBatch(Exchange(tell, edge="tagged"), over="tag", vertices=2),
            Exchange(befriend, edge="friend"),
            MiniBatch(Exchange(buy), Apply("user", settle), over="user", vertices=5),
            Apply("item", price),
        ]


class WholeItems(SocialShop):
    """The edges of each item lie on one worker."""

    item = Vertex(whole=True)

    def stages(self):
        return []


def describe(user, item, bought, tau):
    bought.code = user.id * 100 + item.id
    bought.pair[0] = bought.count
    bought.pair[1] = -bought.count
    tau.n += 1


def count_epochs(item, tag, tagged):
    tagged.seen += 1


def report(tau):
    tau.loss = -tau.n


class Coded(SocialShop):
    """Fields of edges of two types are kept. The loss is the same in each epoch."""

    user, item, tag = Vertex(), Vertex(), Vertex()
    monitor = "loss"

    bought = Edge(
        "user",
        "item",
        count=data("i4"),
        code=mirror("i8", kept=True),
        pair=mirror("f4", 2, kept=True),
        scratch=mirror("i4"),
    )
    tagged = Edge("item", "tag", seen=mirror("i4", kept=True))
    tau = Context(n=total(), loss=metric())

    def stages(self):
        return [Exchange(describe), Exchange(count_epochs, edge="tagged"), GlobalSync(report)]


def shop_edges(seed=0):
    """Return random edges of all types; some vertices are at the end of one type alone."""
    draw = np.random.default_rng(seed)
    bought = EdgeData.of(
        ("user", "item"),
        draw.integers(0, USERS - 3, 60),
        draw.integers(0, ITEMS - 3, 60),
        {"count": draw.integers(1, 4, 60)},
    )
    tagged = EdgeData.of(
        ("item", "tag"),
        draw.integers(0, ITEMS, 40),
        draw.integers(0, TAGS, 40),
        {},
        against=bought.ids,
    )
    friend = EdgeData.of(
        ("user", "user"), *draw.integers(0, USERS, (2, 30)), {}, against=tagged.ids
    )
    return bought.join({"tagged": tagged, "friend": friend})


def shop_tables(edges):
    """Return the edges of each type as a table, with ids in text."""
    out = {}
    for name, each in edges.by_type.items():
        titles = each.ends if each.ends[0] != each.ends[1] else ("src", "dst")
        sides = zip(titles, each.ends, (each.src, each.dst), strict=True)
        columns = {
            title: [f"{kind} {code}" for code in each.ids[kind].values[codes]]
            for title, kind, codes in sides
        }
        out[name or "bought"] = pd.DataFrame(columns | dict(each.fields))
    return out


def shop_files(folder, edges):
    """Write the tables as files, and return their names by type."""
    named = {}
    for name, table in shop_tables(edges).items():
        named[name] = str(folder / f"{name}.csv")
        table.to_csv(named[name], index=False)
    return named


def shop_model(edges, epochs):
    """Return wealth and known of users, price of items and fame of tags by the formulas."""
    users, items, tags = (len(edges.ids[name]) for name in ("user", "item", "tag"))
    tagged, friend = edges.others["tagged"], edges.others["friend"]
    wealth, known, cost, fame = (
        np.ones(users),
        np.zeros(users),
        np.full(items, 2.0),
        np.full(tags, 3.0),
    )
    for epoch in range(epochs):
        fame = fame + np.bincount(tagged.dst, cost[tagged.src], tags)
        told = np.bincount(tagged.src, fame[tagged.dst] * (epoch + 1), items)
        heard = np.bincount(friend.dst, wealth[friend.src], users)
        paid = np.bincount(edges.src, edges.fields["count"] * cost[edges.dst], users)
        wealth = wealth + paid + heard
        known = known + np.bincount(friend.src, minlength=users)
        cost = cost + np.bincount(edges.dst, edges.fields["count"], items) + told
    return {"user.wealth": wealth, "user.known": known, "item.price": cost, "tag.fame": fame}
