"""The guard: whatever becomes of those who have asked for a command, nothing of it is left."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tux.backends import guard
from tux.base.processes import is_alive

LIMIT = 60.0
CHILD = "import subprocess, sys; print(subprocess.Popen(['sleep', '1000']).pid, flush=True)"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "machine"
    made.mkdir()
    (made / "file").touch()
    return made


@pytest.fixture
def start(folder):
    """Start a guard of the folder: ``start(seconds, program)``."""
    running = []

    def start_guard(seconds="100", program=guard.__file__):
        running.append(
            subprocess.Popen(
                [sys.executable, "-I", program, str(folder), seconds, "MARK"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        )
        return running[-1]

    yield start_guard
    for each in running:
        each.stdin.close()
        assert wait_for_end(each) and each.wait(LIMIT) == 0
        each.stdout.close()


def send_wish(process, what):
    process.stdin.write(json.dumps(what).encode() + b"\n")
    process.stdin.flush()


def begin(process, folder, text):
    command = [sys.executable, "-c", text]
    send_wish(process, {"command": command, "cwd": str(folder), "env": {**os.environ}})


def wait_for_end(process):
    """Return whether the guard ends in time, and all processes that hold its output."""
    return select.select([process.stdout], [], [], LIMIT)[0] and process.stdout.read() is not None


def wait_until_gone(pid):
    limit = time.monotonic() + LIMIT
    while is_alive(pid) and time.monotonic() < limit:
        time.sleep(0.02)
    return not is_alive(pid)


def test_it_tells_the_exit_code_behind_the_last_line(folder, start):
    process = start()
    begin(process, folder, "import sys; print('last', end=''); sys.exit(7)")
    assert process.stdout.readline() == b"last\n"
    assert process.stdout.readline() == b"MARK 7\n"
    begin(process, folder, "import os; os.kill(os.getpid(), 9)")  # another one may follow
    assert [process.stdout.readline() for _ in range(2)] == [b"\n", b"MARK -9\n"]
    assert folder.exists()
    process.stdin.close()
    assert wait_for_end(process) and not folder.exists()


def test_a_command_that_cannot_be_started_is_told(folder, start):
    process = start()
    begin(process, folder / "nowhere", "pass")
    assert [process.stdout.readline() for _ in range(2)] == [b"\n", b"MARK 1\n"]
    begin(process, folder, "pass")  # another one may follow
    assert [process.stdout.readline() for _ in range(2)] == [b"\n", b"MARK 0\n"]


def test_the_end_of_its_input_kills_the_command(folder, start):
    process = start()
    begin(process, folder, "import os, time; print(os.getpid(), flush=True); time.sleep(1000)")
    pid = int(process.stdout.readline())
    process.stdin.close()
    assert wait_for_end(process) and wait_until_gone(pid) and not folder.exists()


@pytest.mark.slow
def test_the_end_of_the_lease_kills_the_command(folder, start):
    process = start("2")
    begin(process, folder, "import os, time; print(os.getpid(), flush=True); time.sleep(1000)")
    pid = int(process.stdout.readline())
    assert wait_for_end(process) and wait_until_gone(pid) and not folder.exists()


@pytest.mark.parametrize("blocked", [[], [signal.SIGINT]], ids=["open", "blocked"])
def test_an_interrupt_is_that_of_a_terminal(folder, start, blocked):
    """Ray blocks it in its processes, and so in those that they start."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    process = start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    begin(process, folder, "import time; print('on', flush=True); time.sleep(1000)")
    process.stdout.readline()
    send_wish(process, "interrupt")
    assert [process.stdout.readline() for _ in range(2)][1] == f"MARK {-signal.SIGINT}\n".encode()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux alone tells the children")
def test_what_the_command_has_left_is_killed(folder, start):
    text = (
        Path(guard.__file__)
        .read_text()
        .replace("WORKER_END_SECONDS = 10.0", "WORKER_END_SECONDS = 0.1")
    )
    copy = folder.parent / "guard.py"
    copy.write_text(text)
    process = start(program=str(copy))
    begin(process, folder, CHILD)
    pid = int(process.stdout.readline())
    assert [process.stdout.readline() for _ in range(2)] == [b"\n", b"MARK 0\n"]
    assert wait_until_gone(pid)
