"""Messages between machines, as state machines: order, bounds, and what is refused."""

import random

import pytest
from support.messages import message

from tux.parallel_load.algorithm.transfer import (
    PIECE,
    WINDOW,
    MessagePiece,
    PieceReceiver,
    PieceSender,
)


def test_a_message_travels_in_pieces_of_which_few_are_under_way():
    sending, receiving = PieceSender(), PieceReceiver()
    total = 6 * PIECE + 5
    sending.add(0, total)
    first = [sending.next() for _ in range(WINDOW)]
    assert first == [MessagePiece(0, at * PIECE, PIECE, total) for at in range(WINDOW)]
    assert sending.next() is None
    under_way, done = first, []
    while under_way:
        piece = under_way.pop(0)
        done.append(receiving.take(0, piece.number, piece.total, piece.size))
        assert sending.acknowledge(piece.number) == done[-1]
        if piece := sending.next():
            under_way.append(piece)
        assert len(under_way) <= WINDOW
    assert done == [False] * 6 + [True]


def test_the_next_message_follows_without_a_pause():
    sending, receiving = PieceSender(), PieceReceiver()
    sending.add(0, 3)
    sending.add(1, PIECE + 1)
    pieces = [sending.next() for _ in range(3)]
    assert [(each.number, each.size, each.is_last) for each in pieces] == [
        (0, 3, True),
        (1, PIECE, False),
        (1, 1, True),
    ]
    assert sending.next() is None
    taken = [receiving.take(0, each.number, each.total, each.size) for each in pieces]
    assert taken == [sending.acknowledge(each.number) for each in pieces] == [True, False, True]


@pytest.mark.parametrize("number", [0, 1])
def test_an_answer_to_nothing_is_refused(number):
    sending = PieceSender()
    with pytest.raises(ValueError, match=message("no-piece-of-round-is")):
        sending.acknowledge(number)
    sending.add(2, 5)
    sending.next()
    with pytest.raises(ValueError, match=message("no-piece-of-round-is")):
        sending.acknowledge(number)


@pytest.mark.parametrize(
    ("piece", "words"),
    [
        ((1, 5, 5), "one of 0 is next"),
        ((0, 0, 1), "0 are left"),
        ((0, -1, 1), "has -1 bytes"),
        ((0, 5, 4), "5 are left"),
        ((0, 5, 6), "5 are left"),
        ((0, 5, 0), "5 are left"),
        ((0, PIECE + 1, PIECE + 1), "are left"),
    ],
)
def test_a_piece_that_no_loader_sends_is_refused(piece, words):
    with pytest.raises(ValueError, match=words):
        PieceReceiver().take(0, *piece)


def test_a_message_keeps_the_size_that_was_told():
    receiving = PieceReceiver()
    receiving.take(0, 0, PIECE + 9, PIECE)
    with pytest.raises(ValueError, match="and had"):
        receiving.take(0, 0, PIECE + 10, 9)


def test_no_message_is_more_than_a_round_ahead():
    receiving = PieceReceiver()
    assert receiving.take(0, 0, 1, 1)
    assert receiving.take(0, 1, 1, 1)
    with pytest.raises(ValueError, match=message("a-piece-of-round-but", "0")):
        receiving.take(0, 2, 1, 1)
    assert receiving.take(1, 2, 1, 1)


@pytest.mark.parametrize("seed", range(20))
def test_loaders_that_are_fast_and_slow_get_all_in_order(seed):
    """Any order of events: each loader comes to a round when it has all messages of the one before,
    as `FarMailbox` does; nothing is refused, and no more is under way than may be.
    """
    rng = random.Random(seed)
    n, rounds = rng.randint(2, 5), rng.randint(1, 6)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    sending, receiving = ({pair: each() for pair in pairs} for each in (PieceSender, PieceReceiver))
    line = {pair: [] for pair in pairs}  # pieces and answers on their way, in order
    own, complete = [-1] * n, dict.fromkeys(pairs, 0)

    def begin(a):
        own[a] += 1
        for b in range(n):
            if a != b:
                sending[a, b].add(own[a], rng.choice((1, 7, PIECE, 3 * PIECE + 1, 7 * PIECE)))

    for a in range(n):
        begin(a)
    while any(count < rounds for count in complete.values()):
        ready = [
            a
            for a in range(n)
            if own[a] + 1 < rounds and all(complete[b, a] > own[a] for b in range(n) if b != a)
        ]
        if ready and rng.random() < 0.2:
            begin(rng.choice(ready))
        a, b = pair = rng.choice(pairs)
        if (piece := sending[pair].next()) is not None:
            line[pair].append(piece)
        assert sum(isinstance(each, MessagePiece) for each in line[pair]) <= WINDOW
        if line[pair] and rng.random() < 0.5:
            arrived = line[pair].pop(0)
            whole = receiving[pair].take(own[b], arrived.number, arrived.total, arrived.size)
            assert whole == arrived.is_last
            complete[pair] += whole
            sending[pair].acknowledge(arrived.number)
    assert set(complete.values()) == {rounds}
