"""Loaders as processes of one machine, which exchange files."""

import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.machines.loaded import files, one_process
from support.machines.members import until
from support.messages import message

from tux.arrays.arrow import STRING
from tux.base.errors import DataError, DeadlinePassed, DiskError, PeerLost, UsageError
from tux.parallel_load.algorithm import mailbox
from tux.parallel_load.algorithm.columns import columns_by_sender
from tux.parallel_load.algorithm.inactivity import Inactivity
from tux.parallel_load.algorithm.mailbox import Mailbox
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.process.loader_process import job_folder
from tux.parallel_load.process.loading import load_in_shares, raise_first
from tux.parallel_load.process.loading_job import EdgesInput, LoadingJob

TWO = ("user", "item")
COMMAND = [sys.executable, "-P", str(Path(__file__).with_name("line_loader.py"))]


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent.parent))


def job(path, n, parts=3, partitioner="dbh"):
    plan = LoadingPlan(TWO, n, parts, partitioner, 4, bipartite=True)
    return LoadingJob(plan, {"": EdgesInput(str(path), {"value": "<f4"})})


@pytest.mark.slow
def test_processes_write_what_one_process_writes(tmp_path):
    rng = np.random.default_rng(0)
    m = 2000
    src = rng.integers(0, 90, m)
    dst = np.array([f"item {n}".replace(" ", "-") for n in rng.integers(0, 50, m)], STRING)
    value = rng.integers(0, 9, m).astype(np.float32)
    lines = [f"{a} {b} {c}\n" for a, b, c in zip(src, dst, value, strict=True)]
    (tmp_path / "edges").write_text("".join(lines))
    edges = one_process(tmp_path / "one", TWO, src, dst, {"value": value}, 3, "dbh", 4)
    graph = load_in_shares(tmp_path / "shares", job(tmp_path / "edges", 3), COMMAND)
    (tmp_path / "shares" / "B2SUMS").unlink()
    assert files(tmp_path / "shares") == files(tmp_path / "one")
    assert graph.digest == edges.digest()
    assert sum(graph.edges) == m
    assert graph.repeated_edges() == edges.duplicates
    assert all(each.peak > 0 for each in graph.ended)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges", "one", "shares"]


@pytest.mark.slow
@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        ({1500: "no", 300: "no", 1990: "no"}, DataError, "edges:301"),
        ({1500: "die"}, PeerLost, "SIGKILL"),
        ({300: "sleep", 1000: "no", 1990: "die"}, PeerLost, "loader 2"),
    ],
)
def test_the_first_fault_is_told_and_nothing_is_left(tmp_path, bad, error, words):
    lines = [bad.get(at, f"{at} b{at % 7} 1") + "\n" for at in range(2000)]
    (tmp_path / "edges").write_text("".join(lines))
    with pytest.raises(error) as caught:
        load_in_shares(tmp_path / "shares", job(tmp_path / "edges", 3), COMMAND)
    assert words in str(caught.value)
    assert os.listdir(tmp_path) == ["edges"]


def test_a_folder_that_somebody_removes_is_told(tmp_path):
    lines = [f"{at} b{at % 7} 1\n" for at in range(90)]
    (tmp_path / "edges").write_text("".join(lines[:10]) + "sleep\n" + "".join(lines[10:]))

    def remove():
        reads = ".shares.*.part/.loading/sleeps-0"
        until(lambda: [*tmp_path.glob(reads)], "loader 0 to read")
        (sleeps,) = tmp_path.glob(reads)
        sleeps.parent.rename(tmp_path / "elsewhere")

    thread = threading.Thread(target=remove, daemon=True)
    thread.start()
    with pytest.raises(DiskError, match="was removed"):
        load_in_shares(tmp_path / "shares", job(tmp_path / "edges", 2), COMMAND)
    thread.join()


