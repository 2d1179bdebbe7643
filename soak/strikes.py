"""Strikes: what happens to a run. Each is a function of its course."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from faults.disks import LITTLE, fill
from faults.workers import continue_process
from soak.course import INTERRUPTS, Course
from soak.draws import Strike
from soak.harm import damage_cache, damage_file, find_files
from soak.phases import await_phase

MOST_WORKERS = 4
STOPS = (0.3, 1.0, 3.0, 10.0)
"""Seconds for which processes are stopped: after 8 s they count as lost."""
FULL = 3.0
"""Seconds, at most, in which a disk is full."""


def make_strike(course: Course, strike: Strike) -> bool:
    """Wait for the phase of a strike, and do it; return whether the run was not over before. Raises
    LostRun, WrongOutcome and ScenarioTimeout.
    """
    if strike.phase == "resuming":
        if not await_phase(course.room, [course.command], course.folder, "training"):
            return False
        course.end(-signal.SIGKILL, signal.SIGKILL)
        if not course.goes_on():
            return False
    if not await_phase(course.room, [course.command], course.folder, strike.phase):
        return False
    STRIKES[strike.kind](course)
    return True


def kill_worker(course: Course) -> None:
    """Kill a worker, or a process that loads a share; the command, if there is none."""
    if not (workers := course.workers):
        return kill_command(course)
    course.may_end.add(4)  # there may be no restarts left
    with suppress(ProcessLookupError):
        os.kill(course.room.draw.choice(workers), signal.SIGKILL)


def kill_command(course: Course) -> None:
    """Kill the command: its workers end by themselves."""
    course.end(-signal.SIGKILL, signal.SIGKILL)


def kill_all(course: Course) -> None:
    """Kill all processes at once, as when the machine loses its power; folders for temporary files
    are empty afterwards.
    """
    for pid in [*course.command.processes(), course.command.process.pid]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    course.end(-signal.SIGKILL, signal.SIGKILL)
    course.room.until(lambda: not course.command.processes(), "all to end")
    course.command.clear_tmp()


def stop_some(course: Course) -> None:
    """Stop a worker, the command, or all of them, and continue them some time later."""
    draw, own = course.room.draw, course.command.process.pid
    choices = [[own], [own, *course.workers], *([pid] for pid in course.workers)]
    stopped = draw.choice(choices)
    course.may_end.add(4)
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    time.sleep(draw.choice(STOPS) * draw.uniform(0.5, 1.2))
    for pid in stopped:
        continue_process(pid)


def interrupt(course: Course) -> None:
    """Press Ctrl-C, and at times once more."""
    twice = course.room.draw.random() < 0.2
    course.may_end |= INTERRUPTS
    for pause in [0.0, course.room.draw.uniform(0, 0.3)][: 1 + twice]:
        time.sleep(pause)
        with suppress(ProcessLookupError):
            os.killpg(course.command.process.pid, signal.SIGINT)
    course.room.code(course.command)


def interrupt_and_move(course: Course) -> None:
    """Press Ctrl-C, and go on on another number of workers."""
    interrupt(course)
    if course.command.process.returncode and (course.folder / "run.json").exists():
        course.await_nothing_left()
        had = course.plan.flags["--workers"]
        others = [n for n in range(1, MOST_WORKERS + 1) if n != had]
        course.resume(course.room.draw.choice(others))


def stop_for_damage(course: Course) -> bool:
    """Kill the command, and wait until all of it is gone; return whether it had not ended."""
    kill_command(course)
    course.await_nothing_left()
    return course.command.process.returncode == -signal.SIGKILL


def damage_stopped_run(course: Course, *, of_checkpoints: bool) -> None:
    """Kill the command, damage a file of the run, and go on. What is damaged and not refused is
    whole at the end.
    """
    if not stop_for_damage(course):
        return
    if course.harm:
        course.harm.undo()
    files = find_files(course.folder, of_checkpoints=of_checkpoints)
    course.harm = damage_file(files, course.room.draw)
    course.resume()


def damage_kernels(course: Course) -> None:
    """Kill the command, and go on with a damaged cache of compiled functions."""
    if not stop_for_damage(course):
        return
    folder = course.room.folder / "cache"
    damage_cache(folder, course.room.draw)
    course.environment = {"TUX_CACHE_DIR": str(folder)}
    course.resume()


def fill_disk(course: Course) -> None:
    """Fill the disk of the run, and empty it some time later."""
    disk, draw = course.room.folder / "disk", course.room.draw
    course.may_end.add(6)
    fill(disk, draw.choice([0, LITTLE]))
    time.sleep(draw.uniform(0.1, FULL))
    (disk / "filler").unlink()


STRIKES: dict[str, Callable[[Course], None]] = {
    "worker killed": kill_worker,
    "command killed": kill_command,
    "all killed": kill_all,
    "stopped": stop_some,
    "ctrl-c": interrupt,
    "ctrl-c, other workers": interrupt_and_move,
    "checkpoint damaged": partial(damage_stopped_run, of_checkpoints=True),
    "file damaged": partial(damage_stopped_run, of_checkpoints=False),
    "cache damaged": damage_kernels,
    "disk full": fill_disk,
}
