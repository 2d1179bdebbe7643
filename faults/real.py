"""A fault to a run on real data: MovieLens 1M."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from faults.recovery import after_worker, now
from faults.room import Room
from faults.scenario import Observation, Scenario

WITHIN = 30.0
"""Seconds after which training must have gone on."""
FLAGS: dict[str, object] = {"--epochs": 12, "--checkpoint-every": 2, "--threads": 1}
FLAGS["--trace-clocks"] = ""


def files() -> list[Path]:
    """Return the files of ratings, and of those that are held out, if they are there."""
    folder = Path(os.environ.get("TUX_TEST_DATA", ""), "ratings", "ml-1m")
    names = (folder / f"ml-1m.{name}.dat.gz" for name in ("train", "probe"))
    return [path for path in names if path.is_file()]


def words() -> list[object]:
    """Return the words of a command that name the program and these files."""
    train, test = files()
    return ["mf", train, "--test", test]


def no_data() -> str:
    """Return why there are no real data here; "" if there are."""
    return "" if len(files()) == 2 else "TUX_TEST_DATA names no folder with ratings/ml-1m"


def kill_on_real_data(room: Room) -> Observation:
    """Kill a worker at any moment after two epochs."""
    room.whole = room.whole.other("ml-1m", words(), FLAGS)
    room.flags = {"--workers": 2, **FLAGS}
    rank, command = room.draw.randrange(2), room.train()
    room.until(lambda: room.epochs() >= 2 or command.process.poll() is not None, "two epochs")
    time.sleep(room.draw.uniform(0.0, 1.0))
    pid = command.workers()[rank]
    os.kill(pid, signal.SIGKILL)
    seen = after_worker(room, command, now(pid), rank)
    if seen.recovered is not None and seen.recovered > WITHIN:
        return seen._replace(wrong=(*seen.wrong, f"training goes on after {seen.recovered:.0f} s"))
    return seen


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    return [
        Scenario(
            "killed-ml-1m",
            "MF of MovieLens 1M: a worker killed at any moment of training",
            f"noticed; goes on within {WITHIN:.0f} s, to the same bytes",
            kill_on_real_data,
            limit=300.0,
            missing=no_data,
        )
    ]
