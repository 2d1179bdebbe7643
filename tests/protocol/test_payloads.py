"""Arrays of messages by the names of their fields: they come back as they were, and arrays that
cannot be the payload are refused.
"""

import numpy as np
import pytest

from tux.base.errors import Refused
from tux.protocol.message import Kind, Message
from tux.protocol.payloads import PullAnswer, PullRequest, Push

ROWS = np.array([4, 1], np.int32)
VALUES = [np.ones((2, 3), np.float32), np.zeros((2, 1), np.int64)]


def carrying(kind, arrays):
    return Message(kind, 1, 0, 5, 2, arrays)


def test_what_is_written_is_read():
    request = PullRequest.read(carrying(Kind.PULL_REQUEST, PullRequest(3, 1, ROWS).arrays()))
    assert request[:2] == (3, 1) and request.rows.tolist() == [4, 1]
    answer = PullAnswer.read(carrying(Kind.PULL_ANSWER, PullAnswer(3, 2, VALUES).arrays()))
    assert answer[:2] == (3, 2) and [each.shape for each in answer.values] == [(2, 3), (2, 1)]
    push = Push.read(carrying(Kind.PUSH, Push(3, VALUES).arrays()))
    assert push.step == 3 and [each.dtype for each in push.changes] == [np.float32, np.int64]


@pytest.mark.parametrize(
    ("payload", "arrays"),
    [
        (PullRequest, []),
        (PullRequest, [np.array([3, 1])]),
        (PullRequest, [np.array([3]), ROWS]),
        (PullRequest, [np.array([3.0, 1.0]), ROWS]),
        (PullRequest, [np.array([3, 1]), ROWS, ROWS]),
        (PullRequest, [np.array([3, 1]), ROWS.reshape(2, 1)]),
        (PullRequest, [np.array([3, 1]), ROWS.astype("f4")]),
        (PullAnswer, [np.array([[3, 1]]), *VALUES]),
        (PullAnswer, [np.array([3, 1], np.int32), *VALUES]),
        (Push, VALUES),
    ],
)
def test_arrays_that_cannot_be_the_payload_are_refused(payload, arrays):
    with pytest.raises(Refused, match="message of worker 1 was refused") as error:
        payload.read(carrying(Kind.PULL_REQUEST, arrays))
    assert "\n" not in error.value.what
