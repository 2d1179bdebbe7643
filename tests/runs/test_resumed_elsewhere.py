"""A run goes on from another folder than that in which it began, and says which files changed."""

from pathlib import Path

import pytest

from tux.apps.blockpg.blockpg import BlockPG
from tux.base.errors import Refused
from tux.options.options import RunOptions
from tux.run_folder.folder import read_run
from tux.runs.session import resume, run


def test_files_beside_the_data_are_found_and_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.svm").write_text("1:1 2:1\n2:1\n3:1\n1:1 3:1\n")
    Path("y.txt").write_text("1\n0\n0\n1\n")
    Path("g.tsv").write_text("1\ta\n2\ta\n")
    options = RunOptions(out="r", epochs=1, labels="y.txt", jit=False, checkpoint_every="1")
    run(BlockPG(groups="g.tsv"), "x.svm", None, options)
    assert read_run("r").parameters["groups"] == str(tmp_path / "g.tsv")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    groups = Path("../g.tsv").read_text()
    Path("../g.tsv").write_text("1\ta\n3\ta\n")
    with pytest.raises(Refused, match="the data changed") as error:
        resume("../r", epochs=2)
    names = ("x.svm", "y.txt", "g.tsv")
    assert error.value.where == ", ".join(str(tmp_path / name) for name in names)
    Path("../g.tsv").write_text(groups)
    resume("../r", epochs=2)
    assert read_run("../r").results["epochs"] == 2
