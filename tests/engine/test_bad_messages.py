"""A member of a job that sends what its program does not send: the receiver refuses it by name,
and raises nothing else.
"""

import numpy as np
import pytest
from support.machines.collecting import model_tables
from support.machines.team import Team, ratings
from support.programs.links import UndirectedLinks
from support.programs.programs import random_pairs

from tux import Context, Edge, Program, Vertex, data, delta, shared, total, value
from tux.arrays.networks import from_arrays
from tux.engine.model_shares import ModelAnswer, ModelShare
from tux.graph.local import LocalGraph as LocalGraph
from tux.messages.message import BadMessage, Kind, Message
from tux.stages import Apply, Exchange, Generate, GlobalSync, MiniBatch

K = 2


def rate(user, item, rating, tau):
    user.x += rating.value
    item.n += 1
    item.w[0] += 1
    tau.seen += 1


def settle(item):
    item.m = item.n


def count(tau):
    tau.all = tau.seen


class BlocksOfUsers(Program):
    """Blocks of users, the items that they touch, a mean, and the context."""

    user = Vertex(x=shared("f4"))
    item = Vertex(n=delta("i8"), m=value("i8"), w=shared("f4", 2, combine="mean"))
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(seen=total(), all=value("f8"))

    def stages(self):
        batch = MiniBatch(
            Exchange(rate), Apply("item", settle), Apply("user"), vertices=4, over="user"
        )
        return [batch, GlobalSync(count)]


def go(start, path, topology):
    path[0] = start
    lo, hi = topology.bounds[start], topology.bounds[start + 1]
    if lo < hi:
        path[1] = topology.ends[lo]


def visit(path):
    for i in range(len(path)):
        path[i].page.seen += 1


class PulledPages(Program):
    """Rows that are pulled."""

    input = UndirectedLinks()
    page = Vertex(remote=True, seen=shared("i8"))
    link = Edge("page", "page")

    def stages(self):
        return [MiniBatch(Generate(go, visit, "page", path=2), vertices=7)]


RATED = ratings()
LINKS = from_arrays(*random_pairs(20, 20, 40, seed=3), ends=("page", "page"))


def team(kind):
    if kind.name.startswith("P"):  # PULL_REQUEST, PULL_ANSWER, PUSH
        return Team(PulledPages(), LINKS, k=K)
    return Team(BlocksOfUsers(), *RATED, k=K)


def of_first(change):
    def change_first(message):
        first, *rest = message.arrays
        return [message._replace(arrays=[*change(first), *rest])]

    return change_first


WRONG = {
    "no arrays": lambda message: [message._replace(arrays=[])],
    "one more array": lambda message: [message._replace(arrays=[*message.arrays, np.zeros(3)])],
    "first array lacks": of_first(lambda array: []),
    "first array of another type": of_first(lambda array: [array.astype("f8")]),
    "first array longer": of_first(
        lambda array: [np.resize(array, (len(array) + 1, *array.shape[1:]))]
    ),
    "first array of other dimensions": of_first(lambda array: [array[None]]),
    "of no worker": lambda message: [message._replace(source=K)],
    "all of it -1": lambda message: [
        message._replace(
            arrays=[np.full(array.shape, -1).astype(array.dtype) for array in message.arrays],
        )
    ],
}
SYNC = {
    "twice": lambda message: [message, message],
    "of no synchronisation": lambda message: [message._replace(sync_id=99)],
}
ANSWERED = {"of a clock to come": lambda message: [message._replace(clock=message.clock + 99)]}
BY_KIND = {
    Kind.CONTRIBUTION: WRONG | SYNC,
    Kind.ANSWER: WRONG | SYNC | ANSWERED,
    Kind.PULL_REQUEST: WRONG | SYNC,
    Kind.PULL_ANSWER: WRONG | SYNC | ANSWERED,
    Kind.PUSH: {name: WRONG[name] for name in WRONG if name != "all of it -1"} | SYNC,
    Kind.EVAL_ROWS: {name: WRONG[name] for name in WRONG if name != "all of it -1"},
}


