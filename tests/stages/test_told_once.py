"""Rows that the edges of a block touch are told in the first pass over it, and kept."""

import numpy as np
import pytest
from support.machines.interrupted import TrainingJob, all_kept, run
from support.machines.team import Team, train_team

from tux import Context, Edge, Program, Vertex, delta, shared, total, value
from tux.arrays.networks import from_arrays
from tux.inputs.load import Inputs
from tux.stages import Apply, Barrier, Exchange, GlobalSync, MiniBatch
from tux.sync import apply as apply_sync

DRAW = np.random.default_rng(0)
USERS, ITEMS = DRAW.integers(0, 40, 300), DRAW.integers(0, 60, 300)
EDGES = from_arrays(USERS, ITEMS, ends=("user", "item"))


def add(user, item):
    item.got += user.id + 1
    item.seen += 1


def take(item, tau):
    item.sum += item.got + tau.fixed
    item.passes += 1


def count(item, tau):
    item.sum += item.got
    tau.n += 1


class BlockSums(Program):
    """Blocks of users add to items."""

    user = Vertex()
    item = Vertex(got=delta("i8"), seen=shared("i8"), sum=value("i8"), passes=value("i8"))
    rating = Edge("user", "item")
    tau = Context(n=total("i8"), fixed=value("i8"))
    order = "shuffled"

    def stages(self):
        return [MiniBatch(Exchange(add), Apply("item", take), vertices=7, order=self.order)]


def expected_sums(epochs):
    sums = np.zeros(len(EDGES.ids["item"]), np.int64)
    np.add.at(sums, EDGES.dst, epochs * (EDGES.src + 1))
    return sums.tolist()


@pytest.mark.long(after=4)
@pytest.mark.parametrize("kept", [0, 4])
@pytest.mark.parametrize("slack", [0, 2])
@pytest.mark.parametrize("order", ["shuffled", "rotated", "pipelined"])
def test_sums_are_right_whatever_is_kept(order, slack, kept, monkeypatch):
    monkeypatch.setattr(apply_sync, "KEPT", kept)
    program = type("Ordered", (BlockSums,), {"order": order})()
    for delivery in range(2):
        team = train_team(program, EDGES, 3, k=3, by="random", slack=slack, delivery=delivery)
        assert team.gather("item", "sum").tolist() == expected_sums(3)
        assert team.agrees("item", "sum") and team.agrees("item", "seen")


def test_a_list_is_sent_in_the_first_epoch_alone():
    team = train_team(BlockSums(), EDGES, 3, k=2)
    first, second, third = team.history("bytes_sent")
    assert second == third < first


def test_after_a_checkpoint_it_is_sent_once_more_and_nothing_else_differs(tmp_path):
    job = TrainingJob(BlockSums(), Inputs(EDGES, None), 3, k=2, jit=False, partitioner="random")
    whole, (kept, _) = run(job), all_kept(job, tmp_path)
    sent = [record["bytes_sent"] for record in whole.records[0]]
    for place in ((1, 0), (1, 3)):
        ended = run(job, files=kept[place], delivery=9)
        again = [record["bytes_sent"] for record in ended.records[0]]
        assert sum(again) > sum(sent[1:])
        assert set(ended.differences(whole.since(1))) <= {"bytes_sent", "bytes_sent_item"}


def test_who_only_reads_the_context_does_not_add_to_it():
    found = []
    for udf in (take, count):
        stages = Exchange(add), Apply("item", udf), GlobalSync()
        team = Team(BlockSums(), EDGES, k=2)
        steps = [worker.prepare(stages) for worker in team.workers]
        found += [each[1].adds_to_context for each in steps]
    assert found == [False, False, True, True]


def take_at_rate(item, tau):
    item.sum += item.got * tau.rate


def next_rate(tau):
    tau.rate *= 10


class Rates(Program):
    """A GlobalSync behind the blocks changes what their Applies read."""

    user, rating = Vertex(), Edge("user", "item")
    item = Vertex(got=delta("i8"), seen=shared("i8"), sum=value("i8"))
    tau = Context(rate=value("i8", init=1))

    def stages(self):
        batch = MiniBatch(Exchange(add), Apply("item", take_at_rate), vertices=7)
        return [Barrier(), batch, GlobalSync(next_rate)]  # else a rate may be an older one


@pytest.mark.slow
@pytest.mark.parametrize("slack", [1, 8])
def test_an_apply_does_not_read_what_a_later_globalsync_sets(slack):
    for delivery in range(12):  # in some, a contribution comes later than the GlobalSync's answer
        team = train_team(Rates(), EDGES, 3, k=3, slack=slack, delivery=delivery)
        assert team.gather("item", "sum").tolist() == [x * 111 for x in expected_sums(1)]
