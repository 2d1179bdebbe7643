"""The proof of SSP in full: ``python tests/simulate.py [seeds]``, 2,000 of them if it is not
said, then every mutant until it is caught.
"""

import os
import sys
import tempfile
import time
from collections import defaultdict

from support.mutants.mutants import MUTANTS
from support.mutants.mutation import CAUGHT
from support.programs.probe import Simulation
from support.programs.probe_scenario import SLACKS, ProbeScenario

MOST = 100  # seeds that a mutant may survive


def catch_mutant(name, seeds):
    """Return the first seed that catches a mutant, as (how many seeds that took, what it was); None
    if none does.
    """
    for seed in range(seeds):
        try:
            with MUTANTS[name]():
                Simulation(ProbeScenario.draw_scenario(seed)).run().check()
        except CAUGHT as error:
            return seed + 1, f"{type(error).__name__}: {error}"
    return None


def main(seeds):
    """Print what was run. Return whether all is as it should be."""
    start, alarms, stalest = time.perf_counter(), [], defaultdict(int)
    for seed in range(seeds):
        scenario = ProbeScenario.draw_scenario(seed)
        try:
            stalest[scenario.slack] = max(
                stalest[scenario.slack], Simulation(scenario).run().check()
            )
        except CAUGHT as error:
            alarms.append(seed)
            print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
        if (seed + 1) % 500 == 0:
            print(f"{seed + 1} seeds, {time.perf_counter() - start:.0f} s", flush=True)
    print(
        f"seeds {seeds}, false alarms {len(alarms)}, stalest read by slack: "
        f"{dict(sorted(stalest.items()))}"
    )
    survivors = 0
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
    return not alarms and not survivors and all(stalest[slack] == slack for slack in SLACKS)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TUX_CACHE_DIR"] = folder
        sys.exit(not main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
