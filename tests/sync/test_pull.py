"""The masters' side of pulls: what is answered when, and messages that cannot be."""

import numpy as np
import pytest
from support.messages import message

from tux.messages.message import BadMessage, Kind, Message
from tux.messages.pull_payloads import FieldRows, PullAnswer, PullRequest, Push
from tux.sync.pull import PullServer, UnackedChanges
from tux.sync.pulled_rows import tabulate


def rows(*numbers, count=None):
    numbers = np.array(numbers, np.int32)
    return FieldRows(numbers, np.array([len(numbers) if count is None else count], np.int32))


def server(workers=1, coded=False):
    """Return three masters with a field of width 2."""
    return PullServer([np.zeros((3, 2), np.float32)], 3, workers, [coded])


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def test_a_request_is_answered_when_enough_steps_are_folded():
    masters = server(workers=2)
    for worker in (0, 1):
        (reply,) = masters.pull(worker, 0, PullRequest(0, 0, rows(worker, 2)))
        assert (reply.worker, reply.answer.folded) == (worker, 0)
    assert masters.pull(0, 7, PullRequest(1, 1, rows(2))) == []
    assert masters.push(1, Push(0, rows(1, 2), [ones(2, 2)])) == []
    (reply,) = masters.push(0, Push(0, rows(0, 2), [ones(2, 2)]))
    assert (reply.worker, reply.clock, reply.answer.step, reply.answer.folded) == (0, 7, 1, 1)
    assert reply.answer.values[0].tolist() == [[2, 2]]


def test_a_field_has_the_first_rows_alone():
    masters = PullServer([np.zeros((3, 2)), np.zeros((3, 1))], 3, 1)
    two = FieldRows(np.array([2, 0], np.int32), np.array([1, 2], np.int32))
    masters.push(0, Push(0, two, [ones(1, 2, dtype=float), ones(2, 1, dtype=float)]))
    assert masters.fields[0].tolist() == [[0, 0], [0, 0], [1, 1]]
    (reply,) = masters.pull(0, 0, PullRequest(1, 1, two))
    assert [each.tolist() for each in reply.answer.values] == [[[1, 1]], [[1], [1]]]


def test_what_is_pushed_need_not_be_what_was_pulled():
    """Changes that a worker has kept go with those of a later step."""
    masters = server()
    masters.pull(0, 0, PullRequest(0, 0, rows(0, 1)))
    masters.push(0, Push(0, rows(), [ones(0, 2)]))
    masters.pull(0, 0, PullRequest(1, 1, rows(2)))
    masters.push(0, Push(1, rows(1, 2), [ones(2, 2)]))
    assert masters.fields[0].tolist() == [[0, 0], [1, 1], [1, 1]]


WRONG = {
    "none": [],
    "too few": [ones(1, 2)],
    "narrow": [ones(2, 1)],
    "wide": [ones(2, 3)],
    "flat": [ones(4)],
    "other type": [ones(2, 2, dtype=np.float64)],
    "too many fields": [ones(2, 2), ones(2, 2)],
}


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_changes_that_do_not_fit_their_rows_are_refused(changes, coded):
    """The fold of changes checks no bounds."""
    masters = server(coded=coded)
    with pytest.raises(ValueError, match="arrays for|its values are"):
        masters.push(0, Push(0, rows(0, 1), changes))
    assert not masters.fields[0].any() and masters.folded == 0


def test_what_is_written_is_read():
    two = FieldRows(np.array([2, 0], np.int32), np.array([1, 2], np.int32))
    sent = Message(Kind.PULL_ANSWER, 1, 0, arrays=PullAnswer(3, 2, [ones(1, 2)]).arrays())
    answer = PullAnswer.read(sent, [ones(3, 2)], {3: [1]})
    assert answer[:2] == (3, 2) and answer.values[0].shape == (1, 2)
    sent = Message(Kind.PUSH, 1, 0, arrays=Push(3, two, [ones(1, 2)]).arrays())
    push = Push.read(sent, 2)
    assert push.step == 3 and push.rows.numbers.tolist() == [2, 0] and len(push.changes) == 1
    wrong = [(np.array([1.0, 2]), "not numbers of rows"), (rows(3, count=-1).counts, "by field")]
    for counts, why in wrong:
        with pytest.raises(BadMessage, match=why):
            Push.read(sent._replace(arrays=[sent.arrays[0], counts, *sent.arrays[2:]]), 1)
    sent = Message(Kind.PULL_REQUEST, 1, 0, arrays=[*PullRequest(3, 1, two).arrays(), ones(1)])
    with pytest.raises(BadMessage, match="arrays behind its rows"):
        PullRequest.read(sent, 2)


def test_requests_that_cannot_be_are_refused():
    masters = server()
    for strange in ((3,), (-1,), (0, 1, 0), (2, 2)):
        with pytest.raises(ValueError, match=message("it-pulls-a-row-that")):
            masters.pull(0, 0, PullRequest(0, 0, rows(*strange)))
        with pytest.raises(ValueError, match=message("it-pushes-a-row-that")):
            masters.push(0, Push(0, rows(*strange), [ones(len(strange), 2)]))
    masters.pull(0, 0, PullRequest(1, 0, rows(2, 0, 1)))
    for step in (0, 1):
        with pytest.raises(ValueError, match=message("it-pulls-for-step-and", f"{step}", "1")):
            masters.pull(0, 0, PullRequest(step, 0, rows(0)))
    with pytest.raises(ValueError, match=message("it-pushes-for-step-what", "1", "0")):
        masters.push(0, Push(1, rows(0), [ones(1, 2)]))


def test_own_changes_that_no_answer_covers_are_added():
    """Of servers 0 and 1, the first has folded step 0, the second nothing."""
    unacked, pulled_rows = UnackedChanges(), tabulate(np.array([0, 1], np.int32))
    at = [[np.array(each, np.int32) for each in ids] for ids in (([0], [1]), ([0], [2]))]
    for step, ids in enumerate(at):
        unacked.note(step, ids, [[ones(1, 1)], [ones(1, 1)]])
    pulled = np.zeros((2, 1), np.float32)
    assert unacked.forget([1, 0])
    unacked.add_to(0, pulled, pulled_rows, step=2, folded=[1, 0])
    assert pulled.tolist() == [[1], [1]]
    again = np.zeros((2, 1), np.float32)
    unacked.add_to(0, again, pulled_rows, step=1, folded=[0, 0])
    assert again.tolist() == [[1], [1]], "changes of step 1 are none of the past"
    assert not unacked.forget([2, 2])
