"""Loaders of several machines: processes that exchange messages through sockets. The machines are
folders, and threads or processes of this one.
"""

import signal
import sys
import threading

import msgspec
import pytest
from support.machines.line_machines import KEY, LineMachine, command, compare, job, lines, places
from support.machines.members import SOON, job_in, until

from tux.base.errors import (
    DataError,
    DeadlinePassed,
    DiskError,
    MustReadWhole,
    PeerLost,
    Refused,
)
from tux.cluster.rendezvous import joining
from tux.cluster.rendezvous.agreement import differences
from tux.cluster.rendezvous.answering import AnswerThread
from tux.cluster.rendezvous.meeting import Meeting
from tux.cluster.rendezvous.place import Place
from tux.io.source.input_files import FilePiece, list_files
from tux.parallel_load.process import loading_launcher, loading_together
from tux.parallel_load.process.loader_process import job_folder
from tux.parallel_load.process.loading_together import traits_of
from tux.parallel_load.process.sample_rounds import SamplesAsked

SILENT = [sys.executable, "-c", "import time; time.sleep(1000)"]


@pytest.mark.long
def test_machines_write_what_one_machine_writes(tmp_path, port):
    what = job(lines(tmp_path), 4)
    machines = [
        LineMachine(tmp_path / str(place.rank), place, what) for place in reversed(places(port))
    ]
    compare(tmp_path, machines[::-1], 4, "dbh")


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "partitioner",
    [pytest.param(name, marks=pytest.mark.long) for name in ("random", "grid")] + ["aweto", "pds"],
)
def test_three_machines_by_any_method(tmp_path, port, partitioner):
    what = job(lines(tmp_path), 3, partitioner)
    machines = [
        LineMachine(tmp_path / str(place.rank), place, what) for place in places(port, 3, None)
    ]
    compare(tmp_path, machines, 3, partitioner)


def test_what_differs_is_named(tmp_path):
    (tmp_path / "other").mkdir()
    paths = lines(tmp_path), lines(tmp_path / "other", m=1990)
    first, other = (traits_of(job(path, 2), list_files(path)) for path in paths)
    sizes = [f"{path.stat().st_size:,} bytes" for path in paths]
    told = differences(first, other)
    assert f"size of file 0 (edges) is {sizes[1]}, and {sizes[0]} on machine 0" in told
    cut = job(paths[0], 2)
    cut.edges[""].pieces = [[FilePiece(str(paths[0]), 0, 9)], []]
    told = differences(first, traits_of(cut, list_files(paths[0])))
    assert told.startswith("ends of lines in the input is ") and ";" not in told
    crossed = [job(paths[0], 2) for _ in range(2)]
    for each, cross in zip(crossed, ((("a", "b"), ("c", "d:e")), None), strict=True):
        each.edges[""].samples = SamplesAsked(cross=cross)
    told = differences(*(traits_of(each, list_files(paths[0])) for each in crossed))
    assert told == '--cross is none, and a:b c:"d:e" on machine 0'
    for at in (0, -1):
        text = bytearray(paths[0].read_bytes())
        text[at] = ord("x")
        paths[1].write_bytes(text)
        told = differences(first, traits_of(job(paths[0], 2), list_files(paths[1])))
        assert told.startswith("beginning and end of file 0 (edges) is ") and ";" not in told


@pytest.mark.long
def test_machines_with_other_data_are_refused_by_name(tmp_path, port):
    (tmp_path / "other").mkdir()
    paths = lines(tmp_path), lines(tmp_path / "other", m=1990)
    machines = [
        LineMachine(tmp_path / str(place.rank), place, job(path, 2))
        for place, path in zip(places(port), paths, strict=True)
    ]
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, Refused) and "size of file 0 (edges) is " in first.what
    assert isinstance(second, Refused) and "size of file 0 (edges)" in second.what


