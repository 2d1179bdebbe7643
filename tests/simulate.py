"""The proof of SSP in full: ``python tests/simulate.py [seeds]``, 2,000 of them if it is not
said, then every mutant until it is caught.
"""

import os
import sys
import tempfile
import time
from collections import defaultdict

from support.mutants.mutants import MUTANTS
from support.mutants.mutation import CAUGHT, OF_EPOCHS, OF_PULLS
from support.programs import pull_probe
from support.programs.probe import Simulation
from support.programs.probe_scenario import SLACKS, ProbeScenario
from support.programs.stretch_probe import FINITE, StretchSimulation

MOST = 100  # seeds that a mutant may survive


def simulate_clocks(seed):
    """Return the slack of a seed's scenario, and how stale its stalest read was."""
    scenario = ProbeScenario.draw_scenario(seed)
    return scenario.slack, Simulation(scenario).run().check()


def simulate_epochs(seed):
    """Do the same with epochs that run as one pass."""
    simulation = StretchSimulation(seed)
    return simulation.slack, simulation.run().check()


def simulate_pulls(seed):
    """Do the same with rows that are pulled."""
    simulation = pull_probe.PullSimulation(seed)
    return simulation.slack, simulation.run().check()


def catch_mutant(name, seeds):
    """Return the first seed that catches a mutant, as (how many seeds that took, what it was); None
    if none does.
    """
    simulate = (
        simulate_epochs
        if name in OF_EPOCHS
        else simulate_pulls
        if name in OF_PULLS
        else simulate_clocks
    )
    for seed in range(seeds):
        try:
            with MUTANTS[name]():
                simulate(seed)
        except CAUGHT as error:
            return seed + 1, f"{type(error).__name__}: {error}"
    return None


def run_seeds(what, simulate, seeds):
    """Run a simulation with each seed, and print it. Return whether there was no false alarm, and
    how stale the stalest read was, by slack.
    """
    start, alarms, stalest = time.perf_counter(), 0, defaultdict(int)
    for seed in range(seeds):
        try:
            slack, found = simulate(seed)
            stalest[slack] = max(stalest[slack], found)
        except CAUGHT as error:
            alarms += 1
            print(f"{what}, seed {seed}: {type(error).__name__}: {error}", flush=True)
        if (seed + 1) % 500 == 0:
            print(f"{what}: {seed + 1} seeds, {time.perf_counter() - start:.0f} s", flush=True)
    by_slack = {slack: stalest[slack] for slack in sorted(stalest, key=str)}
    print(f"{what}: seeds {seeds}, false alarms {alarms}, stalest read by slack: {by_slack}")
    return not alarms, stalest


def main(seeds):
    """Print what was run. Return whether all is as it should be."""
    start, survivors = time.perf_counter(), 0
    right, stalest = run_seeds("clocks", simulate_clocks, seeds)
    also_right, stalest_epochs = run_seeds("epochs", simulate_epochs, seeds)
    pulls_right, stalest_pulls = run_seeds("pulls", simulate_pulls, seeds)
    for name in MUTANTS:
        catch = catch_mutant(name, MOST)
        survivors += catch is None
        print(
            f"{name:46}"
            + (f"{catch[0]:4}  {catch[1]:.110}" if catch else f" NOT CAUGHT in {MOST} seeds"),
            flush=True,
        )
    print(
        f"mutants {len(MUTANTS)}, caught {len(MUTANTS) - survivors}, "
        f"{time.perf_counter() - start:.0f} s"
    )
    stale = all(stalest[slack] == slack for slack in SLACKS)
    stale_epochs = all(stalest_epochs[slack] == slack for slack in FINITE)
    stale_pulls = all(stalest_pulls[slack] == slack for slack in pull_probe.SLACKS)
    all_right = right and also_right and pulls_right
    return all_right and not survivors and stale and stale_epochs and stale_pulls


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TUX_CACHE_DIR"] = folder
        sys.exit(not main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
