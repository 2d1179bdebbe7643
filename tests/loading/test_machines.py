"""Loaders of several machines: processes that exchange messages through sockets. The machines are
folders, and threads or processes of this one.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest
from loaded import files, of_machine, one_process
from members import SOON, job_in, until

from tux.arrays.arrow import STRING
from tux.base.errors import DataError, DeadlinePassed, DiskError, PeerLost, Refused
from tux.cluster import joining
from tux.cluster.agreement import differences
from tux.cluster.answering import Answering
from tux.cluster.joining import MustReadWhole
from tux.cluster.meeting import Meeting
from tux.cluster.place import Place
from tux.io.input_files import Piece, listed
from tux.loading.plan import Plan
from tux.run import loading_launcher, loading_together
from tux.run.loader_process import LoadingJob, job_folder
from tux.run.loading_together import make_parts_together, traits_of

TWO = ("user", "item")
COMMAND = [sys.executable, "-P", str(Path(__file__).with_name("line_loader.py"))]
SILENT = [sys.executable, "-c", "import time; time.sleep(1000)"]
KEY = bytes(range(32))


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent.parent))


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def job(path, n, partitioner="dbh"):
    plan = Plan(TWO, n, n, partitioner, 4, bipartite=True)
    return LoadingJob(plan, str(path), {"value": "<f4"})


class Machine:
    """One machine, a thread with a folder of its own: its result, or its error."""

    def __init__(self, folder, place, job, deadline=SOON, command=COMMAND):
        self.folder, self.got = folder, None
        folder.mkdir()
        self._arguments = folder, job, listed(job.data), place, deadline, {}, command
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self.got = make_parts_together(*self._arguments)
        except Exception as error:
            self.got = error

    def result(self):
        self._thread.join(3 * SOON)
        assert not self._thread.is_alive(), "it hangs"
        return self.got

    @property
    def loaders(self):
        """The processes of its loaders."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if str(self.folder).encode() in words:
                found.append(int(path.parent.name))
        return found


def places(port, n=2, secret=KEY):
    return [Place(n, rank, "127.0.0.1", port, secret) for rank in range(n)]


def lines(tmp_path, bad=None, m=2000):
    content = [(bad or {}).get(at, f"{at % 90} b{at * 7 % 50} {at % 9}") + "\n" for at in range(m)]
    (tmp_path / "edges").write_text("".join(content))
    return tmp_path / "edges"


def whole(tmp_path, n, partitioner, m=2000):
    """The files of the folder of one machine, and the digest of the edges."""
    src = np.array([at % 90 for at in range(m)])
    dst = np.array([f"b{at * 7 % 50}" for at in range(m)], STRING)
    value = np.array([at % 9 for at in range(m)], np.float32)
    edges = one_process(tmp_path / "one", TWO, src, dst, {"value": value}, n, partitioner, 4)
    return files(tmp_path / "one"), edges


def compare(tmp_path, machines, n, partitioner):
    """Each machine must have what one machine would have written for it."""
    expected, edges = whole(tmp_path, n, partitioner)
    each = n // len(machines)
    for at, machine in enumerate(machines):
        graph = machine.result()
        assert not isinstance(graph, Exception), graph
        assert graph.digest == edges.digest()
        assert sum(graph.edges) == 2000 and graph.repeated == (
            None if partitioner == "pds" else edges.duplicates
        )
        plan = job("", n, partitioner).plan
        assert files(machine.folder) == of_machine(expected, at, plan, each)


def test_machines_write_what_one_machine_writes(tmp_path, port):
    what = job(lines(tmp_path), 4)
    machines = [
        Machine(tmp_path / str(place.rank), place, what) for place in reversed(places(port))
    ]
    compare(tmp_path, machines[::-1], 4, "dbh")


