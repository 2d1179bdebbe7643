"""Several workers in one process: the answer does not depend on how many they are, how the graph
is cut, or when messages arrive.
"""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from support.machines.team import BY, SMALL, Team, ratings, train_team
from support.oracles import oracle
from support.programs.programs import ConnectedComponents, NodeDegrees, Spy

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    data,
    delta,
    metric,
    mirror,
    param,
    shared,
    total,
    uniform,
    value,
)
from tux.apps.mf.mf import MF
from tux.arrays.networks import from_arrays, from_networkx
from tux.base.errors import DataError, ProgramError
from tux.program.sources import find
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

PageRank = find(str(Path(__file__).parents[2] / "docs" / "pagerank.py")).program

cuts = pytest.mark.parametrize(
    ("k", "by"), [(k, by) for k in (1, 2, 3, 4) for by in ("random", "bicut")]
)


def digraph(kind, m=120):
    """Return a random digraph with pages that have no links, loops, and a page without any edge."""
    graph = nx.gnm_random_graph(40, m, seed=3, directed=True)
    graph.remove_edges_from([edge for edge in graph.edges if edge[0] % 7 == 0])
    graph.add_edges_from([(3, 3), (8, 8)])
    graph.add_node(40)
    return from_networkx(graph, ends=(kind, kind))


RATINGS, HELD = ratings()


@pytest.mark.slow(after=2)
@pytest.mark.long(after=5)
@cuts
@pytest.mark.parametrize("delivery", [0, 1])
def test_pagerank(k, by, delivery):
    edges = digraph("page")
    team = train_team(PageRank(damping=0.6), edges, 60, k=k, by=by, delivery=delivery)
    rank = team.gather("page", "rank")
    np.testing.assert_allclose(rank, oracle.pagerank(edges, 0.6), atol=1e-8)
    assert team.agrees("page", "rank") and abs(rank.sum() - 1) < 1e-12
    assert len({len(records) for records in team.records}) == 1, (
        "all workers stop at the same epoch"
    )


@cuts
def test_degrees(k, by):
    edges = digraph("node")
    team = train_team(NodeDegrees(), edges, 2, k=k, by=by, delivery=k)
    out, into = oracle.degrees(edges)
    assert np.array_equal(team.gather("node", "outdegree"), out) and np.array_equal(
        team.gather("node", "indegree"), into
    )
    assert team.agrees("node", "indegree") and sum(
        worker.edges_visited for worker in team.workers
    ) == 2 * len(edges)


@pytest.mark.slow(after=3)
@cuts
def test_components_by_least_labels(k, by):
    edges = digraph("node", m=45)
    expected = oracle.components(
        edges, Team(ConnectedComponents(), edges, k=k, by=by).gather("node", "label")
    )
    team = train_team(ConnectedComponents(), edges, 15, k=k, by=by, delivery=k)
    assert (
        np.array_equal(team.gather("node", "label"), expected) and 1 < len(np.unique(expected)) < 41
    )
    assert (
        team.agrees("node", "label") and [worker.tau.changed for worker in team.workers] == [0] * k
    )


def gradients(user, item, rating, tau, p):
    err = np.float64(rating.value)
    for d in range(p.rank):
        err -= user.f[d] * item.f[d]
    for d in range(p.rank):
        user.g[d] += err * item.f[d] - p.reg * user.f[d]
        item.g[d] += err * user.f[d] - p.reg * item.f[d]
    tau.n += 1
    tau.sse += err * err


def follow(v, p):
    for d in range(p.rank):
        v.f[d] += p.step * v.g[d]


def measure(user, item, rating, tau, p):
    err = np.float64(rating.value)
    for d in range(p.rank):
        err -= user.f[d] * item.f[d]
    tau.n += 1
    tau.sse += err * err


def report(tau):
    tau.loss = (tau.sse / tau.n) ** 0.5


def report_test(tau):
    tau.test_loss = (tau.sse / tau.n) ** 0.5


