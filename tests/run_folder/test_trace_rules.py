"""Traces of clocks beside the rules of SSP: right ones pass, from simulated workers that keep
states and go on; each damage of a right one is found, and so are workers that break the rules.
"""

from functools import partial

import numpy as np
import pytest
from support.machines.keeping import ExactMeetings, RandomWalks, run
from support.messages import message
from support.mutants.mutants import MUTANTS
from support.mutants.mutation import CAUGHT

from tux.base.errors import DataError
from tux.checkpoint.schedule import CheckpointInterval
from tux.clock.clock import ENDLESS
from tux.clock.trace import (
    EVENT_NUMBERS,
    HEAD,
    MAGIC,
    RECORD,
    ClockEvent,
    Trace,
    read_trace,
    trace_name,
)
from tux.messages.message import Kind
from tux.run_folder.trace_rules import TraceReplay
from tux.run_folder.traces import TRACES, check_traces

FAULT = message("the-clocks-of-worker-broke")
E = ClockEvent


def trace_run(folder, make, k, slack, *, attempt=1, seed=0, **options):
    """Run k simulated workers that write traces; return the keeper of their states."""

    def ready(worker):
        path = folder / TRACES / trace_name(attempt, worker.rank)
        worker.trace_to(Trace(path, worker.rank, k, worker.most_apart))
        made.append(worker.trace)

    made = []
    try:
        return run(make, k=k, slack=slack, seed=seed, ready=ready, **options)[2]
    finally:
        for each in made:
            each.close()


@pytest.mark.slow(after=16)
@pytest.mark.parametrize("make", [ExactMeetings, RandomWalks])
@pytest.mark.parametrize("slack", [0, 1, 2, ENDLESS])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_right_traces_pass(tmp_path, make, k, slack):
    stalest = 0
    for seed in range(2):
        folder = tmp_path / str(seed)
        trace_run(folder, make, k, slack, seed=seed)
        counts = check_traces(folder)
        assert (counts.starts, counts.workers) == (1, k) and counts.clocks > 3
        assert counts.events == sum(len(each.records) for each in all_traces(folder).values())
        stalest = max(stalest, counts.stalest)
    if slack != ENDLESS:
        assert stalest == (0 if k == 1 else slack)


def all_traces(folder, attempt=1):
    """Return the traces of a start of the workers, by worker."""
    found = [read_trace(path) for path in (folder / TRACES).glob(f"{attempt}-*")]
    return {each.rank: each for each in sorted(found, key=lambda each: each.rank)}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("make", [ExactMeetings, RandomWalks])
