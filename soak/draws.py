"""The plan of a round, which follows from a seed and the number of the round: which run, and what
happens to it when.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from soak.cases import CASES, SoakCase

PHASES = {"starting": 1, "training": 8, "checkpoint": 6, "results": 4, "resuming": 4}
"""The phases of a run in which something happens, and how often each is drawn beside others: while
the command loads and compiles; while it trains; while it writes a checkpoint; while it writes the
model and the results; and within a second after it has been resumed.
"""
KINDS = {
    "worker killed": 6,
    "command killed": 5,
    "all killed": 3,
    "stopped": 3,
    "ctrl-c": 3,
    "ctrl-c, other workers": 1,
    "checkpoint damaged": 3,
    "file damaged": 3,
    "cache damaged": 1,
    "disk full": 2,
}
"""What happens to a run on one machine, and how often each is drawn."""
OF_LINKS = {"link cut": 4, "link slow": 4, "connections reset": 2, "killed": 3}
"""What happens to a run on two machines."""
MOST_STRIKES = 6
INTERVALS = ("1", "2", "5", "0.2s", "1s")
FREE = ("--restarts", "--keep")
"""Flags on which no result depends."""
TWO_MACHINES = 1 / 8
"""The share of runs on two machines."""


class Strike(NamedTuple):
    """Something that happens to a run: what, and in which phase."""

    kind: str
    phase: str

    @property
    def names(self) -> tuple[str, str]:
        """The names under which it is counted."""
        return self.kind, f"in {self.phase}"


class SoakPlan(NamedTuple):
    """A run, and what happens to it. `flags`: those of the case, and more."""

    case: SoakCase
    flags: dict[str, object]
    strikes: tuple[Strike, ...]
    machines: int = 1

    @property
    def slack(self) -> int:
        """The clocks that workers may be apart."""
        return int(str(self.flags.get("--slack", 0)))

    @property
    def on_small_disk(self) -> bool:
        """True if the run's folder lies on a small disk, which becomes full."""
        return any(strike.kind == "disk full" for strike in self.strikes)

    @property
    def right_flags(self) -> dict[str, object]:
        """The flags of the run with which this one is compared: those on which its result
        depends. Few runs then serve for many.
        """
        kept = {flag: each for flag, each in self.flags.items() if flag not in FREE}
        return {**kept, "--threads": 1, "--checkpoint-every": 50}

    def __str__(self) -> str:
        own = {flag: value for flag, value in self.flags.items() if flag not in self.case.flags}
        flags = " ".join(f"{flag} {value}" for flag, value in own.items())
        where = f" on {self.machines} machines" if self.machines > 1 else ""
        return f"{self.case.name}{where} {flags}"


def draw_plan(seed: int, number: int, cases: Sequence[SoakCase] = CASES) -> SoakPlan:
    """Draw the plan of a round."""
    draw = Random(f"soak {seed} {number}")
    case = draw.choice(cases)
    machines = 2 if draw.random() < TWO_MACHINES else 1
    workers = 2 if machines > 1 else draw.choice([1, 2, 2, 3, 4])
    flags: dict[str, object] = {**case.flags, "--workers": workers}
    if workers > 1:
        flags["--slack"] = draw.choice(case.slacks)
        if case.partitioners:
            flags["--partitioner"] = draw.choice(case.partitioners)
        if draw.random() < 0.3:
            flags["--restarts"] = draw.choice([0, 1, 10])
    flags["--threads"] = draw.choice([1, 1, 2])
    flags["--checkpoint-every"] = draw.choice(INTERVALS)
    if draw.random() < 0.3:
        flags["--keep"] = draw.choice([1, 3])
    kinds, phases = KINDS, PHASES
    if machines > 1:
        kinds, phases = OF_LINKS, {name: n for name, n in PHASES.items() if name != "resuming"}
    if not case.moves:
        kinds = {kind: share for kind, share in kinds.items() if "other workers" not in kind}
    plan = SoakPlan(case, flags, draw_strikes(draw, kinds, phases), machines)
    if not plan.on_small_disk:  # a trace would fill it
        flags["--trace-clocks"] = ""
    return plan


def draw_strikes(draw: Random, kinds: dict[str, int], phases: dict[str, int]) -> tuple[Strike, ...]:
    """Draw what happens, in the order of the phases that come once: results last."""
    count = draw.randint(1, MOST_STRIKES)
    found = [Strike(_draw_one(draw, kinds), _draw_one(draw, phases)) for _ in range(count)]
    return tuple(sorted(found, key=lambda strike: strike.phase == "results"))


def _draw_one(draw: Random, shares: dict[str, Any]) -> str:
    """Draw a name by its share."""
    return draw.choices([*shares], [*shares.values()])[0]
