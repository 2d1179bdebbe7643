"""The clock and what a master waits for, as state machines: their rules one by one, and against
models that are too simple to be wrong.
"""

import itertools
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tux.clock.clock import Clock, ClockOrder, PendingContributions

BESIDE = ClockOrder(0)


def finish(clock, number, answers=1):
    """Run a clock's only segment and take its answers."""
    clock.end_segment(number, answers)
    for _ in range(answers):
        clock.count_answer(number)


@pytest.mark.parametrize("slack", [0, 1, 4])
def test_slack_turns_start_before_the_first_is_answered(slack):
    clock = Clock(slack)
    for number in range(slack + 1):
        assert clock.may_start(BESIDE) and clock.start(1, BESIDE) == number
        clock.end_segment(number, 2)
    assert not clock.may_start(BESIDE)
    clock.count_answer(0)
    assert not clock.may_start(BESIDE) and clock.finished == 0 and clock.is_unanswered
    clock.count_answer(0)
    assert clock.may_start(BESIDE) and clock.finished == 1 and clock.is_unanswered == (slack > 0)
    assert clock.start(1, BESIDE) == slack + 1
    assert clock.most_stale == slack


def test_a_clock_cannot_start_early():
    clock = Clock(1)
    clock.start(1, BESIDE)
    clock.start(1, BESIDE)
    with pytest.raises(RuntimeError, match="clock 2 started with 0 finished at slack 1"):
        clock.start(1, BESIDE)


def test_answers_out_of_clock_do_not_move_the_prefix():
    clock = Clock(2)
    for number in range(3):
        clock.start(1, BESIDE)
        clock.end_segment(number, 1)
    clock.count_answer(1)
    clock.count_answer(2)
    assert clock.finished == 0 and not clock.may_start(BESIDE) and not clock.idle
    clock.count_answer(0)
    assert clock.finished == 3 and clock.may_start(BESIDE) and clock.idle


def test_a_segment_waits_for_the_answers_to_the_one_before():
    clock = Clock(1)
    clock.start(2, BESIDE)
    assert clock.next_segment() == (0, 0)
    clock.end_segment(0, 2)
    assert clock.next_segment() is None
    clock.start(2, BESIDE)
    assert clock.next_segment() == (1, 0)
    clock.count_answer(0)
    assert clock.next_segment() == (1, 0)
    clock.count_answer(0)
    assert clock.next_segment() == (0, 1), "older clocks go first"
    clock.end_segment(0, 0)
    assert clock.finished == 1 and clock.next_segment() == (1, 0)


def test_a_clock_that_nobody_answers_is_over_when_it_has_run():
    clock = Clock(0)
    assert clock.idle
    clock.start(2, BESIDE)
    assert not clock.idle
    clock.end_segment(0, 0)
    assert not clock.idle and not clock.may_start(BESIDE)
    clock.end_segment(0, 0)
    assert clock.idle and clock.may_start(BESIDE) and clock.most_stale == 0


def test_a_clock_without_segments_is_over_at_once():
    clock = Clock(0)
    assert clock.start(0, BESIDE) == 0 and clock.idle and clock.next_segment() is None
    clock.start(1, BESIDE)
    assert not clock.idle and clock.next_segment() == (1, 0)


def test_an_answer_that_nobody_waits_for_is_refused():
    clock = Clock(0)
    clock.start(2, BESIDE)
    with pytest.raises(RuntimeError, match="clock 0 got an answer that it did not wait for"):
        clock.count_answer(0)
    finish(clock, 0)
    with pytest.raises(RuntimeError):
        clock.count_answer(0)


class ClockModel:
    """All that has ever happened, and rules 1 to 3 said over all of it. A clock: [segments, those
    that ran, answers that are missing, its order].
    """

    def __init__(self, slack):
        self.slack, self.clocks = slack, []

    def is_over(self, number):
        segments, ran, missing, _ = self.clocks[number]
        return ran == segments and missing == 0

    @property
    def count_finished(self):
        return next((t for t in range(len(self.clocks)) if not self.is_over(t)), len(self.clocks))

    def may_start(self, order):
        numbers = range(len(self.clocks))
        before = numbers if order.waits else numbers[: max(0, len(numbers) - self.slack)]
        return all(self.is_over(t) for t in before) and all(
            self.is_over(t)
            or not of.alone
            and (of.visit == order.visit or self.clocks[t][1] == self.clocks[t][0])
            for t, (*_, of) in enumerate(self.clocks)
        )

    def next_segment(self):
        return next(
            (
                (t, ran)
                for t, (segments, ran, missing, _) in enumerate(self.clocks)
                if ran < segments and missing == 0
            ),
            None,
        )


