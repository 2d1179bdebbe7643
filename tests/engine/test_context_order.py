"""The order in which the context's master folds GlobalSyncs whose clocks are beside each other."""

import pytest
from support.machines.team import Team

from tux import Context, Edge, Program, Vertex, metric, shared, total, value
from tux.arrays.networks import from_arrays
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch, Repeat

LINKS = from_arrays([0, 1, 2, 3, 4, 5, 5], [1, 2, 3, 4, 5, 0, 2], ends=("page", "page"))


def meet(src, dst):
    dst.met += 1


def count(page, tau):
    tau.applied += 1


def begin(tau):
    tau.order = tau.order * 2 + 1


def end(tau):
    tau.order *= 2
    tau.shown = tau.order
    tau.pages = tau.applied


class BeginEnd(Program):
    """A GlobalSync that is sent with an Apply which adds to the context, and one that is not."""

    page = Vertex(met=shared("i8"))
    link = Edge("page", "page")
    tau = Context(applied=total("i8"), order=value("i8"), shown=metric(), pages=metric())

    def stages(self):
        batch = MiniBatch(Exchange(meet), Apply("page"), over="dst")
        return [GlobalSync(begin), batch, Exchange(meet), Apply("page", count), GlobalSync(end)]


@pytest.mark.parametrize("slack", [1, 4, "inf"])
def test_a_context_that_waits_for_applies_is_folded_before_later_ones(slack):
    for seed in range(20):
        team = Team(BeginEnd(), LINKS, k=3, slack=slack, delivery=seed).train(8)
        orders = [sum(2 << 2 * i for i in range(e)) for e in range(1, 9)]
        for records in team.records:
            assert [r["shown"] for r in records] == orders
            assert [r["pages"] for r in records] == [6] * 8


class CountedBefore(BeginEnd):
    """Applies that add to the context in a repetition, a clock before the GlobalSync that takes
    what they have added.
    """

    def stages(self):
        count_pages = Repeat(Exchange(meet), Apply("page", count), times=2)
        return [count_pages, GlobalSync(end)]


@pytest.mark.parametrize("slack", [0, 1, 4, "inf"])
def test_a_context_waits_for_the_applies_of_earlier_clocks(slack):
    for seed in range(20):
        team = Team(CountedBefore(), LINKS, k=3, slack=slack, delivery=seed).train(4)
        assert [r["pages"] for r in team.records[0]] == [12] * 4


def add_met(page, tau):
    tau.meetings += page.met


def show(tau):
    tau.all_met = tau.meetings


class Aggregating(Program):
    """A GlobalSync that aggregates what the Apply next to it folds."""

    page = Vertex(met=shared("i8"))
    link = Edge("page", "page")
    tau = Context(meetings=total("i8"), all_met=metric())

    def stages(self):
        return [Exchange(meet), Apply("page"), GlobalSync(show, aggregate=add_met, over="page")]


@pytest.mark.parametrize("slack", [0, 1, 4, "inf"])
def test_an_aggregate_sees_the_changes_of_its_clock_and_no_later_ones(slack):
    stalest = set()
    for seed in range(20):
        team = Team(Aggregating(), LINKS, k=3, slack=slack, delivery=seed).train(8)
        for records in team.records:
            assert [r["all_met"] for r in records] == [7 * e for e in range(1, 9)]
            stalest.add(max(r["max_staleness"] for r in records))
    assert max(stalest) == (1 if slack == "inf" else slack)
