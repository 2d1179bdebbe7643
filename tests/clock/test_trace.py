"""The file of a worker's trace: what is noted is read, also of a file that was cut."""

import errno
import threading
from types import SimpleNamespace

import pytest
from support.messages import message

from tux.base.errors import DataError, DiskError
from tux.clock.trace import HEAD, HELD, MAGIC, RECORD, ClockEvent, Trace, read_trace, trace_name
from tux.messages.message import Kind

RUN = bytes(range(16))


def write(path, records=3):
    trace = Trace(path, 1, 4, 2, RUN)
    for clock in range(records):
        trace.note(ClockEvent.SENT, clock, 3, 7, Kind.CONTRIBUTION)
        trace.note(ClockEvent.START, clock, sync=2, segment=1, value=5)
    return trace


def test_what_is_noted_is_read(tmp_path):
    path = tmp_path / "new" / trace_name(2, 1)
    trace = write(path)
    trace.end()
    trace.note(ClockEvent.ANSWERED, 3)
    trace.close()
    read = read_trace(path)
    assert (read.rank, read.workers, read.slack, read.run, read.path) == (1, 4, 2, RUN, path)
    assert read.records.dtype == RECORD and len(read.records) == 8 and read.is_whole
    assert read.records[2].tolist() == (ClockEvent.SENT, Kind.CONTRIBUTION, 0, 3, 7, 0, 1)
    assert read.records[3].tolist() == (ClockEvent.START, 0, 1, 0, 2, 5, 1)


def test_records_are_held_back_until_there_are_many(tmp_path):
    trace = write(tmp_path / "x", 2)
    trace.look()
    assert len(read_trace(tmp_path / "x").records) == 0
    for _ in range(HELD // RECORD.itemsize):
        trace.note(ClockEvent.RAN, 0)
    trace.look()
    assert len(read_trace(tmp_path / "x").records) == 4 + HELD // RECORD.itemsize
    trace.close()


def test_a_file_that_was_cut_is_read_up_to_the_cut(tmp_path):
    write(tmp_path / "x").close()
    content = (tmp_path / "x").read_bytes()
    for size in range(HEAD.size, len(content) + 1):
        (tmp_path / "x").write_bytes(content[:size])
        read = read_trace(tmp_path / "x")
        assert len(read.records) == (size - HEAD.size) // RECORD.itemsize and not read.is_whole


@pytest.mark.parametrize("content", [b"", MAGIC, b"x" * 100])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match=message("not-a-trace-of-clocks", str(tmp_path / "x"))):
        read_trace(tmp_path / "x")
    with pytest.raises(DataError, match=message("cannot-be-read-2", "nothing")):
        read_trace(tmp_path / "nothing")


def test_threads_note_while_one_writes(tmp_path):
    trace, over = Trace(tmp_path / "x", 0, 1, 0), threading.Event()

    def note(peer):
        for clock in range(2000):
            trace.note(ClockEvent.FOLDED, clock, peer)

    def write_all():
        while not over.is_set():
            trace.flush()

    writer = threading.Thread(target=write_all)
    noting = [threading.Thread(target=note, args=(peer,)) for peer in range(3)]
    for each in (writer, *noting):
        each.start()
    for each in noting:
        each.join()
    over.set()
    writer.join()
    trace.close()
    records = read_trace(tmp_path / "x").records
    for peer in range(3):
        own = records[records["peer"] == peer]
        assert own["clock"].tolist() == [*range(2000)]


def test_a_disk_that_takes_a_part_before_it_is_full(tmp_path):
    trace = write(tmp_path / "x")
    file, left = trace._file, [100]

    def write_some(content):
        taken = file.write(content[: left[0]])
        left[0] -= taken
        if not taken:
            raise OSError(errno.ENOSPC, "full")
        return taken

    trace._file = SimpleNamespace(write=write_some, close=file.close)
    with pytest.raises(DiskError):
        trace.flush()
    left[0] = 1000  # there is room again
    trace.close()
    records = read_trace(tmp_path / "x").records
    assert len(records) == 6 and records["clock"].tolist() == [0, 0, 1, 1, 2, 2]


def test_a_disk_that_takes_nothing(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DiskError):
        Trace(tmp_path / "file" / "x", 0, 1, 0)
