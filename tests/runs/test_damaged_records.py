"""A stopped run whose records are missing or damaged is refused, and nothing of it is changed."""

from pathlib import Path

import pytest
from support.machines.stopped_runs import stand_beside_ratings, stop
from support.messages import message

from tux.base.errors import DataError
from tux.run_folder.folder import read_metrics
from tux.runs.session import resume


@pytest.fixture
def here(tmp_path, monkeypatch):
    stand_beside_ratings(tmp_path, monkeypatch)


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
