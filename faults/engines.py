"""Runs on engines, as `tux run --on` places them: the bytes of two local workers, faults to what an
engine has placed, Ctrl-C, and the messages of a wrong program.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from faults import clusters
from faults.clusters import Engine, OnRay, PlacedMachine, below, processes, send_signal
from faults.recovery import expect_end
from faults.room import EPOCHS, PROGRAM, Room, WrongOutcome
from faults.running import Running
from faults.scenario import Observation, Scenario
from tux.base.processes import is_alive
from tux.checkpoint.store import has_checkpoint
from tux.run_folder.folder import read_run

LOSS = re.compile(r" is lost: | goes on from |; goes on from ")
"""What tells that a loss was noticed: of a machine, or of a worker."""

KILLED, STOPPED = signal.SIGKILL, signal.SIGSTOP
WORDS = {KILLED: "killed", STOPPED: "stopped for ever"}
GOES_ON = "noticed; goes on to the same bytes; nothing is left"

Victims = Callable[[Engine, PlacedMachine], list[int]]


class FaultTarget(NamedTuple):
    """The target of a fault: a name, words, the machine's number, and the processes to kill.
    `stopped`: the processes to stop so that it stands still, [] if this is another kind.
    """

    name: str
    words: str
    rank: int
    killed: Victims
    stopped: Victims | None = None


def executor(machine: PlacedMachine) -> int:
    """Return the executor of Spark that a machine is on: above Python's daemon, which has its
    task.
    """
    known = processes()
    return known[known[machine.place][1]][1]


def raylet(engine: Engine, machine: PlacedMachine) -> int:
    """Return the process that is the node of a machine."""
    assert isinstance(engine, OnRay)
    return engine.raylet(machine.place)


def workers(engine: Engine, machine: PlacedMachine) -> list[int]:
    """Return the worker processes of a machine."""
    return machine.workers


def command(engine: Engine, machine: PlacedMachine) -> list[int]:
    """Return the command of a machine, alone."""
    return [machine.command]


def engine_process(engine: Engine, machine: PlacedMachine) -> list[int]:
    """Return the process that the engine itself has started."""
    return [machine.place]


ALL = (
    FaultTarget("worker", "a worker process", 1, workers, workers),
    FaultTarget("command", "the command of machine 1", 1, command),
    FaultTarget("machine-0", "the command of machine 0", 0, command),
)
KINDS: dict[str, tuple[FaultTarget, ...]] = {
    "local": ALL,
    "ray": (
        *ALL,
        FaultTarget("actor", "the actor of machine 1", 1, engine_process, engine_process),
        FaultTarget(
            "node",
            "the node of machine 1",
            1,
            lambda engine, machine: below(raylet(engine, machine)),
            lambda engine, machine: below(raylet(engine, machine)) + machine.all(),
        ),
        FaultTarget(
            "node-0",
            "the node of machine 0",
            0,
            lambda engine, machine: below(raylet(engine, machine)),
        ),
    ),
    "spark": (
        *ALL,
        FaultTarget("task", "the Python worker of machine 1", 1, engine_process, engine_process),
        FaultTarget(
            "executor",
            "the executor of machine 1",
            1,
            lambda engine, machine: [executor(machine)],
            lambda engine, machine: below(executor(machine)) + machine.all(),
        ),
    ),
}
FAULTS_OF_ENGINES = {
    "local": (("worker", KILLED), ("worker", STOPPED), ("command", KILLED), ("machine-0", KILLED)),
    "ray": (("worker", KILLED), ("worker", STOPPED), ("actor", KILLED), ("node", KILLED)),
    "spark": (("worker", KILLED), ("worker", STOPPED), ("machine-0", KILLED), ("executor", KILLED)),
}
"""Faults that happen to one run, in turn."""


class EngineRun:
    """A run of two machines with a worker each, on an engine."""

    def __init__(
        self, name: str, room: Room, plan: Sequence[dict[str, object]], *more: object
    ) -> None:
        self.room, self.engine = room, clusters.start_engine(name)
        self.hurt: list[int] = []  # processes to which something was done
        self.engine.watch(room.plan_folder)
        flags = ["--workers", 1, "--on", name, "--nnodes", 2, *more]
        self.command = room.train(plan=plan, more=flags, env=self.engine.environment)

    def machine(self, rank: int) -> PlacedMachine:
        """Return one of its machines."""
        try:
            return PlacedMachine(self.engine.tmp(self.command), rank)
        except LookupError as error:
            raise WrongOutcome(f"{error}{self.room.last_output()}") from None

    def has_ended(self) -> bool:
        """Return whether the command has ended."""
        return self.command.process.poll() is not None

    def strike(self, kind: FaultTarget, number: signal.Signals, at: str) -> tuple[float, float]:
        """Send a signal to the processes of a kind, while a worker waits `at` a moment of the plan:
        seconds until this was noticed, and until more epochs had ended.
        """
        room = self.room
        room.await_entry(at)
        room.until(lambda: has_checkpoint(room.folder / "out") or self.has_ended(), "a checkpoint")
        machine = self.machine(kind.rank)
        chosen = kind.killed if number == KILLED else kind.stopped
        assert chosen is not None
        pids, before = chosen(self.engine, machine), room.epochs()
        self.hurt += pids
        said, start = len(LOSS.findall(self.output_text())), time.monotonic()
        send_signal(pids, number)
        heard = lambda: len(LOSS.findall(self.output_text())) > said or self.has_ended()  # noqa: E731
        noticed = room.until(heard, f"a word of {kind.words}, {WORDS[number]}")
        room.go(at)
        past = room.until(lambda: self.has_ended() or room.epochs() > before, f"more than {before}")
        return noticed - start, past - start

    def output_text(self) -> str:
        """Return all output of the command so far."""
        return "\n".join(self.command.output())


def nothing_left(engine: Engine, command: Running) -> list[str]:
    """List what is left when a command is over: processes, folders, cores that are not free."""
    left = lambda: [*engine.leftovers(), *command.leftovers()]  # noqa: E731
    with suppress(TimeoutError):
        clusters.wait_until(lambda: not left() and engine.is_free(), str)
        return []
    return [f"left: {each}" for each in left()] or [f"{engine.name} has not all cores back"]


def hold(name: str, epoch: int) -> dict[str, object]:
    """Return an entry of the plan: a worker waits within an epoch."""
    return {"name": name, "moment": "clock", "epoch": epoch, "number": 2} | {
        "who": "worker 1",
        "do": "hold",
    }


def run_without_fault(name: str, room: Room) -> Observation:
    """Run without a fault and without checkpoints: the run's folder is brought back."""
    del room.flags["--checkpoint-every"]
    # more than Spark gives to a task by itself; results are those of any number of threads
    run = EngineRun(name, room, [], *(["--threads", 2] if name == "spark" else []))
    seen = expect_end(room, run.command)
    record = read_run(room.folder / "out")
    wrong = nothing_left(run.engine, run.command)
    if record.app.name != f"{PROGRAM}:WatchedMF" or name not in record.command:
        wrong.append(f"run.json names {record.app.name} and {record.command}")
    if "tux-machine" in run.output_text() or "epoch 6/6" not in run.output_text():
        wrong.append(f"it said {run.output_text()!r}")
    return seen._replace(wrong=(*seen.wrong, *wrong))


