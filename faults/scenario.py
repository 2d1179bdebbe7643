"""A scenario of a fault, and what is seen when it is played."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from faults.room import ReferenceRuns, Room, ScenarioTimeout, WrongOutcome, broken_rules


class Observation(NamedTuple):
    """One time of a scenario: seconds from the fault until it was noticed, and until the run was
    past the epoch in which it happened; None where there is nothing to notice or to recover.
    `wrong`: what was not as it should be; `notices`: seconds, where there were several faults;
    `measured`: more numbers for the table.
    """

    noticed: float | None = None
    recovered: float | None = None
    wrong: tuple[str, ...] = ()
    faults: int = 1  # in this time
    note: str = ""  # for the table
    notices: tuple[float, ...] = ()
    measured: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Scenario:
    """A fault, and what must happen then. `play(room)` makes it once. `limit`: seconds that one
    time may take; `missing()` says what it needs and is not there, or "". `engine`: on which the
    run is placed, if on one; such a scenario is played only when it is asked for.
    """

    name: str
    fault: str
    expected: str
    play: Callable[[Room], Observation]
    times: int = 1
    limit: float = 120.0
    missing: Callable[[], str] = lambda: ""
    engine: str = ""


def play(
    scenario: Scenario, number: int, seed: int, whole: ReferenceRuns, folder: Path
) -> Observation:
    """Play a scenario once. Whatever goes wrong is in the return value."""
    draw = Random(f"{scenario.name} {seed} {number}")
    room_folder = folder / f"{scenario.name}-{number}"
    with Room(room_folder, whole, scenario.limit, draw) as room:
        try:
            seen = scenario.play(room)
        except (ScenarioTimeout, WrongOutcome) as error:
            seen = Observation(wrong=(f"{'hung: ' * isinstance(error, ScenarioTimeout)}{error}",))
        if wrong := room.remains() + broken_rules(room_folder):
            seen = seen._replace(wrong=(*seen.wrong, *wrong))
    if not seen.wrong:
        shutil.rmtree(room_folder, ignore_errors=True)
    return seen
