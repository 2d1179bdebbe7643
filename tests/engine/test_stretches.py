"""Epochs that run as one pass, on workers whose messages come in any order: what records say, when
the run stops, which epoch a clock sees, and what is kept.
"""

from pathlib import Path

import numpy as np
import pytest
from support.machines.keeping import ExactMeetings, RandomWalks, run
from support.machines.team import Team

from tux import Context, Edge, Program, Vertex, metric, param, shared, total, value
from tux.arrays.networks import from_arrays
from tux.checkpoint.schedule import CheckpointInterval
from tux.clock.schedule import Schedule
from tux.engine.clock_loop import ClockLoop
from tux.program.sources import find
from tux.stages import Apply, Barrier, Exchange, GlobalSync, MiniBatch

PageRank = find(str(Path(__file__).parents[2] / "docs" / "pagerank.py")).program

LINKS = from_arrays([0, 1, 2, 3, 4, 5, 5], [1, 2, 3, 4, 5, 0, 2], ends=("page", "page"))
SEEDS = range(6)


def meet(src, dst, tau):
    dst.met += 1
    tau.links += 1


def report(tau):
    tau.epochs += 1
    tau.met = tau.links
    tau.shown = tau.epochs
    if tau.epochs % 2:
        tau.odd = tau.epochs


class OneClock(Program):
    """One clock an epoch, of one segment."""

    page = Vertex(met=shared("i8"))
    link = Edge("page", "page")
    tau = Context(
        links=total("i8"),
        epochs=value("i8"),
        **{name: metric() for name in ("met", "shown", "odd", "seen")},
    )
    enough: int = param(1000)
    more = ()

    def stages(self):
        return [Exchange(meet), Apply("page"), GlobalSync(report), *self.more]

    def converged(self, metrics):
        return metrics["shown"] >= self.enough


def train(program, *, slack, delivery=0, epochs=7, k=3, **options):
    """Return a team after training."""
    return Team(program, LINKS, k=k, slack=slack, delivery=delivery).train(epochs, **options)


def stalest(team):
    return max(record["max_staleness"] for records in team.records for record in records)


@pytest.mark.parametrize("slack", [1, 3])
def test_one_clock_an_epoch_may_be_as_stale_as_the_slack(slack):
    assert max(stalest(train(OneClock(), slack=slack, delivery=seed)) for seed in SEEDS) == slack


def test_a_record_has_the_metrics_of_its_epoch():
    for seed in SEEDS:
        team = train(OneClock(), slack=3, delivery=seed)
        for records in team.records:
            shown = [(r["epoch"], r["clock"], r["shown"], r["met"]) for r in records]
            assert shown == [(i, i, i, 7) for i in range(1, 8)]
            assert [r.get("odd") for r in records] == [1, None, 3, None, 5, None, 7]


def test_bytes_of_all_records_are_those_of_the_run():
    team = train(OneClock(), slack=2)
    for worker, records in zip(team.workers, team.records, strict=True):
        assert sum(r["bytes_sent"] for r in records) == sum(worker.total_sent().values())


@pytest.mark.parametrize(("slack", "last"), [(0, 3), (1, 5), (3, 9)])
def test_all_workers_stop_at_one_epoch_whatever_the_order_of_messages(slack, last):
    for seed in SEEDS:
        team = train(OneClock(enough=3), slack=slack, delivery=seed, epochs=20)
        assert [len(records) for records in team.records] == [last] * 3
        assert team.gather("page", "met").sum() == 7 * last


def test_a_run_goes_on_where_an_epoch_alone_seems_to_have_converged():
    """As one that saw nothing new of others may."""

    class Once(OneClock):
        def converged(self, metrics):
            return metrics["shown"] in (3, 4)

    team = train(Once(), slack=2)
    assert [len(records) for records in team.records] == [7] * 3


def test_pagerank_with_slack_ends_with_the_ranks_of_one_worker():
    exact = train(PageRank(), slack=0, k=1, epochs=300)
    for seed in range(2):
        team = train(PageRank(), slack=2, delivery=seed, epochs=300)
        assert len(team.records[0]) < 300
        for name in ("rank", "links"):
            ranks = team.gather("page", name), exact.gather("page", name)
            assert np.abs(ranks[0] - ranks[1]).max() < 1e-9


class Judged(OneClock):
    """An evaluation that counts what all masters hold."""

    def evaluate(self):
        def count(page, tau):
            tau.links += page.met

        def show(tau):
            tau.seen = tau.links

        return [GlobalSync(show, aggregate=count, over="page")]


@pytest.mark.parametrize("slack", [0, 2])
def test_an_evaluation_sees_all_of_its_epoch_and_nothing_later(slack):
    for seed in SEEDS:
        team = train(Judged(), slack=slack, delivery=seed, every=3)
        seen = [record.get("seen") for record in team.records[0]]
        assert seen == [None, None, 21, None, None, 42, 49]
        assert [record["shown"] for record in team.records[0]] == list(range(1, 8))