ORDERS = st.builds(
    lambda visit, kind: ClockOrder(visit, kind > 0, kind > 1), st.integers(0, 1), st.integers(0, 2)
)


@given(st.integers(0, 4), st.data())
def test_any_sequence_of_events(slack, data):
    clock, model = Clock(slack), ClockModel(slack)
    for _ in range(data.draw(st.integers(0, 40))):
        missing = [t for t, each in enumerate(model.clocks) if each[2]]
        order = data.draw(ORDERS)
        events = (
            ["start"] * model.may_start(order)
            + ["ran"] * (model.next_segment() is not None)
            + ["answered"] * bool(missing)
        )
        # there always is one: what has not started, run or been answered can
        event = data.draw(st.sampled_from(events))
        if event == "start":
            segments = data.draw(st.integers(0, 3))
            assert clock.start(segments, order) == len(model.clocks)
            model.clocks.append([segments, 0, 0, order])
        elif event == "ran":
            number, _ = model.next_segment()
            answers = data.draw(st.integers(0, 3))
            model.clocks[number][1:3] = model.clocks[number][1] + 1, answers
            clock.end_segment(number, answers)
        else:
            number = data.draw(st.sampled_from(missing))
            model.clocks[number][2] -= 1
            clock.count_answer(number)
        for each in (BESIDE, order, order._replace(visit=1 - order.visit)):
            assert clock.may_start(each) == model.may_start(each)
        assert clock.next_segment() == model.next_segment()
        assert (clock.started, clock.finished) == (len(model.clocks), model.count_finished)
        assert clock.idle == (model.count_finished == len(model.clocks))
        assert clock.started - clock.finished <= slack + 1 and clock.most_stale <= slack


def test_gather_gives_all_in_worker_order_once():
    gather = PendingContributions(3)
    assert gather.add((0, 0), 2, "c") is None
    assert gather.add((1, 0), 2, "later") is None
    assert gather.add((0, 0), 0, "a") is None
    assert gather.missing() == [((0, 0), [1]), ((1, 0), [0, 1])]
    assert gather.add((0, 0), 1, "b") == ["a", "b", "c"]
    assert gather.missing() == [((1, 0), [0, 1])]


@pytest.mark.parametrize("worker", [2, -1])
def test_gather_refuses_who_is_no_worker(worker):
    with pytest.raises(ValueError, match=f"there is no worker {worker}"):
        PendingContributions(2).add((4, 1), worker, "hello")


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("clock", [4, 3])
def test_gather_refuses_a_second_contribution_and_one_that_goes_back(clock, complete):
    gather = PendingContributions(2)
    gather.add((4, 1), 1, "first")
    if complete:
        gather.add((4, 1), 0, "other")
    with pytest.raises(ValueError, match=f"clock {clock}, and worker 1 has contributed to clock 4"):
        gather.add((clock, 1), 1, "again")
    assert gather.add((clock, 0), 1, "another synchronisation") is None


@given(st.integers(1, 4), st.data())
def test_gather_in_any_order(workers, data):
    """In any order of workers and synchronisations; of each, clock by clock."""
    keys = [(number, sync_id) for number in range(3) for sync_id in range(2)]
    turns = data.draw(
        st.permutations([(sync_id, worker) for _, sync_id in keys for worker in range(workers)])
    )
    clocks = defaultdict(itertools.count)
    order = [((next(clocks[turn]), turn[0]), turn[1]) for turn in turns]
    gather, heard, complete = PendingContributions(workers), {key: 0 for key in keys}, []
    for key, worker in order:
        heard[key] += 1
        out = gather.add(key, worker, (key, worker))
        assert (out is not None) == (heard[key] == workers)
        if out is not None:
            assert out == [(key, w) for w in range(workers)]
            complete.append(key)
    assert sorted(complete) == keys and gather.missing() == []
