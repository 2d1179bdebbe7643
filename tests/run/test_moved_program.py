"""A run goes on although the file of its program has moved, but not with another program."""

from pathlib import Path

import pytest
from tiny_ratings import RATINGS
from watchers import Told

from tux.base.errors import Refused, UsageError
from tux.program.sources import find
from tux.run.folder import read_run
from tux.run.options import RunOptions
from tux.run.session import resume, run

TEXT = "from tux.apps.mf.mf import MF\n\n\nclass Mine(MF):\n    pass\n"


class Stopping(Told):
    def epoch(self, record, most):
        if record["epoch"] == 3:
            raise SystemError("stopped")


def test_the_file_of_the_program_may_have_moved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_text(RATINGS)
    for folder in ("old", "new"):
        Path(folder).mkdir()
        Path(folder, "my.py").write_text(TEXT)
    options = RunOptions(out="part", epochs=6, jit=False, checkpoint_every="2")
    with pytest.raises(SystemError, match="stopped"):
        run(find("old/my.py").program(rank=3), "ratings.csv", None, options, Stopping())
    Path("old", "my.py").unlink()
    with pytest.raises(UsageError, match="no such file"):
        resume("part")
    resume("part", app="new/my.py")
    assert read_run("part").app.name == f"{tmp_path}/new/my.py:Mine"
    Path("new", "my.py").write_text(TEXT.replace("pass", "x = 1"))
    with pytest.raises(Refused, match="the program's source changed"):
        resume("part", app="new/my.py", epochs=8)
