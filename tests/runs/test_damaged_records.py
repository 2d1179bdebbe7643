"""A stopped run whose records are missing or damaged is refused, and nothing of it is changed."""

from pathlib import Path

import pytest
from support.machines.stopped_runs import stop
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux.base.background import Background
from tux.base.errors import DataError
from tux.run_folder.folder import read_metrics
from tux.runs.session import resume


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Stand in a folder with ratings; each checkpoint is written before training goes on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Background, "start", lambda self, work: bool(work()))
    Path("ratings.csv").write_text(RATINGS)
    Path("held.csv").write_text("user,item,rating\nu1,3,2\nu5,8,4\nu2,2,5\n")


def test_records_that_are_missing_are_told(here):
    stop("part", 3)
    records = Path("part/metrics.jsonl")
    records.write_bytes(records.read_bytes()[:100])
    with pytest.raises(DataError, match="has 100 bytes, and the checkpoint was taken after"):
        resume("part")
    assert len(records.read_bytes()) == 100


def test_damaged_records_are_refused_before_those_behind_the_checkpoint_are_cut(here):
    """So whoever puts the whole file back can go on."""
    stop("part", 3)
    records = Path("part/metrics.jsonl")
    whole = records.read_bytes()
    assert whole.count(b"\n") == 3  # the checkpoint is of the second epoch
    records.write_bytes(damaged := whole.replace(b'"epoch":2', b'"epoch":7'))
    for _ in range(2):
        with pytest.raises(DataError, match=message("metrics-jsonl-is-damaged-before")):
            resume("part")
        assert records.read_bytes() == damaged
    records.write_bytes(whole)
    resume("part")
    assert [record["epoch"] for record in read_metrics("part")] == [1, 2, 3, 4, 5, 6]
