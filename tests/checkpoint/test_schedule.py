"""The marks that are passed, the time of the launcher's next word, and the files of all workers."""

import random

import pytest
from support.messages import message

from tux.checkpoint.schedule import (
    AHEAD,
    FIRST,
    Allowance,
    CheckpointInterval,
    OneAtATime,
    Pace,
    Word,
)


def test_epochs_need_no_word():
    allowance = Allowance(CheckpointInterval(epochs=3), last=7)
    asked = {
        (mark, epoch): allowance.keeps_state(mark, epoch)
        for mark, epoch in enumerate([None, *range(1, 8)])
    }
    assert [epoch for (_, epoch), wanted in asked.items() if wanted] == [3, 6, 7]
    assert None not in asked.values() and not allowance.reports()


def test_the_end_of_the_last_epoch_needs_no_word():
    allowance = Allowance(CheckpointInterval(seconds=1.0), last=2)
    assert allowance.keeps_state(99, 2) and allowance.keeps_state(99, 1) is None


def test_a_worker_passes_the_marks_of_its_word_and_waits_for_the_next():
    allowance = Allowance(CheckpointInterval(seconds=1.0), last=9)
    assert [allowance.keeps_state(mark, None) for mark in range(FIRST + 1)] == [False] * FIRST + [
        None
    ]
    allowance.take_word(Word(10, keep=False))
    assert [allowance.keeps_state(mark, None) for mark in (FIRST, 9, 10)] == [False, False, None]
    allowance.take_word(Word(10, keep=True))
    assert [allowance.keeps_state(mark, None) for mark in (10, 11)] == [True, None]


def test_a_later_word_takes_no_mark_back():
    allowance = Allowance(CheckpointInterval(seconds=1.0), last=9)
    allowance.take_word(Word(4, keep=True))
    allowance.take_word(Word(9, keep=False))
    assert [allowance.keeps_state(mark, 1) for mark in range(2, 10)] == [
        *(False, False, True, False, False, False, False),
        None,
    ]


