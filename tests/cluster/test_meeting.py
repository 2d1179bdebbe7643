"""Machines that meet, or fail to, on addresses of this one: who is missing, what differs, and
where the job's folder has gone.
"""

import os
import re
import shutil
import signal
import socket
from pathlib import Path

import pytest
from support.messages import message

from faults.running import Running
from tux.base.disk import remove_parts
from tux.base.errors import DiskError, TuxError
from tux.cluster.job import job_folder
from tux.cluster.job.local_workers import LocalWorkers
from tux.cluster.transport.wire import Sockets
from tux.run_folder.folder import read_metrics, read_run

HARD = 60.0  # seconds after which a command counts as hung


@pytest.fixture
def start(tmp_path):
    """Start ``tux run mf`` on a few ratings, as one of several machines if it gets a rank:
    ``start(0, "--nnodes", 2)``.
    """
    running = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "other").write_bytes(bytes(range(1, 33)))
    rows = "".join(f"{u},{i},{(u * i) % 5 + 1}\n" for u in range(8) for i in range(8))
    (tmp_path / "ratings.csv").write_text(f"user,item,rating\n{rows}")

    def begin(rank=None, *argv, key="key"):
        folder = tmp_path / str(len(running))
        folder.mkdir()
        machine = (
            ["--node-rank", rank, "--rdzv", address, "--key-file", tmp_path / key]
            if rank is not None
            else []
        )
        running.append(
            Running(
                folder,
                "run",
                "mf",
                tmp_path / "ratings.csv",
                "--no-jit",
                "--rank",
                2,
                *machine,
                *argv,
            )
        )
        return running[-1]

    yield begin
    for each in running:
        each.__exit__()


def check_end(running, code):
    """Assert that the run ends with an exit code and leaves nothing. Return the error that it
    tells.
    """
    assert running.wait(HARD) == code, running.output()
    err = running.output()[1]
    assert running.until(lambda: not running.leftovers()), running.leftovers()
    assert "Traceback" not in err and err.count("error: ") == 1
    return err[err.index("error: ") :]


@pytest.mark.long
def test_a_machine_alone_waits_no_longer_than_it_may(start):
    assert check_end(start(1, "--nnodes", 2, "--timeout", 2), 5).startswith(
        "error: no answer from machine 0 at 127.0.0.1:"
    )
    err = check_end(start(0, "--nnodes", 3, "--timeout", 2), 5)
    assert (
        err.startswith("error: waited 2 s for machines 1, 2 (workers 1, 2) to join at 127.0.0.1:")
        and "--timeout" in err
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "second", "texts"),
    [
        (
            ["--seed", 1],
            ["--slack", 2],
            ["--seed is 0, and 1 on machine 0", "--slack is 2, and 0 on machine 0"],
        ),
        pytest.param(
            ["--workers", 2], [], ["--workers is 1, and 2 on machine 0"], marks=pytest.mark.long
        ),
    ],
)
def test_what_differs_is_named_on_both_machines(start, first, second, texts):
    running = [start(rank, "--nnodes", 2, *flags) for rank, flags in enumerate((first, second))]
    errors = [check_end(each, 7) for each in running]
    for text in texts:
        assert all(text in err for err in errors), errors
    assert errors[1].startswith("error: machine 0 ended the job: worker ")


@pytest.mark.long
def test_who_has_another_key_is_told_by_the_launcher(start):
    first, second = (
        start(0, "--nnodes", 2, "--timeout", 12),
        start(1, "--nnodes", 2, "--timeout", 10, key="other"),
    )
    assert "all have the same key" in check_end(second, 5)
    check_end(first, 5)
    texts = [line for line in first.output()[1].splitlines() if line.startswith("warning: ")]
    assert any(
        "from outside this job refused" in line and "without this job's key" in line
        for line in texts
    ), texts


@pytest.mark.long
def test_two_machines_of_one_rank(start):
    running = [start(rank, "--nnodes", 3) for rank in (0, 1, 1)]
    assert "two processes say that they are worker 1" in check_end(running[0], 7)
    assert "error: machine 0 ended the job: two processes" in check_end(
        next(r for r in running[1:] if ends_soon(r)), 7
    )


def ends_soon(running):
    """Return whether a run ends in time. Of two runs that are taken for one, the launcher may no
    longer know the second.
    """
    return running.wait(HARD / 4) is not None


@pytest.mark.parametrize(
    "ready",
    [
        pytest.param(lambda r: r.workers(), marks=pytest.mark.long),
        lambda r: (r.folder / "out" / "metrics.jsonl").exists(),
    ],
)
@pytest.mark.long
def test_a_job_whose_folder_is_removed_ends(start, ready):
    running = start(
        None, "--workers", 2, "--epochs", 1_000_000, "--eval-every", 100, "--out", "out"
    )
    assert running.until(lambda: ready(running) or running.process.poll() is not None, HARD)
    (folder,) = running.tmp.glob("tux-job-*")
    shutil.rmtree(folder)
    err = check_end(running, 6)
    assert f"the temporary folder of this job was removed: {folder}" in err and "TMPDIR" in err


def test_parts_that_stay_behind_are_removed_when_the_run_goes_on(tmp_path):
    """As after a power failure, when nobody has cleaned up."""
    (tmp_path / ".parts").mkdir()
    folder, parts = job_folder.make(tmp_path)
    try:
        remove_parts(tmp_path)
        assert parts.parent == tmp_path and not parts.exists()
    finally:
        job_folder.remove(folder)


