"""The course of a run to which something happens: its command is started again when it has ended,
as a user does, until the run is over.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from contextlib import suppress

from faults.room import GONE, Room, WrongOutcome
from faults.running import Running, without_warnings
from soak.draws import SoakPlan
from soak.harm import Harm
from tux.checkpoint.store import has_checkpoint

REFUSALS = (2, 3, 6, 7)
"""Exit codes of a command that does not go on with a run."""
INTERRUPTS = {130, -signal.SIGINT}  # before the command handles signals, they end Python
MESSAGE_LINES = 3


class LostRun(Exception):  # noqa: N818  what has happened
    """A run cannot go on, and the message does not name what was damaged; the words have it."""


class Course:
    """A run in a room. `counts`: what came of it; `moved`: it has gone on on another number of
    workers; `may_end`: the exit codes that are right for the command of now.
    """

    def __init__(self, room: Room, plan: SoakPlan) -> None:
        self.room, self.plan = room, plan
        self.out = "disk/out" if plan.on_small_disk else "out"
        self.folder = room.folder / self.out
        self.counts: Counter[str] = Counter()
        self.environment: dict[str, str] = {}
        self.harm: Harm | None = None
        self.moved = self._moves = self.is_over = False
        self.may_end: set[int] = set()
        self.command = self._train()

    # ---- how it goes on

    def goes_on(self) -> bool:
        """Start the command again if it has ended; return whether the run is not over. LostRun;
        WrongOutcome.
        """
        code = self.command.process.poll()
        if code is not None and not self.is_over:
            if self._has_not_begun():
                code = -signal.SIGINT
            else:
                self._check_message()
            if code == 0 or code == 2 and self._is_told_to_be_over():
                self.is_over = True
                if code and self.harm:  # nothing was read that was damaged
                    self.harm.undo()
            else:
                self._take_end(code)
        return not self.is_over

    def end(self, code: int, number: int, *, group: bool = False) -> None:
        """Send the command, or its `group`, a signal that ends it, and wait for its end, with such
        an exit code or another one that is right. ScenarioTimeout.
        """
        self.may_end.add(code)
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.command.process.pid, number)
        self.room.code(self.command)

    def resume(self, workers: int | None = None) -> None:
        """Go on with the run, whose command has ended; on so many workers, if they are others. If
        it was stopped before it had a record, it is started anew. LostRun.
        """
        if not (self.folder / "run.json").exists() and not self._harms_record:
            if has_checkpoint(self.folder) or (self.folder / "metrics.jsonl").exists():
                raise LostRun(f"checkpoints or records without run.json{self.room.last_output()}")
            shutil.rmtree(self.folder, ignore_errors=True)
            self.counts["begun anew"] += 1
            self.command = self._train()
            return
        more = ["--workers", workers] if workers else []
        self._moves = workers is not None
        self.moved |= self._moves
        self.counts["resumed"] += 1
        self.command = self._start(self.room.resume(self.out, more, env=self.environment))

    def await_nothing_left(self) -> None:
        """Wait until all of the command that has ended is gone; what stays is found at the end."""
        ended = self.command
        ended.until(lambda: not ended.leftovers(), GONE)

    @property
    def workers(self) -> list[int]:
        """The process ids of the workers, and of those that load shares."""
        loads = "tux.parallel_load.process.loader_process"
        loaders = [pid for pid, line in self.command.processes().items() if loads in line]
        return sorted([*self.command.workers().values(), *loaders])

    @property
    def _harms_record(self) -> bool:
        """True if `run.json` is what was damaged."""
        return self.harm is not None and self.harm.path.name == "run.json"

    # ---- what has ended

    def _train(self) -> Running:
        return self._start(self.room.train(out=self.out, env=self.environment))

    def _start(self, command: Running) -> Running:
        """Note that a command has just been started, which may take its time."""
        self.may_end = set()
        self.room.renew_limit()
        return command

    def _take_end(self, code: int) -> None:
        """Go on after the command has ended with a code that is not 0."""
        if code not in self.may_end and code in REFUSALS:
            self._take_refusal(code)
        elif code not in self.may_end:
            right = sorted(self.may_end)
            raise WrongOutcome(f"exit code {code}, of {right}{self.room.last_output()}")
        if self.room.draw.random() < 0.5:  # else what is left of it ends beside the new command
            self.await_nothing_left()
        self.resume()

    def _take_refusal(self, code: int) -> None:
        """Undo the damage for which a command has refused to go on. LostRun if its message does not
        name it.
        """
        said = self.message()
        if self._moves and "as many workers as before" in said:
            self.counts["refused"] += 1
        elif self.harm and self.harm.is_named(said):
            self.counts["refused"] += 1
            self.harm.undo()
            self.harm = None
        else:
            told = f"after damage to {self.harm}" if self.harm else "without damage"
            raise LostRun(f"{told}, exit code {code}: {said!r}")

    def message(self) -> str:
        """Return the error that the command has told, or "" if there is none."""
        lines = without_warnings(self.command.output()[1]).splitlines()
        first = [n for n, line in enumerate(lines) if line.startswith("error: ")]
        return "\n".join(lines[first[-1] :]) if first else ""

    def _is_told_to_be_over(self) -> bool:
        said = self.message()
        return said.startswith("error: the run of ") and " is over: " in said

    def _has_not_begun(self) -> bool:
        """Return whether the command was interrupted while Python itself started."""
        told = self.command.output()[1]
        return -signal.SIGINT in self.may_end and "Fatal Python error: init_" in told

    def _check_message(self) -> None:
        """Raise WrongOutcome for an error in too many lines, and for a traceback."""
        said = self.message()
        if len(said.splitlines()) > MESSAGE_LINES:
            raise WrongOutcome(f"a message of many lines: {said!r}")
        if "Traceback" in self.command.output()[1] and self.command.process.returncode >= 0:
            raise WrongOutcome(f"a traceback{self.room.last_output()}")
