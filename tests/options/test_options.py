"""The options of a run: what cannot be meant, what is left to the program, and what is recorded."""

import os
import re
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
from support.messages import message

from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.mf.mf import MF
from tux.base.errors import UsageError
from tux.clock.clock import MOST_SLACK
from tux.cluster.rendezvous.place import Place
from tux.options.options import OPTIONS, Reading, RunOptions


@pytest.mark.parametrize(
    ("name", "wrong", "allowed"),
    [
        ("epochs", [-1, 1.0, True, "3", np.float64(2)], "a whole number at least 0"),
        ("eval_every", [0, None, 1.5], "a whole number at least 1"),
        ("patience", [-1, None, False], "a whole number at least 0"),
        ("workers", [0, "2"], "a whole number at least 1, or auto"),
        ("judge_repeats", [0, 2.5, None], "a whole number at least 1"),
        ("judge_top", [0, 2.5, True], "a whole number at least 1"),
        (
            "slack",
            [-1, MOST_SLACK + 1, None, "all"],
            "a whole number at least 0 and at most 10,000, or inf, or auto",
        ),
        ("seed", [1.5, "1", None, True, np.nan], "a whole number"),
        ("deadline", [0, -1, np.nan, np.inf, "9", None, True], "a number of seconds above 0"),
        ("on_bad_row", ["ignore", None, 3, ["stop"]], '"stop" or "skip"'),
        ("form", ["csv", 3], '"docword" or "lda-c" or "svm" or "text" or "table" or "npz"'),
        ("jit", [0, None, "yes"], "True or False"),
        ("check", [1, None], "True or False"),
        ("columns", [["a", "b"], 3], "a str"),
        ("label", [3], "a str"),
        ("weight", [3], "a str"),
        (
            "cross",
            ["a:b", [], ["a"], [("a", "a")], [("a", "")], ['"a:b'], [["a", 3]]],
            'a list of crosses, each of two different columns or more, as in [("town", "size")]',
        ),
        ("partitioner", [3], "a str"),
        ("out", [3, b"out"], "a path: a str or an os.PathLike"),
        ("vocab", [3], "a path: a str or an os.PathLike"),
        ("stop", [["the"]], "a path: a str or an os.PathLike"),
        ("labels", [[1, 2]], "a path: a str or an os.PathLike"),
        ("place", ["10.0.0.1"], "a tux.cluster.rendezvous.place.Place"),
        ("command", ["tux run", [3], None], "a list of str"),
        ("restarts", [-1, 1.5, True], "a whole number at least 0"),
    ],
)
def test_what_an_option_may_not_be(name, wrong, allowed):
    for each in wrong:
        with pytest.raises(UsageError) as caught:
            RunOptions(**{name: each})
        assert caught.value.what == f"the option {name} is {each!r}"
        assert caught.value.do == f"{name} must be {allowed}"


def test_the_page_for_python_names_each_option_once():
    page = Path(__file__).parents[2].joinpath("docs/python.md").read_text(encoding="utf-8")
    table = page.partition("| option | what it says |\n")[2].partition("\n\n")[0]
    named = [
        name for row in table.splitlines() for name in re.findall("`(\\w+)`", row.split("|")[1])
    ]
    given = [name for name, option in OPTIONS.items() if option.help]
    assert sorted(named) == sorted(["on", "machines", *given])


def test_lost_workers_are_started_again_where_there_are_checkpoints():
    kept = {"checkpoint_every": "5", "out": "out"}
    plans = [
        RunOptions(restarts=each, **more).plan_for(MF())
        for more in (kept, {})
        for each in (None, 0, 5)
    ]
    assert [plan.restarts for plan in plans] == [3, 0, 5, 0, 0, 5]
    # what was left open stays open when the run goes on
    assert [plan.record().get("restarts") for plan in plans] == [None, 0, 5] * 2


def test_numbers_of_numpy_are_kept_as_numbers_of_python():
    given = {"seed": np.int64(-3), "epochs": np.int32(2), "deadline": 5, "jit": np.bool_(False)}
    options = RunOptions(**given)
    kept = [getattr(options, name) for name in given]
    assert [(type(each), each) for each in kept] == [
        (int, -3),
        (int, 2),
        (float, 5.0),
        (bool, False),
    ]


def test_a_partitioner_that_is_not_there():
    with pytest.raises(UsageError, match="no partitioner 'bicuts'"):
        RunOptions(partitioner="bicuts")


def test_options_do_not_change():
    with pytest.raises(FrozenInstanceError):
        RunOptions().epochs = 3


def test_what_is_left_to_the_program():
    plan = RunOptions().plan_for(MF())
    assert (plan.epochs, plan.workers, plan.partitioner) == (MF.epochs, 1, "bicut")
    assert RunOptions(epochs=2, workers=3).plan_for(MF()).record()["workers"] == 3
    with pytest.raises(UsageError, match=message("monitors-no-metric-so-patience", "DeepWalk")):
        RunOptions(patience=1).plan_for(DeepWalk())


def test_a_record_makes_the_same_options():
    options = RunOptions(
        columns="1,2",
        vocab=Path("words.txt"),
        stop="-",
        labels="s3://bucket/labels.txt",
        vertices={"user": "users.csv", "item": "memory://items.csv"},
        epochs=2,
        slack=1,
        judge_repeats=3,
        cross=["a:b", ("c", "d:e", "f")],
    )
    record = options.plan_for(MF()).record()
    assert record["labels"] == "s3://bucket/labels.txt"
    assert record["vertices"] == {
        "user": os.path.abspath("users.csv"),
        "item": "memory://items.csv",
    }
    assert RunOptions(labels="l.txt").plan_for(MF()).record()["labels"] == os.path.abspath("l.txt")
    assert record["vocab"] == os.path.abspath("words.txt") and record["stop"] == "-"
    assert "form" not in record and record["columns"] == "1,2" and record["on_bad_row"] == "stop"
    assert record["judge_repeats"] == 3
    assert record["cross"] == (("a", "b"), ("c", "d:e", "f"))
    assert RunOptions(**record).plan_for(MF()).record() == record


def test_machine_0_alone_writes_checkpoints():
    first = Place(3, 0, "127.0.0.1", 29400, None)
    assert RunOptions(place=first).plan_for(MF()).record()["machines"] == 3
    with pytest.raises(UsageError, match=message("checkpoints-are-written-below-out")):
        RunOptions(checkpoint_every="5", place=first)
    RunOptions(checkpoint_every="5", place=replace(first, rank=1))


def test_how_files_are_read_is_named():
    assert Reading().given_options() == {} and RunOptions(epochs=3).given_options() == {}
    assert Reading(form="text", on_bad_row="skip").given_options() == {"form": "text"}
