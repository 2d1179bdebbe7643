"""Runs of `tux run walks` that are killed, or lose a worker: they end with the walks of a run that
was not.
"""

import os
import signal
import socket

import pytest

from faults.running import Running
from tux.run_folder.folder import read_run

HARD = 240.0  # seconds after which a command counts as hung
FLAGS = ["--no-jit", "--num-walks", 500, "--walk-length", 8, "--epochs", 2, "--threads", 1]
EVERY = ["--checkpoint-every", "0.1s"]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walks")
    (folder / "key").write_bytes(bytes(range(32)))
    links = "".join(f"{a} {(a * 7 + b) % 20}\n" for a in range(20) for b in range(1, 4))
    (folder / "links.txt").write_text(links)
    return folder


@pytest.fixture(scope="module")
def start(place):
    """Start ``tux run``: ``start(*argv)``."""
    running = []

    def begin(*argv):
        where = place / str(len(running))
        where.mkdir()
        if argv[0] != "--resume":
            argv = ("walks", place / "links.txt", *FLAGS, *argv)
        running.append(Running(where, "run", *argv))
        return running[-1]

    yield begin
    for each in running:
        each.__exit__()


@pytest.fixture(scope="module")
def whole(start, place):
    """Return the walks of a run without checkpoints."""
    assert ends(start("--out", place / "whole")) == 0
    return (place / "whole" / "walks.txt").read_bytes()


def ends(running):
    code = running.wait(HARD)
    if code is None or "Traceback" in "".join(running.output()):
        pytest.fail("\n".join(running.output()))
    assert running.until(lambda: not running.processes(), HARD), running.processes()
    return code


def wait_for_checkpoints(running, out, more=2):
    """Wait until it has written so many more checkpoints."""

    def newest():
        return max([0, *(int(each.name) for each in out.glob("checkpoints/0*"))])

    begun = newest()
    there = lambda: newest() >= begun + more  # noqa: E731
    assert running.until(lambda: there() or running.process.poll() is not None, HARD)
    assert running.process.poll() is None, running.output()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_run_that_was_killed_goes_on_to_the_same_walks(start, whole, tmp_path, workers):
    """It is killed, goes on, is killed again at once after its next checkpoint, and goes on."""
    out = tmp_path / "out"
    running = start("--workers", workers, *EVERY, "--out", out)
    for _ in range(2):
        wait_for_checkpoints(running, out)
        os.kill(running.process.pid, signal.SIGKILL)
        # its workers may still write when the next command begins
        running = start("--resume", out)
    assert ends(running) == 0, running.output()
    assert (out / "walks.txt").read_bytes() == whole
    assert len(read_run(out).incarnations) == 2
    most = 3 * workers  # a file of each worker and start
    assert 0 < len([*(out / "checkpoints" / "lists").iterdir()]) <= most


def test_a_run_that_loses_a_worker_goes_on_to_the_same_walks(start, whole, tmp_path):
    out = tmp_path / "out"
    running = start("--workers", 2, *EVERY, "--out", out)
    for rank in (0, 1):
        wait_for_checkpoints(running, out)
        lost = len(read_run(out).incarnations)
        os.kill(running.workers()[rank], signal.SIGKILL)
        assert running.until(lambda lost=lost: len(read_run(out).incarnations) > lost, HARD)
    assert ends(running) == 0, running.output()
    assert (out / "walks.txt").read_bytes() == whole


@pytest.mark.parametrize("victim", ["all", "a worker of machine 1", "a worker of machine 0"])
def test_two_machines_go_on_to_the_same_walks(start, whole, place, tmp_path, victim):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"

    def machine(rank, *argv):
        where = ["--nnodes", 2, "--node-rank", rank, "--rdzv", address]
        return start(*argv, *where, "--key-file", place / "key")

    out = tmp_path / "out"
    running = [machine(0, *EVERY, "--out", out), machine(1, *EVERY)]
    wait_for_checkpoints(running[0], out)
    if victim == "all":
        for each in running:
            os.kill(each.process.pid, signal.SIGKILL)
        assert [ends(each) for each in running] == [-signal.SIGKILL] * 2
        running = [machine(0, "--resume", out), machine(1, *EVERY)]
    else:
        ((_, pid),) = running["1" in victim].workers().items()
        os.kill(pid, signal.SIGKILL)
    assert [ends(each) for each in running] == [0, 0], [each.output() for each in running]
    assert (out / "walks.txt").read_bytes() == whole
    assert len(read_run(out).incarnations) == 1
