"""Stages whose results depend on the number of workers are refused, on one worker too; the advised
ones give the same on 1, 2 and 3 workers.
"""

import numpy as np
import pytest
from support.machines.team import train_team
from support.programs.programs import start

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    delta,
    metric,
    mirror,
    shared,
    total,
    value,
)
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.engine.training import Training
from tux.stages import Apply, Exchange, ForEach, GlobalSync, MiniBatch

# Pages 0 to 8; page 9 has no links.
SRC = np.array([0, 0, 1, 1, 2, 3, 4, 5, 5, 6, 7, 7, 8, 0])
DST = np.array([1, 2, 0, 3, 0, 4, 0, 6, 7, 5, 5, 8, 0, 0])
LINKS = EdgeData.of(("page", "page"), SRC, DST, {}, vertices={"page": [9]})
RATINGS = from_arrays(SRC, DST, ends=("user", "item"))


def give(src, dst):
    dst.got += 1


def weigh(src, dst, tau):
    dst.got += 1
    tau.n += 1


def set_got(src, dst):
    dst.got = src.x


def set_once(src):
    src.got = 100


def mark(src, dst):
    dst.mark = 1


def set_total(page, tau):
    page.x = page.got
    tau.n = page.x


def add_mark(page):
    page.x += page.mark if page.mark > 0 else 0.5


def keep(page):
    page.x = page.got


def keep_share(page, tau):
    page.x = page.got / tau.n


def peek(src, dst, tau):
    tau.n += dst.got


def peek_value(src, dst, tau):
    tau.n += dst.x


def count(src, tau):
    tau.n += 1


def count_changes(src, tau):
    tau.n += src.own
    src.own = 0


def grow(src):
    src.size = src.size + 1


def raise_most(src, tau):
    tau.most = max(tau.most, src.x)


def count_links(src, edges):
    src.got += len(edges)


def once_seen(src, edges, tau):
    src.got += len(edges) * len(edges)
    tau.n += 1


def above(page, tau):
    tau.most = max(tau.most, page.x)
    tau.n += 1 if page.x == tau.most else 0


def visits(page, tau):
    tau.n += page.x


def finish(tau):
    tau.all, tau.top = tau.n, tau.most


class RulePages(Program):
    page = Vertex(
        got=delta("f8"),
        mark=delta("i4", combine="max"),
        x=value("f8"),
        size=shared("f8"),
        own=mirror("i4", init=1),
    )
    link = Edge("page", "page")
    tau = Context(n=total(), most=total(combine="max"), all=metric(), top=metric())
    epochs = 2
    made = ()
    judged = ()

    def stages(self):
        return [*self.made]

    def evaluate(self):
        return [*self.judged]


def program(*stages, judged=(), **members):
    """Return a program of pages with these stages."""
    return type("Made", (RulePages,), {"made": stages, "judged": judged, **members})()


def training_error(made, edges=LINKS):
    """Return the error before training."""
    with pytest.raises(ProgramError) as error:
        Training(start(made, edges, jit=False))
    with pytest.raises(ProgramError, match="workers|GlobalSync"):
        train_team(made, edges, 1, k=2)
    return error.value


def line(udf, offset):
    return f"{udf.__code__.co_filename}:{udf.__code__.co_firstlineno + offset}"


@pytest.mark.parametrize(
    ("stages", "udf", "offset", "what", "do"),
    [
        (
            [Exchange(give), Exchange(peek), GlobalSync(finish), Apply("page", keep)],
            peek,
            1,
            "`peek` reads page.got, a delta, in Exchange: on several workers it holds only what "
            "this worker has gathered",
            "let an Apply keep it in a value field",
        ),
        (
            [Exchange(weigh), Apply("page", keep_share), GlobalSync(finish)],
            keep_share,
            1,
            "`keep_share` reads tau.n, a total, in Apply",
            "let a GlobalSync set a value or a metric",
        ),
        (
            [Exchange(give), Apply("page", keep), GlobalSync(finish, aggregate=above)],
            above,
            2,
            "`above` reads tau.most, a total, in an aggregate",
            "let a GlobalSync",
        ),
        (
            [Exchange(set_got), Apply("page", keep)],
            set_got,
            1,
            "`set_got` sets page.got, a delta: the last call on each worker decides, and the "
            "master adds up what the workers have",
            'combine="max" (or "min") and write dst.got = max(dst.got, x)',
        ),
        (
            [Exchange(give), Apply("page", set_total), GlobalSync(finish)],
            set_total,
            2,
            "`set_total` sets tau.n, a total",
            "add to it with +=",
        ),
        (
            [Exchange(give), ForEach("src", set_once, once=True), Apply("page", keep)],
            set_once,
            1,
            "`set_once` sets page.got, a delta",
            "add to it with +=",
        ),
        (
            [Exchange(count_links), Apply("page", keep)],
            count_links,
            0,
            "`count_links` sees the edges of a page",
            'declare Edge("page", "page", whole="src")',
        ),
        (
            [MiniBatch(Exchange(count_links), Apply("page", keep), vertices=3)],
            count_links,
            0,
            "each worker sees only its share of the edges",
            "write Exchange(count_links, additive=True)",
        ),
        (
            [Exchange(give), Apply("page", keep), ForEach("src", count), GlobalSync(finish)],
            count,
            1,
            "`count` changes tau.n, a total: on several workers it is called once for each "
            "replica of a page",
            'ForEach("page", count, once=True)',
        ),
        (
            [Exchange(give, leave=grow), Apply("page", keep)],
            grow,
            1,
            "`grow` changes page.size, a shared",
            "page = Vertex(whole=True)",
        ),
        (
            [Exchange(weigh), Apply("page", keep)],
            weigh,
            2,
            "`weigh` adds to tau.n, a total, and no GlobalSync takes it before the epoch ends",
            "add GlobalSync(f)",
        ),
        (
            [GlobalSync(finish), Exchange(weigh), Apply("page", keep), GlobalSync(None)],
            weigh,
            2,
            "no GlobalSync takes it",
            "add GlobalSync(f)",
        ),
    ],
)
def test_what_depends_on_the_workers_is_refused(stages, udf, offset, what, do):
    error = training_error(program(*stages))
    assert what in error.what and error.where == line(udf, offset) and do in error.do


