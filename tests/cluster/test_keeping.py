"""States of several workers, kept while they train: a run that goes on from them counts each effect
once, and mistakes are found.
"""

import random
import threading

import numpy as np
import pytest
from support.machines.keeping import (
    EPOCHS,
    AtOnceBackground,
    CodedWalks,
    ExactMeetings,
    RandomWalks,
    run,
)
from support.mutants.mutation import CAUGHT

from tux.base.errors import DiskError
from tux.checkpoint import snapshot as state
from tux.checkpoint.schedule import Allowance, CheckpointInterval, OneAtATime
from tux.checkpoint.shard import Digest
from tux.checkpoint.snapshot import Counts, State, StateHead
from tux.cluster.checkpoint.keeper import LEFT_OUT, Checkpointing
from tux.cluster.checkpoint.worker_marks import WorkerMarks, copy_if_small
from tux.cluster.transport.control import Keep, MarkPassed, MarkReached, StateKept, StateNotKept
from tux.engine import training
from tux.engine.clock_loop import ClockLoop
from tux.engine.stretch import Stretch

PROGRAMS = [ExactMeetings, RandomWalks]
NOTHING = Counts(0.0, 0, {}, 0.0, {}, {}, {}, {})
HEAD = StateHead(1, 0, False, 0, 0, 0, NOTHING, None, 0, None, 0, {})


def probe(make, k, slack, seed):
    """Keep states every few deliveries, and go on from one of them. An error if the run with them,
    or that from one on, ends in another way than one without.
    """
    draw = random.Random(seed)
    expected = run(make, k=k, slack=slack, seed=draw.random())[0]
    every = CheckpointInterval(seconds=draw.choice([0.02, 0.2, 0.5]))
    held, _, keeper = run(make, k=k, slack=slack, seed=draw.random(), every=every)
    assert held == expected and keeper.kept[-1][0].epoch == EPOCHS
    for _, states in keeper.kept:
        assert len({(each.head.epoch, each.head.turns) for each in states}) == 1, "one mark"
    head, states = draw.choice(keeper.kept)
    went_on, records, _ = run(make, k=k, slack=slack, seed=draw.random(), states=states)
    assert went_on == expected
    numbers = list(range(head.epoch + 1, EPOCHS + 1))
    assert [[each["epoch"] for each in mine] for mine in records] == [numbers] * k
    return head


