"""A run that loses a worker process goes on to the same bytes, each epoch once; and what is not
started again.
"""

import os
import signal
from pathlib import Path

import pytest
from support.machines.children import running
from support.machines.members import until
from support.machines.run_folders import drop_times, model
from support.machines.watchers import RecordingSilent
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.errors import DataError, Interrupted, PeerLost, UsageError
from tux.options.options import RunOptions
from tux.run_folder.folder import Incarnation, read_metrics, read_run
from tux.runs.session import resume, run

EPOCHS = 60
CHECKPOINT = "behind a checkpoint"
STARTING = "wait for workers 0, 1 to start"


def workers():
    """Return the process id of each worker of this process, by rank."""
    return running("tux.cluster.job.worker_process")


class Killing(RecordingSilent):
    """Kills a worker when it is told of something: `moments` are phases, epochs, and CHECKPOINT:
    the first epoch behind a checkpoint of `out`. Workers do not come to the end of the run
    meanwhile, as they need the launcher's answer at each mark where states are kept.
    """

    def __init__(self, out, *moments):
        super().__init__()
        self.checkpoints, self.moments, self.killed = Path(out, "checkpoints"), [*moments], []

    def epoch(self, record, most):
        super().epoch(record, most)
        self._strike(record["epoch"])
        if any(self.checkpoints.glob("0*")):
            self._strike(CHECKPOINT)

    def phase(self, name):
        super().phase(name)
        self._strike(name)

    def _strike(self, moment):
        if self.moments and moment == self.moments[0]:
            self.moments.pop(0)
            until(lambda: 1 in workers(), "the start of worker 1")
            self.killed.append(workers()[1])
            os.kill(self.killed[-1], signal.SIGKILL)


def train(out, watch=None, data="ratings.csv", **options):
    options = {"workers": 2, "epochs": EPOCHS, "jit": False, "threads": 1} | options
    return run(MF(rank=2), os.path.abspath(data), "held.csv", RunOptions(out=out, **options), watch)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with data, and ``whole``, a run that lost no worker."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        Path("ratings.csv").write_text(RATINGS)
        Path("held.csv").write_text("user,item,rating\nu1,3,2\nu5,8,4\nu2,2,5\n")
        train("whole")
    return folder


@pytest.fixture
def here(place, monkeypatch):
    monkeypatch.chdir(place)
    return place


def is_as_if_never_lost(out, result):
    """Assert that the model, the records in the folder and in memory, and the best epoch are those
    of the run that lost no worker.
    """
    assert model(out) == model("whole")
    assert (
        drop_times(read_metrics(out))
        == drop_times(read_metrics("whole"))
        == drop_times(result.records)
    )
    assert [each["epoch"] for each in read_metrics(out)] == [*range(1, EPOCHS + 1)]
    assert read_run(out).results["best"] == read_run("whole").results["best"]
    assert not workers()


@pytest.mark.slow
def test_a_killed_worker_costs_what_came_after_the_checkpoint(here):
    """One is killed before there are checkpoints, and one between two."""
    watch = Killing("part", STARTING, CHECKPOINT)
    result = train("part", watch, checkpoint_every="10")
    is_as_if_never_lost("part", result)
    whys = [f"worker 1 (process {pid}) was killed by signal 9 (SIGKILL)" for pid in watch.killed]
    first, second = read_run("part").incarnations
    number, epochs = second.checkpoint, second.epochs
    assert first == Incarnation(0, 0, 0, whys[0])
    assert second == Incarnation(number, epochs, 0, whys[1])
    assert number > 0 and epochs > 0 and epochs % 10 == 0
    assert [line for line in watch.lines if "goes on from" in line] == [
        f"{whys[0]}; goes on from the beginning (restart 1 of 3)",
        f"{whys[1]}; goes on from checkpoint {number}, the end of epoch {epochs} (restart 1 of 3)",
    ]


@pytest.mark.long
def test_without_checkpoints_a_run_starts_from_its_beginning(here):
    watch = Killing("anew", 2)
    result = train("anew", watch, restarts=1)
    is_as_if_never_lost("anew", result)
    assert [each.epochs for each in read_run("anew").incarnations] == [0]
    assert read_run("anew").incarnations[0].why.endswith("(SIGKILL)")


@pytest.mark.long
def test_whoever_has_no_restart_left_is_told_how_to_go_on(here):
    watch = Killing("up", CHECKPOINT, STARTING)
    with pytest.raises(PeerLost) as caught:
        train("up", watch, checkpoint_every="10", restarts=1)
    assert caught.value.what == (
        f"worker 1 (process {watch.killed[1]}) was killed by signal 9 (SIGKILL); the 1 restart of "
        "--restarts is used up"
    )
    assert caught.value.do == "go on from the last checkpoint: tux run --resume up"
    assert not workers() and not Path("up/.parts").exists()
    watch = Killing("up", CHECKPOINT)
    result = resume("up", watch=watch)
    is_as_if_never_lost("up", result)
    incarnations = read_run("up").incarnations
    assert len(incarnations) == 3 and all(each.checkpoint for each in incarnations)
    assert incarnations[1].why == "tux run --resume"


@pytest.mark.long
def test_what_would_come_again_is_not_started_again(here):
    """Numbers that diverge, on several workers."""
    with pytest.raises(DataError, match="f became"):
        run(
            MF(rank=2, learning_rate=1e9),
            os.path.abspath("ratings.csv"),
            None,
            RunOptions(out="bad", workers=2, jit=False, restarts=3, epochs=EPOCHS),
        )
    assert not workers() and not read_run("bad").incarnations


class Impatient(Killing):
    """Kills a worker, and asks to end when it is told so."""

    def say(self, text):
        super().say(text)
        if "goes on from" in text:
            signal.raise_signal(signal.SIGINT)


@pytest.mark.long
def test_ctrl_c_during_a_restart_ends_the_run(here):
    with pytest.raises(Interrupted) as caught:
        train("ctrl", Impatient("ctrl", CHECKPOINT), checkpoint_every="10")
    assert caught.value.exit_code == 130 and "tux run --resume ctrl" in caught.value.do
    (noted,), left = read_run("ctrl").incarnations, len(read_metrics("ctrl"))
    assert not workers() and left == noted.epochs > 0
    assert f"interrupted after {left} epochs" in caught.value.what
    is_as_if_never_lost("ctrl", resume("ctrl"))


@pytest.mark.slow
def test_one_worker_cannot_be_started_again(here):
    with pytest.raises(UsageError, match="--restarts with one worker") as caught:
        train("one", workers=1, restarts=1)
    assert "--workers 2" in caught.value.do and not Path("one").exists()
    train("one", workers=1, restarts=0, epochs=1)
