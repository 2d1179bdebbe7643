"""The proof by random programs, and of SSP: ``python tests/prove.py [SEEDS] [--first N]``.

Runs so many seeds (2,000 if it is not said) of random programs, compared with an interpreter that
was written from the documents; of the probe of clocks, of epochs that run as one pass, and of rows
that are pulled. Then each mutant until it is caught. A case that fails is made small and printed.
Cores share the seeds; a line after each thousand tells where it is, and Ctrl-C ends it with counts.
"""

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from support.mutants.mutants import MUTANTS
from support.mutants.mutation import CAUGHT, OF_EPOCHS, OF_PROGRAMS, OF_PULLS
from support.programs import pull_probe
from support.programs.probe import Simulation
from support.programs.probe_scenario import SLACKS, ProbeScenario
from support.programs.stretch_probe import FINITE, StretchSimulation
from support.prove.case import draw_case, draw_list_case, draw_open_case
from support.prove.check import check_case
from support.prove.shrink import describe, shrink

from tux.base.errors import ProgramError
from tux.base.parallel import use_threads
from tux.base.text import one_line

MOST = 1000  # seeds that a mutant may survive
COMPILED = 200  # of so many random programs one is compiled
LISTS = 8  # of so many seeds one has a second program, which makes lists
OPEN = 16  # and one a second program that goes on on other workers
PROBED = 2000  # seeds of the probes, at most
PIECE = 50  # seeds that a process takes at a time


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


def cases_of(seed, jit):
    """Yield the cases of a seed: a random program, and of some seeds a second one, which makes
    lists or goes on on other workers with much that was not sent yet.
    """
    yield draw_case(seed, jit=jit)
    if seed % LISTS == 0:
        yield draw_list_case(seed, jit=jit)
    elif seed % OPEN == LISTS // 2:
        yield draw_open_case(seed, jit=jit)


def prove_program(seed, compiled=COMPILED):
    """Check the random program of a seed, one of so many `compiled`. Return its kind, "steady" or
    "free", and its slack; ("refused", 0) where tux refuses it for a rule that the draw does not
    know.
    """
    cases, refused = [*cases_of(seed, seed % compiled == compiled - 1)], False
    for each in cases:
        try:
            check_case(each)
        except ProgramError:
            refused = True  # a second program is checked all the same
    if refused:
        return "refused", 0
    return "steady" if cases[0].steady else "free", cases[0].slack


def are_many_refused(found):
    """Return whether so many random programs are refused that the others tell too little."""
    return sum(what == "refused" for what, _ in found) > len(found) / 5


KINDS = {
    "programs": prove_program,
    "clocks": simulate_clocks,
    "epochs": simulate_epochs,
    "pulls": simulate_pulls,
}


def run_piece(kind, seeds):
    """Run some seeds of a kind. Return the results, and for each that fails its seed and why."""
    found, failures = [], []
    for seed in seeds:
        try:
            found.append(KINDS[kind](seed))
        except CAUGHT as error:
            failures.append((seed, f"{type(error).__name__}: {error}"))
    return found, failures


def run_seeds(kind, first, seeds, pool):
    """Run the seeds of a kind on all cores, and print failures. Return the results, and how many
    have failed.
    """
    start, found, failed = time.perf_counter(), [], 0
    pieces = [
        range(at, min(at + PIECE, first + seeds)) for at in range(first, first + seeds, PIECE)
    ]
    try:
        # futures of `pool.map` are cancelled by Ctrl-C, which the end of a pool does not expect
        for future in [pool.submit(run_piece, kind, piece) for piece in pieces]:
            results, failures = future.result()
            found += results
            failed += len(failures)
            for seed, why in failures:
                print(f"{kind}, seed {seed}: {why}", flush=True)
                print(f"again: tests/prove.py 1 --only {kind} --first {seed}", flush=True)
                if kind == "programs":
                    print(shrink_seed(seed), flush=True)
            if (done := len(found) + failed) % 1000 == 0:
                print(f"{kind}: {done} seeds, {time.perf_counter() - start:.0f} s", flush=True)
    finally:  # also after Ctrl-C
        done, seconds = len(found) + failed, time.perf_counter() - start
        print(f"{kind}: {done} seeds from {first}, {failed} wrong, {seconds:.0f} s", flush=True)
    return found, failed


def shrink_seed(seed):
    """Describe the case of a seed as small as it still fails, or say that it is right."""
    found = next(filter(fails, cases_of(seed, seed % COMPILED == COMPILED - 1)), None)
    return describe(shrink(found, fails)) if found else f"programs, seed {seed}: right"


