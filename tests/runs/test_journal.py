"""The journal of a run: what is in it, that it stays small, and that no run fails for it."""

import os

import msgspec
import pytest
from support.machines.watchers import Told
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.errors import DataError, Interrupted, PeerLost
from tux.engine.timeline import Sample
from tux.runs import journal
from tux.runs.folder import RunFolder
from tux.runs.journal import FILE, Begins, Ends, Journal, Noting, Restarts, Says, Works, entries
from tux.runs.options import RunOptions
from tux.runs.session import resume, run

SAMPLE = Sample(1.0, 0.5, 1, 3, {"compute": 0.25}, 10, 4096, lanes={"main": [0, 9, 3, 7]})


def written(folder):
    return entries((folder / FILE).read_bytes().splitlines())


def test_nothing_is_written_before_the_run_has_begun(tmp_path):
    made = Journal(tmp_path)
    made.says("line", "data: r.csv")
    assert os.listdir(tmp_path) == []
    made.open()
    made.sample(1, SAMPLE)
    made.restarts("worker 1 was killed", "checkpoint 2")
    made.end(None)
    made.says("line", "too late")
    begins, says, works, restarts, ends = written(tmp_path)
    assert isinstance(begins, Begins) and begins.process == os.getpid()
    assert isinstance(says, Says) and (says.as_, says.text) == ("line", "data: r.csv")
    assert works == Works(1, SAMPLE)
    assert isinstance(restarts, Restarts) and restarts.start == "checkpoint 2"
    assert isinstance(ends, Ends) and (ends.how, ends.text) == ("done", "")


@pytest.mark.parametrize(
    ("error", "how", "text"),
    [
        (None, "done", ""),
        (Interrupted("interrupted after 2 epochs", do="go on"), "interrupted", "go on"),
        (KeyboardInterrupt(), "interrupted", "KeyboardInterrupt"),
        (PeerLost("worker 1 was killed"), "failed", "worker 1 was killed"),
        (ValueError("odd"), "failed", "ValueError: odd"),
    ],
)
def test_how_a_command_ends(tmp_path, error, how, text):
    made = Journal(tmp_path)
    made.open()
    made.end(error)
    last = written(tmp_path)[-1]
    assert last.how == how and text in last.text


def test_what_a_killed_process_has_left_of_a_line_is_a_line_of_its_own(tmp_path):
    (tmp_path / FILE).write_bytes(b'{"type":"begins","at":1.0,"process":1,"host":"h"}\n{"type":"wo')
    made = Journal(tmp_path)
    made.open()
    made.end(None)
    found = written(tmp_path)
    assert [type(each) for each in found] == [Begins, type(None), Begins, Ends]


def test_the_file_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "SPANS_BYTES", 2_000)
    monkeypatch.setattr(journal, "MOST_BYTES", 4_000)
    made = Journal(tmp_path)
    made.open()
    for _ in range(100):
        made.sample(0, SAMPLE)
    made.end(None)
    samples = [each.sample.lanes for each in written(tmp_path) if isinstance(each, Works)]
    assert samples[0] and not samples[-1] and 4_000 < (tmp_path / FILE).stat().st_size < 4_200
    assert isinstance(written(tmp_path)[-1], Ends)


def test_a_file_that_cannot_be_written_is_left(tmp_path):
    (tmp_path / FILE).mkdir()
    made = Journal(tmp_path)
    made.open()
    made.says("line", "text")
    made.end(None)
    assert os.listdir(tmp_path / FILE) == []


def test_a_full_disk_ends_the_file_and_not_the_run(tmp_path):
    with open("/dev/full", "wb") as full:
        made = Journal(tmp_path)
        made._file = os.dup(full.fileno())
        made.says("line", "text")
        made.says("line", "another")
        made.end(None)
    assert os.listdir(tmp_path) == []


def test_a_watcher_is_told_all_and_epochs_are_left_to_the_records(tmp_path):
    told, made = Told(), Journal(tmp_path)
    made.open()
    watch = Noting(told, made)
    watch.phase("load")
    watch.phase("epoch 1")
    watch.share(0.5)
    watch.say("a line")
    watch.warn("odd")
    watch.epoch({"epoch": 1}, 3)
    assert (told.phases, told.lines, told.warnings) == (["load", "epoch 1"], ["a line"], ["odd"])
    assert told.records == [(1, 3)]
    said = [(each.as_, each.text) for each in written(tmp_path) if isinstance(each, Says)]
    assert said == [("phase", "load"), ("line", "a line"), ("warning", "odd")]


def test_a_folder_in_which_nothing_has_begun_is_removed_again(tmp_path):
    with pytest.raises(DataError), RunFolder(tmp_path / "out"):
        raise DataError("no edges")
    assert os.listdir(tmp_path) == []


def test_a_run_and_the_run_that_goes_on(tmp_path):
    (tmp_path / "ratings.csv").write_text(RATINGS)
    options = RunOptions(out=tmp_path / "out", epochs=3, jit=False, checkpoint_every="1")
    run(MF(rank=2), tmp_path / "ratings.csv", options=options)
    first = written(tmp_path / "out")
    assert isinstance(first[0], Begins) and isinstance(first[-1], Ends) and None not in first
    samples = [each.sample for each in first if isinstance(each, Works)]
    assert samples[0].held.edges > 0 and samples[-1].epoch == 3
    assert any(isinstance(each, Says) and each.text.startswith("data: ") for each in first)
    resume(tmp_path / "out", epochs=5)
    both = written(tmp_path / "out")
    assert both[: len(first)] == first
    assert [each.sample.epoch for each in both if isinstance(each, Works)][-1] == 5
    assert sum(isinstance(each, Begins) for each in both) == 2 and both[-1].how == "done"


def test_entries_have_the_names_that_the_page_reads():
    line = msgspec.json.decode(msgspec.json.encode(Says(1.0, "line", "text")))
    assert line == {"type": "says", "at": 1.0, "as": "line", "text": "text"}
    assert set(msgspec.json.decode(msgspec.json.encode(Works(0, SAMPLE)))) == {
        "type",
        "worker",
        "sample",
    }