def test_a_worker_reports_once_for_each_word():
    allowance = Allowance(CheckpointInterval(seconds=1.0), last=9)

    def reported_marks(marks):
        return [
            mark
            for mark in marks
            if allowance.keeps_state(mark, None) in (False, None) and allowance.reports()
        ]

    assert reported_marks(range(FIRST + 1)) == [FIRST // 2]
    allowance.take_word(Word(12, keep=False))
    assert reported_marks(range(FIRST, 12)) == [7]
    allowance.take_word(Word(100, keep=False))
    assert reported_marks(range(12, 100)) == [56]
    assert reported_marks([100]) == []
    allowance.take_word(Word(100, keep=True))
    assert allowance.keeps_state(100, None) and not allowance.reports()
    assert reported_marks([101]) == [101]


def simulate_marks(every, rates, seconds, latency=lambda: 0.002):
    """Let worker 0 pass `rates(now)` marks a second; it hears each word a `latency` after it has
    asked. Return words, states with their times, and the seconds that it has waited.
    """
    allowance, pace = Allowance(CheckpointInterval(seconds=every), last=10**9), Pace(every, 0.0)
    now, mark, under_way, words, kept, waited = 0.0, 0, None, 0, [], 0.0
    while now < seconds:
        if under_way and now >= under_way[0]:
            allowance.take_word(under_way[1])
            under_way = None
        wanted = allowance.keeps_state(mark, None)
        if allowance.reports():
            under_way, words = (now + latency(), pace.next_word(mark, now)), words + 1
        if wanted is None:
            assert under_way, f"a wait at mark {mark} for a word that nobody has asked for"
            waited, now = waited + under_way[0] - now, under_way[0]
            continue
        if wanted:
            kept.append(now)
        mark, now = mark + 1, now + 1 / rates(now)
    return words, kept, waited


@pytest.mark.parametrize("rate", [0.7, 3, 40, 1000, 20_000])
def test_states_are_kept_when_they_are_due_and_words_are_few(rate):
    seconds = 30.0 if rate < 100 else 8.0
    words, kept, waited = simulate_marks(2.0, lambda now: rate, seconds)
    assert words <= max(rate, 11) * seconds + 20
    assert waited <= 0.02
    late = AHEAD + 3 / rate
    assert len(kept) >= seconds / (2.0 + late) - 2
    assert kept[0] <= 2.0 + late
    assert all(
        abs(after - before - 2.0) <= late for before, after in zip(kept, kept[1:], strict=False)
    )


def test_a_pace_may_change():
    """A thousand marks a second, but for each fifth second, in which there are three."""
    words, kept, waited = simulate_marks(1.0, lambda now: 3 if int(now) % 5 == 4 else 1000, 20.0)
    assert words <= 300 and waited <= 0.1
    assert len(kept) >= 12


def test_a_few_fast_marks_make_no_pace():
    """Two hundred marks a second, but for 20 ms of each half a second, in which there are many."""
    words, kept, waited = simulate_marks(0.6, lambda now: 4000 if now % 0.5 < 0.02 else 200, 20.0)
    assert words <= 400 and waited <= 0.2
    assert all(after - before <= 1.0 for before, after in zip(kept, kept[1:], strict=False))


@pytest.mark.parametrize("seed", range(20))
def test_words_that_come_late_are_always_followed_by_others(seed):
    """However long the launcher takes: else all would wait for ever."""
    rng = random.Random(seed)
    for rate in (3, 40, 400):
        _, kept, _ = simulate_marks(
            1.0, lambda now, rate=rate: rate, 60.0, lambda: rng.expovariate(2.0)
        )
        assert kept


def test_a_mark_is_reported_that_may_be_passed():
    pace = Pace(1.0, 0.0)
    for mark in (0, FIRST + 1):
        with pytest.raises(ValueError, match=message("it-is-at-mark-not")):
            pace.next_word(mark, 0.5)
    assert pace.next_word(1, 0.5) == Word(2, keep=True)
    with pytest.raises(ValueError, match=message("it-is-at-mark-not", "4", "1", "3")):
        pace.next_word(4, 0.6)
    assert pace.next_word(3, 0.6).upto > 3


def test_the_first_worker_at_a_mark_decides_for_all():
    keeping, begun = OneAtATime(3), []

    def begin():
        begun.append(True)
        return len(begun) != 2

    assert [keeping.reach_mark(rank, 5, begin) for rank in (2, 0)] == [True, True]
    assert [keeping.reach_mark(rank, 6, begin) for rank in (2, 0)] == [False, False]  # left out
    assert keeping.reach_mark(1, 5, begin) and not keeping.reach_mark(1, 6, begin)
    assert keeping.left_out == 1 and len(begun) == 1
    assert [keeping.add_outcome(rank, 5, rank) for rank in (1, 0, 2)] == [None, None, [0, 1, 2]]
    assert not keeping.reach_mark(0, 7, begin) and keeping.left_out == 2
    keeping.finish_writing()
    assert not keeping.reach_mark(0, 8, begin) and keeping.left_out == 2  # `begin` has said no
    assert keeping.reach_mark(0, 9, begin)


def test_what_no_worker_may_say():
    keeping = OneAtATime(2)
    keeping.reach_mark(0, 5, lambda: True)
    for wrong in (
        lambda: keeping.reach_mark(0, 5, lambda: True),
        lambda: keeping.add_outcome(0, 4, ""),
        lambda: keeping.add_outcome(1, 5, ""),
    ):
        with pytest.raises(ValueError, match="mark"):
            wrong()
    keeping.add_outcome(0, 5, "")
    with pytest.raises(ValueError, match=message("it-was-not-to-write", "5")):
        keeping.add_outcome(0, 5, "")


MEANINGLESS = ["0", "0s", "-3", "-3s", "+3s", "3x", "s", ".s", "1e9s", "1e9", "5.5", "", "nans"]
MEANINGLESS += ["infs", " 5", "5 s", "1_0", "\u0663", "9" * 10, "9" * 5000 + "s"]


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("5", CheckpointInterval(epochs=5)),
        ("30s", CheckpointInterval(seconds=30.0)),
        ("0.05s", CheckpointInterval(seconds=0.05)),
        (".5s", CheckpointInterval(seconds=0.5)),
        ("2.s", CheckpointInterval(seconds=2.0)),
    ],
)
def test_how_often_states_are_kept_as_text(text, every):
    assert CheckpointInterval.parse(text) == every


def test_text_that_does_not_say_how_often_states_are_kept():
    assert [text for text in MEANINGLESS if CheckpointInterval.parse(text) is not None] == []
