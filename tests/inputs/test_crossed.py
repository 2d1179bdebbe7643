"""Crosses of columns in runs: which data have none, and that new rows are crossed as training's."""

import numpy as np
import pytest
from support.messages import message
from support.programs.sampled import SUMS

import tux
from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.inputs.load import load
from tux.inputs.memory import MemoryData
from tux.options.options import Reading

ROWS = "town,kind,y\n" + "Oslo,a,1\nOslo,b,0\nRome,a,0\nRome,b,1\n" * 2
HERE = {"jit": False, "epochs": 1, "progress": False}
CROSS = Reading(cross=[("a", "b")])


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write rows in which no column alone tells the label, and the program; return the name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "held.csv").write_text("kind,town,y\na,Oslo,1\nb,Rome,1\n")
    (tmp_path / "sums.py").write_text(SUMS % ('hashed="bits"', "bits: int = param(0)"))
    return "rows.csv"


@pytest.mark.parametrize("bits", [0, 30])
def test_new_rows_are_crossed_as_those_of_training(table, bits, tmp_path):
    from tux.program.sources import find

    program = find("sums.py").program(bits=bits)
    plain = tux.run(program, table, **HERE)
    assert not plain.predict(table).any()
    run = tux.run(program, table, test="held.csv", cross=[("town", "kind")], out="out", **HERE)
    told = [1, -1, -1, 1] * 2
    assert run.predict(table).tolist() == tux.load("out").predict(table).tolist() == told
    columns = {"kind": ["b"], "town": ["Rome"]}
    assert run.predict(columns).tolist() == [1]
    assert run.history["test_sum"][-1] == 2
    with pytest.raises(UsageError, match=message("min-count-counts-the-of", "cross")):
        run.predict(table, cross=[("town", "kind")])
    (tmp_path / "new.svm").write_text("1 1:1\n")
    with pytest.raises(UsageError, match="no columns with names, so none to cross"):
        run.predict("new.svm")


def test_crosses_that_few_samples_have_are_left_out(table):
    reading = Reading(cross=[("town", "kind")], min_count=3)
    features = load(BlockPG(), table, None, reading).train.ids["feature"].values.tolist()
    assert features == ["kind=a", "kind=b", "town=Oslo", "town=Rome"]


@pytest.mark.parametrize(
    ("program", "data", "says"),
    [
        (MF(), "rows.csv", "reads no samples"),
        (BlockPG(), EdgeData.of(("sample", "feature"), [0], [0], {}), "have no columns to cross"),
        (BlockPG(), MemoryData((np.eye(2), [0, 1])), "no columns with names, so none to cross"),
        (BlockPG(), None, "without DATA"),
    ],
)
def test_data_of_which_no_columns_can_be_crossed(table, program, data, says):
    with pytest.raises(UsageError, match=says):
        load(program, data, None, CROSS)


def test_parts_of_samples_are_not_crossed(table):
    from tux.cli.main import main

    assert main(["partition", table, "--parts", "2", "--label", "y", "--out", "parts"]) == 0
    with pytest.raises(UsageError, match="so no columns can be crossed"):
        load(BlockPG(), "parts", None, CROSS)
