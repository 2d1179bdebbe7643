"""The cost of an engine that places a run: the same training by local workers and on Ray, and by
local workers and on Spark, each with two workers of one thread, in pairs. The engine runs on the
machine for both of a pair.

usage: python -m bench.engines [--ratings N] [--epochs N] [--repeats N] [--engines ray,spark]

Of each run the table has: seconds of training, as metrics.jsonl says them; seconds of the rest of
the command, most of which is its start; `bare`, seconds in which the engine alone gives two
machines to a process that does nothing with them. The last lines are medians of the pairs. Ratings
are shared out as Netflix' were: 208 to a user, 5,627 to an item. It needs what `make test-clusters`
installs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.arguments import names_among
from faults.clusters import ENGINES, missing
from tux.arrays.arrow import text_writer
from tux.backends.contract import MachineNeeds
from tux.backends.run import find_backend
from tux.run_folder.folder import read_metrics
from tux.synthetic.ratings import ratings

NAMES = [name for name in ENGINES if name != "local"]
RANK, DEADLINE = 32, 300.0
BARE = "--bare"
"""Flag of a process that has machines placed and ends them."""


class EngineTimes(NamedTuple):
    """Seconds of one run: of training, of the rest of its command, of the engine alone."""

    training: float
    rest: float
    bare: float = 0.0


def time_command(command: Sequence[object], env: Mapping[str, str]) -> float:
    """Return the seconds of a command. RuntimeError, with its output, if it fails."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return time.perf_counter() - start


def train(data: Path, epochs: int, where: Sequence[object], env: Mapping[str, str]) -> EngineTimes:
    """Train once; `where`: the flags that say who does it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        flags = ["--rank", RANK, "--epochs", epochs, "--threads", 1, "--out", out, *where]
        seconds = time_command(["-m", "tux", "run", "mf", data, *flags], env)
        training = float(read_metrics(out)[-1]["seconds"])
    return EngineTimes(training, seconds - training)


def pair(name: str, data: Path, epochs: int) -> tuple[EngineTimes, EngineTimes]:
    """Start an engine, train on two local workers and on two machines of the engine, and end it."""
    with ENGINES[name]() as engine:
        bare = time_command(["-m", "bench.engines", BARE, name], engine.environment)
        local = train(data, epochs, ["--workers", 2], {})
        flags = ["--workers", 1, "--on", name, "--nnodes", 2]
        return local, train(data, epochs, flags, engine.environment)._replace(bare=bare)


def place(name: str) -> None:
    """Have a back-end place two machines, and end them."""
    backend = find_backend(name)
    try:
        backend.start(MachineNeeds(2, 1, DEADLINE))
    finally:
        backend.close()


def write_ratings(path: Path, count: int) -> None:
    """`count` ratings as text."""
    with text_writer(path) as write:
        for chunk in ratings(max(count // 208, 100), max(count // 5627, 100), count):
            write(chunk)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=int, default=20_000_000)
    parser.add_argument("--epochs", type=int, default=250)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--engines", type=names_among(NAMES), default=NAMES)
    parser.add_argument(BARE, default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.bare:
        return place(arguments.bare)
    for name in arguments.engines:
        if why := missing(name):
            sys.exit(why)
    taken: dict[str, list[tuple[EngineTimes, EngineTimes]]] = {
        name: [] for name in arguments.engines
    }
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "ratings.csv")
        write_ratings(data, arguments.ratings)
        train(data, 1, ["--workers", 2], {})  # compiles
        print(f"{'engine':<8}{'training, s':>13}{'the rest, s':>13}{'bare, s':>9}")
        for _ in range(arguments.repeats):
            for name in arguments.engines:
                local, placed = pair(name, data, arguments.epochs)
                taken[name].append((local, placed))
                for who, one in (("local", local), (name, placed)):
                    line = f"{who:<8}{one.training:>13.1f}{one.rest:>13.1f}{one.bare:>9.1f}"
                    print(line, flush=True)
    for name, pairs in taken.items():
        ratio = statistics.median(one.training / local.training for local, one in pairs)
        start = statistics.median(one.rest - local.rest - one.bare for local, one in pairs)
        print(
            f"{name}: {ratio:.3f} times the training seconds of local workers; {start:.1f} s more "
            "than local workers and the bare engine for all else"
        )


if __name__ == "__main__":
    main()