@pytest.mark.slow(after=20)
@pytest.mark.parametrize(
    ("kind", "how"), [(kind, how) for kind, wrong in BY_KIND.items() for how in wrong]
)
def test_a_running_member_refuses_it_by_name(kind, how):
    made, changed = team(kind), []

    def send(message):
        is_first = message.kind is kind and (message.source, message.dest) == (1, 0)
        if is_first and not changed:
            changed.extend(BY_KIND[kind][how](message))
            for each in changed:
                # in the channel of worker 1, whatever it says of its source
                made.cluster.channels.setdefault((1, 0), type(queue)()).append(each)
        else:
            original(message)

    original, queue = made.cluster.send, made.workers[0].inbox
    made.cluster.send = send
    with pytest.raises(BadMessage) as error:
        made.train(2)
    assert changed and error.value.source == changed[0].source
    assert error.value.what.startswith(f"a {kind.name} message of worker {changed[0].source} was")


def test_totals_come_from_the_own_worker_alone():
    made = team(Kind.TOTALS)
    made.train(1)
    sync = next(sync for sync in made.workers[0].syncs if sync.table == "tau")
    sent = Message(Kind.TOTALS, 1, 0, 99, sync.sync_id, [])
    with pytest.raises(BadMessage, match="TOTALS message of worker 1"):
        made.workers[0].server.handle(sent)
    own = sent._replace(source=0)
    with pytest.raises(BadMessage, match="TOTALS message of worker 0 was refused: an array"):
        made.workers[0].server.handle(own)


def test_only_worker_0_folds_the_context():
    made = team(Kind.TOTALS)
    made.train(1)
    sync = next(sync for sync in made.workers[1].syncs if sync.table == "tau")
    with pytest.raises(BadMessage, match="the context's master is on worker 0"):
        made.workers[1].server.handle(Message(Kind.CONTRIBUTION, 0, 1, 99, sync.sync_id, []))


@pytest.fixture(scope="module")
def shares():
    """Return what both workers of a run answer when all of their items are asked for."""
    made = Team(BlocksOfUsers(), RATED[0], k=K)
    made.train(1)
    items = len(RATED[0].ids["item"])
    return [
        message for each in made.workers for message in ModelShare(each).messages(1, 0, items, K)
    ]


def answer(first=0, end=None):
    """Return what takes the answers about a range of items, of all if no range is named."""
    tables = model_tables(BlocksOfUsers(), RATED[0])
    return ModelAnswer(tables, 1, first, tables.sizes["item"] if end is None else end, K)


def test_a_vertex_of_the_model_comes_once(shares):
    receiver = answer()
    again = shares[0]._replace(clock=0)
    assert [each.clock for each in shares] == [1, 1] and not receiver.install(again)
    for source in (0, 1):
        with pytest.raises(BadMessage, match=f"worker {source} was refused: a item of it is here"):
            receiver.install(again._replace(source=source))


def test_a_vertex_that_is_on_no_worker_is_missed(shares):
    receiver = answer()
    ids, *rest = shares[0].arrays
    receiver.install(shares[0]._replace(arrays=[ids[1:], *(each[1:] for each in rest)]))
    with pytest.raises(BadMessage, match=f"item {ids[0]} of the model is on no worker"):
        receiver.install(shares[1])


def test_a_worker_answers_once_and_only_what_was_asked(shares):
    receiver = answer()
    receiver.install(shares[0])
    with pytest.raises(BadMessage, match="the worker has answered already"):
        receiver.install(shares[0])
    with pytest.raises(BadMessage, match="nobody asks for it"):
        receiver.install(shares[1]._replace(sync_id=0))
    with pytest.raises(BadMessage, match="neither the last one nor another"):
        receiver.install(shares[1]._replace(clock=2))
    with pytest.raises(BadMessage, match="not among those that were asked for"):
        answer(1, 2).install(shares[0])
    assert receiver.install(shares[1])


def test_a_refused_part_changes_nothing(shares):
    ids, *rest = shares[0].arrays
    receiver = answer()
    for wrong in (ids - ids.max() - 1, ids + 1000, np.full_like(ids, ids[0])):
        with pytest.raises(BadMessage, match="a dense index"):
            receiver.install(shares[0]._replace(arrays=[wrong, *rest]))
    assert [receiver.install(each) for each in shares] == [False, True]
