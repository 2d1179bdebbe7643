"""Disks that are full, and memory that runs out."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from faults.recovery import Moment, expect_end, now
from faults.room import Room, WrongOutcome, is_root
from faults.running import Running
from faults.scenario import Observation, Scenario

SIZE = 8 << 20  # bytes of the disk
LITTLE = 16 << 10  # bytes that are left: a few records, but no checkpoint
MEMORY = 6 << 30  # bytes of address space


@cache
def no_mounts() -> str:
    """Return why no small disk can be mounted here; "" if one can."""
    if not is_root() or not shutil.which("mount"):
        return "mounting a small disk needs root"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, text=True
        )
        if done.returncode:
            return f"no tmpfs here: {done.stderr.strip()}"
        subprocess.run(["umount", folder], check=True)
    return ""


@contextmanager
def small_disk(room: Room, size: int = SIZE) -> Iterator[Path]:
    """Mount a disk of so many bytes, as the folder `disk` of the room. A context. Runs are not
    traced: a trace would take the last bytes before what a scenario is about.
    """
    room.flags.pop("--trace-clocks", None)
    disk = room.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)
    try:
        yield disk
    finally:
        for each in room.commands:
            each.__exit__()
        subprocess.run(["umount", disk], check=True)


def fill(disk: Path, but: int) -> None:
    """Fill a disk but for so many bytes."""
    with open(disk / "filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            os.truncate(file.fileno(), max(0, file.tell() - but))


def full_for_checkpoints(room: Room) -> Observation:
    """Fill the disk during two epochs; then it has room again."""
    room.flags["--workers"] = room.draw.choice([1, 2])
    moments: list[dict[str, object]] = [
        {"name": f"epoch {epoch}", "moment": "clock", "epoch": epoch, "number": 1, "do": "hold"}
        for epoch in (3, 5)
    ]
    who = "worker 0" if room.flags["--workers"] == 2 else "command"
    with small_disk(room) as disk:
        command = room.train(plan=[each | {"who": who} for each in moments], out="disk/out")
        room.await_entry("epoch 3")
        settle = lambda: not any(disk.glob("out/checkpoints/.*"))  # noqa: E731
        room.until(settle, "checkpoints to be whole")
        fill(disk, LITTLE)
        room.go("epoch 3")
        room.await_entry("epoch 5")
        room.until(settle, "checkpoints to be given up")
        (disk / "filler").unlink()
        room.go("epoch 5")
        seen, said = expect_end(room, command, "disk/out"), command.output()[1]
        if "no checkpoint" not in said or "No space left on device" not in said:
            raise WrongOutcome(f"it said {said!r}")
        return seen


def train_to(what: str, number: int, disk: Path, room: Room) -> tuple[Running, Moment]:
    """Start a run whose disk becomes quite full when something is to be written."""
    path = {"model": r"^os.mkdir .*/\.model\.", "records": r"^open .*/metrics.jsonl"}[what]
    plan = {"moment": "file", "path": path, "number": number, "who": "command", "do": "hold"}
    command = room.train(plan=[{"name": "writes", **plan}], out="disk/out")
    room.await_entry("writes")
    fill(disk, 0)
    fault = now()
    room.go("writes")
    return command, fault


def full_for_model(room: Room) -> Observation:
    """Fill the disk when the model is written; with space again, the run ends by itself."""
    with small_disk(room) as disk:
        command, fault = train_to("model", 1, disk, room)
        told = room.until(lambda: "tried again" in command.output()[1], "the full disk to be told")
        (disk / "filler").unlink()
        seen = expect_end(room, command, "disk/out")
        past = time.monotonic() - fault.seconds
        return seen._replace(noticed=told - fault.seconds, recovered=past)


def full_for_records(room: Room) -> Observation:
    """Fill the disk when a record is written; with space again, the user resumes."""
    with small_disk(room) as disk:
        command, fault = train_to("records", 4, disk, room)
        ends = lambda: command.process.poll() is not None  # noqa: E731
        room.until(lambda: ends() or "tried again" in command.output()[1], "the disk to be told")
        if not ends() or not room.code(command):  # the record had room in the file's last page
            (disk / "filler").unlink()
            return expect_end(room, command, "disk/out")
        room.expect(command, 6, "error: ")
        told, said = time.monotonic(), room.error(command)
        if "No space left on device" not in said:
            raise WrongOutcome(f"it said {said!r}")
        (disk / "filler").unlink()
        command = room.resume("disk/out")
        seen = expect_end(room, command, "disk/out")
        past = time.monotonic() - fault.seconds
        return seen._replace(noticed=told - fault.seconds, recovered=past)


def out_of_memory(workers: int, room: Room) -> Observation:
    """Start a run that needs more memory than it may have."""
    room.flags |= {"--workers": workers, "--rank": 4_000_000, "--epochs": 2}
    start = now()
    command = room.train(memory=MEMORY)
    room.expect(command, 1, "error: out of memory")
    return Observation(noticed=time.monotonic() - start.seconds)


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    resumed = "exit code 6 with the place; with space again and resumed, the same bytes"
    return [
        Scenario(
            "disk-full-checkpoint",
            "disk full for two checkpoints",
            "a warning; training goes on to the same bytes, and later checkpoints are written",
            full_for_checkpoints,
            missing=no_mounts,
        ),
        Scenario(
            "disk-full-model",
            "disk full for the model",
            "a warning; with space again, the same bytes",
            full_for_model,
            missing=no_mounts,
        ),
        Scenario(
            "disk-full-records",
            "disk full for a record of metrics.jsonl",
            resumed,
            full_for_records,
            missing=no_mounts,
        ),
        *(
            Scenario(
                f"out-of-memory-{workers}",
                f"out of memory (RLIMIT_AS), {words}",
                "exit code 1; it says so in one line",
                partial(out_of_memory, workers),
            )
            for workers, words in ((1, "one process"), (2, "two workers"))
        ),
    ]
