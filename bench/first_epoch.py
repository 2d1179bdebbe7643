"""The time from the files to the first epoch, and memory, of runs of several workers: each app
with this tux, and with that of another checkout, in turns.

usage: python -m bench.first_epoch CHECKOUT [--apps NAME,..] [--mb N] [--files N] [--workers N]
                                   [--repeats N] [--data DIR]

CHECKOUT is a folder with another commit, installed in its `.venv`. The data of each app are
generated, N MB in so many files of text, and left in DIR if it is given. Both sides use all cores.
A line has, of each side: the median seconds from the start of the command to the record of its
first epoch, MB of memory of the largest process (VmHWM), and the words of the first lines on how
the data were loaded; `ratio`: seconds here by seconds there; and whether both sides have the same
metrics after this epoch.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from bench.arguments import names_among
from bench.shares import CommandCosts, run
from tux.engine.records import metrics

HEAD = ("app", "MB", "s here", "s there", "ratio", "MB here", "MB there", "same metrics")


class Generated(NamedTuple):
    """Generated data: the kind that `tux generate` knows, the ending of their files, the flag that
    says how many, how many a MB of text holds, and further flags by the number of all.
    """

    kind: str
    ending: str
    count: str
    per_mb: int
    sizes: Callable[[int], Sequence[str]]


def _ratings(n: int) -> Sequence[str]:
    return "--users", str(max(n // 50, 100)), "--items", str(max(n // 500, 50))


def _corpus(n: int) -> Sequence[str]:
    return "--documents", str(max(n // 150, 20)), "--vocabulary", "20000"


def _clicks(n: int) -> Sequence[str]:
    return "--features", str(max(n // 2, 1000)), "--entries", "20"


def _clusters(_: int) -> Sequence[str]:
    return "--features", "16", "--clusters", "20"


def _graph(n: int) -> Sequence[str]:
    return "--vertices", str(max(n // 10, 100))


KINDS = {
    "ratings": Generated("ratings", "csv", "--ratings", 54_000, _ratings),
    "corpus": Generated("corpus", "csv", "--tokens", 75_000, _corpus),
    "clicks": Generated("clicks", "svm", "--samples", 4_600, _clicks),
    "clusters": Generated("clusters", "csv", "--points", 3_300, _clusters),
    "graph": Generated("graph", "csv", "--edges", 70_000, _graph),
}
APPS = {
    "mf": ("ratings", "--rank 16"),
    "als": ("ratings", "--rank 16"),
    "lda": ("corpus", "--topics 20"),
    "blockpg": ("clicks", ""),
    "linear": ("clicks", ""),
    "gbdt": ("clicks", "--max-depth 3"),
    "kmeans_points": ("clusters", "--n-clusters 20"),
    "deepwalk": ("graph", "--dimensions 16 --num-walks 1 --walk-length 5"),
}
"""The data and the flags of each app."""


def write_input(folder: Path, kind: str, mb: int, files: int) -> Path:
    """Write the data of a kind, unless they are there: a folder of files of about `mb` MB in
    all.
    """
    made = folder / f"{kind}-{mb}-{files}"
    if made.exists():
        return made
    own = KINDS[kind]
    part = made.with_suffix(".part")
    part.mkdir(parents=True, exist_ok=True)
    count = own.per_mb * mb
    for number in range(files):
        command = [sys.executable, "-m", "tux", "generate", own.kind, *own.sizes(count)]
        command += [own.count, str(count // files), "--seed", str(number)]
        command += ["--out", str(part / f"{number:03}.{own.ending}")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    part.rename(made)
    return made


def run_to_first_record(
    tux: Path, app: str, data: Path, workers: int
) -> tuple[CommandCosts, dict[str, float]]:
    """Run an app for one epoch; return its costs until the record of the epoch, and its
    metrics.
    """
    with tempfile.TemporaryDirectory(dir=data.parent) as folder:
        out = Path(folder) / "run"
        records = out / "metrics.jsonl"
        command = [str(tux), "run", app, str(data), "--workers", str(workers), "--epochs", "1"]
        command += [*APPS[app][1].split(), "--out", str(out)]
        costs = run(command, 0, lambda: records.exists() and records.stat().st_size > 0)
        found = records.read_text().splitlines() if records.exists() else []
        return costs, metrics(json.loads(found[-1])) if found else {}


def rows(asked: argparse.Namespace, folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield the lines of the table."""
    sides = [Path(sys.executable).with_name("tux"), Path(asked.checkout, ".venv", "bin", "tux")]
    for app in asked.apps:
        data = write_input(folder, APPS[app][0], asked.mb, asked.files)
        size = sum(file.stat().st_size for file in data.iterdir())
        taken: list[list[CommandCosts]] = [[], []]
        found = [dict[str, float](), dict[str, float]()]
        for _ in range(asked.repeats):
            for side, tux in enumerate(sides):
                costs, found[side] = run_to_first_record(tux, app, data, asked.workers)
                taken[side].append(costs)
        yield app, f"{size / 1e6:,.0f}", *_cells(taken), "yes" if found[0] == found[1] else "no"


def _cells(taken: Sequence[Sequence[CommandCosts]]) -> Iterator[str]:
    """Yield seconds, their ratio and memory of both sides."""
    if failed := next((each.error for own in taken for each in own if each.error), ""):
        yield f"failed: {failed}"
        return
    here, there = (statistics.median(each.seconds for each in own) for own in taken)
    yield f"{here:.2f}"
    yield f"{there:.2f}"
    yield f"{here / there:.2f}"
    for own in taken:
        yield f"{max(each.peaks.largest('', 'resident') for each in own) / 1e6:,.0f}"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("checkout", metavar="CHECKOUT")
    arguments.add_argument("--apps", type=names_among(APPS), default=list(APPS), metavar="NAME,..")
    arguments.add_argument("--mb", type=int, default=1000)
    arguments.add_argument("--files", type=int, default=16)
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--repeats", type=int, default=1)
    arguments.add_argument("--data", metavar="DIR", help="a folder in which the data are left")
    asked = arguments.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        for row in chain([HEAD], rows(asked, Path(asked.data or folder))):
            sys.stdout.write(f"{row[0]:<10}" + "".join(f"{cell:>13}" for cell in row[1:]) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
