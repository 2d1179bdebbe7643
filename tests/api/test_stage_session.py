"""`tux.session`: stages that run when they are asked for are those of a run, on one worker and on
several, compiled once; what can be read and set between them.
"""

import numpy as np
import pytest
from support.programs.driven import (
    DST,
    LINKS,
    SRC,
    WORKERS,
    WholeRanks,
    epoch,
    finish,
    give,
    kernels,
    open_session,
    take_got,
    update,
)

import tux
from tux import (
    Apply,
    Axpy,
    Context,
    Dot,
    Edge,
    Exchange,
    Generate,
    GlobalSync,
    MiniBatch,
    Program,
    Ratings,
    Repeat,
    Score,
    Vertex,
    data,
    delta,
    mean_of,
    metric,
    metrics,
    shared,
    total,
    uniform,
    value,
)


@WORKERS
def test_stages_on_demand_are_those_of_a_run(workers):
    run = tux.run(WholeRanks(), LINKS, epochs=3, seed=5, progress=False, jit=False)
    with open_session(workers=workers, seed=5) as s:
        found = [s.run(*epoch()) for _ in range(3)]
        change, pages = s.tau.change, s.vertices["page"]
        assert pages.ids.tolist() == run.vertices["page"].ids.tolist()
        if workers == 1:
            assert [each["change"] for each in found] == run.history["change"].tolist()
            assert np.array_equal(pages["rank"], run.vertices["page"]["rank"])
        assert change == found[-1]["change"] == pytest.approx(run.history["change"][-1])
        assert np.allclose(pages["rank"], run.vertices["page"]["rank"], rtol=1e-12)
        assert np.array_equal(pages["links"], run.vertices["page"]["links"])


def test_compiled_stages_are_those_of_a_run():
    run = tux.run(WholeRanks(), LINKS, epochs=2, progress=False)
    with open_session(WholeRanks(), jit=True) as s:
        s.epoch(2)
        assert np.array_equal(s.vertices["page"]["rank"], run.vertices["page"]["rank"])


def test_stages_apart_gather_for_those_that_come_later():
    with open_session() as s, open_session() as other:
        s.run(Exchange(give))
        s.run(Apply("page", update))
        assert s.run(GlobalSync(finish)).keys() == {"change"}
        other.run(*epoch()[:2])
        assert np.allclose(s.vertices["page"]["rank"], other.vertices["page"]["rank"], atol=0.01)


@WORKERS
def test_equal_stages_are_prepared_once(workers):
    with open_session(workers=workers) as s:
        s.run(*epoch(), MiniBatch(Exchange(give), Apply("page", update), vertices=7))
        made, kept, syncs = kernels(s), len(s._run._kept._kept), len(s._run.workers[0].syncs)
        for _ in range(4):
            s.run(*epoch(), MiniBatch(Exchange(give), Apply("page", update), vertices=7))
            s.run(GlobalSync(lambda tau: None))
        assert (kernels(s), len(s._run._kept._kept)) == (made, kept + 1)
        assert len(s._run.workers[0].syncs) == syncs + (workers > 1)
        s.run(MiniBatch(Exchange(give), Apply("page", update), vertices=8))
        assert kernels(s) > made


FACTOR = 1.0


def add_factor(page):
    page.rank = FACTOR


def test_another_value_of_a_global_is_another_function(monkeypatch):
    with open_session(jit=True) as s:
        monkeypatch.setitem(globals(), "FACTOR", 1.0)
        for factor in (1.0, 3.0, 1.0):
            monkeypatch.setitem(globals(), "FACTOR", factor)
            s.run(Apply("page", lambda page: None), Apply("page", add_factor, gather=False))
            assert (s.vertices["page"]["rank"] == factor).all()
        assert len(s._run._kept._kept) == 2 + 3


def test_functions_that_close_over_other_objects_are_others():
    one, two = [], []

    def noting(where):
        return GlobalSync(lambda tau: where.append(1))

    with open_session() as s:
        s.run(noting(one), noting(two))
        s.run(noting(two))
    assert (len(one), len(two)) == (1, 2)


def test_a_stage_that_stands_twice_draws_other_numbers():
    def draw(page, rng):
        page.rank = rng.uniform()

    with open_session() as s:
        s.run(Apply("page", draw))
        once = s.vertices["page"]["rank"]
    with open_session() as s:
        s.run(Apply("page", draw), Apply("page", draw))
        assert not np.array_equal(s.vertices["page"]["rank"], once)


