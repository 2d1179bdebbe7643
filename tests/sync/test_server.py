"""The server's dispatch: which messages are for it alone, and those that belong to no
synchronisation.
"""

import numpy as np
import pytest

from tux.base.errors import Refused
from tux.clock.steps import Fold, Pull
from tux.messages.message import Kind, Message
from tux.messages.payloads import Answer
from tux.rows.table import RowTable
from tux.sync.masters import Masters
from tux.sync.server import Server


class SumFold(Fold):
    """Answers each worker with the sum of what all have sent."""

    table = "item"

    def send(self, clock, block):
        return 0

    def install(self, message):
        pass

    def read(self, server, message):
        return message.arrays[0]

    def serve(self, server, clock, contributions):
        return [[sum(contributions)]] * len(contributions)


class Echo(Pull):
    """Answers each request with itself."""

    table = "item"

    def send(self, clock, block):
        return 0

    def install(self, message):
        pass

    def handle(self, server, message):
        return [Message(Kind.PULL_ANSWER, server.rank, message.source, arrays=message.arrays)]


FOLD, PULL, NEITHER = 0, 1, 2


@pytest.fixture
def server():
    """Return the server of worker 0 of two; `sent` are the messages that it has sent."""
    sent = []
    tables = (RowTable.allocate("tau", {}, 1), RowTable.allocate("tau", {}, 1))
    server = Server(0, 2, {}, tables, sent.append)
    server.syncs, server.sent = [SumFold(), Echo()], sent
    return server


def message(kind, sync_id, source=0, value=1):
    return Message(kind, source, 0, 4, sync_id, [np.array([value])])


@pytest.mark.parametrize(("workers", "compiled"), [(1, 0), (2, 2)])
def test_only_a_server_of_several_workers_compiles_its_loops(workers, compiled, monkeypatch):
    masters = []
    monkeypatch.setattr(Masters, "compile_loops", lambda own: masters.append(own))
    page, here, special = (RowTable.allocate(name, {}, 1) for name in ("page", "tau", "tau"))
    Server(0, workers, {"page": page}, (here, special), print)
    assert len(masters) == compiled


def test_contributions_are_answered_when_all_are_there(server):
    assert server.handle(message(Kind.CONTRIBUTION, FOLD, source=1, value=5))
    assert server.sent == []
    assert server.handle(message(Kind.CONTRIBUTION, FOLD, source=0, value=2))
    assert [
        (each.kind, each.dest, each.clock, each.arrays[0].tolist()) for each in server.sent
    ] == [(Kind.ANSWER, 0, 4, [7]), (Kind.ANSWER, 1, 4, [7])]
    assert server.bytes_sent == {"item": 8}, "what stays on this worker is not counted"


class AnswersInPlace(SumFold):
    """A fold whose answer to the own worker has no message's arrays."""

    def serve(self, server, clock, contributions):
        return [Answer([]), *super().serve(server, clock, contributions)[1:]]


def test_the_own_worker_is_handed_its_answer_as_it_is(server):
    server.syncs[FOLD] = AnswersInPlace()
    for source in (0, 1):
        server.handle(message(Kind.CONTRIBUTION, FOLD, source=source, value=3))
    own, other = server.sent
    assert own.payload == Answer([]) and len(own.arrays) == 0
    assert other.payload is None and other.arrays[0].tolist() == [6]


@pytest.mark.parametrize("kind", [Kind.PULL_REQUEST, Kind.PUSH])
def test_pulls_are_answered_one_by_one(server, kind):
    assert server.handle(message(kind, PULL, source=1))
    assert [(each.kind, each.dest) for each in server.sent] == [(Kind.PULL_ANSWER, 1)]


def test_answers_and_messages_of_other_kinds_are_the_workers(server):
    assert not server.handle(message(Kind.ANSWER, FOLD))
    for kind in (Kind.PULL_ANSWER, Kind.EVAL_ROWS, Kind.MODEL_ROWS, Kind.TAKEN, Kind.CONTROL):
        assert not server.handle(message(kind, NEITHER))
    assert server.sent == []


@pytest.mark.parametrize(
    ("kind", "sync_id"),
    [
        (Kind.CONTRIBUTION, PULL),
        (Kind.TOTALS, PULL),
        (Kind.ANSWER, PULL),
        (Kind.PULL_REQUEST, FOLD),
        (Kind.PUSH, FOLD),
        (Kind.CONTRIBUTION, NEITHER),
        (Kind.ANSWER, NEITHER),
        (Kind.PUSH, 2**32 - 1),
    ],
)
def test_a_message_that_belongs_to_no_synchronisation_is_refused(server, kind, sync_id):
    with pytest.raises(Refused, match=f"a {kind.name} message of worker 1 was refused"):
        server.handle(message(kind, sync_id, source=1))
