"""One round of the soak: a run that a plan describes, to which its strikes happen, and what is seen
of it.
"""

from __future__ import annotations

import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from faults.disks import no_mounts, small_disk
from faults.ended import RunRemains, hidden_files
from faults.network import no_relay
from faults.room import ReferenceRuns, Room, ScenarioTimeout, WrongOutcome, broken_rules
from soak.course import Course, LostRun
from soak.draws import SoakPlan
from soak.formulas import find_wrong_metrics
from soak.judging import drop_report, find_differences, left_memory, shared_memory
from soak.links import strike_two_machines
from soak.strikes import make_strike

LIMIT = 600.0
"""Seconds after which a command hangs, and a round on two machines."""
DISK_BYTES = 64 << 20


@dataclass
class RoundOutcome:
    """One round: `counts` of strikes, phases, resumed and refused commands; and, in words, what was
    `wrong`, `lost`, `hung` or `left`. `skipped`: why it was not run.
    """

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    skipped: str = ""

    @property
    def faults(self) -> dict[str, list[str]]:
        """All that was not as it should be, by its kind; empty lists are left out."""
        kinds = {"wrong": self.wrong, "lost": self.lost, "hung": self.hung, "left": self.left}
        return {kind: found for kind, found in kinds.items() if found}


class RightRuns:
    """The uninterrupted runs of all cases, below a folder; each is run once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs: dict[str, ReferenceRuns] = {}

    def of(self, plan: SoakPlan) -> ReferenceRuns:
        """Return those of a plan's case."""
        name = plan.case.name
        if name not in self._runs:
            self._runs[name] = plan.case.runs(self._folder / name)
        return self._runs[name]


def play_round(
    plan: SoakPlan, name: str, right: RightRuns, folder: Path, *, limit: float = LIMIT
) -> RoundOutcome:
    """Play a plan in a folder of that name; it is removed if nothing was wrong. The uninterrupted
    run comes first, and compiles the kernels.
    """
    outcome = RoundOutcome(skipped=_missing(plan))
    if outcome.skipped:
        return outcome
    runs, before, ended = right.of(plan), shared_memory(), list[RunRemains]()
    note_errors(outcome, lambda: ended.append(runs.of(plan.right_flags, limit)))
    if not ended:
        return outcome
    with Room(folder / name, runs, limit, Random(name)) as room:
        room.flags = {**plan.flags}
        with small_disk(room, DISK_BYTES) if plan.on_small_disk else nullcontext():
            play = _strike_course if plan.machines == 1 else _strike_machines
            note_errors(outcome, lambda: play(room, plan, ended[0], outcome))
            outcome.left += room.remains()
            outcome.wrong += broken_rules(room.folder)
    outcome.left += _await_none(lambda: left_memory(before))
    if not outcome.faults:
        shutil.rmtree(folder / name, ignore_errors=True)
    return outcome


def _strike_course(room: Room, plan: SoakPlan, wanted: RunRemains, outcome: RoundOutcome) -> None:
    """Play a plan of one machine."""
    course = Course(room, plan)
    try:
        for strike in plan.strikes:
            if not course.goes_on() or not make_strike(course, strike):
                break
            outcome.counts.update(strike.names)
        while course.goes_on():
            room.code(course.command)
    finally:
        outcome.counts += course.counts
    same = plan.slack == 0 and not course.moved
    now = RunRemains.of(course.folder)
    outcome.wrong += find_differences(plan.case, now, wanted, same)
    outcome.wrong += find_wrong_metrics(plan.case.formula, now, room.whole.folder)
    outcome.left += hidden_files(course.folder)


def _strike_machines(room: Room, plan: SoakPlan, wanted: RunRemains, outcome: RoundOutcome) -> None:
    """Play a plan of two machines."""
    outcome.wrong += strike_two_machines(room, plan, outcome.counts)
    now, right = (drop_report(each) for each in (RunRemains.of(room.folder / "out"), wanted))
    outcome.wrong += find_differences(plan.case, now, right, plan.slack == 0)
    outcome.wrong += find_wrong_metrics(plan.case.formula, now, room.whole.folder)
    outcome.left += hidden_files(room.folder / "out")


def note_errors(outcome: RoundOutcome, play: Callable[[], None]) -> None:
    """Call a function, and note as what it ended."""
    try:
        play()
    except ScenarioTimeout as error:
        outcome.hung.append(str(error))
    except LostRun as error:
        outcome.lost.append(str(error))
    except WrongOutcome as error:
        outcome.wrong.append(str(error))
    except Exception as error:  # a result that cannot be read, or a fault here: hours go on
        place = traceback.format_exc().strip().splitlines()[-3].strip()
        outcome.wrong.append(f"{type(error).__name__}: {error}, at {place}")


def _missing(plan: SoakPlan) -> str:
    """Return what a plan needs and is not there; "" if nothing is."""
    if plan.machines > 1 and (why := no_relay()):
        return why
    return no_mounts() if plan.on_small_disk else ""


def _await_none(find: Callable[[], list[str]], seconds: float = 5.0) -> list[str]:
    """Return what a function finds when so many seconds are over, or nothing as soon as it finds
    nothing.
    """
    limit = time.monotonic() + seconds
    while (found := find()) and time.monotonic() < limit:
        time.sleep(0.1)
    return found
