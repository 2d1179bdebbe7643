"""The process that starts a machine's command and outlives what has asked for it. When that is
gone, however it went, the guard kills the command, removes the machine's folder and ends.

It is run as a file, with the standard library alone, so that it starts at once: `guard.py FOLDER
SECONDS MARK`. On standard input it takes lines of JSON: {"command", "cwd", "env"} starts a command,
"interrupt" is Ctrl-C for it, "kill" kills it, "stay" is a sign of life. The end of the input, or
SECONDS without a line once a command was started, is the end. The command writes to the guard's own
standard output and error, which end when the guard does. Behind its last line each of them has a
line of MARK and the exit code, or minus the signal. The guard is nobody's child, as some engines
kill the children of a process that ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SUBREAPER = 36  # of prctl: processes whose parent is gone become this one's children
DEATH_SIGNAL = 1  # of prctl: what this process gets when its parent is gone
FAILED = 1  # the exit code of a command that could not be started
WORKER_END_SECONDS = 10.0  # seconds in which workers whose launcher is gone end by themselves


def main(folder: str, seconds: float, mark: str) -> None:
    """Do what standard input says; see above."""
    if os.fork():
        os._exit(0)
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)  # wishes come by standard input
    _prctl(SUBREAPER, 1)
    process: subprocess.Popen[bytes] | None = None
    waiter: threading.Thread | None = None
    lease: list[float] = []
    for line in _lines(lease):
        wish = json.loads(line)
        if isinstance(wish, dict):
            lease[:] = [seconds]
            try:
                process = _start_command(**wish)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                _tell(f"error: the command cannot be started: {error}\n".encode(), 2)
                _tell(f"\n{mark} {FAILED}\n".encode(), 1, 2)
                continue
            waiter = threading.Thread(target=_wait, args=(process, mark), daemon=True)
            waiter.start()
        elif process and wish in ("interrupt", "kill"):
            process.send_signal(signal.SIGINT if wish == "interrupt" else signal.SIGKILL)
    if process and waiter:
        process.kill()
        waiter.join()
    for _ in range(3):  # what has just ended may have made a file meanwhile
        shutil.rmtree(folder, ignore_errors=True)


def _lines(lease: list[float]) -> Iterator[bytes]:
    """Yield the lines of standard input, until it ends or none comes for the seconds of the lease,
    if there is one.
    """
    held = b""
    while select.select([0], [], [], *lease)[0] and (piece := os.read(0, 1 << 16)):
        *lines, held = (held + piece).split(b"\n")
        yield from lines


def _start_command(command: list[str], cwd: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a command, and return its process."""
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=partial(_as_command, os.getpid()),
    )


def _prctl(option: int, value: int) -> None:
    """Tell the kernel what to do with this process; Linux alone."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _as_command(guard: int) -> None:
    """Make the command end with its guard, also where that is killed alone; and handle signals as
    if a user had started it, as an engine may have blocked some.
    """
    _prctl(DEATH_SIGNAL, int(signal.SIGKILL))
    if os.getppid() != guard:  # it is gone already
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)


def _wait(process: subprocess.Popen[bytes], mark: str) -> None:
    """Wait until the command, and what it has left, has ended; then tell its exit code."""
    code = process.wait()
    _end_children()
    _tell(f"\n{mark} {code}\n".encode(), 1, 2)


def _tell(text: bytes, *streams: int) -> None:
    """Write a text to standard output (1) or error (2), or to both."""
    for number in streams:
        with suppress(OSError):  # nobody reads any more
            os.write(number, text)


def _end_children() -> None:
    """Wait for what the command has left; kill it after a while."""
    limit = time.monotonic() + WORKER_END_SECONDS
    while True:
        try:
            number, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if number:
            continue
        if time.monotonic() > limit:
            for child in _children():
                with suppress(OSError):
                    os.kill(child, signal.SIGKILL)
        time.sleep(0.02)


def _children() -> list[int]:
    """Return the processes that this one is the parent of, by whichever of its threads."""
    found: list[int] = []
    for thread in os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else ():
        with (
            suppress(OSError),
            open(f"/proc/self/task/{thread}/children", encoding="ascii") as file,
        ):
            found += map(int, file.read().split())
    return found


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
