"""Runs whose loaders are processes: the model is that of a run that loads whole; loaders that are
lost, and Ctrl-C.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.machines.children import running
from support.machines.members import until
from support.machines.run_folders import drop_times, model
from support.machines.watchers import RecordingSilent
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.errors import PeerLost
from tux.cli.main import main
from tux.cluster.job import local_processes
from tux.inputs import serial_reason
from tux.options.options import RunOptions
from tux.run_folder.folder import Incarnation, read_metrics, read_run
from tux.runs.session import resume, run

LOADS = "load: 2 processes read"


def loaders():
    """Return the process id of each loader of this process, by number."""
    return running("tux.parallel_load.process.loader_process")


class Striking(RecordingSilent):
    """Sends a signal to loader 1, or to this process, when loaders have begun; `times` times."""

    def __init__(self, number, *, times=1, to_me=False):
        super().__init__()
        self.number, self.times, self.to_me, self.struck = number, times, to_me, []

    def phase(self, name):
        super().phase(name)
        if name == LOADS and len(self.struck) < self.times:
            self.struck.append(os.getpid() if self.to_me else loaders()[1])
            os.kill(self.struck[-1], self.number)


def train(out, watch=None, **options):
    options = {"workers": 2, "epochs": 4, "jit": False, "threads": 1, "out": out} | options
    return run(MF(rank=2), os.path.abspath("ratings.csv"), "held.csv", RunOptions(**options), watch)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with data, and ``whole``, a run that has loaded them whole."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        Path("ratings.csv").write_text(RATINGS)
        Path("held.csv").write_text("user,item,rating\nu1,3,2\nu5,8,4\nu77,5,5\n")
        train("whole")
    return folder


@pytest.fixture
def here(place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setattr(serial_reason, "SMALL", 0)
    return place


def is_the_same(out, whole):
    """Assert that the model, the records and what is said of the data are those of a run that loads
    whole.
    """
    assert model(out) == model(whole)
    assert drop_times(read_metrics(out)) == drop_times(read_metrics(whole))
    one, other = read_run(out), read_run(whole)
    assert (one.data, one.test, one.sizes) == (other.data, other.test, other.sizes)
    assert (one.options | {"restarts": 0}) == (other.options | {"restarts": 0})
    assert not loaders() and not [*Path(out).glob(".parts*")]


@pytest.mark.long
def test_a_killed_loader_is_started_again_and_the_model_is_the_same(here):
    watch = Striking(signal.SIGKILL)
    train("killed", watch, restarts=1)
    is_the_same("killed", "whole")
    why = f"loader 1 (process {watch.struck[0]}) was killed by signal 9 (SIGKILL)"
    assert f"{why}; the data are loaded anew (restart 1 of 1)" in watch.lines
    assert read_run("killed").incarnations == [Incarnation(0, 0, 0, why)]


@pytest.mark.slow
def test_ctrl_c_while_loading_leaves_nothing(here):
    before = {*os.listdir(tempfile.gettempdir())}
    with pytest.raises(KeyboardInterrupt):
        train("gone", Striking(signal.SIGINT, to_me=True))
    assert not loaders() and not Path("gone").exists()
    left = {*os.listdir(tempfile.gettempdir())} - before
    assert not [name for name in left if name.startswith("tux-job-")]


@pytest.mark.slow
def test_a_loader_lost_without_restarts_ends_the_run(here):
    watch = Striking(signal.SIGKILL)
    with pytest.raises(PeerLost) as caught:
        train("lost", watch)
    assert str(caught.value).startswith(f"loader 1 (process {watch.struck[0]}) was killed by")
    assert not loaders() and not Path("lost").exists()


@pytest.mark.long
def test_after_the_last_restart_it_is_said_that_none_is_left(here):
    with pytest.raises(PeerLost, match="the 1 restart of --restarts is used up"):
        train("lost", Striking(signal.SIGKILL, times=2), restarts=1)
    assert not Path("lost").exists()


@pytest.mark.long
def test_a_loader_that_is_stopped_is_lost(here, monkeypatch):
    monkeypatch.setattr(local_processes, "SILENCE", 0.5)
    watch = Striking(signal.SIGSTOP)
    train("stopped", watch, restarts=1)
    is_the_same("stopped", "whole")
    assert "has been stopped for" in read_run("stopped").incarnations[0].why


@pytest.mark.long
@pytest.mark.parametrize(
    ("workers", "partitioner"),
    [
        (3, "auto"),
        (5, "random"),
    ],
)
def test_more_workers(here, monkeypatch, workers, partitioner):
    how = {"workers": workers, "partitioner": partitioner}
    train(f"shares-{workers}", **how)
    monkeypatch.setattr(serial_reason, "SMALL", 1 << 30)
    train(f"whole-{workers}", **how)
    is_the_same(f"shares-{workers}", f"whole-{workers}")


@pytest.mark.long
def test_a_run_goes_on_however_its_data_are_loaded(here, monkeypatch):
    """In shares, whole, and in shares again."""
    train("part", epochs=1, checkpoint_every="1")
    monkeypatch.setattr(serial_reason, "SMALL", 1 << 30)
    resume("part", epochs=2)
    monkeypatch.setattr(serial_reason, "SMALL", 0)
    watch = Striking(signal.SIGKILL)
    resume("part", epochs=4, watch=watch)
    assert watch.struck
    assert model("part") == model("whole")
    assert drop_times(read_metrics("part")) == drop_times(read_metrics("whole"))


@pytest.mark.long
@pytest.mark.parametrize("workers", [3, 1])
def test_a_run_goes_on_on_other_workers_however_its_data_are_loaded(here, monkeypatch, workers):
    out, other = f"shares-to-{workers}", f"whole-to-{workers}"
    train(out, epochs=1, checkpoint_every="1")
    shutil.copytree(out, other)
    watch = RecordingSilent()
    resume(out, epochs=2, workers=workers, watch=watch)
    loaded = [name for name in watch.phases if name.endswith("processes read")]
    assert loaded == (["load: 3 processes read"] * 2 if workers > 1 else [])
    monkeypatch.setattr(serial_reason, "SMALL", 1 << 30)
    resume(other, epochs=2, workers=workers)
    assert model(out) == model(other)
    assert drop_times(read_metrics(out)) == drop_times(read_metrics(other))
    assert not [*Path(out).glob(".parts*")]


@pytest.mark.slow
def test_a_bad_row_is_told_by_the_command(here, capsys):
    Path("bad.csv").write_text(RATINGS + "u1,2\n")
    assert main("run mf bad.csv --workers 2 --epochs 1 --no-jit".split()) == 3
    assert "bad.csv:72" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_at_the_command_while_loading(tmp_path):
    """With a file that is large enough for loaders, whose command is told to end."""
    rows = "".join(f"u{i % 997},{i % 89},{i % 5 + 1}\n" for i in range(100_000))
    with open(tmp_path / "ratings.csv", "w", encoding="utf-8") as file:
        for _ in range(2 + serial_reason.SMALL // len(rows)):
            file.write(rows)
    command = [sys.executable, "-m", "tux", "run", "mf", "ratings.csv", "--workers", "2"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": os.getcwd()}
    (tmp_path / "tmp").mkdir()
    with subprocess.Popen(
        [*command, "--out", "run"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        until(lambda: [*tmp_path.glob("run/.parts.*/.loading/job.json")], "the start of loaders")
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert b"Traceback" not in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ratings.csv", "tmp"]
    assert not [*(tmp_path / "tmp").glob("tux-job-*")]
