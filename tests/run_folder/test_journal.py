"""The journal of a run: what is in it, that it stays small, and that no run fails for it."""

import os

import msgspec
import pytest
from support.machines.watchers import RecordingSilent
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.errors import DataError, Interrupted, PeerLost
from tux.engine.timeline import Sample
from tux.options.options import RunOptions
from tux.run_folder import journal
from tux.run_folder.folder import RunFolder
from tux.run_folder.journal import (
    FILE,
    BeginEntry,
    EndEntry,
    Journal,
    JournalWatcher,
    MessageEntry,
    RestartEntry,
    SampleEntry,
    parse_entries,
)
from tux.runs.session import resume, run

SAMPLE = Sample(1.0, 0.5, 1, 3, {"compute": 0.25}, 10, 4096, lanes={"main": [0, 9, 3, 7]})


def read_entries(folder):
    return parse_entries((folder / FILE).read_bytes().splitlines())


def test_nothing_is_written_before_the_run_has_begun(tmp_path):
    made = Journal(tmp_path)
    made.note_message("line", "data: r.csv")
    assert os.listdir(tmp_path) == []
    made.open()
    made.note_sample(1, SAMPLE)
    made.note_restart("worker 1 was killed", "checkpoint 2")
    made.end(None)
    made.note_message("line", "too late")
    begins, says, works, restarts, ends = read_entries(tmp_path)
    assert isinstance(begins, BeginEntry) and begins.process == os.getpid()
    assert isinstance(says, MessageEntry) and (says.as_, says.text) == ("line", "data: r.csv")
    assert works == SampleEntry(1, SAMPLE)
    assert isinstance(restarts, RestartEntry) and restarts.start == "checkpoint 2"
    assert isinstance(ends, EndEntry) and (ends.how, ends.text) == ("done", "")


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
    last = read_entries(tmp_path)[-1]
    assert last.how == how and text in last.text


def test_what_a_killed_process_has_left_of_a_line_is_a_line_of_its_own(tmp_path):
    (tmp_path / FILE).write_bytes(b'{"type":"begins","at":1.0,"process":1,"host":"h"}\n{"type":"wo')
    made = Journal(tmp_path)
    made.open()
    made.end(None)
    found = read_entries(tmp_path)
    assert [type(each) for each in found] == [BeginEntry, type(None), BeginEntry, EndEntry]


def test_the_file_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "SPANS_BYTES", 2_000)
    monkeypatch.setattr(journal, "MOST_BYTES", 4_000)
    made = Journal(tmp_path)
    made.open()
    for _ in range(100):
        made.note_sample(0, SAMPLE)
    made.end(None)
    samples = [
        each.sample.lanes for each in read_entries(tmp_path) if isinstance(each, SampleEntry)
    ]
    assert samples[0] and not samples[-1] and 4_000 < (tmp_path / FILE).stat().st_size < 4_200
    assert isinstance(read_entries(tmp_path)[-1], EndEntry)


def test_a_file_that_cannot_be_written_is_left(tmp_path):
    (tmp_path / FILE).mkdir()
    made = Journal(tmp_path)
    made.open()
    made.note_message("line", "text")
    made.end(None)
    assert os.listdir(tmp_path / FILE) == []


def test_a_full_disk_ends_the_file_and_not_the_run(tmp_path):
    with open("/dev/full", "wb") as full:
        made = Journal(tmp_path)
        made._file = os.dup(full.fileno())
        made.note_message("line", "text")
        made.note_message("line", "another")
        made.end(None)
    assert os.listdir(tmp_path) == []


def test_a_watcher_is_told_all_and_epochs_are_left_to_the_records(tmp_path):
    told, made = RecordingSilent(), Journal(tmp_path)
    made.open()
    watch = JournalWatcher(told, made)
    watch.phase("load")
    watch.phase("epoch 1")
    watch.share(0.5)
    watch.say("a line")
    watch.warn("odd")
    watch.epoch({"epoch": 1}, 3)
    assert (told.phases, told.lines, told.warnings) == (["load", "epoch 1"], ["a line"], ["odd"])
    assert told.records == [(1, 3)]
    said = [
        (each.as_, each.text) for each in read_entries(tmp_path) if isinstance(each, MessageEntry)
    ]
    assert said == [("phase", "load"), ("line", "a line"), ("warning", "odd")]


def test_a_folder_in_which_nothing_has_begun_is_removed_again(tmp_path):
    with pytest.raises(DataError), RunFolder(tmp_path / "out"):
        raise DataError("no edges")
    assert os.listdir(tmp_path) == []


def test_a_run_and_the_run_that_goes_on(tmp_path):
    (tmp_path / "ratings.csv").write_text(RATINGS)
    options = RunOptions(out=tmp_path / "out", epochs=3, jit=False, checkpoint_every="1")
    run(MF(rank=2), tmp_path / "ratings.csv", options=options)
    first = read_entries(tmp_path / "out")
    assert (
        isinstance(first[0], BeginEntry) and isinstance(first[-1], EndEntry) and None not in first
    )
    samples = [each.sample for each in first if isinstance(each, SampleEntry)]
    assert samples[0].held.edges > 0 and samples[-1].epoch == 3
    assert any(isinstance(each, MessageEntry) and each.text.startswith("data: ") for each in first)
    resume(tmp_path / "out", epochs=5)
    both = read_entries(tmp_path / "out")
    assert both[: len(first)] == first
    assert [each.sample.epoch for each in both if isinstance(each, SampleEntry)][-1] == 5
    assert sum(isinstance(each, BeginEntry) for each in both) == 2 and both[-1].how == "done"


def test_entries_have_the_names_that_the_page_reads():
    line = msgspec.json.decode(msgspec.json.encode(MessageEntry(1.0, "line", "text")))
    assert line == {"type": "says", "at": 1.0, "as": "line", "text": "text"}
    assert set(msgspec.json.decode(msgspec.json.encode(SampleEntry(0, SAMPLE)))) == {
        "type",
        "worker",
        "sample",
    }