@pytest.mark.long
def test_the_first_fault_of_the_input_is_told(tmp_path, port):
    """Of two shares with a bad line, the first; the other machine is told that it is over."""
    path = lines(tmp_path, {300: "no", 1700: "no"})
    machines = [LineMachine(tmp_path / str(each.rank), each, job(path, 2)) for each in places(port)]
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, DataError) and "edges:301" in str(first)
    assert isinstance(second, DataError | Refused)  # its own fault, or that it is over


def test_a_lost_loader_is_told_on_all_machines(tmp_path, port):
    path = lines(tmp_path, {1700: "die"})
    machines = [LineMachine(tmp_path / str(each.rank), each, job(path, 2)) for each in places(port)]
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, PeerLost) and "loader 1" in first.what
    assert isinstance(second, PeerLost) and "SIGKILL" in second.what
    assert not any(machine.loaders for machine in machines)


@pytest.mark.long
@pytest.mark.parametrize("line", [pytest.param(300, marks=pytest.mark.long), 1700])
def test_a_stopped_loader_is_told_on_all_machines(tmp_path, port, line):
    path = lines(tmp_path, {line: "stop"})
    machines = [LineMachine(tmp_path / str(each.rank), each, job(path, 2)) for each in places(port)]
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, PeerLost) and f"loader {line // 1000}" in first.what
    assert isinstance(second, PeerLost | Refused), second
    assert not any(machine.loaders for machine in machines)


@pytest.mark.long
def test_a_machine_with_another_key_is_kept_out(tmp_path, port):
    path, strange = lines(tmp_path), bytes(32)
    ranks = zip(places(port), (KEY, strange), strict=True)
    machines = [
        LineMachine(
            tmp_path / str(each.rank), Place(2, each.rank, each.host, port, key), job(path, 2), 4
        )
        for each, key in ranks
    ]
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, DeadlinePassed) and "machine 1 (loader 1) to join" in first.what
    assert isinstance(second, DeadlinePassed) and "no answer from machine 0" in second.what


