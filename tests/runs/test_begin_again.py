"""A run that was killed before its first checkpoint is begun again by what `run.json` says."""

import os
import re
from pathlib import Path

import pytest
from support.machines.run_folders import drop_times, model
from support.machines.watchers import RecordingSilent
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.errors import DataError, Refused, UsageError
from tux.cli.info import info
from tux.options.options import RunOptions
from tux.run_folder.folder import RunFolder, read_metrics, read_run
from tux.runs import session
from tux.runs.resume import find_stopped_run
from tux.runs.session import resume, run


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_text(RATINGS)
    Path("held.csv").write_text("user,item,rating\nu1,3,2\nu5,8,4\nu2,2,5\n")
    return tmp_path


def train(out, watch=None, **options):
    options = RunOptions(out=out, epochs=3, seed=7, jit=False, **options)
    return run(MF(rank=3), "ratings.csv", "held.csv", options, watch)


class KillSignal(BaseException):
    """Stands for a signal that no process can catch."""


def kill(out, monkeypatch, at):
    """Run until `at`, a function of the session or an epoch, and leave what a killed process does:
    its folder as it is at that moment, with the lock of a process that is no more.
    """

    def die(*_, **__):
        raise KillSignal

    class Dying(RecordingSilent):
        def epoch(self, record, most):
            super().epoch(record, most)
            if record["epoch"] == at:
                die()

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "__exit__", lambda *_: None)
        if isinstance(at, str):
            patched.setattr(session, at, die)
        with pytest.raises(KillSignal):
            train(out, Dying())
    lock = Path(out, ".lock")
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    _, host, *_ = lock.read_text().split()
    lock.write_text(f"{child} {host}\n")


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("at", ["load_for", "describe", "introduce", "lay_out", 1, 2])
def test_a_run_that_was_killed_before_a_checkpoint_is_begun_again(here, monkeypatch, at):
    train("whole")
    kill("part", monkeypatch, at)
    assert ".lock" in os.listdir("part")
    assert info("part")["state"].endswith(
        "to begin it again, as it has no checkpoint: tux run --resume part"
    )
    with pytest.raises(UsageError, match="is left from process") as caught:
        train("part")
    assert caught.value.do.endswith("or go on: tux run --resume part")
    os.chdir("whole")  # paths are absolute in run.json
    told = RecordingSilent()
    resume("../part", watch=told)
    os.chdir("..")
    assert "goes on from the beginning" in told.lines
    assert model("part") == model("whole")
    assert drop_times(read_metrics("part")) == drop_times(read_metrics("whole"))
    first, second = read_run("whole"), read_run("part")
    assert [each.checkpoint for each in second.incarnations] == [0]
    assert (first.data, first.test, first.parameters, first.app, first.seed) == (
        second.data,
        second.test,
        second.parameters,
        second.app,
        second.seed,
    )
    assert not set(os.listdir("part")) - {*os.listdir("whole")}


def test_an_error_before_training_leaves_no_folder(here):
    Path("ratings.csv").write_text("no,ratings\nx\n")
    with pytest.raises(DataError):
        train("out")
    assert not Path("out").exists()


def test_what_has_changed_since_it_began_is_refused(here, monkeypatch):
    kill("early", monkeypatch, "load_for")
    kill("part", monkeypatch, 1)
    Path("ratings.csv").write_text(RATINGS + "u1,3,5\n")
    with pytest.raises(Refused, match=message("the-data-changed-since-the")):
        resume("part")
    assert len(read_metrics("part")) == 1  # nothing was cut off
    Path("ratings.csv").write_text(RATINGS)
    noted = Path("early/run.json")
    text = noted.read_text().replace(read_run("early").app.digest, "0" * 32)
    noted.write_text(re.sub('"digest": "[0-9a-f]{64}",', "", text))
    with pytest.raises(Refused, match=message("the-program-s-source-changed")):
        resume("early")


def test_another_version_is_told(here, monkeypatch):
    kill("part", monkeypatch, 1)
    monkeypatch.setattr("tux.runs.description.python_version", lambda: "3.99")
    monkeypatch.setattr("tux.runs.description.VERSION", "9.8")
    told = RecordingSilent()
    resume("part", watch=told)
    line = next(text for text in told.lines if "than the run began with" in text)
    assert "python 3.99 instead of 3." in line and "tux 9.8 instead of " in line
    assert read_run("part").versions["tux"] == "9.8"


def test_no_run_goes_on_with_another_slack():
    with pytest.raises(TypeError, match="cannot go on with another slack"):
        find_stopped_run("part", {"slack": 1})
