"""The room in which a scenario plays once: a folder, the commands that it starts, the plan of
moments at which they die or wait, and its time.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self

from faults.ended import RunRemains, hidden_files
from faults.running import Running, without_warnings
from tux.base.errors import TuxError
from tux.run_folder.folder import read_metrics, read_run
from tux.run_folder.traces import TRACES, check_traces, newest_attempt
from tux.synthetic.ratings import ratings

PROGRAM = Path(__file__).with_name("watched.py")
EPOCHS = 6
CLOCKS = 4
"""Clocks of an epoch: mini-batches have that share of the ratings."""
FLAGS: dict[str, object] = {
    "--rank": 16,
    "--epochs": EPOCHS,
    "--threads": 1,
    "--checkpoint-every": 1,
    "--trace-clocks": "",
}
GONE = 20.0
"""Seconds in which everything of a command is gone that has ended, or whose launcher was killed."""

Plan = Sequence[dict[str, object]]
"""Entries as `faults/watched.py` has them."""


class ScenarioTimeout(Exception):  # noqa: N818  what has happened, as it stands in the table
    """A scenario has taken too long; the words say what it has waited for."""


class WrongOutcome(Exception):  # noqa: N818
    """A scenario cannot go on; the words say what is not as it should be."""


class Moment(NamedTuple):
    """Something has happened to a process: when, by `time.monotonic`."""

    pid: int
    seconds: float


class ReferenceRuns:
    """A program, its data, and what uninterrupted runs of them leave; each is run once."""

    def __init__(self, folder: Path, words: Sequence[object], flags: dict[str, object]) -> None:
        """Set the `words` of a command that name the program and its data, and the `flags` of each
        run; a value "" is none.
        """
        self.folder, self.flags = folder, flags
        self._words = words
        self._ended: dict[str, RunRemains] = {}
        self._others: dict[str, ReferenceRuns] = {}

    @staticmethod
    def small(folder: Path, size: int = 8000, *, jit: bool = True) -> ReferenceRuns:
        """Return the runs of PROGRAM on small ratings: `size`, a tenth of them held out."""
        for name, part in zip(
            ("train", "test"), ratings(300, 100, size, test_share=0.1).split(), strict=True
        ):
            rows = zip(
                *(part[column].tolist() for column in ("user", "item", "rating")), strict=True
            )
            text = "".join(f"{user},{item},{score}\n" for user, item, score in rows)
            if not (path := folder / f"{name}.csv").exists():  # another process may have it open
                path.write_text("user,item,rating\n" + text)
        flags = {**FLAGS, "--batch-size": size // CLOCKS} | ({} if jit else {"--no-jit": ""})
        words = [PROGRAM, folder / "train.csv", "--test", folder / "test.csv"]
        return ReferenceRuns(folder, words, flags)

    def other(self, name: str, words: Sequence[object], flags: dict[str, object]) -> ReferenceRuns:
        """Return the runs of another program; the same object each time."""
        if name not in self._others:
            folder = self.folder / name
            folder.mkdir()
            self._others[name] = ReferenceRuns(folder, words, flags)
        return self._others[name]

    def argv(self, out: str, flags: dict[str, object]) -> list[object]:
        """Return the words of a command that trains."""
        named = (each for pair in flags.items() for each in pair if each != "")
        return ["run", *self._words, *named, "--out", out]

    def of(self, flags: dict[str, object], limit: float = 300.0) -> RunRemains:
        """Return what a run with these flags leaves if nothing happens to it. Of several processes
        with one folder, the first runs it, and compiles the kernels; the others wait.
        """
        flags = {flag: value for flag, value in flags.items() if flag != "--restarts"}
        name = " ".join(f"{flag} {value}" for flag, value in flags.items())
        if name not in self._ended:
            folder = self.folder / hashlib.sha256(name.encode()).hexdigest()[:12]
            with lock_folder(self.folder):
                if not (folder / "ended").exists():
                    self._run_uninterrupted(folder, flags, limit)
            self._ended[name] = RunRemains.of(folder / "out")
        return self._ended[name]

    def _run_uninterrupted(self, folder: Path, flags: dict[str, object], limit: float) -> None:
        """Run the command without a fault. WrongOutcome if it does not end well."""
        folder.mkdir(exist_ok=True)
        with Running(folder, *self.argv("out", flags)) as running:
            if (code := running.wait(limit)) != 0:
                raise WrongOutcome(
                    f"the uninterrupted run ended with {code}: {running.output()[1]}"
                )
        if wrong := broken_rules(folder):
            raise WrongOutcome(f"in the uninterrupted run, {wrong[0]}")
        (folder / "ended").touch()


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Let one process at a time use a folder. The wait for another one is as long as its run. A
    context.
    """
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Room:
    """As a context it ends all commands that were started in it. `limit`: its seconds."""

    def __init__(self, folder: Path, whole: ReferenceRuns, limit: float, draw: Random) -> None:
        self.folder, self.whole, self.draw = folder, whole, draw
        self.start = time.monotonic()
        self._seconds, self.limit = limit, self.start + limit
        self.commands: list[Running] = []
        self.flags: dict[str, object] = {"--workers": 2, **whole.flags}
        self.plan_folder = folder / "plan"
        self.plan_folder.mkdir(parents=True)
        self.plan([])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.commands:
            each.__exit__()

    # ---- commands

    def plan(self, entries: Plan) -> None:
        """Write what is to happen to the processes of the commands that start from now on."""
        (self.plan_folder / "plan.json").write_text(json.dumps(entries))

    def command(self, *argv: object, **given: Any) -> Running:
        """Start a command, in a folder of its own for what it says."""
        folder = self.folder / f"command{len(self.commands)}"
        folder.mkdir()
        env = {"FAULTS_PLAN": str(self.plan_folder), **given.pop("env", {})}
        self.commands.append(Running(folder, *argv, env=env, **given))
        return self.commands[-1]

    def train(
        self,
        *,
        plan: Plan | None = None,
        out: str = "out",
        more: Sequence[object] = (),
        **given: Any,
    ) -> Running:
        """Start a run into the folder `out`."""
        if plan is not None:
            self.plan(plan)
        return self.command(*self.whole.argv(str(self.folder / out), self.flags), *more, **given)

    def resume(self, out: str = "out", more: Sequence[object] = (), **given: Any) -> Running:
        """Go on with the run of a folder."""
        return self.command("run", "--resume", self.folder / out, *more, **given)

    # ---- waits

    @property
    def seconds_left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.limit - time.monotonic())

    def renew_limit(self) -> None:
        """Give the room all of its time again."""
        self.limit = time.monotonic() + self._seconds

    def until(self, true: Callable[[], object], what: str, pause: float = 0.01) -> float:
        """Wait until something is true, with pauses of so many seconds; return the time then.
        ScenarioTimeout.
        """
        while not true():
            if time.monotonic() > self.limit:
                raise ScenarioTimeout(f"waited in vain for {what}{self.last_output()}")
            time.sleep(pause)
        return time.monotonic()

    def code(self, running: Running) -> int:
        """Wait for the end of a command, and return its exit code. ScenarioTimeout."""
        self.until(lambda: running.process.poll() is not None, "a command to end")
        return int(running.process.returncode)

    def await_entry(self, name: str) -> Moment:
        """Wait for the entry of the plan with this name, and return its moment. ScenarioTimeout;
        WrongOutcome if all commands have ended before.
        """
        path = self.plan_folder / name

        def there() -> bool:
            if path.exists() and path.stat().st_size:
                return True
            if all(each.process.poll() is not None for each in self.commands):
                if not path.exists():
                    raise WrongOutcome(f"it has ended before {name}{self.last_output()}")
            return False

        self.until(there, name)
        pid, seconds = path.read_text().split()
        return Moment(int(pid), float(seconds))

    def go(self, name: str) -> None:
        """Let a process go on that is held."""
        (self.plan_folder / f"{name}.go").touch()

    def epochs(self, out: str = "out") -> int:
        """Return the number of epochs of which there is a record."""
        return len(read_metrics(self.folder / out)) if (self.folder / out).exists() else 0

    # ---- what is to be seen

    def last_output(self) -> str:
        """Return the last lines of output of the commands, in one line."""
        lines = [
            line
            for each in self.commands[-2:]
            for line in (*each.output()[0].splitlines()[-1:], *each.output()[1].splitlines()[-3:])
        ]
        return f"; said: {' | '.join(lines)}" if lines else ""

    def error(self, running: Running) -> str:
        """Return the first line of a command's error, or "" if there is none."""
        lines = without_warnings(running.output()[1]).splitlines()
        return next((line for line in lines if line.startswith("error: ")), "")

    def expect(self, running: Running, code: int, error: str = "") -> None:
        """Expect that a command ends with an exit code, and with one error or none. WrongOutcome;
        ScenarioTimeout.
        """
        ended, said = self.code(running), self.error(running)
        if ended != code:
            raise WrongOutcome(f"exit code {ended} instead of {code}{self.last_output()}")
        if not said.startswith(error) or bool(said) != bool(error):
            raise WrongOutcome(f"it said {said!r} instead of {error!r}")
        if "Traceback" in running.output()[1]:
            raise WrongOutcome(f"a traceback{self.last_output()}")

    def differences(self, out: str = "out", flags: dict[str, object] | None = None) -> list[str]:
        """List how a folder differs from that of an uninterrupted run, and what is left behind."""
        whole = self.whole.of(self.flags if flags is None else flags)
        return RunRemains.of(self.folder / out).differences(whole) + hidden_files(self.folder / out)

    def remains(self) -> list[str]:
        """List what is left of commands that are over: processes, sockets, files."""
        limit = min(self.limit, time.monotonic() + GONE)
        while (left := [each for one in self.commands for each in one.leftovers()]) and (
            time.monotonic() < limit
        ):
            time.sleep(0.05)
        return [f"left: {each}" for each in left]


def broken_rules(folder: Path) -> list[str]:
    """List, of each run below a folder that was traced, the first rule that its clocks broke, and
    traces that are cut or missing although the run has ended.
    """
    wrong = []
    for traces in sorted(folder.rglob(TRACES)):
        try:
            last = f"{newest_attempt(traces.parent)}-"
            cut = [each for each in check_traces(traces.parent).lacking if each.startswith(last)]
            if cut and read_run(traces.parent).results:
                wrong.append(f"{', '.join(cut)} of the last start are cut or missing in {traces}")
        except TuxError as error:
            wrong.append(f"{error.what} at {error.where}")
    return wrong


def is_root() -> bool:
    """Return whether this process may do what only root may."""
    return os.geteuid() == 0