def test_what_evaluation_leaves_is_refused():
    stages = [Exchange(give), Apply("page", keep)]
    error = training_error(program(*stages, judged=[Exchange(peek_value)]))
    assert "no GlobalSync takes it before evaluate() ends" in error.what
    error = training_error(program(*stages, judged=[Exchange(count_links, held_out=True)]))
    assert "`count_links` sees the edges of a page" in error.what


def test_a_delta_of_a_whole_type_is_set_by_visits_alone():
    class Rated(Program):
        user, item = Vertex(whole=True, n=delta("i8"), x=value("i8")), Vertex()
        rating = Edge("user", "item")
        exchange = Exchange(lambda user, edges: None)

        def stages(self):
            return [self.exchange, Apply("user", keep_n)]

    class PerEdge(Rated):
        exchange = Exchange(set_n)

    class Visited(Rated):
        exchange = ForEach("user", set_n_once)

    Training(start(Visited(), RATINGS, jit=False))
    assert "`set_n` sets user.n, a delta" in training_error(PerEdge(), RATINGS).what


def set_n(user, item):
    user.n = item.id


def set_n_once(user):
    user.n = 7


def keep_n(user):
    user.x = user.n


def test_the_other_type_is_named():
    class Rated(Program):
        user, item = Vertex(got=delta("i8")), Vertex()
        rating = Edge("user", "item")

        def stages(self):
            return [
                Exchange(lambda user, item: None),
                Exchange(count_ratings),
                Apply("user", lambda v: None),
            ]

    error = training_error(Rated(), RATINGS)
    assert "the edges of a user" in error.what and "user = Vertex(whole=True)" in error.do


def count_ratings(user, edges):
    user.got += len(edges)


WHOLE = Edge("page", "page", whole="src")
GOOD = {
    "kept by Apply": program(
        Exchange(give), Apply("page", keep), Exchange(peek_value), GlobalSync(finish)
    ),
    "marked": program(Exchange(mark), Apply("page", add_mark)),
    "once": program(
        Exchange(give), Apply("page", keep), ForEach("src", count, once=True),
        GlobalSync(finish),
    ),
    "once, block by block": program(
        MiniBatch(ForEach("src", count, once=True), over="src", vertices=2),
        MiniBatch(ForEach("src", grow, once=True), Apply("page", keep), vertices=4),
        GlobalSync(finish),
    ),
    "shares": program(Exchange(count_links, additive=True), Apply("page", keep)),
    "greatest": program(
        Exchange(give), Apply("page", keep), ForEach("src", raise_most), GlobalSync(finish)
    ),
    "whole as src": program(
        Exchange(once_seen), Apply("page", keep), GlobalSync(finish, aggregate=visits), link=WHOLE
    ),
    "whole as src, visited around edges": program(
        Exchange(give, over="src", enter=count), Apply("page", keep), GlobalSync(finish),
        link=WHOLE,
    ),
}  # fmt: skip


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("name", GOOD)
def test_what_is_advised_is_the_same_on_all_workers(name):
    one, *others = (
        train_team(GOOD[name], LINKS, 2, k=k, by="source" if "whole" in name else "random")
        for k in (1, 2, 3)
    )
    assert any(one.gather("page", field).any() for field in ("x", "size"))
    for team in others:
        assert team.workers[0].graph.vertices["page"].is_cut
        for field in ("x", "size"):
            assert team.gather("page", field).tolist() == one.gather("page", field).tolist()
        assert [r.get("all") for r in team.records[0]] == [r.get("all") for r in one.records[0]]
        assert [r.get("top") for r in team.records[0]] == [r.get("top") for r in one.records[0]]


def test_what_a_replica_has_of_its_own_may_be_added_up():
    made = program(
        Exchange(give), Apply("page", keep), ForEach("src", count_changes), GlobalSync(finish)
    )
    Training(start(made, LINKS, jit=False))
