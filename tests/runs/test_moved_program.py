"""A run goes on although the file of its program has moved, but not with another program."""

import json
import sys
from pathlib import Path

import pytest
from support.machines.watchers import RecordingSilent
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux.base.errors import Refused, UsageError
from tux.options.options import RunOptions
from tux.program.sources import find
from tux.run_folder.folder import read_run
from tux.runs.session import resume, run

TEXT = "from tux.apps.mf.mf import MF\n\n\nclass Mine(MF):\n    pass\n"


class StopsAfterCheckpoint(RecordingSilent):
    def epoch(self, record, most):
        if record["epoch"] == 3:
            raise SystemError("stopped")


@pytest.fixture
def stopped_folder(tmp_path, monkeypatch):
    """Run a program that imports a file, stop behind its first checkpoint, return the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("ratings.csv").write_text(RATINGS)
    Path("my_program.py").write_text(f"from my_constant import ONE\n{TEXT}")
    Path("my_constant.py").write_text("ONE = 1\n")
    options = RunOptions(out="part", epochs=6, jit=False, checkpoint_every="2")
    with pytest.raises(SystemError, match="stopped"):
        run(
            find("my_program.py").program(rank=3),
            "ratings.csv",
            None,
            options,
            StopsAfterCheckpoint(),
        )
    return tmp_path


@pytest.mark.parametrize("changed", [["my_constant.py"], ["my_program.py", "my_constant.py"]])
def test_the_files_that_changed_are_named(stopped_folder, changed):
    for name in changed:
        with open(name, "a") as file:
            file.write("# another\n")
    with pytest.raises(Refused) as caught:
        resume("part")
    assert caught.value.what.endswith(f"source changed since the run began: {', '.join(changed)}")
    assert caught.value.where == str(stopped_folder / changed[0])
    assert caught.value.do == "put back what it was, or start a new run"


def test_a_run_that_has_not_noted_each_file_names_that_of_the_program(stopped_folder):
    run_json = Path("part", "run.json")
    noted = json.loads(run_json.read_text())
    assert noted["app"].pop("files").keys() == {"", "my_constant.py"}
    del noted["digest"]  # former versions wrote none
    run_json.write_text(json.dumps(noted))
    Path("my_constant.py").write_text("ONE = 2\n")
    with pytest.raises(Refused, match="source changed since the run began: my_program.py"):
        resume("part")


def test_the_file_of_the_program_may_have_moved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_text(RATINGS)
    for folder in ("old", "new"):
        Path(folder).mkdir()
        Path(folder, "my.py").write_text(TEXT)
    options = RunOptions(out="part", epochs=6, jit=False, checkpoint_every="2")
    with pytest.raises(SystemError, match="stopped"):
        run(find("old/my.py").program(rank=3), "ratings.csv", None, options, StopsAfterCheckpoint())
    Path("old", "my.py").unlink()
    with pytest.raises(UsageError, match=message("no-such-file-2")):
        resume("part")
    resume("part", app="new/my.py")
    assert read_run("part").app.name == f"{tmp_path}/new/my.py:Mine"
