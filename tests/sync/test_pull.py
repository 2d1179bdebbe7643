"""The masters' side of pulls: what is answered when, and changes that cannot be those of a
request.
"""

import numpy as np
import pytest
from support.messages import message

from tux.messages.payloads import PullRequest, Push
from tux.sync.pull import PullServer, UnackedChanges
from tux.sync.pulled_rows import tabulate


def rows(*numbers):
    return np.array(numbers, np.int32)


def server(workers=1):
    """Return three masters with a field of width 2."""
    return PullServer([np.zeros((3, 2), np.float32)], 3, workers)


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def test_a_request_is_answered_when_enough_steps_are_folded():
    masters = server(workers=2)
    for worker in (0, 1):
        (reply,) = masters.pull(worker, 0, PullRequest(0, 0, rows(worker, 2)))
        assert (reply.worker, reply.answer.folded) == (worker, 0)
    assert masters.pull(0, 7, PullRequest(1, 1, rows(2))) == []
    assert masters.push(1, Push(0, [ones(2, 2)])) == []
    (reply,) = masters.push(0, Push(0, [ones(2, 2)]))
    assert (reply.worker, reply.clock, reply.answer.step, reply.answer.folded) == (0, 7, 1, 1)
    assert reply.answer.values[0].tolist() == [[2, 2]]


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [ones(1, 2)],
        [ones(2, 1)],
        [ones(2, 3)],
        [ones(4)],
        [ones(2, 2, dtype=np.float64)],
        [ones(2, 2), ones(2, 2)],
    ],
    ids=["none", "too few", "narrow", "wide", "flat", "other type", "too many fields"],
)
def test_changes_that_do_not_fit_their_request_are_refused(changes):
    """The fold of changes checks no bounds."""
    masters = server()
    masters.pull(0, 0, PullRequest(0, 0, rows(0, 1)))
    with pytest.raises(ValueError, match=message("it-pushes-for-step-what", "0")):
        masters.push(0, Push(0, changes))
    assert not masters.fields[0].any() and masters.folded == 0


def test_requests_that_cannot_be_are_refused():
    masters = server()
    for strange in ((3,), (-1,), (0, 1, 0), (2, 2)):
        with pytest.raises(ValueError, match=message("it-pulls-a-row-that")):
            masters.pull(0, 0, PullRequest(0, 0, rows(*strange)))
    masters.pull(0, 0, PullRequest(0, 0, rows(2, 0, 1)))
    for step in (0, 2):
        with pytest.raises(ValueError, match=f"pulls for step {step}, and 1 is next"):
            masters.pull(0, 0, PullRequest(step, 0, rows(0)))
    with pytest.raises(ValueError, match=message("it-pushes-for-step-what")):
        masters.push(0, Push(1, [ones(1, 2)]))


def test_changes_before_the_answer_are_refused():
    """They would be folded, and the rows of the request forgotten."""
    masters = server()
    assert masters.pull(0, 0, PullRequest(0, 0, rows(0)))
    assert masters.pull(0, 0, PullRequest(1, 1, rows(1))) == []
    with pytest.raises(ValueError, match=message("it-pushes-for-step-what", "1")):
        masters.push(0, Push(1, [ones(1, 2)]))
    masters.push(0, Push(0, [ones(1, 2)]))
    masters.push(0, Push(1, [ones(1, 2)]))
    assert masters.folded == 2


def test_own_changes_that_no_answer_covers_are_added():
    """Of servers 0 and 1, the first has folded step 0, the second nothing."""
    unacked, pulled_rows = UnackedChanges(), tabulate(rows(0, 1))
    unacked.note(0, [rows(0), rows(1)], [[ones(1, 1)], [ones(1, 1)]])
    unacked.note(1, [rows(0), rows(2)], [[ones(1, 1)], [ones(1, 1)]])
    pulled = [np.zeros((2, 1), np.float32)]
    unacked.add_to(pulled, pulled_rows, step=2, folded=[1, 0])
    assert pulled[0].tolist() == [[1], [1]]
    again = [np.zeros((2, 1), np.float32)]
    unacked.add_to(again, pulled_rows, step=1, folded=[0, 0])
    assert again[0].tolist() == [[1], [1]], "changes of step 1 are none of the past"
