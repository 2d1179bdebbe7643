"""Behind a mini-batch, GlobalSync sees all that the blocks have done, whatever the slack."""

import numpy as np
import pytest
from support.machines.team import train_team
from support.programs.links import DirectedLinks

from tux import Context, Edge, Program, Vertex, delta, metric, shared, total, value
from tux.arrays.networks import from_arrays
from tux.stages import Apply, Exchange, Generate, GlobalSync, MiniBatch

USERS, ITEMS = np.divmod(np.arange(48), 4)
EDGES = from_arrays(USERS, ITEMS, ends=("user", "item"))


def add(user, item):
    item.got += 1
    user.got += 1


def take(v):
    v.sum += v.got


def measure(user, item, tau):
    tau.n += item.sum


def aggregate(item, tau):
    tau.n += item.sum


def finish(tau):
    tau.all = tau.n


class MeasuredBlocks(Program):
    """Blocks of users add to items; what is measured afterwards depends on `behind`."""

    user = Vertex(got=delta("i8"), sum=value("i8"))
    item = Vertex(got=delta("i8"), sum=value("i8"))
    rating = Edge("user", "item")
    tau = Context(n=total(), all=metric())
    behind = ()

    def stages(self):
        batch = MiniBatch(
            Exchange(add), Apply("item", take), Apply("user", take), over="user", vertices=2
        )
        return [batch, *self.behind, batch]


BEHIND = {
    "an Exchange": (Exchange(measure), GlobalSync(finish)),
    "an aggregate": (GlobalSync(finish, aggregate=aggregate),),
    "both": (Exchange(measure), GlobalSync(finish, aggregate=aggregate)),
}


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("slack", [0, 2, 4])
def test_all_blocks_are_seen(behind, slack):
    made = type("Made", (MeasuredBlocks,), {"behind": BEHIND[behind]})()
    each = {"an Exchange": 48 * 12, "an aggregate": 48, "both": 48 * 12 + 48}[behind]
    for delivery in range(4):
        team = train_team(made, EDGES, 2, k=2, by=USERS % 2, slack=slack, delivery=delivery)
        assert team.history("all") == [each, 3 * each]


@pytest.mark.parametrize("begins", [True, False])
def test_slack_is_for_epochs_and_not_for_set_up(begins):
    batch = MiniBatch(
        Exchange(add), Apply("item", take), Apply("user", take), over="user", vertices=2
    )
    staged = {"setup": [batch], "stages": []} if begins else {"stages": [batch]}
    methods = {name: lambda self, stages=stages: stages for name, stages in staged.items()}
    made = type("Made", (MeasuredBlocks,), methods)()
    stale = max(
        worker.most_stale
        for delivery in range(4)
        for worker in train_team(
            made, EDGES, 1, k=2, by=USERS % 2, slack=3, delivery=delivery
        ).workers
    )
    assert (stale == 0) if begins else (stale > 0)


def neighbours(start, path, topology):
    at = 0
    for i in range(topology.bounds[start], topology.bounds[start + 1]):
        path[at] = topology.ends[i]
        at += 1


def visit(path):
    for i in range(len(path)):
        path[i].page.seen += 1


def count(page, tau):
    tau.n += page.seen


class PageVisits(Program):
    """Counts of the visits of each page, by walks of one step."""

    input = DirectedLinks()
    page = Vertex(remote=True, seen=shared("i8"))
    link = Edge("page", "page")
    tau = Context(n=total(), all=metric())

    def stages(self):
        walks = Generate(neighbours, visit, "page", path=8)
        return [MiniBatch(walks, vertices=3), GlobalSync(finish, aggregate=count)]


@pytest.mark.parametrize("slack", [0, 2, 4])
def test_all_generated_edges_are_seen(slack):
    links = from_arrays(USERS, (USERS + 1 + ITEMS) % 12, ends=("page", "page"))
    for delivery in range(4):
        team = train_team(PageVisits(), links, 2, k=2, slack=slack, delivery=delivery)
        assert team.history("all") == [48, 96]


def copy_sum(user, item):
    user.got += item.sum


def test_a_call_measures_what_it_adds_to_totals_from():
    program = MeasuredBlocks()
    stages = {f: Exchange(f).calls(program, "")[0] for f in (measure, copy_sum)}
    assert stages[measure].measures() == {"item"} and stages[copy_sum].measures() == set()
