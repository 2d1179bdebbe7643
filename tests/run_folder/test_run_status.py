"""The state of a run as its folder tells it, and the refusal of a record that was damaged or
changed by hand.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.machines.children import dead_process
from support.machines.watchers import RecordingSilent
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.background import Background
from tux.base.errors import DataError, DiskError, Refused, TuxError
from tux.checkpoint.store import Checkpoints
from tux.cli.info import info
from tux.options.options import RunOptions
from tux.run_folder.folder import Incarnation, RunFolder, read_run
from tux.runs.session import resume, run


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Background, "start", lambda self, work: bool(work()))
    Path("ratings.csv").write_text(RATINGS)
    return tmp_path


def train(out, watch=None, **options):
    options = {"epochs": 3, "checkpoint_every": "1", **options}
    return run(MF(rank=3), "ratings.csv", None, RunOptions(out=out, jit=False, **options), watch)


def rewrite(out, change):
    """Change `run.json` as a user does by hand."""
    noted = json.loads(Path(out, "run.json").read_text())
    change(noted)
    noted.pop("digest", None)  # as the message says
    Path(out, "run.json").write_text(json.dumps(noted))


def write_lock(out, process):
    Path(out, ".lock").write_text(f"{process} {socket.gethostname()}\n")


# ---- the state of a run


def test_info_tells_the_state_of_a_run_and_how_it_goes_on(here):
    train("out")
    train("bare", checkpoint_every=None)
    for out in ("out", "bare"):
        assert info(out)["state"] == "ended; 3 epochs done"
        rewrite(out, lambda noted: noted.pop("results"))
    goes_on = "to go on: tux run --resume out"
    assert info("out")["state"] == f"ended with an error; 3 epochs done; {goes_on}"
    write_lock("out", dead_process())
    assert info("out")["state"].startswith("killed: process ")
    assert info("out")["state"].endswith(f"is gone; 3 epochs done; {goes_on}")
    write_lock("bare", dead_process())
    again = "to begin it again, as it has no checkpoint: tux run --resume bare"
    assert info("bare")["state"].endswith(again)
    rewrite("bare", lambda noted: noted["data"].update(path="standard input"))
    assert info("bare")["state"].endswith(
        "it cannot go on, as it has no checkpoint: run it anew with another --out"
    )
    write_lock("out", os.getpid())
    running = f"running: process {os.getpid()} on {socket.gethostname()}; 3 epochs done"
    assert info("out")["state"] == running
    Path("out/.lock").unlink()
    rewrite("out", lambda noted: noted.update(interrupted=4))
    assert info("out")["state"] == (f"interrupted after 3 epochs, no model written; {goes_on}")


def test_info_tells_each_time_that_a_run_went_on(here):
    train("out")
    resume("out", epochs=4)
    rewrite(
        "out",
        lambda noted: noted["incarnations"].append(
            {"checkpoint": 0, "epochs": 0, "clocks": 0, "why": "worker 1 was killed", "workers": 2}
        ),
    )
    told = info("out")
    assert told["went on, 1"] == "from checkpoint 3, the end of epoch 3: tux run --resume"
    assert told["went on, 2"] == "from the beginning, on 2 workers: worker 1 was killed"


# ---- records that are damaged, or say something else


@pytest.mark.parametrize("content", [None, "{", '"x"', '{"app": 3}'])
def test_a_damaged_record_says_what_to_do(here, content):
    train("out", epochs=1)
    text = Path("out/run.json").read_text()
    Path("out/run.json").write_text(text[: len(text) // 2] if content is None else content)
    for use in (info, resume):
        with pytest.raises(DataError, match=message("not-what-a-run-writes-2")) as caught:
            use("out")
        assert caught.value.where == "out/run.json" and "put a whole copy" in caught.value.do


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"epochs": "ten"}, "the option epochs is 'ten', not a whole number"),
        ({"workers": [1]}, r"the option workers is \[1\], not a whole number"),
        ({"epochs": None}, "it has no option epochs"),
        ({"machines": "two"}, "the option machines is 'two'"),
        ({"deadline": -1}, "the option deadline is -1"),
    ],
)
def test_an_option_of_another_type_is_told(here, changed, what):
    train("out", epochs=1)
    rewrite("out", lambda noted: noted["options"].update(changed))
    with pytest.raises(DataError, match=what) as caught:
        resume("out", epochs=2)
    assert caught.value.where == "out/run.json" and "put a whole copy" in caught.value.do


@pytest.mark.slow(after=4)
@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("options", "slack", 3),
        ("options", "eval_every", 2),
        ("options", "partitioner", "random"),
        ("options", "jit", True),
        ("options", "more", 1),
        ("parameters", "rank", 4),
        ("parameters", "rank", "x"),
        ("parameters", "other", 1),
        (None, "seed", 9),
    ],
)
def test_a_value_that_was_changed_by_hand_is_refused_by_name(here, part, name, value):
    train("out", epochs=1)
    before = Path("out/run.json").read_text()
    rewrite("out", lambda noted: (noted[part] if part else noted).update({name: value}))
    with pytest.raises(Refused, match=f"{name} is {value!r}, and was ") as caught:
        resume("out", epochs=2)
    assert caught.value.where == "out/run.json"
    Path("out/run.json").write_text(before)
    resume("out", epochs=2)


def test_the_timeout_is_recorded_and_may_be_another(here):
    train("out", epochs=1, deadline=70)
    for epochs, told, kept in ((2, None, 70), (3, 80, 80), (4, None, 80)):
        resume("out", epochs=epochs, deadline=told)
        assert read_run("out").options["deadline"] == kept


# ---- what is told before time is lost


def test_restarts_with_one_worker_are_refused_before_data_are_read(here):
    with pytest.raises(TuxError, match=message("restarts-with-one-worker-it")):
        run(MF(rank=3), "no-such-file.csv", None, RunOptions(restarts=1))


def test_a_full_disk_is_told_with_what_stays(here, monkeypatch):
    begin, told = Checkpoints.begin, RecordingSilent()

    def fill_at_second_write(self):
        if "first" in str(self.folder) or self._number:
            raise DiskError("no space")
        return begin(self)

    monkeypatch.setattr(Checkpoints, "begin", fill_at_second_write)
    train("first", told, epochs=1)
    train("second", told, epochs=2)
    assert [text.partition("goes on, and ")[2] for text in told.warnings] == [
        "there is none before it",
        "the one before stays",
    ]


def test_a_record_is_whole_also_with_incarnations(here):
    train("out", epochs=1)
    record = read_run("out")
    record.incarnations = [Incarnation(1, 2, 3, "why", 4)]
    with RunFolder.reopen("out") as folder:
        folder.write_run(record)
    assert info("out")["went on, 1"] == "from checkpoint 1, clock 3 of epoch 3, on 4 workers: why"


def test_a_run_without_its_record_is_still_told_as_a_run(here):
    train("out", epochs=1)
    Path("out/run.json").unlink()
    with pytest.raises(DataError) as caught:
        info("out")
    assert "run.json" in str(caught.value) or "run.json" in caught.value.where
    Path("out/metrics.jsonl").unlink()
    with pytest.raises(DataError):
        info("out")


@pytest.mark.slow
def test_to_tell_it_nothing_is_loaded_that_only_runs_need():
    told = (
        "import sys, tux.cli.info; print([name for name in sys.modules if 'tux.cluster' in name])"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
