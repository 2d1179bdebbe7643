"""Samples of what workers do: what is counted in them is all that happens, and they stay small."""

import itertools
import math
import threading
from types import SimpleNamespace

import msgspec
import pytest
from support.machines.team import Team, ratings
from support.programs.programs import random_pairs

from tux import Edge, Program, Vertex, delta, value
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.arrays.networks import from_arrays
from tux.base.memory import resident
from tux.engine import timeline
from tux.engine.spans import SPANS
from tux.engine.threads import Threads
from tux.engine.timeline import INTERVAL, KINDS, SAMPLES, Sample, until_next
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.stages import Apply, Exchange, MiniBatch


def count(user, item):
    item.n += 1


def keep(item):
    item.seen += item.n


class ItemDegrees(Program):
    """Degrees of items, in several clocks an epoch."""

    user = Vertex()
    item = Vertex(n=delta("i4"), seen=value("f8"))
    link = Edge("user", "item")

    def stages(self):
        return [MiniBatch(Exchange(count, over="item"), Apply("item", keep), over="item", blocks=4)]


def collect_samples(team, epochs):
    """Train a team, and return the samples of each worker."""
    told = [[] for _ in team.workers]
    for worker, samples in zip(team.workers, told, strict=True):
        worker.timeline.tell_to(samples.append)
    team.train(epochs)
    return told


def total(samples, field):
    """Return the sum of lists of numbers, place by place."""
    return [sum(each) for each in zip(*(getattr(s, field) for s in samples), strict=True)]


@pytest.fixture
def always(monkeypatch):
    """Take a sample after each segment."""
    monkeypatch.setattr(timeline, "until_next", lambda at, elapsed: -1.0)


@pytest.mark.usefixtures("always")
def test_samples_have_all_that_workers_do():
    team = Team(ItemDegrees(), ratings()[0], k=3, slack=1)
    told = collect_samples(team, 3)
    for worker, samples in zip(team.workers, told, strict=True):
        assert len(samples) > 3 * 4
        assert sum(each.edges for each in samples) == worker.edges_visited
        assert sum(total(samples, "sent")) == sum(worker.total_sent().values())
        assert total(samples, "sent")[worker.rank] == 0
        assert sum(total(samples, "stale")) == worker.all_clocks
        assert len(samples[0].stale) == 2
        assert [each.epoch for each in samples] == sorted(each.epoch for each in samples)
        assert samples[-1].epoch == 3 and samples[-1].clock == worker.all_clocks - 1
        for what in ("compute", "send"):
            spent = sum(each.spent.get(what, 0.0) for each in samples)
            assert math.isclose(spent, worker.seconds[what], abs_tol=1e-4)
    assert any(total(samples, "stale")[1] for samples in told)


@pytest.mark.usefixtures("always")
def test_the_first_sample_tells_what_a_worker_holds():
    edges = ratings()[0]
    team = Team(ItemDegrees(), edges, k=3)
    held = [samples[0].held for samples in collect_samples(team, 1)]
    assert sum(each.edges for each in held) == len(edges)
    for name, ids in edges.ids.items():
        assert sum(each.masters[name] for each in held) == len(ids)
        assert sum(each.rows[name] for each in held) >= len(ids)
    assert all(each.process > 0 and each.host and each.threads == 1 for each in held)


@pytest.mark.usefixtures("always")
def test_bytes_of_pulled_rows_have_their_sender():
    left, right = random_pairs(20, 20, 60, seed=1)
    edges = from_arrays(left, right, ends=("node", "node"))
    team = Team(DeepWalk(dimensions=4, num_walks=1, walk_length=4, window=2), edges, k=2)
    told = collect_samples(team, 1)
    for worker, samples in zip(team.workers, told, strict=True):
        pulled = [each for each in samples if each.pulled]
        assert pulled and total(pulled, "pulled")[worker.rank] == 0
        both = sum(total(samples, "sent")) + sum(total(pulled, "pulled"))
        assert both == sum(worker.total_sent().values())


def test_spans_are_kept_in_rings(always, all_threads):
    train, _ = ratings()
    worker = Worker(ItemDegrees(), LocalGraph.whole(ItemDegrees(), train, None, 0), threads=2)
    samples = []
    training = Training(worker)
    for _ in range(2 * SPANS):
        worker.spans.note("compute", 1.0, 2.0)
    training.sample_to(lambda rank, sample: samples.append((rank, sample)))
    [*training.epochs(3)]
    assert {rank for rank, _ in samples} == {0} and all_threads
    lanes = [sample.lanes for _, sample in samples]
    # those before training are not told, and each only once
    spans = [
        lane[i : i + 4] for each in lanes for lane in each.values() for i in range(0, len(lane), 4)
    ]
    assert all(KINDS[kind] in KINDS and ago >= length >= 0 for kind, ago, length, _ in spans)
    assert {name for each in lanes for name in each} >= {"main", "thread 1"}
    for _ in range(2 * SPANS):
        worker.spans.note("compute", math.inf, math.inf)
    assert len(worker.spans.last) == SPANS


def test_samples_of_all_workers_are_of_the_same_moments():
    for at in (1e9, 1e9 + 0.0312, 1e9 + 0.09):
        moment = at + until_next(at, 0.0)
        assert at + INTERVAL / 5 < moment <= at + 1.3 * INTERVAL
        assert math.isclose(moment / INTERVAL, round(moment / INTERVAL), abs_tol=1e-4)


def test_samples_come_by_the_time_since_training_began(monkeypatch):
    seconds, elapsed = itertools.count(1000.0), []
    monkeypatch.setattr(
        timeline, "time", SimpleNamespace(perf_counter=lambda: next(seconds), time=lambda: 0.0)
    )
    monkeypatch.setattr(timeline, "until_next", lambda at, since: elapsed.append(since) or -1.0)
    collect_samples(Team(ItemDegrees(), ratings()[0], k=1), 2)
    assert elapsed == sorted(elapsed) and 0 < elapsed[0] < elapsed[-1] < next(seconds) - 1000.0


def test_samples_become_rarer():
    at, start, count = 1e9, 1e9, 0
    while at < start + 86_400:
        at += until_next(at, at - start)
        count += 1
    assert SAMPLES < count < 10 * SAMPLES


def test_without_a_listener_there_are_no_samples():
    team = Team(ItemDegrees(), ratings()[0], k=2).train(1)
    for worker in team.workers:
        worker.timeline.look()
        worker.timeline.end()


def test_a_sample_comes_back_from_its_bytes():
    sample = Sample(
        1.5, 0.1, 2, 7, {"compute": 0.05}, 10, 1 << 20, [0, 5], lanes={"main": [0, 9, 3, 7]}
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sample), type=Sample) == sample


def test_spans_of_threads():
    threads = Threads(3)
    threads.run(lambda number: None, lambda: None)
    assert {number for number, _, _ in threads.spans} == {1, 2}
    assert all(end >= start > 0 for _, start, end in threads.spans)
    assert threading.active_count() >= 3


def test_memory_of_this_process():
    assert resident() == 0 or resident() > 1 << 20