def strike_once(name: str, kind: FaultTarget, number: signal.Signals, room: Room) -> Observation:
    """Make one fault happen to a run."""
    return strike_in_turn(name, [(kind, number)], room)


def strike_in_turn(
    name: str, chosen: Sequence[tuple[FaultTarget, signal.Signals]], room: Room
) -> Observation:
    """Make faults happen to one run, each when it has gone on after the one before."""
    room.flags["--epochs"] = max(EPOCHS, len(chosen) + 4)
    names = [f"{kind.name}-{number.name}" for kind, number in chosen]
    run = EngineRun(name, room, [hold(at, epoch) for epoch, at in enumerate(names, 3)])
    seconds = []
    try:
        for at, (kind, number) in zip(names, chosen, strict=True):
            seconds.append(run.strike(kind, number, at))
        seen = expect_end(room, run.command)
    finally:
        send_signal(run.hurt, signal.SIGCONT)  # whatever still stands still ends now
        run.engine.mend(run.hurt)
    seen = seen._replace(
        wrong=(*seen.wrong, *nothing_left(run.engine, run.command)), faults=len(chosen)
    )
    if len(chosen) == 1:
        return seen._replace(noticed=seconds[0][0], recovered=seconds[0][1])
    return seen._replace(notices=tuple(noticed for noticed, _ in seconds))


def ctrl_c(name: str, room: Room) -> Observation:
    """Send Ctrl-C to the command: the model of the epoch under way is brought back."""
    room.flags["--epochs"] = 1_000_000
    del room.flags["--checkpoint-every"]
    run = EngineRun(name, room, [hold("at", 3)])
    room.await_entry("at")
    run.command.process.send_signal(signal.SIGINT)
    start = time.monotonic()
    room.until(
        lambda: "ends with this epoch" in run.output_text() or run.has_ended(),
        "machine 0 to hear it",
    )
    heard = time.monotonic() - start
    room.go("at")
    room.expect(run.command, 130, "error: interrupted after ")
    wrong = nothing_left(run.engine, run.command)
    if not (room.folder / "out" / "model" / "user.parquet").exists():
        wrong.append("there is no model")
    return Observation(noticed=heard, wrong=tuple(wrong))