# ---- again, after the loss of a worker

MANY = 150
"""Epochs of a run that loses a worker meanwhile."""


def two_that_train(start, *flags):
    """Return the commands of two machines, when both workers are at work."""
    running = [start(rank, "--nnodes", 2, "--epochs", MANY, *flags) for rank in (0, 1)]
    metrics = running[0].folder / "out" / "metrics.jsonl"
    assert running[0].until(
        lambda: metrics.exists() and metrics.read_bytes().count(b"\n") > 2, HARD
    )
    return running


def kill(running, rank):
    pid = running.workers()[rank]
    os.kill(pid, signal.SIGKILL)
    return pid


def whole(folder, why):
    """Assert that all epochs are there, each once, and that the new start's reason is noted."""
    assert [each["epoch"] for each in read_metrics(folder)] == [*range(1, MANY + 1)]
    (noted,) = read_run(folder).incarnations
    assert re.fullmatch(why, noted.why) and noted.checkpoint == 0


@pytest.mark.long
@pytest.mark.parametrize("lost", [pytest.param(0, marks=pytest.mark.long), 1])
def test_both_machines_start_again_whichever_loses_a_worker(start, lost):
    """As soon as the machine that has lost it tells the other one."""
    running = two_that_train(start, "--out", "out", "--restarts", 1)
    pid = kill(running[lost], lost)
    assert [each.wait(HARD) for each in running] == [0, 0], [each.output() for each in running]
    name = f"worker {lost} " + (f"on {socket.gethostname()}" if lost else f"(process {pid})")
    why = f"{name} was killed by signal 9 (SIGKILL)"
    whole(running[0].folder / "out", re.escape(why))
    said = running[1].output()[1]
    assert f"{'' if lost else 'machine 0 starts all workers again: '}{why}; this machine j" in said
    assert all(each.leftovers() == [] for each in running)


@pytest.mark.long
def test_a_machine_whose_command_was_killed_may_be_started_anew(start):
    running = two_that_train(start, "--out", "out", "--restarts", 1)
    for pid in [*running[1].workers().values(), running[1].process.pid]:
        os.kill(pid, signal.SIGKILL)
    anew = start(1, "--nnodes", 2, "--epochs", MANY, "--restarts", 1)
    assert [each.wait(HARD) for each in (running[0], anew)] == [0, 0], anew.output()
    whole(running[0].folder / "out", "worker 1 has been silent for 8 s")


@pytest.mark.long
def test_all_machines_end_when_the_restarts_are_used_up(start):
    running = two_that_train(start, "--out", "out", "--restarts", 1, "--rejoin", 5)
    kill(running[0], 0)
    again = [
        lambda: "goes on from the beginning" in running[0].output()[0],
        lambda: bool(running[0].workers()),
    ]
    assert all(running[0].until(each, HARD) for each in again)
    kill(running[0], 0)
    assert "the 1 restart of --restarts is used up" in check_end(running[0], 4)
    assert running[1].wait(HARD) in (4, 7), running[1].output()


@pytest.mark.long
def test_a_machine_that_cannot_join_again_ends(start):
    """Machine 0 is gone."""
    running = two_that_train(start, "--out", "out", "--restarts", 1, "--rejoin", 2)
    running[0].process.kill()
    err = check_end(running[1], 4)
    assert "has not started the workers again within 2 s" in err and "--rejoin" in err


def test_folders_of_a_job(tmp_path):
    folder, parts = job_folder.make(tmp_path)
    try:
        job_folder.check(folder, parts)
        parts.rmdir()
        with pytest.raises(DiskError, match=str(parts)):
            job_folder.check(folder, parts)
    finally:
        job_folder.remove(folder)
    assert not Path(folder).exists() and not parts.exists()


def test_sockets_lie_where_their_names_are_short(tmp_path, monkeypatch):
    """The system allows 107 bytes for the name of a socket; the parts stay in the folder that the
    user has named.
    """
    long = tmp_path / ("x" * 90)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    folder, parts = job_folder.make(None)
    try:
        assert len(os.fsencode(folder / "launcher")) <= 107 and folder.stat().st_mode & 0o77 == 0
        assert parts.parent == long.resolve() and parts.is_dir()
    finally:
        job_folder.remove(folder)
    assert not folder.exists() and not parts.exists()
    monkeypatch.setattr(job_folder, "SHORT_FOLDERS", ())
    with pytest.raises(TuxError, match=message("the-temporary-folder-s-name")):
        job_folder.make(None)


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_the_longest_name_of_a_socket_is_that_of_the_launcher(tmp_path, monkeypatch, more, fits):
    """In a temporary folder as long as it may be, members can listen; in a longer one, they
    could not.
    """
    rest = len("/tux-job-xxxxxxxx/launcher")
    base = f"{tmp_path}/{'x' * (106 + more - rest - len(str(tmp_path)))}"
    os.mkdir(base)
    monkeypatch.setattr(job_folder, "SHORT_FOLDERS", ())
    if not fits:
        with pytest.raises(TuxError, match=message("the-temporary-folder-s-name")):
            job_folder._socket_folder(base)
        return
    folder = Path(job_folder._socket_folder(base)) / "tux-job-xxxxxxxx"
    folder.mkdir()
    for name in ("launcher", "9999"):
        Sockets(f"ipc://{folder}/{name}", 1 << 16, None, print).close(0)


def test_no_workers_no_processes(tmp_path):
    folder = tmp_path
    assert LocalWorkers(None, folder, []).processes == {}