@pytest.mark.slow
@pytest.mark.parametrize("partitioner", ["random", "grid", "aweto", "pds"])
def test_three_machines_by_any_method(tmp_path, port, partitioner):
    what = job(lines(tmp_path), 3, partitioner)
    machines = [Machine(tmp_path / str(place.rank), place, what) for place in places(port, 3, None)]
    compare(tmp_path, machines, 3, partitioner)


def test_what_differs_is_named(tmp_path):
    (tmp_path / "other").mkdir()
    paths = lines(tmp_path), lines(tmp_path / "other", m=1990)
    first, other = (traits_of(job(path, 2), listed(path)) for path in paths)
    sizes = [f"{path.stat().st_size:,} bytes" for path in paths]
    told = differences(first, other)
    assert f"size of file 0 (edges) is {sizes[1]}, and {sizes[0]} on machine 0" in told
    cut = msgspec.structs.replace(job(paths[0], 2), pieces=[[Piece(str(paths[0]), 0, 9)], []])
    told = differences(first, traits_of(cut, listed(paths[0])))
    assert told.startswith("ends of lines in the input is ") and ";" not in told


@pytest.mark.slow
def test_machines_with_other_data_are_refused_by_name(tmp_path, port):
    (tmp_path / "other").mkdir()
    paths = lines(tmp_path), lines(tmp_path / "other", m=1990)
    machines = [
        Machine(tmp_path / str(place.rank), place, job(path, 2))
        for place, path in zip(places(port), paths, strict=True)
    ]
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, Refused) and "size of file 0 (edges) is " in first.what
    assert isinstance(second, Refused) and "size of file 0 (edges)" in second.what


@pytest.mark.slow
def test_the_first_fault_of_the_input_is_told(tmp_path, port):
    """Of two shares with a bad line, the first; the other machine is told that it is over."""
    path = lines(tmp_path, {300: "no", 1700: "no"})
    machines = [Machine(tmp_path / str(each.rank), each, job(path, 2)) for each in places(port)]
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, DataError) and "edges:301" in str(first)
    assert isinstance(second, DataError | Refused)  # its own fault, or that it is over


def test_a_lost_loader_is_told_on_all_machines(tmp_path, port):
    path = lines(tmp_path, {1700: "die"})
    machines = [Machine(tmp_path / str(each.rank), each, job(path, 2)) for each in places(port)]
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, PeerLost) and "loader 1" in first.what
    assert isinstance(second, PeerLost) and "SIGKILL" in second.what
    assert not any(machine.loaders for machine in machines)


@pytest.mark.slow
@pytest.mark.parametrize("line", [300, 1700])
def test_a_stopped_loader_is_told_on_all_machines(tmp_path, port, line):
    path = lines(tmp_path, {line: "stop"})
    machines = [Machine(tmp_path / str(each.rank), each, job(path, 2)) for each in places(port)]
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, PeerLost) and f"loader {line // 1000}" in first.what
    assert isinstance(second, PeerLost | Refused), second
    assert not any(machine.loaders for machine in machines)


@pytest.mark.slow
def test_a_machine_with_another_key_is_kept_out(tmp_path, port):
    path, strange = lines(tmp_path), bytes(32)
    ranks = zip(places(port), (KEY, strange), strict=True)
    machines = [
        Machine(
            tmp_path / str(each.rank), Place(2, each.rank, each.host, port, key), job(path, 2), 4
        )
        for each, key in ranks
    ]
    first, second = (machine.result() for machine in machines)
    assert isinstance(first, DeadlinePassed) and "machine 1 (worker 1) to join" in first.what
    assert isinstance(second, DeadlinePassed) and "no answer from machine 0" in second.what