class GradientMF(Program):
    """Matrix factorization by the gradient of each block: nothing that one worker reads is
    written by another in the same clock.
    """

    rank: int = param(3)
    step: float = param(0.02, dtype="f8")
    reg: float = param(0.05, dtype="f8")
    size: int = param(3)

    user = item = Vertex(f=value("f8", "rank", init=uniform(0, 1)), g=delta("f8", "rank"))
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(n=total(), sse=total(), loss=metric(), test_loss=metric())
    monitor = "test_loss"

    def stages(self):
        inner = [Exchange(gradients, over="item"), Apply("item", follow), Apply("user", follow)]
        return [MiniBatch(*inner, vertices=self.size), GlobalSync(report)]

    def evaluate(self):
        return [Exchange(measure, held_out=True), GlobalSync(report_test)]


def train_factors(epochs=4, program=GradientMF, size=3, **options):
    return train_team(
        program(**({} if program is MF else {"size": size})), RATINGS, epochs, HELD, **options
    )


def state(team):
    """Return all factors, in bytes."""
    return [team.gather(name, "f").tobytes() for name in ("user", "item")]


@pytest.fixture(scope="module")
def team_of_one():
    return train_factors(k=1)


@pytest.mark.slow(after=3)
@cuts
def test_gradients_are_those_of_one_worker(k, by, team_of_one):
    team = train_factors(k=k, by=by, delivery=5)
    for name in ("loss", "test_loss"):  # unseen users and items among the held-out
        np.testing.assert_allclose(team.history(name), team_of_one.history(name), rtol=1e-10)
        assert all(team.history(name, rank) == team.history(name) for rank in range(k)), (
            "all workers know the same metrics"
        )
    for name in ("user", "item"):
        np.testing.assert_allclose(
            team.gather(name, "f"), team_of_one.gather(name, "f"), rtol=1e-10
        )
        assert team.agrees(name, "f")
    assert team.history("clock") == [4, 8, 12, 16]  # three blocks and the GlobalSync
    assert team_of_one.history("loss")[-1] < 0.8 * team_of_one.history("loss")[0]


@pytest.mark.long(after=1)
@pytest.mark.parametrize("program", [GradientMF, MF])
def test_slack_0_is_deterministic_whatever_the_order_of_delivery(program):
    teams = [train_factors(2, program, k=3, delivery=delivery) for delivery in (0, 0, 1, 2)]
    same = [
        (
            state(team),
            [
                {key: r[key] for key in r if key[-2:] != "_s" and "second" not in key}
                for r in team.records[1]
            ],
        )
        for team in teams
    ]
    assert same[0] == same[1] == same[2] == same[3]
    assert {record["max_staleness"] for team in teams for record in team.records[0]} == {0}


@pytest.mark.slow
def test_slack_2_converges_too(team_of_one):
    base, states = team_of_one.history("loss"), set()
    for delivery in range(6):
        team = train_factors(size=1, k=3, slack=2, delivery=delivery)
        assert (
            base[-1] * 0.9 < team.history("loss")[-1] < base[0] * 0.8
            and team.history("max_staleness")[-1] == 2
        )
        assert len({worker.metrics()["loss"] for worker in team.workers}) == 1
        assert team.agrees("user", "f") and team.agrees("item", "f"), (
            "all clocks are drained at the end"
        )
        states.add(tuple(state(team)))
    assert len(states) > 1, "at slack 2 the order of delivery is seen"


def test_one_worker_is_fresh_at_any_slack(team_of_one):
    assert state(train_factors(k=1, slack=4)) == state(team_of_one)


@pytest.mark.long
@pytest.mark.parametrize("by", ["random", "bicut"])
def test_compiled_teams(by, team_of_one):
    team = train_factors(2, k=2, by=by, jit=True)
    for name in ("loss", "test_loss"):
        np.testing.assert_allclose(team.history(name), team_of_one.history(name)[:2], rtol=1e-10)


class Still(MF):
    """MF that never learns: its factors are those of the set-up."""

    def stages(self):
        return [GlobalSync()]


