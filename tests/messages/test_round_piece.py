"""Pieces of messages between loaders: what they carry, and what is refused."""

import numpy as np
import pytest

from tux.messages.message import BadMessage, Kind, Message
from tux.messages.piece import RoundPiece

TOTAL, CONTENT = np.array([9]), np.arange(4, dtype=np.uint8)


def test_a_piece_is_read_as_it_was_sent():
    message = RoundPiece(7, 9, CONTENT).message(3, 5)
    assert (message.kind, message.source, message.dest) == (Kind.PIECE, 3, 5)
    number, total, content = RoundPiece.read(message, 4)
    assert (number, total) == (7, 9)
    np.testing.assert_array_equal(content, CONTENT)


@pytest.mark.parametrize(
    ("arrays", "sync_id"),
    [
        ([], 0),
        ([CONTENT], 0),
        ([TOTAL, CONTENT, CONTENT], 0),
        ([TOTAL, CONTENT[:0]], 0),
        ([TOTAL, np.arange(5, dtype=np.uint8)], 0),
        ([TOTAL, CONTENT.reshape(2, 2)], 0),
        ([TOTAL, CONTENT.view(np.int8)], 0),
        ([TOTAL.astype(np.int32), CONTENT], 0),
        ([np.array([9, 9]), CONTENT], 0),
        ([np.array(9), CONTENT], 0),
        ([TOTAL, CONTENT], 1),
    ],
)
def test_what_is_no_piece_is_refused(arrays, sync_id):
    with pytest.raises(BadMessage, match="worker 3"):
        RoundPiece.read(Message(Kind.PIECE, 3, 5, 7, sync_id, arrays), 4)
