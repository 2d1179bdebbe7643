"""The contents of a run's folder as a page gets them: all of it once, in bounded pieces, whatever
happens to the files meanwhile.
"""

import os
import socket

import msgspec
import pytest
from support.machines.watched_run import LANES, describe_run, line, record, sample, write

from tux.base.checksums import seal
from tux.monitor.watch import reading
from tux.monitor.watch.reading import Cursor, Reader, read_last_end, read_piece, status_of
from tux.run_folder.folder import Incarnation, write_run
from tux.run_folder.journal import FILE, BeginEntry, EndEntry
from tux.run_folder.run_lock import LOCK, Holder, claim


class Page:
    """A page as the reader knows it: it asks, and remembers what it got."""

    def __init__(self, folder):
        self.reader, self.cursors = Reader(folder), ["", "", ""]
        self.records, self.entries, self.state = [], [], None

    def ask(self):
        news = self.reader.news(*self.cursors)
        assert msgspec.json.decode(msgspec.json.encode(news))
        self.state = news["state"] or self.state
        for name in ("records", "entries"):
            if news[name]["again"]:
                setattr(self, name, [])
            getattr(self, name).extend(news[name]["items"])
        self.cursors = [news["digest"], news["records"]["cursor"], news["entries"]["cursor"]]
        return news

    def ask_all(self):
        while (news := self.ask())["records"]["more"] or news["entries"]["more"]:
            pass
        return self


def test_all_comes_once(tmp_path):
    page = Page(write(tmp_path / "run1"))
    first = page.ask()
    assert first["state"]["name"] == "run1" and first["state"]["run"]["parameters"] == {"rank": 8}
    assert "categories" not in first["state"]["run"]
    other = Page(write(tmp_path / "run2", internal=["rank"])).ask()["state"]["run"]
    assert other["parameters"] == {} and "internal" not in other
    assert page.records == [record(1), record(2)] and len(page.entries) == 10
    again = page.ask()
    assert again["state"] is None and again["records"]["items"] == again["entries"]["items"] == []
    with open(tmp_path / "run1" / "metrics.jsonl", "ab") as file:
        file.write(line(record(3)) + b'{"epoch":4,')
    assert page.ask()["records"]["items"] == [record(3)]
    with open(tmp_path / "run1" / "metrics.jsonl", "ab") as file:
        file.write(b'"clock":16}\n')
    assert page.ask()["records"]["items"] == [{"epoch": 4, "clock": 16}]


def test_large_files_come_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 700)
    page = Page(write(tmp_path / "run1", epochs=100)).ask_all()
    assert page.records == [record(n + 1) for n in range(100)] and len(page.entries) == 10


def test_a_line_that_is_too_long_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 500)
    folder = write(tmp_path / "run1", epochs=1)
    with open(folder / "metrics.jsonl", "ab") as file:
        file.write(b"x" * 1300 + b"\n" + line(record(2)))
    assert Page(folder).ask_all().records == [record(1), record(2)]


def test_records_that_are_cut_are_read_again(tmp_path):
    folder = write(tmp_path / "run1", epochs=3)
    page = Page(folder)
    page.ask()
    # workers were started again; meanwhile the file has become longer than it was
    write_run(folder, describe_run(incarnations=[Incarnation(1, 1, 0, "worker 1 was killed")]))
    other = [record(1), {**record(2), "train_rmse": 0.25}, *map(record, (3, 4))]
    (folder / "metrics.jsonl").write_bytes(b"".join(map(line, other)))
    assert page.ask()["records"]["again"] and page.records == other
    # cut, and the record of the run does not tell yet
    os.truncate(folder / "metrics.jsonl", len(line(other[0])))
    assert page.ask()["records"]["again"] and page.records == other[:1]
    assert not page.ask()["records"]["again"] and len(page.entries) == 10


def test_a_folder_that_is_made_anew_is_read_anew(tmp_path):
    folder = write(tmp_path / "run1")
    page = Page(folder)
    page.ask()
    folder.rename(tmp_path / "aside")
    assert page.ask()["records"]["again"] and page.records == [] == page.entries
    write(folder, epochs=1)
    page.ask()
    assert page.records == [record(1)] and len(page.entries) == 10


@pytest.mark.parametrize("cursor", ["", "x", "1.2", "-5", "1.0-" + "9" * 30, "1.0--4", "../-1"])
def test_a_cursor_that_is_none_is_the_begin(cursor, tmp_path):
    assert Cursor.parse(cursor) == ("", 0)
    assert read_piece(write(tmp_path / "run1") / FILE, Cursor.parse(cursor)).again


