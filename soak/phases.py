"""The phases of a run, seen from outside: by its output and the names in its folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from faults.room import Room
from faults.running import Running

STARTING = 1.5
"""Seconds after which a command is loading or training."""
RESUMING = 1.2
LATE = 0.03
"""Seconds, at most, from the sight of a phase to what happens then."""
LOOK = 0.0005
"""Seconds between two looks for files that are there for a moment."""
EPOCHS_AWAY = 20
"""Epochs, at most, for which a strike waits in training."""
RESULT_SIGNS = (".model.*.part", "model", ".run.json.*.part", "B2SUMS", ".B2SUMS*")
"""Names in the folder of a run that is ending."""


def await_phase(room: Room, commands: Sequence[Running], out: Path, phase: str) -> bool:
    """Wait until the run of a folder is in a phase; return whether it has come to it before one of
    its commands, one a machine, ended. ScenarioTimeout.
    """
    has_ended = lambda: any(each.process.poll() is not None for each in commands)  # noqa: E731
    signs: dict[str, Callable[[], object]] = {
        "training": _more_records(out, room.draw),
        "checkpoint": _new_names(out / "checkpoints", (".*.part",)),
        "results": _new_names(out, (room.draw.choice(RESULT_SIGNS),)),
    }
    if phase in signs:
        seen = signs[phase]
        room.until(lambda: seen() or has_ended(), f"{phase} of {commands[0].folder}", LOOK)
        time.sleep(room.draw.uniform(0, LATE))
    else:
        time.sleep(room.draw.uniform(0, STARTING if phase == "starting" else RESUMING))
    return not has_ended()


def _more_records(out: Path, draw: Random) -> Callable[[], bool]:
    """Return a question: whether there are some more records than now."""
    metrics = out / "metrics.jsonl"
    count = lambda: metrics.read_bytes().count(b"\n") if metrics.exists() else 0  # noqa: E731
    wanted = count() + draw.randrange(1, EPOCHS_AWAY)
    return lambda: count() >= wanted


def _new_names(folder: Path, patterns: tuple[str, ...]) -> Callable[[], bool]:
    """Return a question: whether a folder has a name of a pattern that it has not now."""
    find = lambda: {path for each in patterns for path in folder.glob(each)}  # noqa: E731
    before = find()
    return lambda: not find() <= before
