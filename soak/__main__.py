"""The soak: ``python -m soak``, or ``make soak HOURS=12``.

usage: python -m soak [--hours N] [--seed S] [--round N] [--only NAME,..] [--keep DIR]

Prints a line for each run, what was not right of it with the command that repeats it, and at the
end a table. The exit code is 1 if a run was wrong, lost or hung, or has left something behind.
Ctrl-C ends it with the table so far.
"""

from __future__ import annotations

import argparse
import math
import shutil
import signal
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from faults.__main__ import remains
from soak.cases import CASES, SoakCase
from soak.draws import SoakPlan, draw_plan
from soak.rounds import RightRuns, RoundOutcome, play_round
from soak.table import count_bad, tabulate


def flags(argv: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__.split("\n\n")[0])
    parser.add_argument("--hours", type=float, default=1.0, help="may be .05 [%(default)s]")
    parser.add_argument("--seed", type=int, default=0, help="[%(default)s]")
    parser.add_argument("--round", type=int, help="this round alone, once")
    parser.add_argument("--only", default="", help="cases, with commas between; others are drawn")
    parser.add_argument("--keep", type=Path, help="keep the folders of wrong runs in this folder")
    asked = parser.parse_args(argv)
    if not 0 < asked.hours < math.inf:
        parser.error(f"argument --hours: a number above 0 is needed, not {asked.hours}")
    if asked.round is not None and asked.round < 0:
        parser.error(f"argument --round: rounds are numbered from 0, and {asked.round} is none")
    return asked


def main() -> int:
    """Play rounds until the time is over, print the table, and return the exit code."""
    asked = flags()
    cases = choose_cases(asked.only)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # nothing is left then either
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background of a shell
    start, outcomes = time.monotonic(), []
    folder = Path(tempfile.mkdtemp(prefix="tux-soak-"))
    (folder / "right").mkdir()
    right = RightRuns(folder / "right")
    try:
        for number in [asked.round] if asked.round is not None else count():
            if number != asked.round and time.monotonic() - start > 3600 * asked.hours:
                break
            plan = draw_plan(asked.seed, number, cases)
            begun = time.monotonic()
            outcomes.append(play_round(plan, f"{asked.seed}-{number}", right, folder))
            tell(asked, number, plan, outcomes[-1], time.monotonic() - begun)
    except KeyboardInterrupt:
        print("ended by Ctrl-C")
    finally:
        left = finish(asked, folder, any(outcome.faults for outcome in outcomes))
    print("\n" + tabulate(outcomes, time.monotonic() - start))
    print(*(f"left: {each}\n" for each in left), sep="", end="")
    return 1 if count_bad(outcomes) or left else 0


def choose_cases(only: str) -> list[SoakCase]:
    """Return the cases of these names, with commas between; all if there are none. SystemExit for
    an unknown one.
    """
    known = [case.name for case in CASES]
    names = only.split(",") if only else known
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no case {unknown[0]!r}; there are: {', '.join(known)}")
    return [case for case in CASES if case.name in names]  # in one order, which draws follow


def tell(
    asked: argparse.Namespace, number: int, plan: SoakPlan, seen: RoundOutcome, seconds: float
) -> None:
    """Print one round, which took some seconds, in a line; and what was not right."""
    end = ", ".join(seen.faults) or ("skipped" if seen.skipped else "right")
    strikes = "; ".join(f"{strike.kind} in {strike.phase}" for strike in plan.strikes)
    print(f"{number:>5}  {seconds:5.1f} s  {end}  {plan}  [{strikes}]", flush=True)
    for kind, found in seen.faults.items():
        print(*(f"      {kind}: {each}" for each in found), sep="\n")
    if seen.faults:
        only = f" --only {asked.only}" if asked.only else ""
        again = f"python -m soak --seed {asked.seed} --round {number}{only}"
        print(f"      again: {again}", flush=True)


def finish(asked: argparse.Namespace, folder: Path, has_faults: bool) -> list[str]:
    """Remove the folder of all rounds, or keep those that were not right; return what is left."""
    if asked.keep and has_faults:
        shutil.copytree(folder, asked.keep, dirs_exist_ok=True)
    left = remains(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return left


if __name__ == "__main__":
    sys.exit(main())
