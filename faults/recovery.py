"""The ways in which a run goes on after a fault: by its own restart, by `tux run --resume`, or, if
it had not begun to read its data, as a new run. The one place that knows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from faults.fault import Fault
from faults.room import Moment, Room, WrongOutcome
from faults.running import Running
from faults.scenario import Observation
from tux.checkpoint.store import has_checkpoint
from tux.run_folder.folder import read_run


class Commands(Protocol):
    """The commands of two machines: how they start, and how they go on with a run."""

    def start(self, rank: int, out: str = "out") -> Running:
        """Start that of a machine."""

    def resume(self, rank: int) -> Running:
        """Go on with the run."""


def after_worker(room: Room, command: Running, fault: Moment, rank: int) -> Observation:
    """Expect, after a worker is lost, that the command starts all workers again."""

    def is_noticed() -> bool:
        ended = command.process.poll() is not None
        return ended or command.workers().get(rank, fault.pid) != fault.pid

    seconds = room.until(is_noticed, "the loss of a worker to be noticed") - fault.seconds
    seen = expect_resumed(room, command, fault, ended=False)
    return seen._replace(noticed=seconds)


def expect_resumed(room: Room, command: Running, fault: Moment, *, ended: bool) -> Observation:
    """Expect that the run goes on after a fault, by a new command if this one has `ended`, and ends
    as if nothing had been.
    """
    before, out = room.epochs(), "out"
    if ended:
        command, out = start_anew(room)
    moment = room.until(
        lambda: command.process.poll() is not None or room.epochs(out) > before,
        f"more than {before} epochs",
    )
    return expect_end(room, command, out)._replace(recovered=moment - fault.seconds)


def start_anew(room: Room) -> tuple[Running, str]:
    """Start a new command as the user does when one has ended; return it and its folder."""
    if is_resumable(room):
        return room.resume(), "out"
    return room.train(out="again"), "again"


def is_resumable(room: Room) -> bool:
    """Return whether `tux run --resume` goes on with the run, from a checkpoint or from its
    beginning.
    """
    return (room.folder / "out" / "run.json").exists()


def expect_end(room: Room, command: Running, out: str = "out") -> Observation:
    """Expect that the run ends by itself, as if nothing had been."""
    room.expect(command, 0)
    return Observation(wrong=tuple(room.differences(out)))


def incarnations(room: Room, out: str = "out") -> int:
    """Return how often a run has gone on, by its record."""
    return len(read_run(room.folder / out).incarnations)


def expect_untouched(room: Room, command: Running) -> Observation:
    """Expect that the run goes on under the same processes: nobody has noticed anything."""
    seen = expect_end(room, command)
    if incarnations(room):
        raise WrongOutcome("it has begun anew, though nothing was lost")
    return seen


def after_machines(
    room: Room,
    machines: Commands,
    commands: Sequence[Running],
    fault: Fault,
    *,
    killed: int | None = None,
) -> Observation:
    """Expect that two machines go on after a fault; the command `killed` is gone and is started
    again. They go on by themselves, or both end with code 4 (or 7, where machine 0 says so) and are
    started again.
    """
    commands, out = [*commands], "out"
    if killed is not None:
        time.sleep(2.0)
        if killed == 0 and not has_checkpoint(room.folder / out):
            out = "again"
        commands[killed] = machines.resume(killed) if out == "out" else machines.start(0, out)
    past = seconds_past(room, commands, fault, out)
    codes = [room.code(each) for each in commands]
    if not any(codes):
        seen = expect_end(room, commands[0], out)._replace(recovered=past, note="goes on by itself")
        lost = killed is not None or incarnations(room, out)
        return seen._replace(noticed=fault.seconds_to_end()) if lost else seen
    if any(code not in (4, 7) for code in codes):  # 7: machine 0 has ended the job
        raise WrongOutcome(f"exit codes {codes} instead of 4 or 7{room.last_output()}")
    return start_again(room, machines, fault)._replace(noticed=fault.seconds_to_end())


def seconds_past(room: Room, commands: Sequence[Running], fault: Fault, out: str) -> float:
    """Wait for more epochs than before a fault, or for the end; the seconds since the fault."""
    moment = room.until(
        lambda: (
            all(each.process.poll() is not None for each in commands)
            or room.epochs(out) > fault.epochs
        ),
        f"more than {fault.epochs} epochs",
    )
    return moment - fault.seconds


def start_again(
    room: Room, machines: Commands, fault: Fault, order: Sequence[int] = (0, 1)
) -> Observation:
    """Start both commands again, in an `order`, as the user does."""
    keeps, new = has_checkpoint(room.folder / "out"), {}
    for rank in order:
        new[rank] = machines.resume(rank) if keeps else machines.start(rank, "again")
        time.sleep(0.5)
    out = "out" if keeps else "again"
    past = seconds_past(room, [*new.values()], fault, out)
    seen = expect_end(room, new[0], out)
    room.expect(new[1], 0)
    return seen._replace(recovered=past, note="both started again")


def put_aside(room: Room) -> None:
    """Move the folder of a run without a checkpoint aside, as the run begins anew."""
    if (room.folder / "out").exists():
        (room.folder / "out").rename(room.folder / f"given up {len(room.commands)}")


def now(pid: int = 0) -> Moment:
    """Return this moment."""
    return Moment(pid, time.monotonic())