@pytest.mark.long
@pytest.mark.parametrize("slack", [0, 1, 3])
@pytest.mark.parametrize("make", PROGRAMS)
def test_each_effect_counts_once(make, slack):
    heads = [probe(make, k, slack, seed) for seed, k in ((0, 2), (1, 3), (2, 2))]
    assert any(head.turns for head in heads)


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(100, 106), marks=pytest.mark.slow),
        pytest.param(range(106, 160), marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("slack", [0, 1, 3])
@pytest.mark.parametrize("make", PROGRAMS)
def test_each_effect_counts_once_in_many_orders(make, slack, seeds):
    for seed in seeds:
        probe(make, 2 + seed % 3, slack, seed)


def test_rounding_does_not_depend_on_kept_states():
    heads = [probe(CodedWalks, 2, 0, seed) for seed in range(3)]
    assert any(head.turns for head in heads)


@pytest.mark.slow
def test_states_at_ends_of_epochs():
    expected = run(ExactMeetings, k=2, slack=1, seed=1)[0]
    for epochs, ends in ((1, [1, 2, 3]), (2, [2, 3])):
        held, _, keeper = run(
            ExactMeetings, k=2, slack=1, seed=2, every=CheckpointInterval(epochs=epochs)
        )
        assert held == expected
        assert [(head.epoch, head.turns) for head, _ in keeper.kept] == [(n, 0) for n in ends]
        for _, states in keeper.kept:
            assert run(ExactMeetings, k=2, slack=1, seed=3, states=states)[0] == expected


# ---- mistakes


def without_arrays(*prefixes):
    """Have states lack some arrays."""

    def mutate(patch):
        whole = state.arrays_of
        for module in (state, training):
            patch.setattr(
                module,
                "arrays_of",
                lambda worker: {
                    name: array
                    for name, array in whole(worker).items()
                    if not name.startswith(prefixes)
                },
            )

    return mutate


def skips_one_more(patch):
    real = Stretch.__init__
    patch.setattr(
        Stretch,
        "__init__",
        lambda self, *run, skip, **more: real(self, *run, skip=skip + bool(skip), **more),
    )


def skips_one_less(patch):
    real = Stretch.__init__
    patch.setattr(
        Stretch,
        "__init__",
        lambda self, *run, skip, **more: real(self, *run, skip=max(skip - 1, 0), **more),
    )


def copies_before_its_clocks_are_finished(patch):
    def keep(self):
        yield from self._epochs.keep(self)
        self._keeping = self._closed = False

    patch.setattr(ClockLoop, "_keep", keep)


def copies_before_changes_are_folded(patch):
    real = ClockLoop._keep

    def keep(self):
        self._closed = True
        yield from real(self)

    patch.setattr(ClockLoop, "_keep", keep)


def passes_without_a_word(patch):
    real = Allowance.keeps_state
    patch.setattr(Allowance, "keeps_state", lambda self, mark, epoch: bool(real(self, mark, epoch)))


def forgets_a_mark_for_a_later_word(patch):
    real = Allowance.take_word

    def clear_and_give(self, word):
        self._wanted.clear()
        real(self, word)

    patch.setattr(Allowance, "take_word", clear_and_give)


def takes_the_first_file_for_all(patch):
    real = OneAtATime.add_outcome

    def end_for_all(self, worker, mark, outcome):
        real(self, worker, mark, outcome)
        return [outcome] * self._workers

    patch.setattr(OneAtATime, "add_outcome", end_for_all)


@pytest.mark.slow(after=3)
@pytest.mark.parametrize(
    ("mutate", "make"),
    [
        pytest.param(without_arrays("base/"), ExactMeetings, id="base"),
        pytest.param(without_arrays("totals/"), ExactMeetings, id="totals"),
        pytest.param(without_arrays("masters/tau/"), ExactMeetings, id="server's context"),
        pytest.param(without_arrays("masters/special/"), ExactMeetings, id="special"),
        (skips_one_more, ExactMeetings),
        (skips_one_less, ExactMeetings),
        (copies_before_its_clocks_are_finished, ExactMeetings),
        (copies_before_changes_are_folded, RandomWalks),
        (passes_without_a_word, ExactMeetings),
        (forgets_a_mark_for_a_later_word, RandomWalks),
        (takes_the_first_file_for_all, ExactMeetings),
    ],
)
def test_mistakes_are_found(monkeypatch, mutate, make):
    mutate(monkeypatch)
    with pytest.raises(CAUGHT):
        for seed in range(40):
            probe(make, 2 + seed % 2, (0, 1, 3)[seed % 3], seed)


# ---- what the launcher does with files


class FailingKeeper:
    """A keeper that notes what it is told, and fails where it should."""

    def __init__(self, fails=""):
        self.told, self.fails = [], fails

    def begin(self):
        self._do("begin")

    def shard_path(self, rank):
        return f"file {rank}"

    def finish(self, head, digests):
        self._do("finish", [each.sum for each in digests])

    def abandon(self):
        self._do("abandon")

    def _do(self, name, *more):
        if name == self.fails:
            raise DiskError("the disk is full")
        self.told.append((name, *more))


def kept_message(rank, mark):
    return StateKept(mark, Digest(1, str(rank)), None if rank else HEAD)


def make_launcher(keeper):
    """Make a launcher of two workers. Messages to it go to ``handle``, its own are in lists."""
    said, warned = [], []
    launcher = Checkpointing(
        2,
        CheckpointInterval(epochs=1),
        keeper,
        lambda control, rank: said.append((rank, control)),
        warned.append,
        AtOnceBackground(),
    )

    def handle(*events):
        for rank, control in events:
            launcher.handle(rank, control, 0.0)
        return said, warned

    handle.launcher = launcher
    return handle


def test_a_checkpoint_has_the_files_of_all_workers():
    files = FailingKeeper()
    said, warned = make_launcher(files)(
        *(
            (1, MarkReached(3)),
            (0, MarkReached(3)),
            (1, kept_message(1, 3)),
            (1, MarkReached(4)),
            (0, kept_message(0, 3)),
        )
    )
    assert files.told == [("begin",), ("finish", ["0", "1"])] and warned == [LEFT_OUT]
    assert said == [(1, Keep(3, "file 1")), (0, Keep(3, "file 0")), (1, Keep(4))]


def test_a_file_that_is_not_written_ends_a_checkpoint_when_all_have_tried():
    files = FailingKeeper()
    handle = make_launcher(files)
    handle((0, MarkReached(3)), (1, MarkReached(3)), (0, StateNotKept(3, "the disk is full")))
    assert files.told == [("begin",)], "the other one still writes"
    assert handle((1, kept_message(1, 3)))[1] == ["no checkpoint: worker 0: the disk is full"]
    assert files.told == [("begin",), ("abandon",)]
    handle((0, MarkReached(4)))
    assert files.told[2:] == [("begin",)]


def test_the_last_state_is_not_left_out():
    files = FailingKeeper()
    handle = make_launcher(files)
    said, warned = handle(
        *(
            (0, MarkReached(3)),
            (1, MarkReached(3)),
            (0, kept_message(0, 3)),
            (0, MarkReached(4, last=True)),
        )
    )
    assert len(said) == 2, "the other one still writes the state before"
    handle((1, kept_message(1, 3)))
    assert said[2:] == [(0, Keep(4, "file 0"))]
    handle((0, kept_message(0, 4)), (1, MarkReached(4, last=True)), (1, kept_message(1, 4)))
    assert files.told == [("begin",), ("finish", ["0", "1"])] * 2 and not warned


def test_a_job_that_ends_early_leaves_no_part_of_a_checkpoint():
    files = FailingKeeper()
    handle = make_launcher(files)
    handle((0, MarkReached(3)), (1, MarkReached(3)), (0, kept_message(0, 3)))
    handle.launcher.end(10)
    handle.launcher.end(10)
    assert files.told == [("begin",), ("abandon",)]


@pytest.mark.parametrize("fails", ["begin", "finish"])
def test_training_goes_on_when_the_disk_is_full(fails):
    handle = make_launcher(FailingKeeper(fails))
    said, warned = handle((0, MarkReached(3)), (1, MarkReached(3)))
    if fails == "finish":
        handle((0, kept_message(0, 3)), (1, kept_message(1, 3)))
    assert warned == ["no checkpoint: the disk is full"]
    assert [control.path for _, control in said] == (
        ["", ""] if fails == "begin" else ["file 0", "file 1"]
    )


@pytest.mark.parametrize(
    ("rank", "control"),
    [
        (0, MarkPassed(1)),
        (0, MarkReached(3)),
        (0, kept_message(1, 3)),
        (1, kept_message(0, 3)),
        (1, kept_message(1, 3)),
    ],
)
def test_what_does_not_belong_here_is_refused(rank, control):
    handle = make_launcher(FailingKeeper())
    handle((0, MarkReached(3)))
    with pytest.raises(ValueError, match=r"mark 3|nobody has asked|worker 0's"):
        handle((rank, control))


# ---- how a worker writes


def marks_of_one(write, said, **options):
    marks = WorkerMarks(0, CheckpointInterval(epochs=1), 5, said.append, write, **options)
    assert marks.keeps_state(0, 1)
    return marks


def test_training_goes_on_while_a_copy_is_written():
    row, may_write, said, found = np.zeros(3), threading.Event(), [], []

    def write(path, kept):
        assert may_write.wait(60)
        found.append((path, kept.arrays["row"].tolist()))
        return Digest(1, "")

    marks = marks_of_one(write, said)
    keeping = marks.keep(State(HEAD, {"row": row}))
    next(keeping)
    assert said == [MarkReached(0)]
    marks.take_control(Keep(0, "here"))
    assert list(keeping) == [] and said == [MarkReached(0)]
    row += 1
    may_write.set()
    marks.finish()
    assert found == [("here", [0.0] * 3)] and said[1:] == [StateKept(0, Digest(1, ""), HEAD)]


@pytest.mark.parametrize("path", ["", "here"])
def test_what_has_no_room_in_memory_is_written_at_once(path, monkeypatch):
    monkeypatch.setattr("tux.base.memory.free", lambda: 100)
    states, said = [], []

    def write(path, kept):
        states.append(kept)
        raise DiskError("the disk is full")

    marks = marks_of_one(write, said, copied=lambda kept: copy_if_small(kept, workers=2))
    small, large = (State(HEAD, {"row": np.zeros(n, np.uint8)}) for n in (12, 13))
    marks.take_control(Keep(0, path))
    assert list(marks.keep(large)) == []
    assert said == [MarkReached(0), *[StateNotKept(0, "the disk is full")] * bool(path)]
    assert [each is large for each in states] == [True] * bool(path)
    assert copy_if_small(small, workers=2) is not small