def fails(case):
    """Return whether a case shows that something is wrong."""
    try:
        check_case(case)
    except ProgramError:
        return False
    except CAUGHT:
        return True
    return False


def kind_of(name):
    """Return the kind of seeds that catch a mutant."""
    if name in OF_PROGRAMS:
        return "programs"
    return "epochs" if name in OF_EPOCHS else "pulls" if name in OF_PULLS else "clocks"


def catch_mutant(name, seeds):
    """Return the first seed that catches a mutant, as (how many seeds that took, what it was); None
    if none does. Raises what it was where that is wrong without the mutant, too.
    """
    run = (
        partial(prove_program, compiled=seeds + 1) if name in OF_PROGRAMS else KINDS[kind_of(name)]
    )
    for seed in range(seeds):
        try:
            with MUTANTS[name]():
                run(seed)
        except CAUGHT as error:
            run(seed)  # raises what is wrong without the mutant, too
            return seed + 1, one_line(f"{type(error).__name__}: {error}")
    return None


def catch_mutants(pool):
    """Catch each mutant, and print the seeds that it took. Return how many were not caught."""
    survivors = 0
    for name, future in [(name, pool.submit(catch_mutant, name, MOST)) for name in MUTANTS]:
        catch = future.result()
        survivors += catch is None
        took = f"{catch[0]:4}  {catch[1]:.90}" if catch else f" NOT CAUGHT in {MOST} seeds"
        print(f"{kind_of(name):9}{name:52}{took}", flush=True)
    print(f"mutants {len(MUTANTS)}, caught {len(MUTANTS) - survivors}")
    return survivors


def is_as_stale_as_allowed(kind, found):
    """Return whether the stalest read at each slack was as stale as it may be."""
    stalest = defaultdict(int)
    for slack, stale in found:
        stalest[slack] = max(stalest[slack], stale)
    slacks = {"clocks": SLACKS, "epochs": FINITE, "pulls": pull_probe.SLACKS}[kind]
    print(f"{kind}: stalest read by slack: {dict(sorted(stalest.items(), key=str))}")
    return all(stalest[slack] == slack for slack in slacks)


def whole_from(least):
    """Return a parser of whole numbers that are not less."""

    def parse(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"a whole number from {least} is needed, not {text}")
        return int(text)

    return parse


def flags(argv=None):
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    add, natural = parser.add_argument, whole_from(0)
    how_many = f"seeds of random programs (2,000); of each probe the same number, at most {PROBED}"
    add("seeds", nargs="?", type=whole_from(1), default=2000, metavar="SEEDS", help=how_many)
    add("--first", type=natural, default=0, metavar="N", help="the first seed")
    add("--only", choices=[*KINDS, "mutants"], help="this part alone")
    small = "make the random program of this seed small, if it fails"
    add("--seed", type=natural, metavar="N", help=small)
    chosen = parser.parse_args(argv)
    if chosen.seed is not None and chosen.only not in (None, "programs"):
        parser.error(f"--seed is of random programs; of others: 1 --only {chosen.only} --first N")
    return chosen


def prove(chosen, pool):
    """Print what was run. Return whether all is as it should be."""
    right = True
    for kind in KINDS:
        if chosen.only not in (None, kind):
            continue
        programs = kind == "programs"
        seeds = chosen.seeds if programs else min(chosen.seeds, PROBED)
        found, failed = run_seeds(kind, chosen.first, seeds, pool)
        right &= not failed
        if programs:
            print(f"programs: {dict(Counter(what for what, _ in found))}")
            right &= not are_many_refused(found)
        elif seeds == PROBED:  # fewer may have no stalest read
            right &= is_as_stale_as_allowed(kind, found)
    if chosen.only in (None, "mutants"):
        right &= not catch_mutants(pool)
    return right


def begin_process():
    """Make a process of the pool ready: Ctrl-C is for the command, which ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_threads(1)  # tiny graphs: threads of their own would only be started and joined


def main(chosen):
    """Do what the command line says. Return the exit code: 0 if all is as it should be."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background of a shell
    with ProcessPoolExecutor(os.cpu_count(), initializer=begin_process) as pool:
        try:
            return int(not prove(chosen, pool))
        except KeyboardInterrupt:
            for each in multiprocessing.active_children():
                each.terminate()  # it would end its pieces first
            print("ended by Ctrl-C")
            return 130


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TUX_CACHE_DIR"] = folder
        chosen = flags()
        if chosen.seed is not None:
            print(shrink_seed(chosen.seed))
            sys.exit()
        sys.exit(main(chosen))
