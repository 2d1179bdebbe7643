"""`tux.run` on machines that an engine places, here this machine."""

import pytest
from tiny_ratings import RATINGS

import tux
from tux.backends.run import error_told


def test_errors_are_those_that_machine_0_tells():
    lines = ["warning: odd", "error: no such file: x.csv", "  at x.csv:3", "  name another"]
    error = error_told(lines, 3)
    assert type(error) is tux.DataError and str(error) == "\n".join(
        ["no such file: x.csv", "  at x.csv:3", "  name another"]
    )
    assert type(error_told(["error: interrupted"], 130)) is tux.Interrupted
    assert str(error_told([], 9)) == "the run has failed (exit code 9)"
    assert str(error_told(["killed"], 137)) == "killed (exit code 137)"


def test_a_run_on_another_machine(tmp_path):
    (tmp_path / "ratings.csv").write_text(RATINGS)
    options = {"on": "local", "progress": False, "jit": False, "epochs": 2}
    run = tux.run(tux.MF(rank=4), tmp_path / "ratings.csv", **options)
    here = tux.run(tux.MF(rank=4), tmp_path / "ratings.csv", **options | {"on": None})
    assert run.folder is None and len(run.history) == 2 and len(run.vertices["item"]) == 11
    assert run.vertices["user"].ids.tolist() == here.vertices["user"].ids.tolist()
    with pytest.raises(tux.DataError, match="nothing.csv"):
        tux.run(tux.MF(rank=4), tmp_path / "nothing.csv", **options)


def test_an_engine_that_is_none():
    with pytest.raises(tux.UsageError, match="no back-end 'kubernetes'"):
        tux.run(tux.MF(rank=4), "ratings.csv", on="kubernetes", progress=False)
