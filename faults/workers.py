"""Workers that are killed or stopped, and clocks that fail."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from faults import recovery
from faults.recovery import after_worker, now, over, untouched
from faults.room import CLOCKS, EPOCHS, Moment, Room
from faults.running import Running
from faults.scenario import Scenario, Seen
from tux.base.processes import lives

KILLS = 5
"""In one run."""
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


def killed(entry: dict[str, object], room: Room) -> Seen:
    """One of the workers kills itself at a moment."""
    rank = room.draw.randrange(2)
    command = room.train(plan=[{"name": "dies", "who": f"worker {rank}", "do": "kill", **entry}])
    return after_worker(room, command, room.reached("dies"), rank)


def killed_at_start(room: Room) -> Seen:
    """A worker is killed as soon as there is a process."""
    rank, command = room.draw.randrange(2), room.train()
    room.until(lambda: rank in command.workers(), "a worker to start")
    pid = command.workers()[rank]
    os.kill(pid, signal.SIGKILL)
    return after_worker(room, command, now(pid), rank)


def killed_at_the_model(room: Room) -> Seen:
    """A worker is killed when the launcher has its rows and writes the model."""
    plan = {"moment": "file", "path": r"^os.mkdir .*/\.model\.", "who": "command", "do": "hold"}
    command = room.train(plan=[{"name": "writes", **plan}])
    room.reached("writes")
    rank, pid = room.draw.choice(sorted(command.workers().items()))
    os.kill(pid, signal.SIGKILL)
    fault = now(pid)
    room.go("writes")
    seen = over(room, command)
    return seen._replace(recovered=time.monotonic() - fault.seconds)


def stopped(room: Room) -> tuple[int, Moment]:
    """A run, one of whose workers has stopped itself within an epoch: its rank, and the moment."""
    rank = room.draw.randrange(2)
    entry = {"moment": "clock", "epoch": 3, "number": 2, "who": f"worker {rank}", "do": "stop"}
    room.train(plan=[{"name": "stops", **entry}])
    return rank, room.reached("stops")


def continued(pid: int) -> None:
    """Let a stopped process go on, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def stopped_for(seconds: float, room: Room) -> Seen:
    """A worker is stopped for a while that nobody should mind."""
    _, fault = stopped(room)
    time.sleep(seconds)
    continued(fault.pid)
    return untouched(room, room.commands[0])


def stopped_for_long(seconds: float, room: Room) -> Seen:
    """A worker is stopped until it counts as lost, and then continued, if `seconds` says when."""
    rank, fault = stopped(room)
    seen = after_worker(room, room.commands[0], fault, rank)
    time.sleep(max(0.0, fault.seconds + seconds - time.monotonic()))
    was_there = lives(fault.pid)
    continued(fault.pid)
    left = (f"process {fault.pid}, which had stopped, is still there",) * was_there
    return seen._replace(wrong=(*seen.wrong, *left))


def failing(chance: float, room: Room) -> Seen:
    """Each clock kills one of the workers with a probability, also those that run again."""
    chances: dict[str, object] = {
        "chance": chance,
        "seed": room.draw.randrange(1 << 30),
        "workers": 2,
    }
    entry: dict[str, object] = {"name": "chance", "moment": "clock", "who": "any", "do": "kill"}
    epochs = 20 if chance > 0.05 else 60
    room.flags["--epochs"] = epochs
    start = time.monotonic()
    room.flags["--restarts"] = 1000
    command = room.train(plan=[entry | chances] if chance else [])
    while room.code(command) == 4:
        command = room.resume() if recovery.are_in(room.folder / "out") else again(room)
    seconds = time.monotonic() - start
    seen = over(room, command)
    kills = len(list(room.plan_folder.glob("kill by chance *")))
    note = f"{kills} of {epochs * CLOCKS} clocks died, {seconds:.1f} s"
    return seen._replace(faults=kills, note=note)


def again(room: Room) -> Running:
    """Start anew, as there is no checkpoint yet."""
    if (room.folder / "out").exists():
        (room.folder / "out").rename(room.folder / f"given up {len(room.commands)}")
    return room.train()


def at_random(room: Room) -> Seen:
    """A worker or the launcher is killed at any moment, several times in one run."""
    workers = room.draw.choice([1, 2])
    room.flags |= {"--workers": workers, "--epochs": 40, "--checkpoint-every": "0.2s"}
    if workers > 1:
        room.flags["--restarts"] = 2 * KILLS
    command = room.train()
    noticed: list[float] = []
    while len(noticed) < KILLS:
        time.sleep(room.draw.uniform(0.1, 3.0))
        # the launcher is number -1
        rank, pid = room.draw.choice([(-1, command.process.pid), *command.workers().items()])
        if command.process.poll() is not None:
            break
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        command, seconds = followed(room, command, rank, now(pid))
        noticed.append(seconds)
    if noticed and room.code(command) == 2:  # the kill before came when all was written
        room.expect(command, 2, "error: the run of ")
        seen = Seen(wrong=tuple(room.differences()))
    else:
        seen = over(room, command)
    typical = sorted(noticed)[len(noticed) // 2] if noticed else None
    return seen._replace(noticed=typical, faults=len(noticed))


def followed(room: Room, command: Running, rank: int, fault: Moment) -> tuple[Running, float]:
    """The command that goes on after a kill at any moment, and the seconds until it was noticed."""
    seconds = (
        room.until(
            lambda: (
                command.process.poll() is not None
                or (rank >= 0 and command.workers().get(rank, fault.pid) != fault.pid)
            ),
            "a kill to be noticed",
        )
        - fault.seconds
    )
    if command.process.poll() in (None, 0):  # 0: the run was over before it was noticed
        return command, seconds
    room.until(lambda: not command.processes(), "the workers to end")
    if recovery.are_in(room.folder / "out"):
        return room.resume(), seconds
    return again(room), seconds


def scenarios() -> list[Scenario]:
    """All of this file."""
    make: Callable[..., Scenario] = partial(Scenario, expected=GOES_ON)
    found = [
        make("killed-start", "worker killed as its process starts", play=killed_at_start),
        *(
            make(f"killed-{name}", f"worker killed {words}", play=partial(killed, entry))
            for name, (words, entry) in PHASES.items()
        ),
        Scenario(
            "killed-model",
            "worker killed while the launcher writes the model",
            "its rows are there already: the run ends with the same bytes",
            killed_at_the_model,
        ),
        Scenario("stopped-3s", "worker stopped for 3 s", UNNOTICED, partial(stopped_for, 3.0), 3),
        make("stopped", "worker stopped for ever", play=partial(stopped_for_long, 0.0), times=2),
        make(
            "stopped-40s",
            "worker stopped for 40 s, then continued",
            play=partial(stopped_for_long, 40.0),
            times=1,
        ),
        make("kills", "worker or launcher killed at any moment", play=at_random, times=8),
    ]
    for share in (0, 1, 10):
        found.append(
            make(
                f"failing-{share}",
                f"{share}% of all clocks kill their worker",
                play=partial(failing, share / 100),
                times=1,
                limit=400.0,
            )
        )
    return found
