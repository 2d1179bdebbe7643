"""The matrix of faults: ``python -m faults``, or ``make faults``.

usage: python -m faults [--times N] [--only NAME,..] [--seed S] [--markdown FILE] [--keep DIR]

Prints a line for each time that a fault was made, and at the end the table. The exit code is 1 if
anything was wrong, hung, or was left behind. --only takes the beginnings of names; those of engines
begin with "on-", and are played only if it names them.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from faults import clusters, table
from faults.network import NAMES, OWN
from faults.registry import scenarios
from faults.room import ReferenceRuns
from faults.scenario import Observation, Scenario, play


def flags() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__.split("\n\n")[0])
    parser.add_argument("--times", type=int, help="of each [each has its own number]")
    parser.add_argument("--only", default="", help="names, or how they begin, with commas between")
    parser.add_argument("--seed", type=int, default=0, help="[%(default)s]")
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    parser.add_argument("--keep", type=Path, help="keep what a wrong run has left in this folder")
    parser.add_argument("--list", action="store_true", help="names alone")
    return parser.parse_args()


def main() -> int:
    """Play the scenarios, print the table, and return the exit code."""
    asked, known = flags(), scenarios()
    wanted = tuple(asked.only.split(","))
    if unknown := [each for each in wanted if not any(name.startswith(each) for name in known)]:
        sys.exit(f"no scenario {unknown[0]!r}; there are: {', '.join(known)}")
    chosen = [
        each
        for name, each in known.items()
        if name.startswith(wanted) and (asked.only or asked.list or not each.engine)
    ]
    if asked.list:
        print(*(f"{each.name:24} {each.times:>4} times  {each.fault}" for each in chosen), sep="\n")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))  # nothing is left then either
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # in the background of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)  # commands must hear it
    start = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="tux-faults-"))
    rows = []
    try:
        (folder / "whole").mkdir()
        whole = ReferenceRuns.small(folder / "whole")
        for each in chosen:
            rows.append(make_fault(each, asked, whole, folder))
    finally:
        clusters.end()
        if asked.keep and any(row.wrong for row in rows):
            shutil.copytree(folder, asked.keep, dirs_exist_ok=True)
        left = remains(folder)
        shutil.rmtree(folder, ignore_errors=True)
    print("\n" + table.text(rows))
    print(f"{processor()}, {os.cpu_count()} processors; seed {asked.seed}", end="; ")
    print(f"{time.monotonic() - start:.0f} s")
    if asked.markdown:
        asked.markdown.write_text(table.markdown(rows), encoding="utf-8")
    print(*(f"left: {each}\n" for each in left), sep="", end="")
    wrong = sum(row.wrong for row in rows)
    print(f"{wrong} times wrong" if wrong else "nothing wrong")
    return 1 if wrong or left else 0


def make_fault(
    scenario: Scenario, asked: argparse.Namespace, whole: ReferenceRuns, folder: Path
) -> table.ScenarioRow:
    """Make a fault as often as asked, and print what was seen of each time; return a row of the
    table.
    """
    if why := scenario.missing():
        print(f"{scenario.name:24} skipped: {why}", flush=True)
        return table.ScenarioRow(scenario, [], why)
    seen: list[Observation] = []
    times = asked.times or scenario.times
    for number in range(times):
        start = time.monotonic()
        seen.append(play(scenario, number, asked.seed, whole, folder))
        tell(scenario, f"{number + 1:>3}/{times}", seen[-1], time.monotonic() - start)
    return table.ScenarioRow(scenario, seen)


def tell(scenario: Scenario, number: str, seen: Observation, seconds: float) -> None:
    """Print one time, which took some seconds, in a line; and what was wrong."""
    took = f"{seconds:5.1f} s"
    parts = [f"{scenario.name:24} {number}", took, "WRONG" if seen.wrong else "right"]
    if seen.noticed is not None:
        parts.append(f"noticed {seen.noticed:5.2f} s")
    if seen.notices:
        parts.append(f"{seen.faults} faults, noticed within {max(seen.notices):5.2f} s")
    if seen.recovered is not None:
        parts.append(f"past it {seen.recovered:5.2f} s")
    parts += [f"{name}: {value:.4g}" for name, value in seen.measured.items()]
    print("  ".join([*parts, seen.note]).rstrip(), *seen.wrong, sep="\n      ", flush=True)


def remains(folder: Path) -> list[str]:
    """List the mounts and network namespaces that scenarios have left, which are outside the
    folders of their commands.
    """
    mounts = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    mounted = [f"mount {line.split()[1]}" for line in mounts if str(folder) in line]
    return mounted + [f"network namespace {path.name}" for path in NAMES.glob(f"{OWN}*")]


def processor() -> str:
    """Return the name of this machine's processor."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    sys.exit(main())
