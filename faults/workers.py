"""Workers that are killed or stopped, and clocks that fail."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from faults import watched
from faults.recovery import after_worker, expect_end, expect_untouched, now
from faults.room import CLOCKS, EPOCHS, Moment, Room
from faults.scenario import Observation, Scenario
from tux.base.processes import is_alive

FAILING = 30
"""Epochs in which clocks fail."""
GOES_ON = "noticed; goes on to the same bytes"
UNNOTICED = "goes on under the same processes, to the same bytes"

PHASES: dict[str, tuple[str, dict[str, object]]] = {
    "load": ("while it loads", {"moment": "load"}),
    "first-clock": ("in the first clock", {"moment": "clock", "epoch": 1, "number": 1}),
    "mid-epoch": ("within an epoch", {"moment": "clock", "epoch": 4, "number": 3}),
    "evaluation": ("in an evaluation", {"moment": "evaluation", "epoch": 3}),
    "checkpoint": (
        "as it writes its second checkpoint",
        {"moment": "file", "path": "^open .*/checkpoints/", "number": 2},
    ),
    "checkpoint-rename": (
        "as its second checkpoint gets its name",
        {"moment": "file", "path": "^os.rename .*/checkpoints/", "number": 2},
    ),
    "last-checkpoint": (
        "as it writes its last checkpoint",
        {"moment": "file", "path": "^open .*/checkpoints/", "epoch": EPOCHS},
    ),
}


def kill_worker(entry: dict[str, object], room: Room) -> Observation:
    """Make one of the workers kill itself at a moment."""
    rank = room.draw.randrange(2)
    command = room.train(plan=[{"name": "dies", "who": f"worker {rank}", "do": "kill", **entry}])
    return after_worker(room, command, room.await_entry("dies"), rank)


def kill_at_start(room: Room) -> Observation:
    """Kill a worker as soon as there is a process."""
    rank, command = room.draw.randrange(2), room.train()
    room.until(lambda: rank in command.workers(), "a worker to start")
    pid = command.workers()[rank]
    os.kill(pid, signal.SIGKILL)
    return after_worker(room, command, now(pid), rank)


def kill_at_model(room: Room) -> Observation:
    """Kill a worker when the launcher has its rows and writes the model."""
    plan = {"moment": "file", "path": r"^os.mkdir .*/\.model\.", "who": "command", "do": "hold"}
    command = room.train(plan=[{"name": "writes", **plan}])
    room.await_entry("writes")
    rank, pid = room.draw.choice(sorted(command.workers().items()))
    os.kill(pid, signal.SIGKILL)
    fault = now(pid)
    room.go("writes")
    seen = expect_end(room, command)
    return seen._replace(recovered=time.monotonic() - fault.seconds)


def stop_one_worker(room: Room) -> tuple[int, Moment]:
    """Make one of the workers stop itself within an epoch; return its rank, and the moment."""
    rank = room.draw.randrange(2)
    entry = {"moment": "clock", "epoch": 3, "number": 2, "who": f"worker {rank}", "do": "stop"}
    room.train(plan=[{"name": "stops", **entry}])
    return rank, room.await_entry("stops")


def continue_process(pid: int) -> None:
    """Let a stopped process go on, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def stop_for(seconds: float, room: Room) -> Observation:
    """Stop a worker for a while that nobody should mind."""
    _, fault = stop_one_worker(room)
    time.sleep(seconds)
    continue_process(fault.pid)
    return expect_untouched(room, room.commands[0])


def stop_for_long(seconds: float, room: Room) -> Observation:
    """Stop a worker until it counts as lost, and then continue it, if `seconds` says when."""
    rank, fault = stop_one_worker(room)
    seen = after_worker(room, room.commands[0], fault, rank)
    time.sleep(max(0.0, fault.seconds + seconds - time.monotonic()))
    was_there = is_alive(fault.pid)
    continue_process(fault.pid)
    left = (f"process {fault.pid}, which had stopped, is still there",) * was_there
    return seen._replace(wrong=(*seen.wrong, *left))


def fail_by_chance(chance: float, room: Room) -> Observation:
    """Let each clock kill one of the workers with a probability, also those that run again. If
    there is one, at least one dies.
    """
    entry: dict[str, object] = {"name": "chance", "moment": "clock", "who": "any", "do": "kill"}
    entry |= {"chance": chance, "workers": 2, "seed": room.draw.randrange(1 << 30)}
    clocks = [(epoch + 1, clock + 1) for epoch in range(FAILING) for clock in range(CLOCKS)]
    while chance and all(watched.worker_to_kill(entry, *clock) is None for clock in clocks):
        entry["seed"] = room.draw.randrange(1 << 30)
    room.flags |= {"--epochs": FAILING, "--restarts": 1000}
    start = time.monotonic()
    command = room.train(plan=[entry])
    room.code(command)
    seconds = time.monotonic() - start
    seen = expect_end(room, command)
    kills = len(list(room.plan_folder.glob(f"{watched.KILLS}*")))
    return seen._replace(faults=kills, measured={"seconds of the run": seconds})


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    make: Callable[..., Scenario] = partial(Scenario, expected=GOES_ON)
    found = [
        make("killed-start", "worker killed as its process starts", play=kill_at_start),
        *(
            make(f"killed-{name}", f"worker killed {words}", play=partial(kill_worker, entry))
            for name, (words, entry) in PHASES.items()
        ),
        Scenario(
            "killed-model",
            "worker killed while the launcher writes the model",
            "its rows are there already: the run ends with the same bytes",
            kill_at_model,
        ),
        Scenario("stopped-3s", "worker stopped for 3 s", UNNOTICED, partial(stop_for, 3.0)),
        make("stopped", "worker stopped for ever", play=partial(stop_for_long, 0.0)),
        make(
            "stopped-40s",
            "worker stopped for 40 s, then continued",
            play=partial(stop_for_long, 40.0),
        ),
    ]
    for share in (0, 1, 10):
        found.append(
            make(
                f"failing-{share}",
                f"{share}% of {FAILING * CLOCKS} clocks kill their worker",
                play=partial(fail_by_chance, share / 100),
                limit=400.0,
            )
        )
    return found
