"""Options in the record of a stopped run that were changed by hand or by the disk are refused, also
those that flags may change; what flags have changed stays. A digest in the record tells of changes
before the first checkpoint, and of those that a checkpoint does not show.
"""

import re
from pathlib import Path

import pytest
from support.machines.run_folders import model
from support.machines.watchers import RecordingSilent
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.background import Background
from tux.base.errors import DataError, Refused, TuxError
from tux.checkpoint.store import find_newest_checkpoint
from tux.cli.info import info
from tux.options.options import RunOptions
from tux.run_folder.folder import RunFolder, read_run
from tux.runs.resume import find_stopped_run
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


# ---- a run that has no checkpoint yet, with which its record could be compared


def begin(out, monkeypatch):
    """Leave the folder of a run that was killed as it had begun to load."""
    with monkeypatch.context() as patched, pytest.raises(SystemError, match="killed"):
        patched.setattr("tux.runs.session.load_for", raise_killed)
        patched.setattr(RunFolder, "__exit__", lambda folder, *error: None)
        train(out)
    Path(out, ".lock").unlink()


def raise_killed(*_, **__):
    raise SystemError("killed")


def test_no_bit_of_the_record_changes_without_a_word_before_the_first_checkpoint(monkeypatch):
    begin("part", monkeypatch)
    path = Path("part/run.json")
    whole, expected = path.read_bytes(), read_run("part")
    seen = []
    for at in range(1, len(whole) - 1, 2):
        changed = bytearray(whole)
        changed[at] ^= 1 << at // 2 % 7
        path.write_bytes(changed)
        try:
            # such as a blank that is a tab now
            assert find_stopped_run("part", {}).run == expected
        except TuxError as error:
            assert "part/run.json" in f"{error.where} {error.what}", error
            seen.append(error.what)
    assert "run.json is damaged, or was changed by hand" in seen and len(seen) > len(whole) / 4


def test_a_record_that_was_changed_by_hand_goes_on_when_it_says_so(monkeypatch):
    begin("part", monkeypatch)
    set_option("part", "epochs", 3)
    for look in (lambda: resume("part"), lambda: info("part", verify=True)):
        with pytest.raises(DataError, match=message("run-json-is-damaged-or")) as caught:
            look()
        assert caught.value.where == "part/run.json" and 'its line "digest"' in caught.value.do
    path = Path("part/run.json")
    first, digest, *others = path.read_text().splitlines(keepends=True)
    assert '"digest": ' in digest
    path.write_text("".join([first, *others]))
    resume("part")
    train("whole", epochs=3)
    assert model("part") == model("whole")
    assert '"digest": ' in path.read_text()


def test_what_the_checkpoint_does_not_have_is_compared_too():
    stop("part")
    path = Path("part/run.json")
    whole = path.read_text()
    Path("ratings.csv").rename("moved.csv")
    path.write_text(whole.replace("ratings.csv", "moved.csv"))
    with pytest.raises(DataError, match=message("run-json-is-damaged-or")):
        resume("part")
    path.write_text(re.sub('"digest": "[0-9a-f]{64}",', "", path.read_text()))
    resume("part")
    Path("moved.csv").rename("ratings.csv")
    train("whole")
    assert model("part") == model("whole")