@WORKERS
def test_what_is_set_is_what_stages_see(workers):
    with open_session(workers=workers) as s:
        pages = s.vertices["page"]
        wanted = np.arange(len(pages), dtype="f8")
        pages["rank"] = wanted
        assert np.array_equal(pages["rank"], wanted)
        s.tau.step = 0.5
        s.run(Axpy("page", "rank", "rank", by="step"), Dot("page", "rank", "rank", into="slope"))
        assert np.allclose(pages["rank"], 1.5 * wanted)
        assert s.tau.slope == pytest.approx((2.25 * wanted**2).sum()) and s.tau.step == 0.5
        s.run(Exchange(give), Apply("page", lambda page: None))  # replicas have it, too
        pages["rank"] = 2
        s.run(Exchange(give), Apply("page", take_got))
        links, expected = pages["links"], np.zeros(len(pages))
        at = {page: k for k, page in enumerate(pages.ids.tolist())}
        for src, dst in zip(SRC.tolist(), DST.tolist(), strict=True):
            expected[at[dst]] += 2 / links[at[src]]
        assert np.allclose(pages["rank"], expected)
        assert pages.at(pages.ids[3])["rank"] == pages["rank"][3]
        assert pages.to_pandas()["rank"].tolist() == pages["rank"].tolist()


def nudge(src, dst):
    dst.f += 1.0


class DrivenFactors(Program):
    page = Vertex(f=shared("f8", init=uniform(0, 1)))
    link = Edge("page", "page")


@WORKERS
def test_a_shared_field_is_set_on_all_replicas(workers):
    with open_session(DrivenFactors, workers=workers, seed=1) as s:
        s.run(Exchange(nudge))  # not brought to the masters on several workers
        pages = s.vertices["page"]
        pages["f"] = np.zeros(len(pages))
        s.run(Apply("page"))
        assert (pages["f"] == 0).all()
        s.run(Exchange(nudge), Apply("page"))
        assert pages["f"].sum() == len(SRC)


def shrink(page):
    page.rank *= 0.5


def add_up(page, tau):
    tau.moved += page.rank


def test_python_decides_what_runs():
    with open_session() as s:
        runs = 0
        while s.run(GlobalSync(finish, aggregate=add_up))["change"] > 1:
            runs += 1
            s.run(Apply("page", shrink, gather=False))
        n = len(s.vertices["page"])
        assert runs == int(np.ceil(np.log2(n))) and s.tau.change <= 1
        assert s.run(Repeat(Apply("page", shrink, gather=False), times=2)) == {}
        assert s.vertices["page"]["rank"].sum() == pytest.approx(n / 2 ** (runs + 2))


class DrivenTags(Program):
    input = Ratings()
    user = Vertex(seen=delta("f8"), sum=value("f8"))
    item = Vertex(seen=delta("f8"), sum=value("f8"))
    tag = Vertex(seen=delta("f8"), sum=value("f8"))
    rating = Edge("user", "item", value=data("f4"))
    tagged = Edge("item", "tag")


def rate(user, item, rating):
    user.seen += rating.value
    item.seen += rating.value


def describe(item, tag):
    tag.seen += item.sum


def keep_sum(v):
    v.sum = v.seen


@WORKERS
def test_several_edge_types(workers):
    users, items, tags = (
        np.repeat(range(6), 5),
        np.tile(range(5), 6),
        np.array([0, 0, 1, 1, 1]),
    )
    stars = np.arange(30) % 4
    given = {
        "rating": {"user": users, "item": items, "value": stars},
        "tagged": {"item": np.arange(5), "tag": tags},
    }
    with open_session(DrivenTags, given, workers=workers) as s:
        s.run(Exchange(rate), Apply("user", keep_sum), Apply("item", keep_sum))
        s.run(Exchange(describe, edge="tagged"), Apply("tag", keep_sum))
        assert s.vertices["user"]["sum"].tolist() == stars.reshape(6, 5).sum(1).tolist()
        of_items = stars.reshape(6, 5).sum(0)
        assert s.vertices["tag"]["sum"].tolist() == [of_items[:2].sum(), of_items[2:].sum()]


