"""Strikes on a run of two machines, and on the link between them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress

from faults.kills import REJOIN, KilledRun, draw_victims
from faults.machines import Machines
from faults.network import RelayedCable, no_resets
from faults.room import Room, ScenarioTimeout
from soak.draws import SoakPlan
from soak.phases import await_phase

CUTS = (0.3, 1.0, 3.0, 10.0)
"""Seconds for which a link is cut: after 8 s the other machine counts as lost."""
DELAYS = (0.01, 0.05, 0.3)
SLOW = 3.0
"""Seconds, at most, for which a link is slow."""


def strike_two_machines(room: Room, plan: SoakPlan, counts: Counter[str]) -> list[str]:
    """Play a plan of two machines, whose commands are started again when they have ended. Return
    what is wrong with their ends; what happened is added to `counts`.
    """
    with RelayedCable() as cable:
        run = KilledRun(room, Machines(room, cable, rejoin=REJOIN), 2)
        for strike in plan.strikes:
            # a machine may give up another one that waits for it, and is started again then
            while run.goes_on():
                if await_phase(room, run.commands, room.folder / "out", strike.phase):
                    _strike(strike.kind, room, run, cable)
                    counts.update(strike.names)
                    break
        while run.goes_on():
            if not room.seconds_left:
                raise ScenarioTimeout(f"two machines do not end{room.last_output()}")
            time.sleep(0.05)
        return run.end_others()


def _strike(kind: str, room: Room, run: KilledRun, cable: RelayedCable) -> None:
    """Do what a strike says."""
    draw = room.draw
    if kind == "killed":
        for pid in draw_victims(room, run.commands):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    elif kind == "link cut":
        cable.cut()
        time.sleep(draw.choice(CUTS) * draw.uniform(0.5, 1.2))
        cable.mend()
    elif kind == "link slow":
        cable.delay = draw.choice(DELAYS)
        time.sleep(draw.uniform(0, SLOW))
        cable.delay = 0.0
    elif not no_resets():
        with suppress(subprocess.CalledProcessError):
            cable.reset()