def test_epochs_that_are_all_evaluated_are_apart():
    team = train(Judged(), slack=3)
    assert stalest(team) == 0


class Monitored(OneClock):
    """A monitored metric that the stages set."""

    monitor = "shown"


def test_the_best_epoch_is_known_at_its_end():
    team = train(Monitored(), slack=3, keep_best=True)
    assert stalest(team) == 0 and team.gather("page", "met").sum() == 7


@pytest.mark.parametrize("slack", [0, 3])
def test_the_best_epoch_is_told_where_nothing_is_kept(slack):
    team = train(Monitored(), slack=slack)
    assert [(each.best_epoch, each.best) for each in team.trainings] == [(1, 1.0)] * 3


def draw(src, dst, rng):
    dst.sum += rng.below(1000)


class Drawing(Program):
    """Random numbers, which depend on the epoch, and blocks in a random order."""

    page = Vertex(sum=shared("i8"))
    link = Edge("page", "page")

    def stages(self):
        return [Exchange(draw), Apply("page"), MiniBatch(Exchange(draw), Apply("page"), vertices=2)]


def test_a_clock_sees_the_epoch_that_it_belongs_to():
    exact = train(Drawing(), slack=0).gather("page", "sum").tolist()
    for seed in SEEDS:
        assert train(Drawing(), slack=3, delivery=seed).gather("page", "sum").tolist() == exact


def test_a_barrier_keeps_epochs_apart():
    class Apart(OneClock):
        more = (Barrier(),)

    assert max(stalest(train(Apart(), slack=3, delivery=seed)) for seed in SEEDS) == 0


class Rotating(Program):
    """Blocks that workers go round, in another order each epoch."""

    page = Vertex(met=shared("i8"))
    link = Edge("page", "page")

    def stages(self):
        batch = Exchange(meet_one), Apply("page")
        return [MiniBatch(*batch, vertices=2, order="rotated", over="dst")]


def meet_one(src, dst):
    dst.met += 1


def test_blocks_that_rotate_begin_an_epoch_when_all_are_finished():
    worker = Team(Rotating(), LINKS, k=2, slack=1).workers[0]
    schedule = Schedule(worker.prepare(worker.program.stages()))
    orders = [task.order.waits for number in range(2) for task in schedule.clocks(number)]
    half = len(orders) // 2
    assert orders == [False] * half + [True] + [False] * (half - 1)


@pytest.mark.parametrize("slack", [0, 2])
def test_a_state_at_the_end_of_an_epoch_is_that_of_all_its_clocks(slack):
    every = CheckpointInterval(epochs=2)
    expected = run(ExactMeetings, k=2, slack=slack, seed=1, epochs=5)[0]
    bits, _, keeper = run(ExactMeetings, k=2, slack=slack, seed=2, epochs=5, every=every)
    assert bits == expected
    assert [(head.epoch, head.turns) for head, _ in keeper.kept] == [(2, 0), (4, 0), (5, 0)]
    for _, states in keeper.kept[:2]:
        went_on, records, _ = run(ExactMeetings, k=2, slack=slack, seed=3, epochs=5, states=states)
        assert went_on == expected and len(records[0]) == 5 - states[0].head.epoch


def test_without_a_bound_a_worker_is_at_most_an_epoch_ahead():
    """An epoch has two clocks; so no more than three before a clock are not finished."""

    class TwoClocks(OneClock):
        def stages(self):
            first = MiniBatch(Exchange(meet_one), Apply("page"), over="dst")
            return [first, *super().stages()]

    most = set()
    for seed in SEEDS:
        team = train(TwoClocks(), slack="inf", delivery=seed)
        assert [record["shown"] for record in team.records[1]] == list(range(1, 8))
        assert team.gather("page", "met").sum() == 2 * 7 * 7
        most.add(stalest(team))
    assert max(most) == 3


def test_without_a_bound_all_workers_stop_at_one_epoch():
    for seed in SEEDS:
        team = train(OneClock(enough=3), slack="inf", delivery=seed, epochs=20)
        assert [len(records) for records in team.records] == [5] * 3


@pytest.mark.parametrize("make", [ExactMeetings, RandomWalks])
def test_without_a_bound_each_effect_counts_once(make):
    expected = run(make, k=2, slack=0, seed=1, epochs=3)[0]
    every = CheckpointInterval(seconds=0.2)
    bits, _, keeper = run(make, k=2, slack="inf", seed=2, epochs=3, every=every)
    assert make is RandomWalks or bits == expected
    assert keeper.kept[-1][0].epoch == 3


def test_metrics_are_kept_for_no_longer_than_their_epoch_is_not_told(monkeypatch):
    kept = []

    class Watched(ClockLoop):
        def run(self):
            for ended in super().run():
                kept.append(len(self._metrics))
                yield ended

    monkeypatch.setattr("tux.engine.worker.ClockLoop", Watched)
    train(OneClock(), slack=1, epochs=30)
    assert max(kept) <= 2
