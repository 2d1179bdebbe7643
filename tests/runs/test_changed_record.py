"""Options in the record of a stopped run that were changed by hand or by the disk are refused, also
those that flags may change; what flags have changed stays.
"""

import re
from pathlib import Path

import pytest
from support.machines.run_folders import model
from support.machines.watchers import RecordingSilent
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.background import Background
from tux.base.errors import Refused
from tux.checkpoint.store import find_newest_checkpoint
from tux.options.options import RunOptions
from tux.run_folder.folder import read_run
from tux.runs.session import resume, run


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # each checkpoint is written before training goes on, so that none is left out
    monkeypatch.setattr(Background, "start", lambda self, work: bool(work()))
    Path("ratings.csv").write_text(RATINGS)


class EndsInEpoch(RecordingSilent):
    """Ends the run as a kill would: within the epoch after so many."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def epoch(self, record, most):
        if record["epoch"] == self.after:
            raise SystemError("stopped")


def train(out, *, epochs=6, after=0):
    options = RunOptions(out=out, epochs=epochs, jit=False, threads=1, checkpoint_every="2")
    return run(MF(rank=3), str(Path("ratings.csv").absolute()), None, options, EndsInEpoch(after))


def stop(out):
    with pytest.raises(SystemError, match="stopped"):
        train(out, after=3)


def set_option(out, name, value):
    """Change an option in the record of a run; return the record as it was."""
    path = Path(out, "run.json")
    before = path.read_text()
    changed = re.sub(rf'"{name}": [^,\n]+', f'"{name}": {value}', before, count=1)
    assert changed != before
    path.write_text(changed)
    return before


@pytest.mark.parametrize("option", ["epochs", "workers", "threads", "deadline"])
def test_options_that_flags_may_change_are_refused_by_name(option):
    stop("part")
    before = set_option("part", option, 5)
    with pytest.raises(Refused, match=rf"^{option} is 5(\.0)?, and was .* when checkpoint 1"):
        resume("part")
    Path("part/run.json").write_text(before)
    resume("part")
    train("whole")
    assert model("part") == model("whole")


def test_what_flags_have_changed_stays_where_no_checkpoint_was_taken_since():
    stop("part")
    with pytest.raises(SystemError, match="stopped"):
        resume("part", epochs=9, watch=EndsInEpoch(3))
    assert read_run("part").options["epochs"] == 9
    resume("part")
    train("whole", epochs=9)
    assert model("part") == model("whole")


def test_a_run_that_was_killed_as_it_moved_to_other_workers_goes_on(monkeypatch):
    """The checkpoint for the new workers is there, and the record is not written yet."""
    stop("part")
    with monkeypatch.context() as patched, pytest.raises(SystemError, match="killed"):
        patched.setattr("tux.runs.session.start_of", raise_killed)
        resume("part", workers=2, epochs=8)
    kept = find_newest_checkpoint("part").checkpoint.manifest
    assert (kept.number, kept.workers) == (2, 2) and read_run("part").options["workers"] == 1
    resume("part")
    train("whole")
    assert model("part") == model("whole")


def raise_killed(checkpoint):
    raise SystemError("killed")
