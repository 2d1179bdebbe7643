"""The end of a run whose disk is full: the model is not lost."""

import errno
import os
import resource
import tempfile
from pathlib import Path

import pytest
from support.machines.watchers import RecordingSilent
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.disk import writing
from tux.base.errors import DiskError
from tux.base.signals import FirstSignal
from tux.options.options import RunOptions
from tux.predict.predict import predict
from tux.run_folder import folder as run_folder
from tux.run_folder.folder import RunFolder, read_metrics
from tux.runs import full_disk
from tux.runs.session import run


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for each in ("tmp", "home"):
        Path(each).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(full_disk, "PAUSE", 0)
    Path("ratings.csv").write_text(RATINGS)
    return tmp_path


def fill_disk(monkeypatch, times, number=errno.ENOSPC):
    """Let the disk refuse the model so often."""
    write, left = run_folder.write_columns, [times]

    def columns(*given):
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(number, os.strerror(number))
        write(*given)

    monkeypatch.setattr(run_folder, "write_columns", columns)


def train(out, watch=None):
    return run(MF(rank=3), "ratings.csv", None, RunOptions(out=out, epochs=3, jit=False), watch)


def test_it_is_tried_again_until_there_is_room(here, monkeypatch):
    train("whole")
    fill_disk(monkeypatch, full_disk.TRIES)
    told = RecordingSilent()
    train("out", told)
    [line] = [text for text in told.warnings if "No space left" in text]
    assert "free space there" in line and "Ctrl-C ends the waiting" in line
    model = Path("out/model/user.parquet").read_bytes()
    assert model == Path("whole/model/user.parquet").read_bytes() and not os.listdir("tmp")


@pytest.mark.parametrize("place", ["tmp", "home"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_the_model_is_kept_elsewhere(here, monkeypatch, place, number):
    result = train("whole")
    fill_disk(monkeypatch, 99, number)
    if place == "home":
        monkeypatch.setattr(tempfile, "tempdir", str(here / "ratings.csv"))
    told = RecordingSilent()
    with pytest.raises(DiskError, match=os.strerror(number)) as caught:
        train("out", told)
    assert any("tried again" in text for text in told.warnings) == (number == errno.ENOSPC)
    [kept] = (here / place).glob("tux-run-*/run")
    assert f"the run with its model is kept in {kept}: move it" in caught.value.do
    Path("pairs.csv").write_text("u1,3\nu2,2\n")
    scores = [predict(each, "pairs.csv")["score"].tolist() for each in ("whole", kept)]
    assert scores[0] == scores[1]
    assert [record["epoch"] for record in read_metrics(kept)] == [1, 2, 3]
    assert [*os.listdir("out")] and not Path("out/model").exists()
    del result


def test_ctrl_c_ends_the_waiting(monkeypatch):
    monkeypatch.setattr(full_disk, "PAUSE", 3600)
    asked, tries = FirstSignal(), []

    def write():
        tries.append(1)
        with writing("file"):
            raise OSError(errno.EDQUOT, "quota")

    monkeypatch.setattr(full_disk.time, "sleep", lambda seconds: setattr(asked, "moment", 0.0))
    with pytest.raises(DiskError):
        full_disk.write_patiently(write, RecordingSilent(), asked)
    assert len(tries) == 2


def test_no_part_of_a_record_stays(tmp_path):
    folder = RunFolder(tmp_path / "out")
    folder.append({"epoch": 1, "edges_per_second": 1.5})
    metrics = tmp_path / "out" / "metrics.jsonl"
    before, limits = metrics.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 5, limits[1]))
    try:
        with pytest.raises(DiskError, match=message("cannot-be-written", "File too large")):
            folder.append({"epoch": 2, "edges_per_second": 1.5})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert metrics.read_bytes() == before
