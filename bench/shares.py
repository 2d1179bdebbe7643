"""Loading whole and loading in shares: the same ratings, cut and written as a folder of parts by
one process, and by several that load them in shares; in turns, from CSV files and from Parquet.

usage: python -m bench.shares [--ratings N] [--workers N] [--limit MB]

Of each command the table has: seconds; MB of memory that the largest process held at most, mapped
files included (VmHWM), and of that its own, which the system cannot drop (RssAnon), looked at every
twentieth of a second; MB of addresses (VmPeak); the largest part on disk, and how many times that
the largest loader held. The best seconds of --repeats are shown, and the most memory.

--limit: no process that loads in shares may have more MB of addresses (RLIMIT_AS).
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from bench.memory import Peaks
from tux.arrays.arrow import parquet_writer, text_writer
from tux.synthetic.ratings import ratings

LOOK = 0.05
"""Seconds between two looks at the processes."""

LOADER = "loader_process"
HEAD = ("input", "command", "s", "most MB", "own MB", "addr. MB", "part MB", "of part")


class CommandCosts(NamedTuple):
    """The costs of a command; `word` names the processes that `peaks` are asked for."""

    seconds: float
    peaks: Peaks
    part: int
    error: str = ""


def write_inputs(folder: Path, count: int, files: int) -> dict[str, Path]:
    """Write the ratings as CSV files, in a folder of their own, and as one Parquet file."""
    made = {"csv": folder / "csv", "parquet": folder / "ratings.parquet"}
    if made["parquet"].exists():
        return made
    made["csv"].mkdir(parents=True, exist_ok=True)
    data = ratings(max(count // 208, 1000), max(count // 5627, 200), count)
    with ExitStack() as stack, parquet_writer(made["parquet"]) as table:
        done, number, text = 0, -1, table
        for chunk in data:
            if done * files // count > number:
                stack.close()
                number = done * files // count
                text = stack.enter_context(text_writer(made["csv"] / f"{number:03}.csv"))
            table(chunk)
            text(chunk)
            done += len(chunk["user"])
    return made


def run(
    command: Sequence[str], limit: int, over: Callable[[], bool] = lambda: False
) -> CommandCosts:
    """Run a command until it ends or is `over`; `limit` bytes of addresses a process, or none."""

    def limit_memory() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    with tempfile.TemporaryFile("w+") as said:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=said, stderr=said, preexec_fn=limit_memory)
        peaks = Peaks(process.pid)
        while process.poll() is None and not over():
            peaks.look()
            time.sleep(LOOK)
        seconds = time.perf_counter() - start
        process.wait()
        said.seek(0)
        lines = said.read().splitlines()
    error = "" if process.returncode == 0 else "; ".join(lines[-3:])
    return CommandCosts(seconds, peaks, 0, error)


def partition(
    data: Path, folder: Path, parts: int, extra: Sequence[str], limit: int
) -> CommandCosts:
    """Cut an input into a folder of parts, as `tux partition` does."""
    out = folder / "parts"
    command = [sys.executable, "-m", "tux", "partition", str(data), "--bipartite"]
    command += ["--method", "aweto", "--parts", str(parts), "--out", str(out), *extra]
    try:
        taken = run(command, limit)
        sizes = [sum(path.stat().st_size for path in part.iterdir()) for part in out.glob("part-*")]
        return taken._replace(part=max(sizes, default=0))
    finally:
        shutil.rmtree(out, ignore_errors=True)


def commands(
    asked: argparse.Namespace, data: Path, folder: Path
) -> dict[str, Callable[[], CommandCosts]]:
    """Return the commands that are measured on one input, by their names in the table."""
    n, limit = asked.workers, asked.limit * 10**6
    shares = ["--workers", str(n)]
    return {
        "whole": lambda: partition(data, folder, n, [], 0),
        f"{n} shares": lambda: partition(data, folder, n, shares, limit),
    }


def rows(asked: argparse.Namespace, folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield the lines of the table."""
    inputs = write_inputs(Path(asked.data) if asked.data else folder, asked.ratings, asked.files)
    for name, data in inputs.items():
        measured = commands(asked, data, folder)
        taken: dict[str, list[CommandCosts]] = {command: [] for command in measured}
        for _ in range(asked.repeats):
            for command, work in measured.items():
                taken[command].append(work())
        for command, outcomes in taken.items():
            yield name, command, *_cells(outcomes)


def _cells(outcomes: Sequence[CommandCosts]) -> Iterator[str]:
    """Yield seconds and memory of one command, which was run several times."""
    if failed := next((each.error for each in outcomes if each.error), ""):
        yield f"failed: {failed}"
        return
    part = max(each.part for each in outcomes)
    yield f"{min(each.seconds for each in outcomes):.2f}"
    most = {}
    for column in Peaks.COLUMNS.values():
        peaks = [each.peaks for each in outcomes]
        loaders = max(each.largest(LOADER, column) for each in peaks)
        most[column] = loaders or max(each.largest("", column) for each in peaks)
        yield f"{most[column] / 1e6:,.0f}"
    yield f"{part / 1e6:,.0f}"
    yield f"{most['resident'] / part:.2f}" if part else "-"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--ratings", type=int, default=10_000_000)
    arguments.add_argument("--files", type=int, default=20, help="CSV files")
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--limit", type=int, default=0, metavar="MB")
    arguments.add_argument("--data", help="a folder in which the inputs are, or are left")
    arguments.add_argument("--scratch", help="a folder on a disk with room for inputs and parts")
    asked = arguments.parse_args(argv)
    write = sys.stdout.write
    write(f"{asked.ratings:,} ratings; best seconds of {asked.repeats}, most memory\n")
    with tempfile.TemporaryDirectory(dir=asked.scratch) as folder:
        for row in (HEAD, *rows(asked, Path(folder))):
            write(f"{row[0]:<9}{row[1]:<11}" + "".join(f"{cell:>10}" for cell in row[2:]) + "\n")


if __name__ == "__main__":
    main()
