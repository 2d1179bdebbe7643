"""The options of a run: what cannot be meant, what is left to the program, and what is recorded."""

import os
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.mf.mf import MF
from tux.base.errors import UsageError
from tux.run.options import MOST_SLACK, Reading, RunOptions


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"epochs": -1}, "epochs and patience are at least 0"),
        ({"every": 0}, "every at least 1"),
        ({"patience": -1}, "patience are at least 0"),
        ({"workers": 0}, "workers and judge_repeats are at least 1"),
        ({"judge_repeats": 0}, "workers and judge_repeats are at least 1"),
        ({"slack": MOST_SLACK + 1}, "a slack of 10001 clocks"),
        ({"partitioner": "bicuts"}, "no partitioner 'bicuts'"),
    ],
)
def test_what_cannot_be_meant(wrong, what):
    with pytest.raises(UsageError, match=what):
        RunOptions(**wrong)


def test_options_do_not_change():
    with pytest.raises(FrozenInstanceError):
        RunOptions().epochs = 3


def test_what_is_left_to_the_program():
    plan = RunOptions().of(MF())
    assert (plan.epochs, plan.workers, plan.partitioner) == (MF.epochs, 1, "bicut")
    assert RunOptions(epochs=2, workers=3).of(MF()).record()["workers"] == 3
    with pytest.raises(UsageError, match="DeepWalk monitors no metric"):
        RunOptions(patience=1).of(DeepWalk())


def test_a_record_makes_the_same_options():
    options = RunOptions(columns="1,2", vocab=Path("words.txt"), stop="-", epochs=2, slack=1)
    record = options.of(MF()).record()
    assert record["vocab"] == os.path.abspath("words.txt") and record["stop"] == "-"
    assert "form" not in record and record["columns"] == "1,2" and record["on_bad_row"] == "stop"
    assert RunOptions(**record).of(MF()).record() == record


def test_how_files_are_read_is_named():
    assert Reading().named() == {} and RunOptions(epochs=3).named() == {}
    assert Reading(form="text", on_bad_row="skip").named() == {"form": "text"}