@pytest.mark.slow(after=2)
@cuts
def test_held_out_errors_are_those_of_one_worker_for_equal_parameters(k, by):
    (record,) = train_team(Still(rank=3), RATINGS, 1, HELD, k=k, by=by, delivery=2).records[-1]
    (single,) = train_team(Still(rank=3), RATINGS, 1, HELD, k=1).records[0]
    assert (
        record["test_rmse"] == pytest.approx(single["test_rmse"], rel=1e-6)
        and record["test_rmse"] > 0
    )


def raise_both(user, item):
    user.x, item.x = user.x + 1, item.x + 1


class SharedCounts(Program):
    """Counts edges at both ends in place, and brings the counts of one type together."""

    user = item = Vertex(x=shared("f8"))
    link = Edge("user", "item")
    applied: str = param("item")

    def stages(self):
        return [Exchange(raise_both), Apply(self.applied)]


def test_a_cut_type_whose_changes_nothing_brings_together_is_refused():
    with pytest.raises(ProgramError, match=r'(?s)item is cut.*item\.x.*Apply\("item"\)'):
        train_team(SharedCounts(applied="user"), SMALL, 1, by=BY)
    with pytest.raises(
        ProgramError, match=r'(?s)user is cut.*user\.x.*Apply\("user"\).*--partitioner bicut'
    ):
        train_team(SharedCounts(), SMALL, 1, by=[0, 1, 0, 1, 0])
    whole = train_team(SharedCounts(), SMALL, 2, by=BY)
    assert whole.gather("user", "x").tolist() == [4, 4, 2, 0] and whole.gather(
        "item", "x"
    ).tolist() == [2, 4, 4, 0]


def explode(item):
    item.f[0] = np.inf


def test_a_number_that_is_not_finite_is_told_by_its_master():
    class Wrong(GradientMF):
        def stages(self):
            return [*super().stages(), Apply("item", explode)]

    with pytest.raises(DataError, match=r"item \d: f became inf in epoch 1"):
        train_team(Wrong(), RATINGS, 2, k=2)


def grow(item):
    item.n += 1


def look(item, link):
    link.seen = item.n


class AskedForStages(NodeDegrees):
    """Counts of edges, and of the calls of `stages`."""

    def __init__(self):
        super().__init__()
        self.asked = 0

    def stages(self):
        self.asked += 1
        return super().stages()


def test_workers_that_have_something_in_common_ask_for_stages_once():
    alike, apart = (Team(AskedForStages(), digraph("node", 60), k=3) for _ in range(2))
    for worker in apart.workers:
        worker.common = None
    for team, asked in ((alike, 1), (apart, 3)):
        assert team.train(2).program.asked == asked
    for field in ("indegree", "outdegree"):
        assert np.array_equal(*(team.gather("node", field) for team in (alike, apart)))


class LocalCounts(Program):
    """Counts epochs at each item, and reads the counts of other workers along held-out edges;
    nothing else is ever sent.
    """

    user = Vertex()
    item = Vertex(n=value("i8"))
    link = Edge("user", "item", seen=mirror("i8"))

    def __init__(self):
        super().__init__()
        self.seen = []  # (epoch, what it saw)

    def stages(self):
        return [Apply("item", grow)]

    def evaluate(self):
        note = Spy(
            lambda worker, block: self.seen.extend(
                (worker.epoch, n) for n in worker.graph.held_out.fields["seen"].tolist()
            )
        )
        return [Exchange(look, held_out=True), note]


@pytest.mark.parametrize("delivery", range(4))
def test_an_evaluation_reads_the_masters_of_its_epoch_even_if_workers_never_meet_otherwise(
    delivery,
):
    edges = from_arrays([0, 1, 2], [0, 1, 2], ends=("user", "item"))
    held = from_arrays([0, 1, 2], [2, 0, 1], ends=("user", "item"))
    seen = train_team(
        LocalCounts(), edges, 4, held, k=3, by=[0, 1, 2], delivery=delivery
    ).program.seen
    assert sorted(seen) == sorted([(epoch, epoch) for epoch in range(1, 5)] * 3)