COMMAND_OF_MACHINE = """
import sys
from pathlib import Path
import test_machines as t
from tux.base.errors import TuxError
folder, rank, port, path = sys.argv[1:]
place = t.places(int(port))[int(rank)]
try:
    job, files = t.job(path, 4), t.listed(path)
    t.make_parts_together(Path(folder), job, files, place, t.SOON, {}, t.COMMAND)
except TuxError as error:
    print(error.what)
    sys.exit(error.exit_code)
"""


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_command_is_told_on_the_other_machine(tmp_path, port, killed):
    """Its loaders end by themselves. Those of the others are told that they have no folder, or hear
    nothing of them any more.
    """
    path = lines(tmp_path, {300: "sleep", 1700: "sleep"})
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent), str(Path(__file__).parent.parent), os.environ["PYTHONPATH"]]
    )
    running = []
    for rank in (0, 1):
        (tmp_path / str(rank)).mkdir()
        words = [str(tmp_path / str(rank)), str(rank), str(port), str(path)]
        command = [sys.executable, "-c", COMMAND_OF_MACHINE, *words]
        running.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        )
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
    machine = Machine(tmp_path / "0", where[0], job(lines(tmp_path), 2))
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
    answering = Answering(where[0].launcher, KEY, loaded=True)
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
    first = Machine(tmp_path / "0", where[0], what)
    second = Machine(tmp_path / "1", where[1], what, command=SILENT)
    until(lambda: second.loaders, "the start of its loader")
    third = job_in(
        tmp_path,
        launcher=where[0].launcher,
        listen=where[2].own(),
        secret=KEY,
        deadline=3.0,
        nonce=b"an older one",
    )
    older = threading.Thread(target=lambda: asked(third), daemon=True)
    older.start()
    assert isinstance(first.result(), MustReadWhole)
    answering = Answering(where[0].launcher, KEY, loaded=True)
    try:
        assert isinstance(second.result(), MustReadWhole)
    finally:
        answering.close()
    assert not second.loaders


@pytest.mark.slow
def test_a_machine_that_cannot_start_its_loaders_tells_machine_0(tmp_path, port, monkeypatch):
    """After it was welcomed, so machine 0 would wait for it."""
    write = loading_together._write

    def full(job, meeting, graph):
        if graph.name == "1":
            raise DiskError("the disk is full")
        write(job, meeting, graph)

    monkeypatch.setattr(loading_together, "_write", full)
    path = lines(tmp_path)
    machines = [Machine(tmp_path / str(each.rank), each, job(path, 2)) for each in places(port)]
    first, second = (machine.result() for machine in machines)
    assert isinstance(second, DiskError)
    assert isinstance(first, PeerLost) and first.what == "the disk is full"


@pytest.mark.slow
def test_a_machine_whose_folder_is_removed_says_so(tmp_path, port):
    path = lines(tmp_path, {300: "sleep", 1700: "sleep"})
    machines = [Machine(tmp_path / str(each.rank), each, job(path, 2)) for each in places(port)]
    until(lambda: (job_folder(machines[1].folder) / "sleeps-1").exists(), "loader 1 to read")
    job_folder(machines[1].folder).rename(tmp_path / "elsewhere")
    first, second = (machine.result() for machine in machines)
    assert isinstance(second, DiskError) and "was removed" in second.what
    assert isinstance(first, PeerLost), first


@pytest.mark.slow
def test_what_is_left_of_an_older_run_disturbs_nobody(tmp_path, port, monkeypatch):
    """A machine asks for a job of the same key, and all loaders come all the same."""
    monkeypatch.setattr(loading_launcher, "ALONE", SOON)
    where, what = places(port), job(lines(tmp_path), 2)
    first = Machine(tmp_path / "0", where[0], what)
    asks = job_in(
        tmp_path, launcher=where[0].launcher, listen=where[1].own(), secret=KEY, deadline=2.0
    )
    ends = []
    older = threading.Thread(target=lambda: ends.append(asked(asks)), daemon=True)
    older.start()
    compare(tmp_path, [first, Machine(tmp_path / "1", where[1], what)], 2, "dbh")
    older.join(SOON)
    assert ends == ["no answer from machine 0"]


def asked(job):
    """What a machine is told that asks for a job."""
    try:
        return joining.ask(job)
    except DeadlinePassed as error:
        return error.what.partition(" at ")[0]