def test_only_faults_of_the_input_wait_for_the_shares_before(tmp_path):
    """Loader 0 reads still."""
    job_folder(tmp_path).mkdir()
    others = Inactivity(job_folder(tmp_path), 5.0)
    bad, later = DataError("a bad line"), DataError("another")
    raise_first(tmp_path, {}, others)
    raise_first(tmp_path, {1: bad, 2: later}, others)
    for other in (PeerLost("it was killed"), DiskError("the disk is full")):
        with pytest.raises(type(other)):
            raise_first(tmp_path, {1: bad, 2: other}, others)
    (job_folder(tmp_path) / "round-0.0").touch()
    with pytest.raises(DataError, match="a bad line"):
        raise_first(tmp_path, {1: bad, 2: later}, others)
    (job_folder(tmp_path) / "round-0.0").unlink()
    idle = Inactivity(job_folder(tmp_path), 5.0)
    idle.count_wait(5.0)
    with pytest.raises(DataError, match="a bad line"):
        raise_first(tmp_path, {1: bad}, idle)


def test_refused_before_anything_is_read(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    with pytest.raises(UsageError, match="exists"):
        load_in_shares(tmp_path / "there", job(tmp_path / "none", 2), COMMAND)
    with pytest.raises(UsageError, match=message("needs-to-see-all-edges", "ne")):
        load_in_shares(tmp_path / "out", job(tmp_path / "none", 2, partitioner="ne"), COMMAND)


def one_round(message):
    """Yield a loader of one round."""
    return (yield [message])


def test_a_mailbox_carries_arrays_and_removes_its_files(tmp_path):
    message = [np.arange(5), np.empty((0, 3), np.float32), np.ones((2, 3), np.bool_)]
    copies = [array.copy() for array in message]
    (got,) = Mailbox(tmp_path, 1, 0).carry(one_round(message))
    for one, other in zip(got, copies, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert os.listdir(tmp_path) == ["round-0.0"]


def test_what_does_not_fit_is_told_with_its_round(tmp_path):
    def loader():
        inbox = yield [[np.arange(3)]]
        columns_by_sender(inbox)[0].numbers(below=3)
        inbox = yield [[np.arange(3)]]
        columns_by_sender(inbox)[0].numbers(below=2)

    with pytest.raises(DataError, match=message("what-loader-tells-in-round", "0", "1", "numbers")):
        Mailbox(tmp_path, 1, 0).carry(loader())


def test_a_wait_for_another_loader_has_an_end(tmp_path):
    def loader():
        yield [[], []]

    with pytest.raises(DeadlinePassed, match=message("loader-has-not-come-to", "1", "0")):
        Mailbox(tmp_path, 2, 0, deadline=0.05).carry(loader())


def test_a_wait_lasts_while_another_loader_works(tmp_path, monkeypatch):
    """It reads for longer than a wait may last in which nothing happens."""
    naps = []

    def nap(seconds):
        naps.append(seconds)
        os.utime(tmp_path, ns=(0, len(naps)))  # as when it tells how much it has read
        if sum(naps) > 1:
            Mailbox(tmp_path, 2, 1)._send(0, [[np.arange(3)], []])

    def loader():
        return (yield [[], []])

    # the clock plays no role: while all were stopped, it went on
    monkeypatch.setattr(mailbox, "time", SimpleNamespace(sleep=nap))
    own, other = Mailbox(tmp_path, 2, 0, deadline=0.05).carry(loader())
    assert not own
    np.testing.assert_array_equal(other[0], np.arange(3))


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:20],
        lambda content: content[:-64],
        lambda content: b"\xff" * 8 + content[8:],
        lambda content: content.replace(b'"<i8"', b'"|O8"'),
        lambda content: content.replace(b"[5]", b"[-]"),
        lambda content: content.replace(b"[5]", b"[9]"),
        lambda content: content.replace(b'"<i8"', b'"<i3"'),
        lambda content: content.replace(b"[5]", b"[0,99999999999999999999]"),
        lambda content: (mailbox.MOST_TABLE + 1).to_bytes(8, "little") + b" " * (1 << 25),
    ],
)
def test_a_damaged_message_is_refused(tmp_path, damage):
    box = Mailbox(tmp_path, 1, 0)
    box.carry(one_round([np.arange(5)]))
    path = box.path(0, 0)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match="damaged"):
        box._receive(0, 0)