def learn(user, item, rating, tau):
    error = rating.value - tau.mean - user.b - item.b
    user.b += 0.1 * error
    item.b += 0.1 * error
    tau.sse += error**2
    tau.n += 1


def guess(user, item, tau):
    return tau.mean + user.b + item.b


def miss(user, item, rating, tau):
    tau.missed += abs(rating.value - tau.mean - user.b - item.b)


def show_missed(tau):
    tau.mae = tau.missed


class DrivenBiases(Program):
    input = Ratings()
    user = item = Vertex(b=shared("f8"))
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(
        mean=mean_of("value"),
        train_rmse=metric("sqrt(sse / n)", sse=total(), n=total()),
        missed=total(),
        mae=metric(),
        test_rmse=metrics.rmse(),
        test_mae=metrics.mae(),
    )

    def predict(self):
        return Score(guess)


class WholeBiases(DrivenBiases):
    def stages(self):
        return [Exchange(learn), Apply("user"), Apply("item")]

    keeps_best = False


@pytest.fixture
def held_out(ratings):
    """Return the first ten ratings."""
    users, items = (ratings.ids[name].values for name in ("user", "item"))
    ends = users[ratings.src[:10]], items[ratings.dst[:10]]
    return {"user": ends[0], "item": ends[1], "value": ratings.fields["value"][:10]}


@WORKERS
def test_held_out_edges_judge_when_it_is_asked_for(ratings, held_out, workers):
    table = {"user": ratings.ids["user"].values[ratings.src]}
    table |= {"item": ratings.ids["item"].values[ratings.dst]}
    table |= {"value": ratings.fields["value"]}
    run = tux.run(WholeBiases(), table, held_out, epochs=2, progress=False, jit=False)
    with open_session(DrivenBiases, table, test=held_out, workers=workers) as s:
        assert s.tau.mean == pytest.approx(run.context["mean"][0])
        for _ in range(2):
            trained = s.run(Exchange(learn), Apply("user"), Apply("item"))
        found = s.evaluate()
        assert trained.keys() == {"train_rmse"} and found.keys() > {"test_rmse", "test_mae"}
        if workers == 1:
            assert found["test_rmse"] == run.history["test_rmse"][-1]
            assert trained["train_rmse"] == run.history["train_rmse"][-1]
        both = s.run(
            Apply("user"), Apply("item"), Exchange(miss, held_out=True), GlobalSync(show_missed)
        )
        assert both["mae"] == pytest.approx(10 * found["test_mae"])
        scores = s.to_run().predict((held_out["user"], held_out["item"]))
        assert np.abs(scores - held_out["value"]).mean() == pytest.approx(found["test_mae"])


def test_a_formula_takes_totals_of_earlier_runs(ratings):
    def add_squares(user, item, tau):
        tau.sse += 4.0

    def add_counts(user, item, tau):
        tau.n += 1

    with open_session(DrivenBiases, ratings) as s:
        assert s.run(Exchange(add_squares)) == {}
        assert s.run(Exchange(add_counts)) == {"train_rmse": 2.0}


def begin_at_home(start, path):
    path[0] = start


def visit(path):
    path[0].page.visits += 1


class DrivenVisits(Program):
    page = Vertex(remote=True, visits=shared("i8"))
    link = Edge("page", "page")


@WORKERS
@pytest.mark.parametrize("slack", [0, 2])
def test_pushed_changes_are_read_after_the_run(workers, slack):
    with open_session(DrivenVisits, workers=workers, slack=slack) as s:
        for n in (1, 2):
            s.run(MiniBatch(Generate(begin_at_home, visit, "page", path=1), vertices=3))
            assert (s.vertices["page"]["visits"] == n).all()
            assert not s._run._messages.channels


@pytest.mark.parametrize("workers", [1, 2])
def test_the_present_model_is_a_run(tmp_path, workers):
    s = open_session(WholeRanks, workers=workers)
    s.epoch(2)
    run = s.to_run()
    ranks = s.vertices["page"]["rank"]
    s.epoch()
    s.close()
    assert np.array_equal(run.vertices["page"]["rank"], ranks)
    assert run.results["epochs"] == 2 and run.history["epoch"].tolist() == [2]
    run.save(tmp_path / "kept")
    assert np.array_equal(tux.load(tmp_path / "kept").vertices["page"]["rank"], ranks)
