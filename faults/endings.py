"""Runs without checkpoints that end at any moment: they tell why, and leave nothing."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

from faults.room import GONE, Room, WrongOutcome
from faults.running import Running
from faults.scenario import Observation, Scenario

KINDS = {
    "worker-killed": ("a worker killed", "exit code 4; it names the worker"),
    "worker-stopped": ("a worker stopped", "exit code 4; it names the worker"),
    "launcher-killed": ("the launcher killed", "its workers end by themselves"),
    "sigterm": ("SIGTERM", "exit code 130"),
    "ctrl-c": ("Ctrl-C", "exit code 130"),
}
SIGNALS = {
    "launcher-killed": signal.SIGKILL,
    "sigterm": signal.SIGTERM,
    "ctrl-c": signal.SIGINT,
}


def strike(kind: str, room: Room, command: Running) -> set[int]:
    """Do it; the exit codes that are right then."""
    if kind.startswith("worker"):
        room.until(lambda: command.workers() or command.process.poll() is not None, "a worker")
        if not (workers := sorted(command.workers().values())):
            raise WrongOutcome(f"it has ended before{room.last_output()}")
        stops = kind == "worker-stopped"
        os.kill(room.draw.choice(workers), signal.SIGSTOP if stops else signal.SIGKILL)
        return {4}
    number = SIGNALS[kind]
    begun = "data: " in command.output()[0]
    os.killpg(command.process.pid, number)
    if number == signal.SIGKILL:
        return {-number}
    # before the command has taken over signals, they end Python as they always do
    return {130} if begun else {130, -number}


def end_three_workers(kind: str, room: Room) -> Observation:
    """Send a run of three workers, which has no end, a signal at any moment."""
    room.flags |= {"--workers": 3, "--epochs": 1_000_000, "--slack": room.draw.choice([0, 2])}
    del room.flags["--checkpoint-every"]
    command = room.train(more=["--eval-every", 50])
    time.sleep(room.draw.uniform(0.2, 5.0))
    right = strike(kind, room, command)
    start = time.monotonic()
    code, seconds = room.code(command), time.monotonic() - start
    wrong = [] if code in right else [f"exit code {code} instead of {right}{room.last_output()}"]
    if seconds > GONE:
        wrong.append(f"over only after {seconds:.1f} s")
    said = command.output()[1]
    if "Traceback" in said and code == 130 or said.count("error: ") > 1:
        wrong.append(f"it said {said!r}")
    return Observation(noticed=seconds, wrong=tuple(wrong))


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    return [
        Scenario(
            f"ends-{kind}",
            f"{words} at any moment, without checkpoints",
            f"{expected}; nothing is left",
            partial(end_three_workers, kind),
            limit=60.0,
        )
        for kind, (words, expected) in KINDS.items()
    ]
