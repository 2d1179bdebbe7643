"""Launchers that are killed, ended or interrupted, and two runs into one folder."""

from __future__ import annotations

import os
import shutil
import signal
import time
from functools import partial

from faults.recovery import now, on, over
from faults.room import Moment, Room, Wrong
from faults.running import Running
from faults.scenario import Scenario, Seen

CLOCK: dict[str, object] = {"moment": "clock", "epoch": 4, "number": 2}
AT: dict[str, tuple[str, dict[str, object]]] = {
    "clock": ("within an epoch", {**CLOCK, "who": "worker 1"}),
    "checkpoint": (
        "as it makes a checkpoint of the workers' files",
        {
            "moment": "file",
            "path": r"^os.rename .*/checkpoints/\d+$",
            "number": 2,
            "who": "command",
        },
    ),
    "model": (
        "as it writes the model",
        {"moment": "file", "path": r"^os.rename .*/model$", "who": "command"},
    ),
    "results": (
        "as it writes the results, after the model",
        {"moment": "file", "path": r"^os.rename .*/run.json$", "number": 3, "who": "command"},
    ),
}


def killed(entry: dict[str, object], room: Room) -> Seen:
    """Kill the launcher at a moment; then the user resumes."""
    command = room.train(plan=[{"name": "at", "do": "hold", **entry}])
    room.reached("at")
    os.kill(command.process.pid, signal.SIGKILL)
    fault = now(command.process.pid)
    room.go("at")
    return resumed(room, command, fault)


def resumed(room: Room, command: Running, fault: Moment) -> Seen:
    """Wait until the workers whose launcher was killed have ended by themselves; then the user
    resumes.
    """
    room.code(command)
    gone = room.until(lambda: not command.left(), "the workers to end") - fault.seconds
    return on(room, command, fault, ended=True)._replace(noticed=gone)


def all_killed(room: Room) -> Seen:
    """Kill all processes at once, as when the machine loses its power or a container is stopped;
    folders for temporary files are empty afterwards.
    """
    command = room.train(plan=[{"name": "at", "do": "hold", **CLOCK, "who": "worker 1"}])
    room.reached("at")
    for pid in [*command.processes(), command.process.pid]:  # those that clean up first
        os.kill(pid, signal.SIGKILL)
    fault = now()
    room.code(command)
    room.until(lambda: not command.processes(), "all to end")
    for each in command.tmp.iterdir():
        shutil.rmtree(each)
    return on(room, command, fault, ended=True)


def alone(room: Room) -> Seen:
    """Kill a run without worker processes at one of its changes of files."""
    room.flags["--workers"] = 1
    number = room.draw.randrange(1, 40)
    entry = {"moment": "file", "path": "/out/", "number": number, "who": "command", "do": "kill"}
    command = room.train(plan=[{"name": "dies", **entry}])
    if room.code(command) == 0:  # it has fewer
        return over(room, command)
    fault = room.reached("dies")
    before = room.epochs()
    if not any((room.folder / "out" / "checkpoints").glob("[0-9]*")):
        command, out = room.train(out="again"), "again"
    else:
        command, out = room.resume(), "out"
        if room.code(command) == 2:  # it was over: all is there
            room.expect(command, 2, "error: the run of ")
            return Seen(wrong=tuple(room.differences()), note="over")
    room.until(
        lambda: command.process.poll() is not None or room.epochs(out) > before, "more epochs"
    )
    moment = time.monotonic()
    return over(room, command, out)._replace(recovered=moment - fault.seconds)


def interrupted(number: signal.Signals, room: Room) -> Seen:
    """Ask a run to end: it keeps its model and a checkpoint; then the user resumes. The run is long
    enough that it hears this before its end.
    """
    room.flags["--epochs"] = 30
    command = room.train(plan=[{"name": "at", "do": "hold", **CLOCK, "who": "worker 1"}])
    room.reached("at")
    os.killpg(command.process.pid, number)
    fault = now()
    room.go("at")
    room.expect(command, 130, "error: interrupted after ")
    ended = time.monotonic()
    seen = on(room, command, fault, ended=True)
    return seen._replace(noticed=ended - fault.seconds)


def two_into_one(room: Room) -> Seen:
    """Start a second run, and a resume, while the first one writes to the folder."""
    command = room.train(plan=[{"name": "at", "do": "hold", **CLOCK, "who": "worker 1"}])
    room.reached("at")
    second, third = room.train(), room.resume()
    for each in (second, third):
        room.expect(each, 2, "error: another run writes to")
    room.go("at")
    return over(room, command)


def resumed_twice(room: Room) -> Seen:
    """Kill a launcher, and let two commands resume at once: one gets the folder."""
    command = room.train(plan=[{"name": "at", "do": "hold", **CLOCK, "who": "worker 1"}])
    room.reached("at")
    os.kill(command.process.pid, signal.SIGKILL)
    fault = now()
    room.go("at")
    room.code(command)
    room.until(lambda: not command.left(), "the workers to end")
    both = [room.resume(), room.resume()]
    codes = sorted(map(room.code, both))
    if codes not in ([0, 2],):
        raise Wrong(f"exit codes {codes} instead of 0 and 2{room.said()}")
    first = next(each for each in both if each.process.returncode == 0)
    seen = over(room, first)
    return seen._replace(recovered=time.monotonic() - fault.seconds)


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    goes_on = "its workers end by themselves; resumed, it goes on to the same bytes"
    return [
        *(
            Scenario(
                f"launcher-killed-{name}", f"launcher killed {words}", goes_on, partial(killed, at)
            )
            for name, (words, at) in AT.items()
        ),
        Scenario(
            "all-killed",
            "all processes killed at once, as by a power failure",
            "resumed, it goes on to the same bytes",
            all_killed,
        ),
        Scenario(
            "killed-alone",
            "a run in one process killed at a change of files",
            "resumed, or begun anew if there was no checkpoint, it has the same bytes",
            alone,
            times=3,
        ),
        *(
            Scenario(
                f"ended-{words}",
                f"a run is ended by {number.name}",
                "exit code 130 with a model; resumed, it goes on to the same bytes",
                partial(interrupted, number),
            )
            for words, number in (("ctrl-c", signal.SIGINT), ("sigterm", signal.SIGTERM))
        ),
        Scenario(
            "two-runs",
            "a second run and a resume in the folder of a run",
            "both are refused (exit code 2); the first one has the same bytes",
            two_into_one,
        ),
        Scenario(
            "resumed-twice",
            "two commands resume a killed run at once",
            "one is refused (exit code 2), the other has the same bytes",
            resumed_twice,
        ),
    ]
