"""Stages on masters read no field whose changes are still on the replicas."""

import pytest
from support.machines.team import Team, ratings

from tux import Axpy, Context, Dot, Edge, Program, Vertex, reduction, shared, total, value
from tux.base.errors import ProgramError
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

EDGES, _ = ratings()


def count(user, item):
    item.seen += 1


def collect(v, tau):
    tau.sum += v.seen


def copy(v):
    v.shown = v.seen


def show(tau):
    tau.all = tau.sum


class Seen(Program):
    user = Vertex()
    item = Vertex(seen=shared("f8"), shown=value("f8"))
    rating = Edge("user", "item")
    tau = Context(sum=total(), all=value("f8"), norm=reduction())


class WholeSeen(Seen):
    item = Vertex(whole=True, seen=shared("f8"), shown=value("f8"))


AGGREGATE = GlobalSync(show, aggregate=collect, over="item")
READERS = {
    "an aggregate": AGGREGATE,
    "an Apply that gathers nothing": Apply("item", copy, gather=False),
    "a sum": Dot("item", "seen", "seen", into="norm"),
    "an operator": Axpy("item", "shown", "seen", by=2),
}


def train(kind, *stages):
    """Train a program of these stages on two workers."""
    program = type("Reading", (kind,), {"stages": lambda self: [*stages]})()
    return Team(program, EDGES, by="random" if kind is Seen else "target").train(1)


@pytest.mark.parametrize("name", READERS)
def test_changes_that_wait_for_an_apply_are_not_read(name):
    with pytest.raises(ProgramError, match=r"item\.seen .*, on the masters") as error:
        train(Seen, Exchange(count), READERS[name], Apply("item"))
    assert error.value.do == 'put Apply("item") before it'


def test_a_change_of_the_epoch_before_is_not_read():
    with pytest.raises(ProgramError, match="on the masters"):
        train(Seen, AGGREGATE, MiniBatch(Exchange(count, over="user"), vertices=2))


@pytest.mark.parametrize("name", READERS)
def test_changes_that_an_apply_has_taken_are_read(name):
    train(Seen, Exchange(count), Apply("item"), READERS[name])


def test_changes_of_a_whole_type_are_at_the_masters():
    team = train(WholeSeen, Exchange(count), AGGREGATE)
    assert team.tau.all == len(EDGES)
