"""The context of several workers: what Exchange, Apply and aggregation add to it, and what comes
back.
"""

import pytest
from support.machines.team import BY, SMALL, Team, train_team
from support.messages import message

from tux import Context, Edge, Program, Vertex, delta, metric, shared, total, value
from tux.base.errors import TuxError
from tux.stages import Apply, Exchange, GlobalSync


def note_item(item, tau):
    item.sum += item.n
    tau.items += 1


def sum_up(item, tau):
    tau.edges += item.sum


def remember(tau):
    tau.n_items, tau.n_edges = tau.items, tau.edges


def count_here(user, item, tau):
    item.n += 1
    tau.visits += 1


class Census(Program):
    """Counts by every way into the context: Exchange in place, Apply on masters, and aggregation
    over masters.
    """

    user = Vertex()
    item = Vertex(n=delta("i8"), sum=value("i8"))
    link = Edge("user", "item")
    tau = Context(
        visits=shared("i8"),
        items=total("i8"),
        edges=total("i8"),
        n_items=value("i8"),
        n_edges=value("i8"),
        change=metric(),
    )

    def stages(self):
        return [Exchange(count_here), Apply("item", note_item), GlobalSync(remember, sum_up)]


@pytest.mark.parametrize("by", [[0] * 5, BY, [2, 0, 1, 2, 0], [1, 1, 1, 1, 1]], ids=str)
def test_the_context_hears_of_exchange_apply_and_aggregation(by):
    """Items are whole in some and cut in others; item 3, which has no edge, counts too."""
    team = train_team(Census(), SMALL, 3, k=3, by=by, delivery=4)
    for worker in team.workers:
        tau = worker.tau
        assert [tau.visits, tau.n_items, tau.n_edges] == [3 * 5, 4, 3 * 5] and [
            tau.items,
            tau.edges,
        ] == [0, 0]


def use_visits(item, tau):
    item.sum = tau.visits + tau.n_edges


def test_an_apply_on_masters_reads_the_context_that_was_sent_back():
    for by in (BY, [0] * 5):
        team = train_team(Census(), SMALL, 1, by=by, delivery=1).drive(
            lambda worker: Apply("item", use_visits)
        )
        assert team.gather("item", "sum").tolist() == [10] * 4 and team.agrees("item", "sum")


def draw(item, rng):
    item.sum = rng.below(1 << 40)


def test_random_numbers_of_apply_do_not_depend_on_the_cut():
    drawn = []
    for k, by in ((1, [0] * 5), (2, BY), (3, [2, 0, 1, 2, 0])):
        team = Team(Census(), SMALL, k=k, by=by).drive(lambda worker: Apply("item", draw))
        drawn.append(team.gather("item", "sum").tolist())
    assert drawn[0] == drawn[1] == drawn[2] and len(set(drawn[0])) == 4


def test_workers_that_wait_for_ever_are_told():
    team = Team(Census(), SMALL, by=BY)
    stages = [worker.prepare(team.program.stages()) for worker in team.workers]
    with pytest.raises(
        TuxError, match=message("every-worker-waits-and-nothing", "{0: [((0, 0), [1]")
    ):
        team.cluster.finish({0: team.workers[0].execute(stages[0])})
