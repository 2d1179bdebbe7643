"""The first minute: the seconds of each app's first run, from an empty cache of compiled functions,
and of the run after it; with this tux, and with that of another checkout, in turns.

usage: python -m bench.first_runs [--than CHECKOUT] [--apps NAME,..] [--threads N] [--repeats N]

Runs are of one epoch on the small data that each app makes up. CHECKOUT is a folder with another
commit, installed in its `.venv`. A line has, of each side, the median seconds of the first run
(`cold`), of the one after it (`warm`), and their difference.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from bench.arguments import names_among, number_from
from bench.machine import machine
from tux.program.sources import builtin

HEAD = ("app", "cold", "warm", "cold-warm")


def run_seconds(tux: Path, app: str, threads: int, cache: Path) -> float:
    """Run an app with the compiled functions in `cache`; return seconds. SystemExit if it fails."""
    command = [str(tux), "run", app, "--epochs", "1", "--threads", str(threads)]
    start = time.perf_counter()
    ended = subprocess.run(
        command,
        cwd=cache,
        env={**os.environ, "TUX_CACHE_DIR": str(cache), "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        sys.exit(f"{' '.join(command)}: {ended.stderr}")
    return time.perf_counter() - start


def rows(asked: argparse.Namespace) -> Iterator[Sequence[str]]:
    """Yield the lines of the table."""
    sides = [Path(sys.executable).with_name("tux")]
    if asked.than:
        sides.append(Path(asked.than, ".venv", "bin", "tux").absolute())
    where = ("here", "there")[: len(sides)]
    yield HEAD[0], *(f"{name} {side}" for side in where for name in HEAD[1:])
    for app in asked.apps:
        taken: list[list[tuple[float, float]]] = [[] for _ in sides]
        for _ in range(asked.repeats):
            for tux, own in zip(sides, taken, strict=True):
                with tempfile.TemporaryDirectory() as folder:
                    cold, warm = (
                        run_seconds(tux, app, asked.threads, Path(folder)) for _ in range(2)
                    )
                own.append((cold, warm))
        cells = []
        for own in taken:
            cold, warm = map(statistics.median, zip(*own, strict=True))
            cells += [f"{cold:.1f}", f"{warm:.1f}", f"{cold - warm:.1f}"]
        yield app, *cells


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--than", metavar="CHECKOUT")
    arguments.add_argument(
        "--apps", type=names_among(builtin()), default=[*builtin()], metavar="NAME,.."
    )
    arguments.add_argument("--threads", type=number_from(1), default=os.cpu_count())
    arguments.add_argument("--repeats", type=number_from(1), default=1)
    asked = arguments.parse_args(argv)
    for row in chain([[machine()]], rows(asked)):
        sys.stdout.write(f"{row[0]:<14}" + "".join(f"{cell:>17}" for cell in row[1:]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
