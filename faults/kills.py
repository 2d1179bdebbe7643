"""Kills at random moments: of workers and of launchers, on one machine and on two."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import Any

from faults import recovery
from faults.fault import Fault
from faults.machines import Machines
from faults.network import Cable, no_namespaces
from faults.recovery import Commands
from faults.room import Room, WrongOutcome
from faults.running import Running
from faults.scenario import Observation, Scenario

KILLS = 20
"""In one run."""
FLAGS = {"--epochs": 200, "--checkpoint-every": "0.2s"}
REJOIN = 20
"""Seconds after which a worker gives up a machine 0 that was killed when it had begun to start."""
GRACE = 10.0
"""Seconds in which a machine's command ends after the other one."""


class SingleMachine:
    """The only machine of a run, as `Machines` are two."""

    def __init__(self, room: Room) -> None:
        self.room = room

    def start(self, rank: int, out: str = "out") -> Running:
        """Start the command."""
        return self.room.train(out=out)

    def resume(self, rank: int) -> Running:
        """Go on with the run."""
        return self.room.resume()


def on_one_machine(room: Room) -> Observation:
    """Kill processes of a run of one or two workers."""
    room.flags |= FLAGS | {"--workers": room.draw.choice([1, 2])}
    if room.flags["--workers"] == 2:
        room.flags["--restarts"] = 2 * KILLS
    return kill_at_random(room, SingleMachine(room), 1)


def on_two_machines(room: Room) -> Observation:
    """Kill processes of a run of two machines with a worker each."""
    with Cable() as cable:
        machines = Machines(room, cable, rejoin=REJOIN)
        room.flags |= FLAGS | {"--restarts": 2 * KILLS}
        return kill_at_random(room, machines, 2)


def kill_at_random(room: Room, machines: Commands, count: int) -> Observation:
    """Kill something of a run at any moment, several times."""
    run = KilledRun(room, machines, count)
    noticed: list[float] = []
    kills = 0
    while kills < KILLS and run.goes_on():
        await_moment(room, run.commands)
        if run.commands[0].process.poll() is not None:
            continue
        victims = draw_victims(room, run.commands)
        fault = Fault(room)
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        kills += 1
        # also those end that the kill has spared
        room.until(
            lambda: fault.ended is not None or not had_joined(run.commands),  # noqa: B023
            "the loss of a worker to be noticed",
        )
        if (seconds := fault.seconds_to_end(victims)) is not None:
            noticed.append(seconds)
    while run.goes_on():
        time.sleep(0.05)
    wrong = [*run.end_others(), *room.differences()]
    measured = {"commands that gave up and were started again": run.given_up}
    return Observation(wrong=tuple(wrong), faults=kills, notices=tuple(noticed), measured=measured)


def await_moment(room: Room, commands: list[Running]) -> None:
    """Wait for any moment; each third time for one of training, as starts take longer."""
    before, limit = room.epochs(), time.monotonic() + room.draw.uniform(0.1, 2.0)
    if room.draw.random() < 1 / 3:
        ended = lambda: any(each.process.poll() is not None for each in commands)  # noqa: E731
        room.until(lambda: ended() or room.epochs() > before, "an epoch")
        limit = time.monotonic() + room.draw.uniform(0.0, 0.6)
    time.sleep(max(0.0, limit - time.monotonic()))


def had_joined(commands: list[Running]) -> bool:
    """Return whether machine 0 has all machines: it cannot miss one that was killed before it
    joined.
    """
    said, _ = commands[0].output()
    return "to join" not in said.rstrip().rpartition("\n")[2]


def draw_victims(room: Room, commands: list[Running]) -> list[int]:
    """Draw whom to kill: return the process ids of a worker, of the only launcher, or of a
    machine's command and workers.
    """
    workers = [[*each.workers().values()] for each in commands]
    machines = [
        [each.process.pid, *(pids if len(commands) > 1 else ())]
        for each, pids in zip(commands, workers, strict=True)
    ]
    return room.draw.choice([*([pid] for pids in workers for pid in pids), *machines])


class KilledRun:
    """The commands of a run's machines, which are started again when they have ended."""

    def __init__(self, room: Room, machines: Commands, count: int) -> None:
        self.room, self.machines = room, machines
        self.commands = [machines.start(rank) for rank in range(count)]
        self.given_up = 0  # commands that have ended though nobody has killed them

    def goes_on(self) -> bool:
        """Start again what has ended; return whether the run is not over. WrongOutcome if a command
        has
        ended as it should not.
        """
        codes = [each.process.poll() for each in self.commands]
        if any(code not in (None, 0, 2, 4, 7, -signal.SIGKILL) for code in codes):
            raise WrongOutcome(f"exit codes {codes}{self.room.last_output()}")
        if codes[0] in (0, 2):  # 2: the kill before came when all was written
            return False
        self.given_up += sum(code in (4, 7) for code in codes)
        for rank, code in enumerate(codes):
            # machine 0 was killed when the others knew that the run was over
            alone = code == 0 and self.commands[0].wait(GRACE) not in (0, 2)
            if code or alone:
                self._start(rank)
        return True

    def _start(self, rank: int) -> None:
        """Start a command again; that of machine 0 goes on with the run, if it has begun."""
        ended = self.commands[rank]
        self.room.until(lambda: not ended.leftovers(), "all of a command to end")
        if rank == 0 and recovery.is_resumable(self.room):
            self.commands[rank] = self.machines.resume(rank)
            return
        if rank == 0:
            recovery.put_aside(self.room)
        self.commands[rank] = self.machines.start(rank)

    def end_others(self) -> list[str]:
        """End the commands of others when machine 0 has ended. They end by themselves, but for
        those that were started when it needed them no more: the user ends these; and for those that
        were killed when all was written. Return what is wrong.
        """
        first, *others = self.commands
        if first.process.returncode == 2:
            self.room.expect(first, 2, "error: the run of ")
        for each in others:
            if each.wait(GRACE) is None:
                each.process.terminate()
            self.room.code(each)
        codes = [each.process.returncode for each in others]
        right = (0, 130, -signal.SIGKILL)
        return [f"another machine ended with {code}" for code in codes if code not in right]


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    named: dict[str, Any] = {"expected": "noticed; goes on to the same bytes", "limit": 600.0}
    return [
        Scenario(
            "kills",
            "worker or launcher killed at any moment",
            play=on_one_machine,
            times=8,
            **named,
        ),
        Scenario(
            "kills-two-machines",
            "a worker of two machines, or command and worker of one, killed at any moment",
            play=on_two_machines,
            times=5,
            missing=no_namespaces,
            **named,
        ),
    ]