@pytest.mark.parametrize("slack", [0, 2])
def test_a_run_goes_on_from_a_kept_clock(tmp_path, make, slack):
    """From some of its checkpoints, those within epochs too, and again from one of these."""
    every = CheckpointInterval.parse("0.05s")
    kept = trace_run(tmp_path, make, 2, slack, every=every).kept
    kept = kept[:: len(kept) // 3]
    for attempt, (_, states) in enumerate(kept, start=2):
        again = trace_run(tmp_path, make, 2, slack, attempt=attempt, states=states, every=every)
    if again.kept:
        trace_run(tmp_path, make, 2, slack, attempt=99, states=again.kept[0][1])
    assert check_traces(tmp_path).starts == len(kept) + 1 + bool(again.kept)


def test_a_run_that_goes_on_from_another_clock_is_found(tmp_path):
    every = CheckpointInterval.parse("1")
    states = trace_run(tmp_path, ExactMeetings, 2, 1, every=every).kept[0][1]
    other = [each._replace(head=lift_clock(each.head)) for each in states]
    trace_run(tmp_path, ExactMeetings, 2, 1, attempt=2, states=other)
    with pytest.raises(DataError, match=FAULT) as caught:
        check_traces(tmp_path)
    assert "states are kept before" in caught.value.what and "2-0.clocks" in caught.value.where


def lift_clock(head):
    """Return the head of a state as if one clock more had ended."""
    head = type(head)(**{name: getattr(head, name) for name in head.__struct_fields__})
    head.all_clocks += 1
    return head


# ---- damages


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """Return the traces of three workers at slack 1, with two Applies and a GlobalSync; states are
    kept.
    """
    folder = tmp_path_factory.mktemp("right")
    trace_run(folder, ExactMeetings, 3, 1, every=CheckpointInterval.parse("1"), epochs=2)
    return all_traces(folder)


@pytest.fixture(scope="module")
def pulling(tmp_path_factory):
    """Return the traces of two workers that pull rows, at slack 1."""
    folder = tmp_path_factory.mktemp("pulling")
    trace_run(folder, RandomWalks, 2, 1, epochs=2)
    return all_traces(folder)


def replay(traces, firsts=(0,)):
    TraceReplay(list(traces.values()), firsts).run()


def change_rows(traces, rank, change):
    """Return the traces with other records of one worker: ``change(rows)`` of a list."""
    rows = [each.copy() for each in traces[rank].records]
    rows = change(rows)
    records = np.array([tuple(row) for row in rows], RECORD)
    return {**traces, rank: traces[rank]._replace(records=records)}


def find(rows, event, nth=3, **fields):
    """Return the place of the nth record of an event with these numbers."""
    found = [
        at
        for at, row in enumerate(rows)
        if row["event"] == event and all(row[name] == each for name, each in fields.items())
    ]
    return found[min(nth, len(found) - 1)]


def remove(rows, at):
    return rows[:at] + rows[at + 1 :]


def double(rows, at):
    return rows[: at + 1] + rows[at:]


def swap_with(event, rows, at):
    """Exchange a record and the next one of an event."""
    other = next(i for i in range(at + 1, len(rows)) if rows[i]["event"] == event)
    rows[at], rows[other] = rows[other], rows[at]
    return rows


def move_before(event, rows, at):
    """Move a record before the last one of an event that is before it."""
    other = next(i for i in reversed(range(at)) if rows[i]["event"] == event)
    rows.insert(other, rows.pop(at))
    return rows


def move_behind(event, rows, at):
    """Move a record behind the next one of an event."""
    other = next(i for i in range(at + 1, len(rows)) if rows[i]["event"] == event)
    rows.insert(other, rows.pop(at))
    return rows


def alter(field, by, rows, at):
    rows[at][field] += by
    return rows


def make_start(rows, at):
    """Return the start of a clock without segments, behind all others."""
    clock = 1 + max(row["clock"] for row in rows[:at] if row["event"] == E.START)
    return np.array([(E.START, 0, 0, 0, 0, 0, clock)], RECORD)[0]


CLOCK, PEER = partial(alter, "clock", 1), partial(alter, "peer", 1)
DAMAGES = {
    "a start is of another clock": (E.START, CLOCK),
    "a start is of an earlier clock": (E.START, partial(alter, "clock", -1)),
    "a start is of another segment": (E.START, partial(alter, "segment", 1)),
    "a clock has a segment more": (E.START, partial(alter, "sync", 1)),
    "more is installed than is told": (E.START, partial(alter, "value", 1)),
    "two starts are exchanged": (E.START, partial(swap_with, E.START)),
    "a start comes before the answers": (E.START, partial(move_before, E.INSTALLED)),
    "a start comes while a segment runs": (E.START, partial(move_before, E.RAN)),
    "a segment runs to its end without a start": (E.RAN, partial(move_before, E.START)),
    "another segment has run": (E.RAN, partial(alter, "segment", 1)),
    "another clock has run": (E.RAN, CLOCK),
    "a message is sent to another worker": (E.SENT, PEER),
    "a message is sent for another clock": (E.SENT, CLOCK),
    "a message is sent for another synchronisation": (E.SENT, partial(alter, "sync", 1)),
    "a message is sent before its segment has run": (E.SENT, partial(move_before, E.RAN)),
    "totals are passed on for another clock": (E.PASSED, CLOCK),
    "a fold takes another worker's twice": (E.FOLDED, PEER),
    "a fold takes that of another clock": (E.FOLDED, CLOCK),
    "a fold takes that of an earlier clock": (E.FOLDED, partial(alter, "clock", -1)),
    "a fold takes that of another synchronisation": (E.FOLDED, partial(alter, "sync", 1)),
    "a fold comes behind the answer": (E.FOLDED, partial(move_behind, E.ANSWERED)),
    "an answer goes to another worker": (E.ANSWERED, PEER),
    "an answer is of another clock": (E.ANSWERED, CLOCK),
    "an answer comes before the last fold": (E.ANSWERED, partial(move_before, E.FOLDED)),
    "an answer of another worker is installed": (E.INSTALLED, PEER),
    "an answer of a later clock is installed": (E.INSTALLED, CLOCK),
    "an answer is installed for another synchronisation": (
        E.INSTALLED,
        partial(alter, "sync", 1),
    ),
    "an answer is installed while a segment runs": (E.INSTALLED, partial(move_before, E.RAN)),
    "another state is kept": (E.KEPT, CLOCK),
    "a pass begins with another clock": (E.PASS, CLOCK),
    "a pass has more slack than the run": (E.PASS, partial(alter, "value", 1)),
    "a pass has another slack than that of others": (E.PASS, partial(alter, "value", -1)),
    "a clock starts after the end": (E.END, lambda rows, at: [*rows, make_start(rows, at)]),
    "the run ends twice": (E.END, double),
    "there is no such event": (E.RAN, partial(alter, "event", 90)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damage_is_found(right, damage):
    event, change = DAMAGES[damage]
    for rank in (0, 1):
        damaged = change_rows(right, rank, lambda rows: change(rows, find(rows, event)))
        with pytest.raises(DataError, match=FAULT):
            replay(damaged)


@pytest.mark.parametrize("event", sorted(EVENT_NUMBERS))
def test_a_number_that_is_not_of_the_event_is_found(right, event):
    for name in set(RECORD.names) - {"event", *EVENT_NUMBERS[event]}:
        damaged = change_rows(
            right, 0, lambda rows, name=name: alter(name, 1, rows, find(rows, event, 0))
        )
        with pytest.raises(DataError, match=f"it has the {name} 1, and needs none"):
            replay(damaged)


def test_files_that_are_not_whole_are_named(tmp_path):
    trace_run(tmp_path, ExactMeetings, 3, 1)
    assert check_traces(tmp_path).lacking == ()
    first, second, third = sorted((tmp_path / TRACES).iterdir())
    first.write_bytes(first.read_bytes()[: first.stat().st_size // 2])
    second.unlink()
    third.write_bytes(b"")
    assert check_traces(tmp_path).lacking == (first.name, second.name, third.name)
    first.write_bytes(b"")
    assert check_traces(tmp_path).lacking == (first.name, third.name)


UNSEEN = (E.KEPT, E.END)
"""Events that say nothing where they are missing: a state need not be used, and a trace without an
end was cut. A state may be kept twice.
"""


@pytest.mark.parametrize("change", [remove, double])
def test_each_record_that_is_missing_or_comes_twice_is_found(right, change):
    replay(right)
    tried = 0
    for rank, trace in right.items():
        for at in range(rank, len(trace.records), 4):
            if trace.records[at]["event"] not in UNSEEN:
                damaged = change_rows(right, rank, lambda rows, at=at: change(rows, at))
                with pytest.raises(DataError, match=FAULT):
                    replay(damaged)
                tried += 1
    assert tried > 50


def test_an_error_names_the_record(right):
    at = find(right[1].records, E.RAN)
    with pytest.raises(
        DataError, match=message("the-clocks-of-worker-broke", "worker 1")
    ) as caught:
        replay(change_rows(right, 1, lambda rows: remove(rows, at)))
    assert f"{right[1].path}, record " in caught.value.where and caught.value.do


@pytest.mark.parametrize(
    ("event", "fields", "change"),
    [
        (E.SENT, {"kind": Kind.PULL_REQUEST}, remove),
        (E.SENT, {"kind": Kind.PULL_REQUEST}, double),
        (E.SENT, {"kind": Kind.PUSH}, remove),
        (E.SENT, {"kind": Kind.PUSH}, double),
        (E.FOLDED, {"kind": Kind.PUSH}, remove),
        (E.FOLDED, {"kind": Kind.PUSH}, double),
        (E.FOLDED, {"kind": Kind.PUSH}, CLOCK),
        (E.ANSWERED, {"kind": Kind.PULL_ANSWER}, remove),
        (E.ANSWERED, {"kind": Kind.PULL_ANSWER}, CLOCK),
        (E.ANSWERED, {"kind": Kind.PULL_ANSWER}, PEER),
        (E.INSTALLED, {"kind": Kind.PULL_ANSWER}, double),
        (E.INSTALLED, {"kind": Kind.PULL_ANSWER}, CLOCK),
    ],
)
def test_a_damage_of_pulled_rows_is_found(pulling, event, fields, change):
    replay(pulling)
    damaged = change_rows(pulling, 1, lambda rows: change(rows, find(rows, event, **fields)))
    with pytest.raises(DataError, match=FAULT):
        replay(damaged)


@pytest.mark.parametrize(("event", "change"), [(E.SENT, remove), (E.FOLDED, double)])
def test_what_is_pushed_last_was_sent_once(pulling, event, change):
    """No worker waits for it, and no other push comes behind it."""
    for rank in pulling:
        at = find(pulling[rank].records, event, len(pulling[rank].records), kind=Kind.PUSH)
        with pytest.raises(DataError, match=FAULT):
            replay(change_rows(pulling, rank, lambda rows, at=at: change(rows, at)))


def test_an_answer_with_old_rows_is_found(pulling):
    """An answer is given before the pushes of the clock that its reader must see."""

    def answer_early(rows):
        slack, first = pulling[0].slack, find(rows, E.FOLDED, 0, kind=Kind.PUSH)
        wanted = rows[first]["clock"] + slack + 1
        at = find(rows, E.ANSWERED, 0, kind=Kind.PULL_ANSWER, clock=wanted)
        late = [i for i in range(first, at) if rows[i]["event"] == E.FOLDED]
        folds = [rows[i] for i in late]
        rest = [row for i, row in enumerate(rows[: at + 1]) if i not in late]
        return [*rest, *folds, *rows[at + 1 :]]

    with pytest.raises(DataError, match=FAULT):
        replay(change_rows(pulling, 0, answer_early))


@pytest.mark.parametrize("traces", ["right", "pulling"])
def test_a_trace_that_was_cut_is_right_up_to_the_cut(traces, request):
    traces = request.getfixturevalue(traces)
    for rank, trace in traces.items():
        for end in range(0, len(trace.records), 7):
            replay({**traces, rank: trace._replace(records=trace.records[:end])})
    half = {r: each._replace(records=each.records[: 100 + 20 * r]) for r, each in traces.items()}
    replay(half)
    replay({0: traces[0]})  # those of other machines, as these were lost


def test_traces_of_several_slacks_are_refused(tmp_path):
    trace_run(tmp_path, ExactMeetings, 2, 1)
    path = tmp_path / TRACES / trace_name(1, 1)
    path.write_bytes(HEAD.pack(MAGIC, 1, 2, 3, 0, bytes(16)) + path.read_bytes()[HEAD.size :])
    with pytest.raises(DataError, match="a trace of a run of 2 workers with slack 3, beside"):
        check_traces(tmp_path)


MUTATED = {
    "starts_one_clock_early": (ExactMeetings, 1),
    "starts_before_the_last_home_answers": (ExactMeetings, 1),
    "second_segment_before_the_answer": (ExactMeetings, 1),
    "late_joiner": (ExactMeetings, 1),
    "a_window_begins_without_the_step_before": (RandomWalks, 0),
}


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", MUTATED)
def test_workers_that_break_a_rule_are_found(tmp_path, name):
    """Some of the bugs of the simulation, in one of a few orders of messages."""
    found = ""
    for seed in range(10):
        folder = tmp_path / str(seed)
        with MUTANTS[name]():
            try:
                make, slack = MUTATED[name]
                trace_run(folder, make, 3, slack, seed=seed)
            except CAUGHT:  # the engine notices it, too
                pass
        try:
            check_traces(folder)
        except DataError as error:
            found = error.what
            break
    assert "broke a rule" in found