def test_spans_are_left_out_until_they_are_asked_for(tmp_path):
    page = Page(write(tmp_path / "run1"))
    page.ask()
    works = [each for each in page.entries if each["type"] == "works"]
    assert works[0]["sample"]["lanes"] == {"main": [], "sockets": []}
    assert works[0]["sample"]["held"]["edges"] == 50 and "held" not in works[2]["sample"]
    places = [each["place"] for each in works]
    found = page.reader.spans([*places[:2], places[0] + 1, 0, 10**9])
    assert found == {str(places[0]): LANES, str(places[1]): LANES}
    assert len(page.reader.spans(places * 100)) == len(places)


def test_lines_of_others_are_left_out(tmp_path):
    folder = write(tmp_path / "run1")
    for name in (FILE, "metrics.jsonl"):
        with open(folder / name, "ab") as file:
            file.write(b'\n[1]\n{"type":"new"}\n\xff\n{"a":"b"}\n' + b"[" * 5000 + b"\n")
    page = Page(folder).ask_all()
    assert len(page.records) == 2 and len(page.entries) == 10


# ---- how a run is going

HERE = socket.gethostname()


@pytest.mark.parametrize(
    ("lock", "run", "ended", "locked", "status"),
    [
        (Holder(1, HERE, True), None, None, True, "starting"),
        (None, None, None, True, "starting"),  # the lock is being written
        (Holder(1, HERE, True), describe_run(), None, True, "running"),
        (Holder(1, HERE, False), describe_run(), None, True, "killed"),
        (None, describe_run(), EndEntry(1.0, "failed", "worker 1"), False, "failed"),
        (None, describe_run(), EndEntry(1.0, "done"), False, "done"),
        (None, describe_run(results={}), None, False, "done"),  # of an older version
        (None, describe_run(interrupted=3), None, False, "interrupted"),
        (None, describe_run(), None, False, "stopped"),
        (None, None, None, False, "stopped"),
    ],
)
def test_status(lock, run, ended, locked, status):
    assert status_of(lock, run, ended, locked=locked)[0] == status


def test_the_last_command_counts(tmp_path):
    path = tmp_path / FILE
    assert read_last_end(path) is None
    ends, begins = EndEntry(2.0, "interrupted", "Ctrl-C"), BeginEntry(3.0, 1, "h")
    path.write_bytes(line(begins) + line(sample(1.0, 0)) + line(ends) + b'{"ty')
    assert read_last_end(path) == ends
    path.write_bytes(line(ends) + line(begins) + line(sample(1.0, 0)))
    assert read_last_end(path) is None


def test_a_run_that_goes_on_ends_and_goes_on_again(tmp_path):
    folder = write(tmp_path / "run1", end=("failed", "worker 1 was killed"))
    page = Page(folder)
    page.ask()
    assert (page.state["status"], page.state["why"]) == ("failed", "worker 1 was killed")
    (folder / "checkpoints").mkdir()
    (folder / LOCK).write_text(f"{os.getpid()} {HERE}\n")
    page.ask()
    assert page.state["status"] == "running" and page.state["process"] == os.getpid()
    (folder / LOCK).write_text(f"{2**22 + 1} {HERE}\n")
    page.ask()
    assert page.state["status"] == "killed" and str(2**22 + 1) in page.state["why"]


def test_a_run_that_loads_its_data(tmp_path):
    claim(tmp_path / "run1")
    state = Reader(tmp_path / "run1").state()
    assert (state["status"], state["run"], state["process"]) == ("starting", {}, os.getpid())


def test_a_damaged_record_is_told(tmp_path):
    folder = write(tmp_path / "run1")
    (folder / "run.json").write_text("{")
    assert Reader(folder).state()["why"].startswith("not what a run writes")


def test_records_that_are_others_than_the_run_has_written_are_told(tmp_path):
    folder = write(tmp_path / "run1", results={}, end=("done",))
    seal(folder, ["metrics.jsonl"])
    reader, path = Reader(folder), folder / "metrics.jsonl"
    whole = path.read_bytes()
    damaged = "metrics.jsonl is damaged or was changed: its checksum is another"
    for content, told in ((whole, ""), (whole.replace(b"0.5", b"0.7"), damaged), (whole, "")):
        (folder / "other").write_bytes(content)
        os.replace(folder / "other", path)  # another file, however soon it comes
        assert reader.state()["why"] == told
