"""Segments of a clock: the second runs when the answers to the first are installed, and first
segments of later clocks may run in between.
"""

import pytest
from support.machines.team import BY, SMALL, train_team
from support.programs.programs import Spy

from tux import Context, Edge, Program, Vertex, delta, master, mirror, total, value
from tux.stages import Apply, Exchange, ForEach, GlobalSync, MiniBatch, Repeat


def count_item(item):
    item.n += 1


def keep_degree(item):
    item.degree = item.n


def pass_on(user, item):
    user.sum += item.degree


def keep_sum(user):
    user.total += user.sum


class Relay(Program):
    """Each user's sum of its items' degrees: the second Exchange of a block needs what its first
    Apply has made.
    """

    user = Vertex(sum=delta("i8"), total=value("i8"))
    item = Vertex(n=delta("i8"), degree=value("i8"))
    link = Edge("user", "item")

    def __init__(self):
        super().__init__()
        self.seen = []  # (worker, block, segment)

    def noting(self, segment):
        return Spy(lambda worker, block: self.seen.append((worker.rank, block.number, segment)))

    def stages(self):
        first = [
            self.noting("first"),
            Exchange(count_item, over="item"),
            Apply("item", keep_degree),
        ]
        second = [self.noting("second"), Exchange(pass_on, over="item"), Apply("user", keep_sum)]
        return [MiniBatch(*first, *second, vertices=1, order="fixed")]


@pytest.mark.parametrize("slack", [0, 2])
@pytest.mark.parametrize("by", ["random", "bicut", BY])
def test_a_second_exchange_sees_what_the_apply_before_it_has_made(slack, by):
    for delivery in range(4):
        team = train_team(Relay(), SMALL, 1, k=2, by=by, slack=slack, delivery=delivery)
        assert team.gather("item", "degree").tolist() == [1, 2, 2, 0]
        assert team.gather("user", "total").tolist() == [3, 4, 2, 0]
        for rank in range(2):
            order = [
                (block, segment) for worker, block, segment in team.program.seen if worker == rank
            ]
            firsts = [block for block, segment in order if segment == "first"]
            assert (
                firsts == [0, 1, 2, 3] == [block for block, segment in order if segment == "second"]
            )
            for block in range(4):
                assert all(
                    (done, "second") in order[: order.index((block, "first"))]
                    for done in range(block - slack)
                ), "SSP"
            if slack == 0:
                assert order == [
                    (block, segment) for block in range(4) for segment in ("first", "second")
                ]


def test_first_segments_of_later_blocks_run_before_an_earlier_blocks_second():
    overtook = set()
    for delivery in range(5):
        seen = train_team(Relay(), SMALL, 1, by=BY, slack=2, delivery=delivery).program.seen
        for rank in range(2):
            mine = [(block, segment) for worker, block, segment in seen if worker == rank]
            overtook |= {
                later
                for later in (1, 2, 3)
                if mine.index((later, "first")) < mine.index((0, "second"))
            }
    assert overtook == {1, 2}


def go_ahead(user, tau):
    user.here = user.there + 1
    tau.n += user.here


def note(tau):
    tau.noted = tau.n


def follow(user):
    user.there = user.here


def look(user):
    user.seen = user.there


class Steps(Program):
    """In each of five repetitions, the second visit to a user follows the first."""

    user = Vertex(here=mirror("i4"), there=mirror("i4"), seen=mirror("i4"))
    item = Vertex()
    link = Edge("user", "item")
    tau = Context(n=total(), noted=value("f8"))

    def stages(self):
        steps = [ForEach("user", go_ahead), GlobalSync(note), ForEach("user", follow)]
        looking = MiniBatch(ForEach("user", look), over="user", vertices=1)
        return [Repeat(*steps, times=5), looking]


@pytest.mark.parametrize("slack", [0, 1, 3])
def test_repetitions_and_what_follows_them_keep_the_order_of_the_program(slack):
    for delivery in range(4):
        team = train_team(Steps(), SMALL, 1, by=BY, slack=slack, delivery=delivery, k=2)
        for worker in team.workers:
            users = worker.tables["user"].arrays
            assert set(users["there"].tolist()) == {5} == set(users["seen"].tolist())


def double(item):
    item.x = 2 * item.x


def note_nothing(tau):
    tau.noted += 1


def add_one(item):
    item.x += 1


class DoublingMasters(Program):
    """In each of five repetitions, masters double a number and then add 1 to it."""

    user = Vertex()
    item = Vertex(x=master("i8"))
    link = Edge("user", "item")
    tau = Context(noted=value("f8"))

    def stages(self):
        steps = [Apply("item", double), GlobalSync(note_nothing), Apply("item", add_one)]
        return [Repeat(*steps, times=5)]


@pytest.mark.parametrize("slack", [0, 1, 4])
def test_masters_keep_the_order_of_the_program(slack):
    for delivery in range(4):
        team = train_team(DoublingMasters(), SMALL, 1, by=BY, slack=slack, delivery=delivery, k=2)
        assert set(team.gather("item", "x")[:3].tolist()) == {31}
