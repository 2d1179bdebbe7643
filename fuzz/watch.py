"""Runs children (`fuzz.child`) until a parser has read all its inputs, and gathers their faults."""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fuzz.child import Task
from fuzz.parser import room

ROOT = Path(__file__).parent.parent
STILL = 120.0  # seconds without progress, after which a child is ended: it waits for something
ENOUGH = 20  # crashes of one parser


class FaultyInput(NamedTuple):
    """A fault, and the number of the input that shows it."""

    number: int
    kind: str
    detail: str


def environment(folder: Path, *, bounds: bool) -> dict[str, str]:
    """Return the environment of children; with `bounds`, compiled loops check their indices, and
    are kept in a folder of their own.
    """
    # fewer pools of memory and threads, whose address space would count as memory
    chosen = {"MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    chosen |= {"OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "0", "PYTHONFAULTHANDLER": ""}
    if bounds:
        chosen |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder)}
        chosen["TUX_CACHE_DIR"] = str(folder)
    return os.environ | chosen


def finds(
    name: str,
    seed: int,
    count: int,
    environment: dict[str, str],
    *,
    registry: str = "fuzz.registry",
    limit: float = 1.0,
) -> Iterator[FaultyInput]:
    """Yield the faults of inputs 0 to `count` - 1 of one parser of the module `registry`, of which
    each may take `limit` seconds of processor time. Raises RuntimeError if it refuses what is
    valid.
    """
    with _files() as (folder, progress):
        first, patient, crashes = 0, False, 0
        while first < count and crashes < ENOUGH:
            struct.pack_into("<qq", progress, 0, first, 0)
            names = (str(folder / each) for each in ("faults", "progress", "crash"))
            task = Task(registry, name, seed, limit, first, count, *names, patient)
            code, errors = _run(task, environment)
            yield from _faults(folder / "faults")
            at, begun = struct.unpack_from("<qq", progress)
            if code == 0:
                return
            if not begun and not (patient and code == -signal.SIGPROF):
                raise RuntimeError(f"{name} does not read its samples:\n{errors}")
            if code == -signal.SIGPROF and not patient:
                first, patient = at, True  # again: perhaps something was compiled
                continue
            crash = (folder / "crash").read_text(encoding="utf-8", errors="replace")
            yield FaultyInput(at, _end(code), f"{crash}\n{errors}")
            first, patient, crashes = at + 1, False, crashes + 1


@contextmanager
def _files() -> Iterator[tuple[Path, mmap.mmap]]:
    """Yield a folder for what a child writes, and the place in it that tells its progress."""
    with tempfile.TemporaryDirectory(prefix="tux-fuzz-", dir=room()) as name:
        folder = Path(name)
        (folder / "progress").write_bytes(bytes(16))
        with (
            open(folder / "progress", "r+b") as file,
            mmap.mmap(file.fileno(), 16) as progress,
        ):
            yield folder, progress


def _run(task: Task, environment: dict[str, str]) -> tuple[int, str]:
    """Run a child; return its exit code and its output. It is killed if it stands still."""
    command = [sys.executable, "-m", "fuzz.child", json.dumps(task)]
    with open(task.progress, "rb") as file, tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said)
        try:
            before, since = b"", time.monotonic()
            while child.poll() is None:
                time.sleep(0.05)
                file.seek(0)
                if (now := file.read(16)) != before:
                    before, since = now, time.monotonic()
                elif time.monotonic() - since > STILL:
                    child.kill()
        finally:
            child.kill()
            child.wait()
        said.seek(0)
        return child.returncode, said.read()[-4000:]


def _faults(path: Path) -> Iterator[FaultyInput]:
    """Yield the faults in a child's file, which is then removed."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield FaultyInput(**json.loads(line))
        path.unlink()


def _end(code: int) -> str:
    """Say how a child has ended."""
    if code == -signal.SIGPROF:
        return "takes too long"
    if code == -signal.SIGKILL:
        return f"no progress for {STILL:.0f} s, or killed for its memory"
    return f"the process ended by {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"
