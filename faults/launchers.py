"""Launchers that are killed, ended or interrupted, and two runs into one folder."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

from faults.recovery import (
    expect_end,
    expect_resumed,
    is_resumable,
    now,
    put_aside,
    start_anew,
)
from faults.room import Moment, Room, WrongOutcome
from faults.running import Running
from faults.scenario import Observation, Scenario

KILLS = 6
"""Of a run and of those that go on with it."""

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


def kill_launcher(entry: dict[str, object], room: Room) -> Observation:
    """Kill the launcher at a moment; then the user resumes."""
    command = room.train(plan=[{"name": "at", "do": "hold", **entry}])
    room.await_entry("at")
    os.kill(command.process.pid, signal.SIGKILL)
    fault = now(command.process.pid)
    room.go("at")
    return resume_after_end(room, command, fault)


def resume_after_end(room: Room, command: Running, fault: Moment) -> Observation:
    """Wait until the workers whose launcher was killed have ended by themselves; then the user
    resumes.
    """
    room.code(command)
    gone = room.until(lambda: not command.leftovers(), "the workers to end") - fault.seconds
    return expect_resumed(room, command, fault, ended=True)._replace(noticed=gone)


def kill_all(room: Room) -> Observation:
    """Kill all processes at once, as when the machine loses its power or a container is stopped;
    folders for temporary files are empty afterwards.
    """
    command = room.train(plan=[{"name": "at", "do": "hold", **CLOCK, "who": "worker 1"}])
    room.await_entry("at")
    for pid in [*command.processes(), command.process.pid]:  # those that clean up first
        os.kill(pid, signal.SIGKILL)
    fault = now()
    room.code(command)
    room.until(lambda: not command.processes(), "all to end")
    command.clear_tmp()
    return expect_resumed(room, command, fault, ended=True)


def kill_lone_run(room: Room) -> Observation:
    """Kill a run without worker processes at one of its changes of files."""
    room.flags["--workers"] = 1
    command = room.train(plan=[die_at_change("dies", room, 40)])
    if room.code(command) == 0:  # it has fewer
        return expect_end(room, command)
    fault = room.await_entry("dies")
    before = room.epochs()
    command, out = start_anew(room)
    if out == "out" and room.code(command) == 2:
        return expect_over(room, command)
    room.until(
        lambda: command.process.poll() is not None or room.epochs(out) > before, "more epochs"
    )
    moment = time.monotonic()
    return expect_end(room, command, out)._replace(recovered=moment - fault.seconds)


def kill_again(room: Room) -> Observation:
    """Kill a run without worker processes at one of its changes of files, and then each command
    that goes on with it.
    """
    room.flags["--workers"] = 1
    command, kills = room.train(plan=[die_at_change("dies 0", room, 20)]), 0
    while room.code(command) == -signal.SIGKILL:
        kills += 1
        last = kills == KILLS
        room.plan([] if last else [die_at_change(f"dies {kills}", room, 20)])
        if is_resumable(room):
            command = room.resume()
        else:
            put_aside(room)
            command = room.train()
    if command.process.returncode == 2:
        return expect_over(room, command)._replace(faults=kills)
    return expect_end(room, command)._replace(faults=kills)


def die_at_change(name: str, room: Room, most: int) -> dict[str, object]:
    """Return the entry of a plan by which the command dies at a change of files of its run, one of
    the first `most`.
    """
    number = room.draw.randrange(1, most)
    return {
        "name": name,
        "moment": "file",
        "path": "/out/",
        "number": number,
        "who": "command",
        "do": "kill",
    }


def expect_over(room: Room, command: Running) -> Observation:
    """Expect that a run cannot go on, as it was over when it was killed: all is there."""
    room.expect(command, 2, "error: the run of ")
    return Observation(wrong=tuple(room.differences()), note="over")


def interrupt_run(number: signal.Signals, room: Room) -> Observation:
    """Ask a run to end: it keeps its model and a checkpoint; then the user resumes. The run is long
    enough that it hears this before its end.
    """
    room.flags["--epochs"] = 30
    command = room.train(plan=[{"name": "at", "do": "hold", **CLOCK, "who": "worker 1"}])
    room.await_entry("at")
    os.killpg(command.process.pid, number)
    fault = now()
    room.go("at")
    room.expect(command, 130, "error: interrupted after ")
    ended = time.monotonic()
    seen = expect_resumed(room, command, fault, ended=True)
    return seen._replace(noticed=ended - fault.seconds)


def two_into_one(room: Room) -> Observation:
    """Start a second run, and a resume, while the first one writes to the folder."""
    command = room.train(plan=[{"name": "at", "do": "hold", **CLOCK, "who": "worker 1"}])
    room.await_entry("at")
    second, third = room.train(), room.resume()
    for each in (second, third):
        room.expect(each, 2, "error: another run writes to")
    room.go("at")
    return expect_end(room, command)


def resume_twice(room: Room) -> Observation:
    """Kill a launcher, and let two commands resume at once: one gets the folder."""
    command = room.train(plan=[{"name": "at", "do": "hold", **CLOCK, "who": "worker 1"}])
    room.await_entry("at")
    os.kill(command.process.pid, signal.SIGKILL)
    fault = now()
    room.go("at")
    room.code(command)
    room.until(lambda: not command.leftovers(), "the workers to end")
    both = [room.resume(), room.resume()]
    codes = sorted(map(room.code, both))
    if codes not in ([0, 2],):
        raise WrongOutcome(f"exit codes {codes} instead of 0 and 2{room.last_output()}")
    first = next(each for each in both if each.process.returncode == 0)
    seen = expect_end(room, first)
    return seen._replace(recovered=time.monotonic() - fault.seconds)


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    goes_on = "its workers end by themselves; resumed, it goes on to the same bytes"
    return [
        *(
            Scenario(
                f"launcher-killed-{name}",
                f"launcher killed {words}",
                goes_on,
                partial(kill_launcher, at),
            )
            for name, (words, at) in AT.items()
        ),
        Scenario(
            "all-killed",
            "all processes killed at once, as by a power failure",
            "resumed, it goes on to the same bytes",
            kill_all,
        ),
        Scenario(
            "killed-alone",
            "a run in one process killed at a change of files",
            "resumed, or begun anew if it had not begun to read, it has the same bytes",
            kill_lone_run,
            times=3,
        ),
        Scenario(
            "killed-again",
            "a run in one process, and each resume, killed at a change of files",
            "resumed once more, it has the same bytes",
            kill_again,
            times=3,
            limit=300.0,
        ),
        *(
            Scenario(
                f"ended-{words}",
                f"a run is ended by {number.name}",
                "exit code 130 with a model; resumed, it goes on to the same bytes",
                partial(interrupt_run, number),
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
            resume_twice,
        ),
    ]