@pytest.mark.long
@pytest.mark.parametrize("killed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_command_is_told_on_the_other_machine(tmp_path, port, killed):
    """Its loaders end by themselves. Those of the others are told that they have no folder, or hear
    nothing of them any more.
    """
    path = lines(tmp_path, {300: "sleep", 1700: "sleep"})
    running = [command(tmp_path / str(rank), rank, port, path) for rank in (0, 1)]
    try:
        until(lambda: (tmp_path / "1" / ".loading" / "sleeps-3").exists(), "loader 3 to read")
        running[killed].send_signal(signal.SIGKILL)
        out, _ = running[1 - killed].communicate(timeout=3 * SOON)
        assert running[1 - killed].returncode == 4, out
        assert "silent" in out or "is gone" in out
    finally:
        for each in running:
            each.kill()
            each.communicate()
    until(lambda: not (tmp_path / str(killed)).exists(), "the loaders to remove the folder")


@pytest.mark.slow
def test_a_machine_that_has_its_parts_has_the_others_read_all(tmp_path, port, monkeypatch):
    """It asks for the job: so its share is loaded by nobody."""
    monkeypatch.setattr(loading_launcher, "ALONE", 0.5)
    where = places(port)
    machine = LineMachine(tmp_path / "0", where[0], job(lines(tmp_path), 2))
    asks = job_in(
        tmp_path,
        launcher=where[0].launcher,
        listen=where[1].own(),
        secret=KEY,
        deadline=SOON,
        nonce=b"an older one",
    )
    with pytest.raises(DeadlinePassed):  # machine 0 is at work, until it ends
        joining.ask(msgspec.structs.replace(asks, deadline=2.0))
    assert isinstance(machine.result(), MustReadWhole)


def test_a_machine_that_comes_too_late_reads_all(port):
    where = places(port)
    answering = AnswerThread(where[0].launcher, KEY, loaded=True)
    try:
        with pytest.raises(MustReadWhole):
            joining.ask(Meeting.at(where[1], 2, {}, SOON))
    finally:
        answering.close()


@pytest.mark.slow
def test_a_machine_that_was_welcomed_hears_that_all_read_the_whole(tmp_path, port, monkeypatch):
    """Its loaders have not said hello when the third machine turns out to have its parts already:
    so nobody can tell them.
    """
    monkeypatch.setattr(loading_launcher, "ALONE", 0.5)
    where, what = places(port, 3), job(lines(tmp_path), 3)
    first = LineMachine(tmp_path / "0", where[0], what)
    second = LineMachine(tmp_path / "1", where[1], what, command=SILENT)
    until(lambda: second.loaders, "the start of its loader")
    third = job_in(
        tmp_path,
        launcher=where[0].launcher,
        listen=where[2].own(),
        secret=KEY,
        deadline=3.0,
        nonce=b"an older one",
    )
    older = threading.Thread(target=lambda: ask_for_job(third), daemon=True)
    older.start()
    assert isinstance(first.result(), MustReadWhole)
    answering = AnswerThread(where[0].launcher, KEY, loaded=True)
    try:
        assert isinstance(second.result(), MustReadWhole)
    finally:
        answering.close()
    assert not second.loaders


@pytest.mark.slow
@pytest.mark.parametrize("restarts", [pytest.param(0, marks=pytest.mark.long), 3])
def test_a_machine_that_cannot_start_its_loaders_tells_machine_0(
    tmp_path, port, monkeypatch, restarts
):
    """After it was welcomed, so machine 0 would wait for it. Nobody loads anew: its disk would be
    full again.
    """
    write = loading_together._write_job

    def fill_one_disk(job, meeting, graph):
        if graph.name == "1":
            raise DiskError("the disk is full")
        write(job, meeting, graph)

    monkeypatch.setattr(loading_together, "_write_job", fill_one_disk)
    path = lines(tmp_path)
    machines = [
        LineMachine(tmp_path / str(each.rank), each, job(path, 2), restarts=restarts)
        for each in places(port)
    ]
    first, second = (machine.result() for machine in machines)
    assert isinstance(second, DiskError)
    assert isinstance(first, PeerLost) and first.what == "the disk is full"
    assert not machines[0].losses.why


@pytest.mark.slow
def test_a_machine_whose_folder_is_removed_says_so(tmp_path, port):
    path = lines(tmp_path, {300: "sleep", 1700: "sleep"})
    machines = [LineMachine(tmp_path / str(each.rank), each, job(path, 2)) for each in places(port)]
    until(lambda: (job_folder(machines[1].folder) / "sleeps-1").exists(), "loader 1 to read")
    job_folder(machines[1].folder).rename(tmp_path / "elsewhere")
    first, second = (machine.result() for machine in machines)
    assert isinstance(second, DiskError) and "was removed" in second.what
    assert isinstance(first, PeerLost), first


@pytest.mark.long
def test_what_is_left_of_an_older_run_disturbs_nobody(tmp_path, port, monkeypatch):
    """A machine asks for a job of the same key, and all loaders come all the same."""
    monkeypatch.setattr(loading_launcher, "ALONE", SOON)
    where, what = places(port), job(lines(tmp_path), 2)
    first = LineMachine(tmp_path / "0", where[0], what)
    asks = job_in(
        tmp_path, launcher=where[0].launcher, listen=where[1].own(), secret=KEY, deadline=2.0
    )
    ends = []
    older = threading.Thread(target=lambda: ends.append(ask_for_job(asks)), daemon=True)
    older.start()
    compare(tmp_path, [first, LineMachine(tmp_path / "1", where[1], what)], 2, "dbh")
    older.join(SOON)
    assert ends == ["no answer from machine 0"]


def ask_for_job(job):
    """Ask for a job as a machine does. Return the answer, or the message of the error that the
    deadline has passed.
    """
    try:
        return joining.ask(job)
    except DeadlinePassed as error:
        return error.what.partition(" at ")[0]
