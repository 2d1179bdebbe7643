"""A run of which loaders, workers and launcher number vertices by 64 bits: its model is that of the
narrow path, also where it goes on from a state.
"""

from pathlib import Path

import pytest
from support.machines.run_folders import model
from support.machines.same_loads import without_processes
from support.programs.tiny_ratings import RATINGS

from tux.arrays import integers
from tux.cli.main import main

PROGRAM = """
from tux.apps.mf.mf import MF
from tux.arrays import integers


class Factors(MF):
    {body}
"""


@pytest.mark.slow
def test_the_model_is_that_of_the_narrow_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    without_processes(monkeypatch)  # a loader process does not import the program
    monkeypatch.setattr(integers, "MOST_NARROW", integers.MOST_NARROW)  # put back at the end
    Path("ratings.csv").write_text(RATINGS)
    Path("narrow.py").write_text(PROGRAM.format(body="pass"))
    Path("wide.py").write_text(PROGRAM.format(body="integers.MOST_NARROW = 3"))
    flags = "--workers 2 --threads 1 --no-jit --rank 2 --checkpoint-every 1".split()
    for name in ("narrow", "wide"):  # the program of the second one changes the bound
        main(["run", f"{name}.py", "ratings.csv", *flags, "--epochs", "2", "--out", name])
        main(["run", "--resume", name, "--epochs", "3"])
    assert integers.MOST_NARROW == 3
    assert model("wide") == model("narrow")