def kill_driver(name: str, room: Room) -> Observation:
    """Kill the process where the command was started: all machines end."""
    del room.flags["--checkpoint-every"]
    run = EngineRun(name, room, [hold("at", 3)])
    room.await_entry("at")
    run.command.process.kill()
    start = time.monotonic()
    left = nothing_left(run.engine, run.command)
    return Observation(noticed=time.monotonic() - start, wrong=tuple(left))


def without_restarts(name: str, room: Room) -> Observation:
    """Lose a machine of a run that may start none again."""
    del room.flags["--checkpoint-every"]
    run = EngineRun(name, room, [hold("at", 3)])
    room.await_entry("at")
    machine, start = run.machine(1), time.monotonic()
    send_signal([machine.command], KILLED)
    room.until(lambda: not any(map(is_alive, machine.workers)), "its worker to end")
    room.go("at")
    room.expect(run.command, 4, "error: ")  # machine 0 may tell it first
    return Observation(
        noticed=time.monotonic() - start, wrong=tuple(nothing_left(run.engine, run.command))
    )


WRONG = {
    "mine.py": """\
from change import change

from tux.apps.mf.mf import MF
from tux.stages import Apply


class Mine(MF):
    def stages(self):
        return [*super().stages(), Apply("user", change)]
""",
    "change.py": """\
def change(user):
    user.nothing += 1
""",
}
"""A program with a mistake in a file that it imports."""


def wrong_program(name: str, room: Room) -> Observation:
    """Run a program with a mistake: it is reported as on one machine, by the user's file and
    line.
    """
    for file, text in WRONG.items():
        (room.folder / file).write_text(text)
    engine = clusters.start_engine(name)
    argv = ["run", room.folder / "mine.py", room.whole.folder / "train.csv", "--threads", 1]
    here = room.command(*argv, "--workers", 2)
    there = ["--workers", 1, "--on", name, "--nnodes", 2]
    run = room.command(*argv, *there, env=engine.environment)
    codes, errors = [room.code(each) for each in (here, run)], [room.error(here), room.error(run)]
    wrong = nothing_left(engine, run)
    if codes[0] != codes[1] or not codes[0]:
        wrong.append(f"exit codes {codes}{room.last_output()}")
    if errors[0] != errors[1] or not errors[0]:
        wrong.append(f"it said {errors[1]!r} instead of {errors[0]!r}")
    if f"{room.folder}/change.py" not in run.output()[1] or "tux-machine" in run.output()[1]:
        wrong.append(f"it named another place: {run.output()[1]!r}")
    return Observation(wrong=tuple(wrong))


def scenarios() -> list[Scenario]:
    """Return all scenarios of all engines."""
    return [each for name in clusters.ENGINES for each in _scenarios_on(name)]


def _scenarios_on(name: str) -> list[Scenario]:
    """Return the scenarios of one engine."""
    make = partial(Scenario, limit=400.0, missing=partial(clusters.missing, name), engine=name)
    kinds = {kind.name: kind for kind in KINDS[name]}
    chosen = [(kinds[each], number) for each, number in FAULTS_OF_ENGINES[name]]
    words = "; ".join(f"{kind.words} {WORDS[number]}" for kind, number in chosen)
    return [
        make(
            f"on-{name}-nothing",
            "none",
            "the bytes of two local workers",
            partial(run_without_fault, name),
        ),
        make(
            f"on-{name}-in-turn",
            f"one run: {words}",
            GOES_ON,
            partial(strike_in_turn, name, chosen),
        ),
        *(
            make(
                f"on-{name}-{kind.name}-{WORDS[number].split()[0]}",
                f"{kind.words} {WORDS[number]}",
                GOES_ON,
                partial(strike_once, name, kind, number),
            )
            for kind in KINDS[name]
            for number in (KILLED, STOPPED)
            if number == KILLED or kind.stopped
        ),
        make(
            f"on-{name}-ctrl-c",
            "Ctrl-C",
            "code 130, a model; nothing is left",
            partial(ctrl_c, name),
        ),
        make(
            f"on-{name}-driver-killed",
            "the process killed where the command was started",
            "nothing is left",
            partial(kill_driver, name),
        ),
        make(
            f"on-{name}-without-restarts",
            "the command of machine 1 killed, without --restarts",
            "exit code 4; nothing is left",
            partial(without_restarts, name),
        ),
        make(
            f"on-{name}-wrong-program",
            "a mistake in a file that the program imports",
            "told as on one machine",
            partial(wrong_program, name),
        ),
    ]
