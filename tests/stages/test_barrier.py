"""Barrier: what stands behind it sees all that was before it, and what comes after it sees all
that it has done, whatever the slack.
"""

import numpy as np
import pytest
from support.machines.team import Team
from support.programs.programs import Spy, complete

from tux import Context, Edge, Program, Vertex, shared, value
from tux.arrays.networks import from_arrays
from tux.stages import Apply, Barrier, Exchange, MiniBatch

USERS, ITEMS, EPOCHS = 24, 3, 4
BLOCKS = 6


def bump(user, item):
    """Raise the counter of the edge's item by one."""
    item.n += 1


def stamp(item):
    """Note on the master what all workers have counted."""
    item.seen = item.n


class CounterBlocks(Program):
    """Blocks raise counters of items; behind them stand stages that read the counters and write
    what the next blocks read.
    """

    user = Vertex()
    item = Vertex(n=shared("i8"), seen=value("i8"))
    link = Edge("user", "item")
    tau = Context()

    def __init__(self, barrier=True):
        super().__init__()
        self.barrier, self.events = barrier, []

    def note(self, what):
        """Return a stage that notes, with the worker and its rows of items by id: the counters, and
        what the masters have noted.
        """

        def see(worker, block):
            rows = {name: worker.tables["item"].arrays[name].tolist() for name in ("n", "seen")}
            self.events.append((worker.rank, what, rows["n"], rows["seen"]))

        return Spy(see)

    def stages(self):
        blocks = MiniBatch(
            self.note("block"), Exchange(bump, over="user"), Apply("item"), vertices=USERS // BLOCKS
        )
        behind = [self.note("begin"), Apply("item", stamp), self.note("end")]
        return [blocks, *([Barrier()] if self.barrier else []), *behind]


def collect_events(k, slack, delivery, barrier=True):
    """Return what each worker has seen, in its order. Every worker holds every item."""
    users, items = (each.ravel() for each in np.meshgrid(np.arange(USERS), np.arange(ITEMS)))
    edges = from_arrays(users, items, ends=("user", "item"))
    program = CounterBlocks(barrier)
    Team(program, edges, k=k, by=users % k, slack=slack, delivery=delivery).train(EPOCHS)
    return [[event[1:] for event in program.events if event[0] == rank] for rank in range(k)]


def stale_places(events):
    """Return the places in the events of one worker where it has seen something too early or too
    late.
    """
    wrong, epoch, inside = [], 0, False
    for at, (what, n, seen) in enumerate(events):
        if what == "block":
            right = not inside and seen == [USERS * epoch] * ITEMS and min(n) >= USERS * epoch
        elif what == "begin":
            epoch, inside = epoch + 1, True
            right = n == [USERS * epoch] * ITEMS
        else:
            inside, right = False, n == seen == [USERS * epoch] * ITEMS
        if not right:
            wrong.append(at)
    return wrong


@pytest.mark.slow(after=4)
@pytest.mark.parametrize("slack", [0, 1, 3, 9])
@pytest.mark.parametrize("k", [2, 3])
def test_all_before_and_nothing_beside(k, slack):
    for delivery in range(4):
        for events in collect_events(k, slack, delivery):
            assert [what for what, *_ in events] == [*["block"] * BLOCKS, "begin", "end"] * EPOCHS
            assert stale_places(events) == []


def test_without_it_slack_is_seen():
    """Else the test above could not fail."""
    assert all(stale_places(events) == [] for events in collect_events(2, 0, 0, barrier=False))
    assert any(
        stale_places(events)
        for delivery in range(4)
        for events in collect_events(2, 3, delivery, barrier=False)
    )


def test_blocks_before_it_keep_their_slack():
    """A worker that waits for all before each block sees whole blocks of everyone's users; one
    that need not is ahead by its own.
    """

    def count_ahead(slack):
        seen = [
            n
            for delivery in range(3)
            for events in collect_events(3, slack, delivery)
            for what, n, _ in events
            if what == "block"
        ]
        return sum(count % (USERS // BLOCKS) != 0 for n in seen for count in n)

    assert count_ahead(0) == 0 < count_ahead(3)


def test_alone_it_changes_nothing():
    users, items = np.arange(USERS), np.arange(USERS) % ITEMS
    edges = from_arrays(users, items, ends=("user", "item"))
    for barrier in (True, False):
        program = CounterBlocks(barrier)
        worker = complete(program, edges, EPOCHS, jit=False)
        assert worker.tables["item"].arrays["seen"].tolist() == [USERS // ITEMS * EPOCHS] * ITEMS
